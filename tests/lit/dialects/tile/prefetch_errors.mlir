// RUN: npu-opt %s --verify-diagnostics --split-input-file

func.func @main(%w: tensor<?xf16>) {
  // expected-error@+1 {{how many bytes to bring has to be known, not those of tensor<?xf16>}}
  tile.prefetch %w : tensor<?xf16>
  func.return
}

// -----

tile.kernel @k(%X: memref<4xf32, #tile.space<gm>>) {
  %w = arith.constant dense<0.0> : tensor<4xf32>
  // expected-error@+1 {{a prefetch stands in the host function, not in a kernel}}
  npu_isa.prefetch %w : tensor<4xf32>
  tile.return
}
