// A flag that is raised before its wait arrives holds nobody up: the wait takes its cycle. The three exps of 8
// elements take 2 each.
//
//   exp     arrives 1, fills until 3     3 .. 5
//   set     arrives 2                    5 .. 6, raised when the exp is complete: 5 + 4 = 9
//   16 scalar additions: the scalar unit goes on at 2 + 16 = 18
//   wait    arrives 19                  19 .. 20
//   load    arrives 20                  20 .. 56, complete 76
//
// With the launch 176.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 176 cycles
// CHECK-NEXT: V{{ +}}3{{ +}}5  vunary exp
// CHECK-NEXT: V{{ +}}5{{ +}}6  set_flag
// CHECK-NEXT: MTE2{{ +}}19{{ +}}20  wait_flag
// CHECK-NEXT: MTE2{{ +}}20{{ +}}56  load_ub
// CHECK-NOT: {{^  [A-Z]}}

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %y : tensor<64xf32>
  }
  tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %c1 = arith.constant 1 : index
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.set_flag [V, MTE2, 0]
    %i0 = arith.addi %c1, %c1 : index
    %i1 = arith.addi %c1, %c1 : index
    %i2 = arith.addi %c1, %c1 : index
    %i3 = arith.addi %c1, %c1 : index
    %i4 = arith.addi %c1, %c1 : index
    %i5 = arith.addi %c1, %c1 : index
    %i6 = arith.addi %c1, %c1 : index
    %i7 = arith.addi %c1, %c1 : index
    %i8 = arith.addi %c1, %c1 : index
    %i9 = arith.addi %c1, %c1 : index
    %i10 = arith.addi %c1, %c1 : index
    %i11 = arith.addi %c1, %c1 : index
    %i12 = arith.addi %c1, %c1 : index
    %i13 = arith.addi %c1, %c1 : index
    %i14 = arith.addi %c1, %c1 : index
    %i15 = arith.addi %c1, %c1 : index
    npu_isa.wait_flag [V, MTE2, 0]
    npu_isa.load_ub %X[] -> %u<1> over [64] map affine_map<(a) -> (a)> : memref<64xf32, #tile.space<gm>>
    tile.return
  }
}
