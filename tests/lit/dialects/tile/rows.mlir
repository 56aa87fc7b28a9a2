// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

#gm = #tile.space<gm>
#ub = #tile.space<ub>

// CHECK-LABEL: tile.kernel @tensors(
// CHECK:         %all = tile.gather %t[] rows %n axis 0 map affine_map<(d0, d1) -> (d0, d1)> : memref<50x64xf32, #tile.space<gm>>, tensor<20xi64> -> tensor<20x64xf32>
// CHECK-NEXT:    %g = tile.gather %t[%i] rows %r axis 0 map affine_map<(d0, d1, d2) -> (d1, (d0 + d2))> pad 0.000000e+00 : f32 : memref<50x64xf32, #tile.space<gm>>, tensor<8xi64, #tile.space<ub>> -> tensor<8x16xf32, #tile.space<ub>>
tile.kernel @tensors(%t: memref<50x64xf32, #gm>, %x: memref<20xi64, #gm>, %y: memref<20x64xf32, #gm>) {
  %i = arith.constant 16 : index
  %n = tile.load %x[] map affine_map<(d0) -> (d0)> : memref<20xi64, #gm> -> tensor<20xi64>
  %r = tile.load %x[] map affine_map<(d0) -> (d0)> : memref<20xi64, #gm> -> tensor<8xi64, #ub>
  %all = tile.gather %t[] rows %n axis 0 map affine_map<(d0, d1) -> (d0, d1)>
    : memref<50x64xf32, #gm>, tensor<20xi64> -> tensor<20x64xf32>
  %g = tile.gather %t[%i] rows %r axis 0 map affine_map<(i, d0, d1) -> (d0, i + d1)> pad 0.0 : f32
    : memref<50x64xf32, #gm>, tensor<8xi64, #ub> -> tensor<8x16xf32, #ub>
  tile.return
}

// The indices may be more than the tile takes: it begins at an index.
// CHECK-LABEL: tile.kernel @memrefs(
// CHECK:         tile.gather %t[%i] rows %r into %g axis 1 map affine_map<(d0, d1, d2) -> (d1, (d0 + d2))> {npu.node = "pick"} : memref<3x50xi8, #tile.space<gm>>, memref<20xi32, #tile.space<ub>>, memref<3x4xi8, #tile.space<ub>>
tile.kernel @memrefs(%t: memref<3x50xi8, #gm>, %y: memref<3x20xi8, #gm>) {
  %i = arith.constant 16 : index
  %r = tile.alloc : memref<20xi32, #ub>
  %g = tile.alloc : memref<3x4xi8, #ub>
  tile.gather %t[%i] rows %r into %g axis 1 map affine_map<(i, d0, d1) -> (d0, i + d1)> {npu.node = "pick"}
    : memref<3x50xi8, #gm>, memref<20xi32, #ub>, memref<3x4xi8, #ub>
  tile.return
}

// In the host function, whole tensors; in a kernel, tiles and an argument.
// CHECK-LABEL: func.func @host(
// CHECK-NEXT:    %z = tile.scatter %u, %x[] rows %n axis 0 map affine_map<(d0, d1) -> (d0, d1)> : tensor<16x64xf32>, tensor<100x64xf32>, tensor<16xi64> -> tensor<100x64xf32>
func.func @host(%x: tensor<100x64xf32>, %n: tensor<16xi64>, %u: tensor<16x64xf32>) -> tensor<100x64xf32> {
  %z = tile.scatter %u, %x[] rows %n axis 0 map affine_map<(d0, d1) -> (d0, d1)>
    : tensor<16x64xf32>, tensor<100x64xf32>, tensor<16xi64> -> tensor<100x64xf32>
  func.return %z : tensor<100x64xf32>
}

// CHECK-LABEL: tile.kernel @put({{.*}}) reuses [0] {
// CHECK:         tile.scatter %u, %y[%i] rows %r axis 1 map affine_map<(d0, d1, d2) -> (d1, (d0 + d2))> {npu.node = "append"} : memref<3x4xi8, #tile.space<ub>>, memref<3x50xi8, #tile.space<gm>>, memref<20xi32, #tile.space<ub>>
tile.kernel @put(%x: memref<3x50xi8, #gm>, %y: memref<3x50xi8, #gm>) reuses [0] {
  %i = arith.constant 16 : index
  %r = tile.alloc : memref<20xi32, #ub>
  %u = tile.alloc : memref<3x4xi8, #ub>
  tile.scatter %u, %y[%i] rows %r axis 1 map affine_map<(i, d0, d1) -> (d0, i + d1)> {npu.node = "append"}
    : memref<3x4xi8, #ub>, memref<3x50xi8, #gm>, memref<20xi32, #ub>
  tile.return
}
