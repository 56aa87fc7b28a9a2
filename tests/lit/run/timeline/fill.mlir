// The head of a vector instruction hides behind what the pipe still executes. 64 f32 are 8 groups of 32 bytes at 2
// cycles for exp: 16. The first arrives at 1 and fills the pipe until 3, ends at 19. The second has arrived at 2,
// could start at 4, and starts when the first ends: 19 to 35. The tail of exp is 4: 39, with the launch 139.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 139 cycles
// CHECK-NEXT: V{{ +}}3{{ +}}19  vunary exp
// CHECK-NEXT: V{{ +}}19{{ +}}35  vunary exp
// CHECK-NOT: {{^  [A-Z]}}

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %y : tensor<64xf32>
  }
  tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    npu_isa.vunary exp %u<1>, %u<1> over [64] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [64] : f32
    tile.return
  }
}
