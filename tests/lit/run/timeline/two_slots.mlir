// With two slots the second load runs while the first is used: 43 cycles less than with one.
//
//   load 1   arrives 1                                1 ..  37, complete 57
//   set 0    arrives 2                               37 ..  38, raised 57
//   load 2   arrives 3                               38 ..  74, complete 94
//   set 1    arrives 4                               74 ..  75, raised 94
//   wait 0   arrives 5, holds V until 57, and takes 1: 58
//   exp 1    arrives 6, fills from 58 to 60          60 ..  76
//   wait 1   arrives 7; V is free at 76 and held until 94, and 1: 95
//   exp 2    arrives 8, fills from 95 to 97          97 .. 113, complete 117
//
// With the launch 217.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 217 cycles
// CHECK-NEXT: MTE2{{ +}}1{{ +}}37  load_ub
// CHECK-NEXT: MTE2{{ +}}37{{ +}}38  set_flag
// CHECK-NEXT: MTE2{{ +}}38{{ +}}74  load_ub
// CHECK-NEXT: MTE2{{ +}}74{{ +}}75  set_flag
// CHECK-NEXT: V{{ +}}5{{ +}}58  wait_flag
// CHECK-NEXT: V{{ +}}60{{ +}}76  vunary
// CHECK-NEXT: V{{ +}}76{{ +}}95  wait_flag
// CHECK-NEXT: V{{ +}}97{{ +}}113  vunary
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
    npu_isa.set_flag [MTE2, V, 0]
    npu_isa.load_ub %X[] -> %w<1> over [64] map affine_map<(a) -> (a)> : memref<64xf32, #tile.space<gm>>
    npu_isa.set_flag [MTE2, V, 1]
    npu_isa.wait_flag [MTE2, V, 0]
    npu_isa.vunary exp %u<1>, %u<1> over [64] : f32
    npu_isa.wait_flag [MTE2, V, 1]
    npu_isa.vunary exp %w<1>, %w<1> over [64] : f32
    tile.return
  }
}
