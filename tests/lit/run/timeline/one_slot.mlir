// With one slot, the second load waits until the first has been used: the pipes take turns.
//
//   load 1   arrives 1                                1 ..  37, complete 57
//   set      arrives 2                               37 ..  38, raised 57
//   wait     arrives 3, holds V until 57, and takes 1: 58
//   exp 1    arrives 4, fills from 58 to 60          60 ..  76, complete 80
//   set      arrives 5                               76 ..  77, raised 80
//   wait     arrives 6; MTE2 is free at 38 and held until 80, and 1: 81
//   load 2   arrives 7                               81 .. 117, complete 137
//   set      arrives 8                              117 .. 118, raised 137
//   wait     arrives 9; V is free at 77 and held until 137, and 1: 138
//   exp 2    arrives 10, fills until 140            140 .. 156, complete 160
//
// With the launch 260.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 260 cycles
// CHECK-NEXT: MTE2{{ +}}1{{ +}}37  load_ub
// CHECK-NEXT: MTE2{{ +}}37{{ +}}38  set_flag
// CHECK-NEXT: V{{ +}}3{{ +}}58  wait_flag
// CHECK-NEXT: V{{ +}}60{{ +}}76  vunary
// CHECK-NEXT: V{{ +}}76{{ +}}77  set_flag
// CHECK-NEXT: MTE2{{ +}}38{{ +}}81  wait_flag
// CHECK-NEXT: MTE2{{ +}}81{{ +}}117  load_ub
// CHECK-NEXT: MTE2{{ +}}117{{ +}}118  set_flag
// CHECK-NEXT: V{{ +}}77{{ +}}138  wait_flag
// CHECK-NEXT: V{{ +}}140{{ +}}156  vunary
// CHECK-NOT: {{^  [A-Z]}}

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %y : tensor<64xf32>
  }
  tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    npu_isa.load_ub %X[] -> %u<1> over [64] map affine_map<(a) -> (a)> : memref<64xf32, #tile.space<gm>>
    npu_isa.set_flag [MTE2, V, 0]
    npu_isa.wait_flag [MTE2, V, 0]
    npu_isa.vunary exp %u<1>, %u<1> over [64] : f32
    npu_isa.set_flag [V, MTE2, 0]
    npu_isa.wait_flag [V, MTE2, 0]
    npu_isa.load_ub %X[] -> %u<1> over [64] map affine_map<(a) -> (a)> : memref<64xf32, #tile.space<gm>>
    npu_isa.set_flag [MTE2, V, 0]
    npu_isa.wait_flag [MTE2, V, 0]
    npu_isa.vunary exp %u<1>, %u<1> over [64] : f32
    tile.return
  }
}
