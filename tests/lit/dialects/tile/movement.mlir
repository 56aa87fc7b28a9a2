// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

#gm = #tile.space<gm>
#l1 = #tile.space<l1>
#l0a = #tile.space<l0a>
#l0b = #tile.space<l0b>
#l0c = #tile.space<l0c>
#ub = #tile.space<ub>

// CHECK-LABEL: tile.kernel @tensors(
// CHECK:         %whole = tile.load %x[] map affine_map<(d0, d1) -> (d0, d1)> : memref<60x64xf32, #tile.space<gm>> -> tensor<60x64xf32>
// CHECK-NEXT:    %t = tile.load %x[%i] map affine_map<(d0, d1, d2) -> ((d0 + d1), d2)> pad 0.000000e+00 : f32 : memref<60x64xf32, #tile.space<gm>> -> tensor<16x64xf32, #tile.space<ub>>
// CHECK-NEXT:    %p = tile.load %x[%i, %i] map affine_map<(d0, d1, d2, d3) -> ((d0 + d2), (d1 + d3))> {npu.node = "node"} : memref<60x64xf32, #tile.space<gm>> -> tensor<16x4xf32, #tile.space<l1>>
// CHECK-NEXT:    %a = tile.load %p[] map affine_map<(d0, d1) -> (d0, d1)> : tensor<16x4xf32, #tile.space<l1>> -> tensor<16x4xf32, #tile.space<l0a>>
// CHECK-NEXT:    tile.store %t, %y[%i] map affine_map<(d0, d1, d2) -> ((d0 + d1), d2)> : tensor<16x64xf32, #tile.space<ub>>, memref<60x64xf32, #tile.space<gm>>
tile.kernel @tensors(%x: memref<60x64xf32, #gm>, %y: memref<60x64xf32, #gm>) {
  %i = arith.constant 16 : index
  %whole = tile.load %x[] map affine_map<(d0, d1) -> (d0, d1)> : memref<60x64xf32, #gm> -> tensor<60x64xf32>
  %t = tile.load %x[%i] map affine_map<(i, d0, d1) -> (i + d0, d1)> pad 0.0 : f32
    : memref<60x64xf32, #gm> -> tensor<16x64xf32, #ub>
  %p = tile.load %x[%i, %i] map affine_map<(i, j, d0, d1) -> (i + d0, j + d1)> {npu.node = "node"}
    : memref<60x64xf32, #gm> -> tensor<16x4xf32, #l1>
  %a = tile.load %p[] map affine_map<(d0, d1) -> (d0, d1)> : tensor<16x4xf32, #l1> -> tensor<16x4xf32, #l0a>
  tile.store %t, %y[%i] map affine_map<(i, d0, d1) -> (i + d0, d1)> : tensor<16x64xf32, #ub>, memref<60x64xf32, #gm>
  tile.return
}

// CHECK-LABEL: tile.kernel @memrefs(
// CHECK:         %u = tile.alloc {slots = 2 : i64} : memref<16x64xf32, #tile.space<ub>>
// CHECK-NEXT:    %c = tile.alloc {rows = 1 : i64, address = 1024 : i64} : memref<16x64xf32, #tile.space<l0c>>
// CHECK-NEXT:    %h = tile.alloc : memref<16x64xf16, #tile.space<ub>>
// CHECK-NEXT:    %k = tile.alloc {rows = 1 : i64} : memref<16x64xi32, #tile.space<l0c>>
// CHECK-NEXT:    %s = tile.slot %u[%i] : memref<16x64xf32, #tile.space<ub>>
// CHECK-NEXT:    tile.load %x[%i] into %s map affine_map<(d0, d1, d2) -> ((d0 + d1), d2)> pad 1.000000e+00 : f32 : memref<60x64xf32, #tile.space<gm>>, memref<16x64xf32, #tile.space<ub>>
// CHECK-NEXT:    tile.load %c[] into %h map affine_map<(d0, d1) -> (d0, d1)> epilogue <relu> : memref<16x64xf32, #tile.space<l0c>>, memref<16x64xf16, #tile.space<ub>>
// CHECK-NEXT:    tile.load %k[] into %h map {{.*}} epilogue <scale 1.0e-03, relu> : memref<16x64xi32, #tile.space<l0c>>, memref<16x64xf16, #tile.space<ub>>
// CHECK-NEXT:    tile.store %s, %y[%i]
// CHECK-NEXT:    tile.store %c, %y[%i]
// CHECK-NEXT:    tile.store %k, %y[%i] map {{.*}} epilogue <scale 1.6777218e+07> : memref<16x64xi32, #tile.space<l0c>>, memref<60x64xf32, #tile.space<gm>>
// CHECK-NEXT:    %r = tile.alloc : memref<64xf32, #tile.space<l1>>
// CHECK-NEXT:    %q = tile.alloc : memref<16x64xi8, #tile.space<ub>>
// CHECK-NEXT:    tile.load %k[] into %q map {{.*}} epilogue <scales, relu, offset -3> scales %r : memref<64xf32, #tile.space<l1>> along [1] : memref<16x64xi32, #tile.space<l0c>>, memref<16x64xi8, #tile.space<ub>>
// CHECK-NEXT:    tile.store %k, %z[%i] map {{.*}} epilogue <scales> scales %r : memref<64xf32, #tile.space<l1>> along [1] : memref<16x64xi32, #tile.space<l0c>>, memref<60x64xi8, #tile.space<gm>>
tile.kernel @memrefs(%x: memref<60x64xf32, #gm>, %y: memref<60x64xf32, #gm>, %z: memref<60x64xi8, #gm>) {
  %i = arith.constant 16 : index
  %u = tile.alloc {slots = 2} : memref<16x64xf32, #ub>
  %c = tile.alloc {rows = 1, address = 1024} : memref<16x64xf32, #l0c>
  %h = tile.alloc : memref<16x64xf16, #ub>
  %k = tile.alloc {rows = 1} : memref<16x64xi32, #l0c>
  %s = tile.slot %u[%i] : memref<16x64xf32, #ub>
  tile.load %x[%i] into %s map affine_map<(i, d0, d1) -> (i + d0, d1)> pad 1.0 : f32
    : memref<60x64xf32, #gm>, memref<16x64xf32, #ub>
  tile.load %c[] into %h map affine_map<(d0, d1) -> (d0, d1)> epilogue <relu> : memref<16x64xf32, #l0c>, memref<16x64xf16, #ub>
  tile.load %k[] into %h map affine_map<(d0, d1) -> (d0, d1)> epilogue <scale 1.0e-3, relu> : memref<16x64xi32, #l0c>, memref<16x64xf16, #ub>
  tile.store %s, %y[%i] map affine_map<(i, d0, d1) -> (i + d0, d1)> : memref<16x64xf32, #ub>, memref<60x64xf32, #gm>
  tile.store %c, %y[%i] map affine_map<(i, d0, d1) -> (i + d0, d1)> : memref<16x64xf32, #l0c>, memref<60x64xf32, #gm>
  tile.store %k, %y[%i] map affine_map<(i, d0, d1) -> (i + d0, d1)> epilogue <scale 16777218> : memref<16x64xi32, #l0c>, memref<60x64xf32, #gm>
  %r = tile.alloc : memref<64xf32, #l1>
  %q = tile.alloc : memref<16x64xi8, #ub>
  tile.load %k[] into %q map affine_map<(d0, d1) -> (d0, d1)> epilogue <scales, relu, offset -3> scales %r : memref<64xf32, #l1> along [1] : memref<16x64xi32, #l0c>, memref<16x64xi8, #ub>
  tile.store %k, %z[%i] map affine_map<(i, d0, d1) -> (i + d0, d1)> epilogue <scales> scales %r : memref<64xf32, #l1> along [1] : memref<16x64xi32, #l0c>, memref<60x64xi8, #gm>
  tile.return
}

// CHECK-LABEL: tile.kernel @parts(
// CHECK:         %q = tile.insert %t, %p[%i] map affine_map<(d0, d1, d2) -> (d1, (d0 + d2))> : tensor<4x8xf16, #tile.space<ub>>, tensor<4x32xf16, #tile.space<l1>> -> tensor<4x32xf16, #tile.space<l1>>
// CHECK-NEXT:    tile.insert %u, %b[%i] map affine_map<(d0, d1, d2) -> (d1, (d0 + d2))> : memref<4x8xf16, #tile.space<ub>>, memref<4x32xf16, #tile.space<l1>>
tile.kernel @parts(%x: memref<4x8xf16, #gm>) {
  %i = arith.constant 16 : index
  %t = tile.load %x[] map affine_map<(d0, d1) -> (d0, d1)> : memref<4x8xf16, #gm> -> tensor<4x8xf16, #ub>
  %p = tensor.empty() : tensor<4x32xf16, #l1>
  %u = tile.alloc : memref<4x8xf16, #ub>
  %b = tile.alloc : memref<4x32xf16, #l1>
  %q = tile.insert %t, %p[%i] map affine_map<(i, d0, d1) -> (d0, i + d1)> : tensor<4x8xf16, #ub>, tensor<4x32xf16, #l1> -> tensor<4x32xf16, #l1>
  tile.insert %u, %b[%i] map affine_map<(i, d0, d1) -> (d0, i + d1)> : memref<4x8xf16, #ub>, memref<4x32xf16, #l1>
  tile.return
}
