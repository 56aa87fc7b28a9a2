// The latency of GM does not occupy the pipe: the second load starts when the first ends, at 37, and ends at 37 +
// 36 = 73. It is complete at 73 + 20 = 93; with the launch 193.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 193 cycles
// CHECK-NEXT: MTE2{{ +}}1{{ +}}37  load_ub
// CHECK-NEXT: MTE2{{ +}}37{{ +}}73  load_ub
// CHECK-NOT: {{^  [A-Z]}}

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %y : tensor<64xf32>
  }
  tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    %w = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
    npu_isa.load_ub %X[] -> %u<1> over [64] map affine_map<(a) -> (a)> : memref<64xf32, #tile.space<gm>>
    npu_isa.load_ub %X[] -> %w<1> over [64] map affine_map<(a) -> (a)> : memref<64xf32, #tile.space<gm>>
    tile.return
  }
}
