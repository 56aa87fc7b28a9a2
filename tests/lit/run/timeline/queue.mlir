// A queue holds 8 entries. The exps of one group take 2 cycles each; they start at 3, 5, 7, ... An entry is issued
// when the one eight before it has started: the 15th is ready to be issued at 14, but the 7th starts at 15, so it
// arrives at 16, and each further one two cycles later: the 20th at 26. The load arrives at 27, ends at 27 + 36 =
// 63 and is complete at 83; with the launch 183.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 183 cycles
// CHECK-NEXT: V{{ +}}3{{ +}}5  vunary exp
// CHECK-NEXT: V{{ +}}5{{ +}}7  vunary exp
// CHECK-NEXT: V{{ +}}7{{ +}}9  vunary exp
// CHECK-NEXT: V{{ +}}9{{ +}}11  vunary exp
// CHECK-NEXT: V{{ +}}11{{ +}}13  vunary exp
// CHECK-NEXT: V{{ +}}13{{ +}}15  vunary exp
// CHECK-NEXT: V{{ +}}15{{ +}}17  vunary exp
// CHECK-NEXT: V{{ +}}17{{ +}}19  vunary exp
// CHECK-NEXT: V{{ +}}19{{ +}}21  vunary exp
// CHECK-NEXT: V{{ +}}21{{ +}}23  vunary exp
// CHECK-NEXT: V{{ +}}23{{ +}}25  vunary exp
// CHECK-NEXT: V{{ +}}25{{ +}}27  vunary exp
// CHECK-NEXT: V{{ +}}27{{ +}}29  vunary exp
// CHECK-NEXT: V{{ +}}29{{ +}}31  vunary exp
// CHECK-NEXT: V{{ +}}31{{ +}}33  vunary exp
// CHECK-NEXT: V{{ +}}33{{ +}}35  vunary exp
// CHECK-NEXT: V{{ +}}35{{ +}}37  vunary exp
// CHECK-NEXT: V{{ +}}37{{ +}}39  vunary exp
// CHECK-NEXT: V{{ +}}39{{ +}}41  vunary exp
// CHECK-NEXT: V{{ +}}41{{ +}}43  vunary exp
// CHECK-NEXT: MTE2{{ +}}27{{ +}}63  load_ub
// CHECK-NOT: {{^  [A-Z]}}

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %y : tensor<64xf32>
  }
  tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.vunary exp %u<1>, %u<1> over [8] : f32
    npu_isa.load_ub %X[] -> %u<1> over [64] map affine_map<(a) -> (a)> : memref<64xf32, #tile.space<gm>>
    tile.return
  }
}
