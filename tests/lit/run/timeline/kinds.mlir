// Kinds of vector instructions have their own slopes and tails. div: 2 cycles a group, add: 1. 8 groups each.
//
//   div   arrives 1, fills until 3     3 .. 19, complete 22
//   add   arrives 2                   19 .. 27, complete 30
//
// With the launch 130.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 130 cycles
// CHECK-NEXT: V{{ +}}3{{ +}}19  vbinary div
// CHECK-NEXT: V{{ +}}19{{ +}}27  vbinary add
// CHECK-NOT: {{^  [A-Z]}}

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %y : tensor<64xf32>
  }
  tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    %w = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
    npu_isa.vbinary div %u<1>, %u<1>, %u<1> over [64] : f32
    npu_isa.vbinary add %w<1>, %u<1>, %u<1> over [64] : f32
    tile.return
  }
}
