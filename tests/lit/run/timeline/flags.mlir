// Load, compute, store, each behind a flag.
//
//   load    arrives 1                               1 ..  37, complete 57
//   set     arrives 2, behind the load             37 ..  38, raised when the load is complete, 57
//   wait    arrives 3, holds V until 57, and takes 1: 58
//   exp     arrives 4, fills from 58 to 60         60 ..  76, complete 80
//   set     arrives 5                              76 ..  77, raised 80
//   wait    arrives 6, holds MTE3 until 80, and takes 1: 81
//   store   arrives 7                              81 .. 117, complete 137
//
// With the launch 237.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 237 cycles
// CHECK-NEXT: MTE2{{ +}}1{{ +}}37  load_ub
// CHECK-NEXT: MTE2{{ +}}37{{ +}}38  set_flag
// CHECK-NEXT: V{{ +}}3{{ +}}58  wait_flag
// CHECK-NEXT: V{{ +}}60{{ +}}76  vunary exp
// CHECK-NEXT: V{{ +}}76{{ +}}77  set_flag
// CHECK-NEXT: MTE3{{ +}}6{{ +}}81  wait_flag
// CHECK-NEXT: MTE3{{ +}}81{{ +}}117  store_ub
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
    npu_isa.set_flag [V, MTE3, 0]
    npu_isa.wait_flag [V, MTE3, 0]
    npu_isa.store_ub %u<1> -> %Y[] over [64] map affine_map<(a) -> (a)> : memref<64xf32, #tile.space<gm>>
    tile.return
  }
}
