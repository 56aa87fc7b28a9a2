// A barrier lets the scalar unit wait until everything is complete.
//
//   load      arrives 1                   1 .. 37, complete 57
//   barrier   issued until 2, lasts until 57
//   exp       arrives 58, fills until 60    60 .. 76, complete 80
//
// With the launch 180.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 180 cycles
// CHECK-NEXT: MTE2{{ +}}1{{ +}}37  load_ub
// CHECK-NEXT: V{{ +}}60{{ +}}76  vunary
// CHECK-NOT: {{^  [A-Z]}}

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %y : tensor<64xf32>
  }
  tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    npu_isa.load_ub %X[] -> %u<1> over [64] map affine_map<(a) -> (a)> : memref<64xf32, #tile.space<gm>>
    npu_isa.barrier
    npu_isa.vunary exp %u<1>, %u<1> over [64] : f32
    tile.return
  }
}
