// RUN: npu-opt %s | npu-opt | filecheck %s

builtin.module {
  // CHECK: tile.prefetch %w : tensor<4x8xf16>
  // CHECK-NEXT: npu_isa.prefetch %w : tensor<4x8xf16>
  func.func @main(%w: tensor<4x8xf16>) {
    tile.prefetch %w : tensor<4x8xf16>
    npu_isa.prefetch %w : tensor<4x8xf16>
    func.return
  }
}

// It has an effect: nothing takes it away or merges two.
// RUN: npu-opt %s --canonicalize --cse --dce | filecheck %s
