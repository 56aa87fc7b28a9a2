// The cube, from GM to the accumulators. A matrix of 8 x 8 f32 is 256 bytes. To L1: 4 + 256 / 8 = 36, 20 of
// latency. To L0: 2 + 256 / 16 = 18, none. The product of 8 x 8 x 8 takes 2 x 2 x 2 steps of 4 x 4 x 4, and 2: 10.
//
//   load_l1 a   arrives 1                       1 ..  37, complete 57
//   load_l1 b   arrives 2, behind a            37 ..  73, complete 93
//   set         arrives 3, behind b            73 ..  74, raised when b is complete, 93
//   wait        arrives 4, holds MTE1 until 93, and takes 1: 94
//   load_l0a    arrives 5                      94 .. 112
//   load_l0b    arrives 6                     112 .. 130
//   set         arrives 7                     130 .. 131, raised 131
//   wait        arrives 8, holds M until 131, and takes 1: 132
//   mmad        arrives 9                     132 .. 142
//   set         arrives 10                    142 .. 143, raised 143
//   wait        arrives 11, holds FIX until 143, and takes 1: 144
//   fixpipe     arrives 12, 2 + 256 / 16      144 .. 162
//   set         arrives 13                    162 .. 163, raised 163
//   wait        arrives 14, holds V until 163, and takes 1: 164
//   relu        arrives 15, fills until 166   166 .. 174, complete 177
//   set         arrives 16                    174 .. 175, raised 177
//   wait        arrives 17, holds MTE3 until 177, and takes 1: 178
//   store       arrives 18, 4 + 256 / 8       178 .. 214, complete 234
//
// With the launch 334.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 334 cycles
// CHECK-NEXT: MTE2{{ +}}1{{ +}}37  load_l1
// CHECK-NEXT: MTE2{{ +}}37{{ +}}73  load_l1
// CHECK-NEXT: MTE2{{ +}}73{{ +}}74  set_flag {{\[}}MTE2, MTE1, 0]
// CHECK-NEXT: MTE1{{ +}}4{{ +}}94  wait_flag {{\[}}MTE2, MTE1, 0]
// CHECK-NEXT: MTE1{{ +}}94{{ +}}112  load_l0a
// CHECK-NEXT: MTE1{{ +}}112{{ +}}130  load_l0b
// CHECK-NEXT: MTE1{{ +}}130{{ +}}131  set_flag {{\[}}MTE1, M, 0]
// CHECK-NEXT: M{{ +}}8{{ +}}132  wait_flag {{\[}}MTE1, M, 0]
// CHECK-NEXT: M{{ +}}132{{ +}}142  mmad
// CHECK-NEXT: M{{ +}}142{{ +}}143  set_flag
// CHECK-NEXT: FIX{{ +}}11{{ +}}144  wait_flag
// CHECK-NEXT: FIX{{ +}}144{{ +}}162  fixpipe_ub
// CHECK-NEXT: FIX{{ +}}162{{ +}}163  set_flag
// CHECK-NEXT: V{{ +}}14{{ +}}164  wait_flag
// CHECK-NEXT: V{{ +}}166{{ +}}174  vunary relu
// CHECK-NEXT: V{{ +}}174{{ +}}175  set_flag
// CHECK-NEXT: MTE3{{ +}}17{{ +}}178  wait_flag
// CHECK-NEXT: MTE3{{ +}}178{{ +}}214  store_ub
// CHECK-NOT: {{^  [A-Z]}}

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %y = tile.launch @k(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    func.return %y : tensor<8x8xf32>
  }
  tile.kernel @k(%X: memref<8x8xf32, #tile.space<gm>>, %Y: memref<8x8xf32, #tile.space<gm>>) {
    %a = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<l1>
    %b = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<l1>
    %l = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<l0a>
    %r = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<l0b>
    %c = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<l0c>
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    npu_isa.load_l1 %X[] -> %a<8, 1> over [8, 8] map affine_map<(a, b) -> (a, b)> : memref<8x8xf32, #tile.space<gm>>
    npu_isa.load_l1 %X[] -> %b<8, 1> over [8, 8] map affine_map<(a, b) -> (a, b)> : memref<8x8xf32, #tile.space<gm>>
    npu_isa.set_flag [MTE2, MTE1, 0]
    npu_isa.wait_flag [MTE2, MTE1, 0]
    npu_isa.load_l0a %a<8, 1> -> %l over [8, 8] rows 1 : f32
    npu_isa.load_l0b %b<8, 1> -> %r over [8, 8] rows 1 : f32
    npu_isa.set_flag [MTE1, M, 0]
    npu_isa.wait_flag [MTE1, M, 0]
    npu_isa.mmad %l, %r -> %c over [8, 8, 8] zero : f32 -> f32
    npu_isa.set_flag [M, FIX, 0]
    npu_isa.wait_flag [M, FIX, 0]
    npu_isa.fixpipe_ub %c<8, 1> -> %u<8, 1> over [8, 8] : f32
    npu_isa.set_flag [FIX, V, 0]
    npu_isa.wait_flag [FIX, V, 0]
    npu_isa.vunary relu %u<1>, %u<1> over [64] : f32
    npu_isa.set_flag [V, MTE3, 0]
    npu_isa.wait_flag [V, MTE3, 0]
    npu_isa.store_ub %u<8, 1> -> %Y[] over [8, 8] map affine_map<(a, b) -> (a, b)> : memref<8x8xf32, #tile.space<gm>>
    tile.return
  }
}
