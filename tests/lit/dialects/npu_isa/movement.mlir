// RUN: npu-opt %s | filecheck %s
// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

func.func @f(%x: memref<60x50xf16, #tile.space<gm>>, %y: memref<60x50xf16, #tile.space<gm>>, %i: index) {
  %u = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<ub>
  %l = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l1>
  %a = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0a>
  %b = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0b>
  %c = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0c>
  // CHECK: npu_isa.load_l1 %x[%i] -> %l<64, 1> over [16, 50] map affine_map<(d0, d1, d2) -> ((d0 + d1), d2)> pad 1.000000e+00 : f16 : memref<60x50xf16, #tile.space<gm>>
  npu_isa.load_l1 %x[%i] -> %l<64, 1> over [16, 50] map affine_map<(i, a, b) -> (i + a, b)> pad 1.0 : f16
    : memref<60x50xf16, #tile.space<gm>>
  // CHECK-NEXT: npu_isa.load_ub %x[] -> %u<1> over [50] map affine_map<(d0) -> (3, d0)> : memref<60x50xf16, #tile.space<gm>>
  npu_isa.load_ub %x[] -> %u<1> over [50] map affine_map<(a) -> (3, a)> : memref<60x50xf16, #tile.space<gm>>
  // CHECK-NEXT: npu_isa.store_ub %u<64, 1> -> %y[%i] over [16, 50] map affine_map<(d0, d1, d2) -> ((d0 + d1), d2)> : memref<60x50xf16, #tile.space<gm>>
  npu_isa.store_ub %u<64, 1> -> %y[%i] over [16, 50] map affine_map<(i, a, b) -> (i + a, b)>
    : memref<60x50xf16, #tile.space<gm>>
  // CHECK-NEXT: npu_isa.fixpipe_gm %c<64, 1> -> %y[%i] over [16, 50] map affine_map<(d0, d1, d2) -> ((d0 + d1), d2)> : memref<60x50xf16, #tile.space<gm>>
  npu_isa.fixpipe_gm %c<64, 1> -> %y[%i] over [16, 50] map affine_map<(i, a, b) -> (i + a, b)>
    : memref<60x50xf16, #tile.space<gm>>
  // CHECK-NEXT: npu_isa.fixpipe_ub %c<64, 1> -> %u<56, 1> over [16, 50] {npu.node = "conv1"} : f32
  npu_isa.fixpipe_ub %c<64, 1> -> %u<56, 1> over [16, 50] {"npu.node" = "conv1"} : f32
  // CHECK-NEXT: npu_isa.fixpipe_ub %c<64, 1> -> %u<64, 1> over [16, 50] epilogue <relu> : f32 -> f16
  npu_isa.fixpipe_ub %c<64, 1> -> %u<64, 1> over [16, 50] epilogue <relu> : f32 -> f16
  // CHECK-NEXT: npu_isa.fixpipe_ub %c<64, 1> -> %u<64, 1> over [16, 50] epilogue <scale 1.0000002e-03, relu> : i32 -> f16
  npu_isa.fixpipe_ub %c<64, 1> -> %u<64, 1> over [16, 50] epilogue <scale 0.00100000012, relu> : i32 -> f16
  // CHECK-NEXT: npu_isa.fixpipe_gm %c<64, 1> -> %y[%i] over [16, 50] map {{.*}} epilogue <scale -2.0e+00> of i32 : memref<60x50xf16, #tile.space<gm>>
  npu_isa.fixpipe_gm %c<64, 1> -> %y[%i] over [16, 50] map affine_map<(i, a, b) -> (i + a, b)> epilogue <scale -2> of i32
    : memref<60x50xf16, #tile.space<gm>>
  // CHECK-NEXT: npu_isa.fixpipe_ub %c<64, 1> -> %u<64, 1> over [16, 50] epilogue <scales, relu, offset -3> scales %l<0, 1> : i32 -> i8
  npu_isa.fixpipe_ub %c<64, 1> -> %u<64, 1> over [16, 50] epilogue <scales, relu, offset -3> scales %l<0, 1> : i32 -> i8
  // CHECK-NEXT: npu_isa.copy_l1 %u<56, 1> -> %l<64, 1> over [16, 50] : f16
  npu_isa.copy_l1 %u<56, 1> -> %l<64, 1> over [16, 50] : f16
  // CHECK-NEXT: npu_isa.copy_ub %l<64, 1> -> %u<1, 16> over [16, 50] {npu.node = "add"} : f16
  npu_isa.copy_ub %l<64, 1> -> %u<1, 16> over [16, 50] {"npu.node" = "add"} : f16
  // CHECK-NEXT: npu_isa.load_l0a %l<256, 1> -> %a over [12, 64] rows 1 : f16
  npu_isa.load_l0a %l<256, 1> -> %a over [12, 64] rows 1 : f16
  // CHECK-NEXT: npu_isa.load_l0a %l<24, 4, 12, 2, 1> -> %a over [3, 3, 2, 2, 2] rows 2 : f32
  npu_isa.load_l0a %l<24, 4, 12, 2, 1> -> %a over [3, 3, 2, 2, 2] rows 2 : f32
  // CHECK-NEXT: npu_isa.load_l0b %l<1, 64> -> %b over [64, 12] rows 1 : f16
  npu_isa.load_l0b %l<1, 64> -> %b over [64, 12] rows 1 : f16
  func.return
}
