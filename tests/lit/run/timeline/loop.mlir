// Each iteration of a loop and each scalar operation takes a cycle of the scalar unit, constants none.
//
//   iteration 1 begins: 1; addition: 2; exp arrives at 3, fills until 5     5 ..  7
//   iteration 2: 4, 5, 6; it could start at 8                               8 .. 10
//   iteration 3: 7, 8, 9                                                   11 .. 13, complete 17
//
// With the launch 117.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 117 cycles
// CHECK-NEXT: V{{ +}}5{{ +}}7  vunary exp
// CHECK-NEXT: V{{ +}}8{{ +}}10  vunary exp
// CHECK-NEXT: V{{ +}}11{{ +}}13  vunary exp
// CHECK-NOT: {{^  [A-Z]}}

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %y : tensor<64xf32>
  }
  tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    scf.for %i = %c0 to %c3 step %c1 {
      %j = arith.addi %i, %c1 : index
      npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    }
    tile.return
  }
}
