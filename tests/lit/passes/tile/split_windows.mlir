// RUN: npu-opt %s --tile-split-windows --split-input-file | filecheck %s

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#in = affine_map<(h, w, c, y, x) -> (2 * h + y, 2 * w + x, c)>
#pos = affine_map<(h, w, c, y, x) -> (y, x)>
#out = affine_map<(h, w, c, y, x) -> (h, w, c)>
#id = affine_map<(a, b, c) -> (a, b, c)>

// Rows first: whole rows of the tile are combined, and only then columns. Nothing is filled.
// CHECK-LABEL: tile.kernel @maximum(
// CHECK-NOT:     linalg.fill
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<2x9x16xf16, #tile.space<ub>>
// CHECK:         %[[A:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (((d0 * 2) + d3), d1, d2)>, affine_map<(d0, d1, d2, d3) -> ((((d0 * 2) + d3) + 1), d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %x, %{{.*}} : {{.*}}, tensor<1xf16>) outs(%[[E]] :
// CHECK-NEXT:    ^bb0(%[[P:.*]]: f16, %[[Q:.*]]: f16, %{{.*}}: f16, %{{.*}}: f16):
// CHECK-NEXT:      arith.maximumf %[[P]], %[[Q]]
// CHECK:         %[[B:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ((((d0 * 2) + d3) + 2), d1, d2)>, {{.*}}["parallel", "parallel", "parallel", "reduction"]} ins(%x, %{{.*}} : {{.*}}, tensor<1xf16>) outs(%[[A]] :
// CHECK:         %[[C:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, ((d1 * 2) + d3), d2)>, {{.*}} ins(%[[B]], %[[B]], %{{.*}}) outs(%e :
// CHECK:         %[[R:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, (((d1 * 2) + d3) + 2), d2)>, {{.*}} ins(%[[B]], %{{.*}}) outs(%[[C]] :
// CHECK:         tile.store %[[R]]
tile.kernel @maximum(%X: memref<5x9x16xf16, #gm>, %Y: memref<2x4x16xf16, #gm>) {
  %x = tile.load %X[] map #id : memref<5x9x16xf16, #gm> -> tensor<5x9x16xf16, #ub>
  %e = tensor.empty() : tensor<2x4x16xf16, #ub>
  %low = arith.constant 0xfc00 : f16
  %f = linalg.fill ins(%low : f16) outs(%e : tensor<2x4x16xf16, #ub>) -> tensor<2x4x16xf16, #ub>
  %w = tensor.empty() : tensor<3x3xf16>
  %r = linalg.generic {indexing_maps = [#in, #pos, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<5x9x16xf16, #ub>, tensor<3x3xf16>) outs(%f : tensor<2x4x16xf16, #ub>) {
  ^bb0(%i: f16, %j: f16, %o: f16):
    %m = arith.maximumf %i, %o : f16
    linalg.yield %m : f16
  } -> tensor<2x4x16xf16, #ub>
  tile.store %r, %Y[] map #id : tensor<2x4x16xf16, #ub>, memref<2x4x16xf16, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#in = affine_map<(h, c, y) -> (h + y, c)>
#pos = affine_map<(h, c, y) -> (y)>
#out = affine_map<(h, c, y) -> (h, c)>
#id = affine_map<(a, b) -> (a, b)>

// Sums of floats start from their zero, which has a sign: one axis is left as it is.
// CHECK-LABEL: tile.kernel @sum(
// CHECK:         %[[F:.*]] = linalg.fill
// CHECK:         linalg.generic {{.*}}["parallel", "parallel", "reduction"]} ins(%x, %{{.*}} : {{.*}}tensor<3xf32>) outs(%[[F]] :
tile.kernel @sum(%X: memref<6x16xf32, #gm>, %Y: memref<4x16xf32, #gm>) {
  %x = tile.load %X[] map #id : memref<6x16xf32, #gm> -> tensor<6x16xf32, #ub>
  %e = tensor.empty() : tensor<4x16xf32, #ub>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32, #ub>) -> tensor<4x16xf32, #ub>
  %w = tensor.empty() : tensor<3xf32>
  %r = linalg.generic {indexing_maps = [#in, #pos, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<6x16xf32, #ub>, tensor<3xf32>) outs(%f : tensor<4x16xf32, #ub>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %m = arith.addf %i, %o : f32
    linalg.yield %m : f32
  } -> tensor<4x16xf32, #ub>
  tile.store %r, %Y[] map #id : tensor<4x16xf32, #ub>, memref<4x16xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#in = affine_map<(h, c, y) -> (h + y, c)>
#pos = affine_map<(h, c, y) -> (y)>
#out = affine_map<(h, c, y) -> (h, c)>
#id = affine_map<(a, b) -> (a, b)>

// A maximum with 0 is no maximum of the window alone.
// CHECK-LABEL: tile.kernel @at_least_zero(
// CHECK:         %[[F:.*]] = linalg.fill
// CHECK:         linalg.generic {{.*}}["parallel", "parallel", "reduction"]} ins(%x, %{{.*}}tensor<3xf32>) outs(%[[F]] :
tile.kernel @at_least_zero(%X: memref<6x16xf32, #gm>, %Y: memref<4x16xf32, #gm>) {
  %x = tile.load %X[] map #id : memref<6x16xf32, #gm> -> tensor<6x16xf32, #ub>
  %e = tensor.empty() : tensor<4x16xf32, #ub>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32, #ub>) -> tensor<4x16xf32, #ub>
  %w = tensor.empty() : tensor<3xf32>
  %r = linalg.generic {indexing_maps = [#in, #pos, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<6x16xf32, #ub>, tensor<3xf32>) outs(%f : tensor<4x16xf32, #ub>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %m = arith.maximumf %i, %o : f32
    linalg.yield %m : f32
  } -> tensor<4x16xf32, #ub>
  tile.store %r, %Y[] map #id : tensor<4x16xf32, #ub>, memref<4x16xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#in = affine_map<(h, c) -> (h, c)>
#out = affine_map<(h, c) -> (c)>
#id = affine_map<(a, b) -> (a, b)>
#row = affine_map<(a) -> (a)>

// No window: rows are reduced as ever.
// CHECK-LABEL: tile.kernel @rows(
// CHECK:         linalg.generic {{.*}}["reduction", "parallel"]} ins(%x : tensor<6x16xf32, #tile.space<ub>>)
tile.kernel @rows(%X: memref<6x16xf32, #gm>, %Y: memref<16xf32, #gm>) {
  %x = tile.load %X[] map #id : memref<6x16xf32, #gm> -> tensor<6x16xf32, #ub>
  %e = tensor.empty() : tensor<16xf32, #ub>
  %low = arith.constant 0xff800000 : f32
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<16xf32, #ub>) -> tensor<16xf32, #ub>
  %r = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<6x16xf32, #ub>) outs(%f : tensor<16xf32, #ub>) {
  ^bb0(%i: f32, %o: f32):
    %m = arith.maximumf %i, %o : f32
    linalg.yield %m : f32
  } -> tensor<16xf32, #ub>
  tile.store %r, %Y[] map #row : tensor<16xf32, #ub>, memref<16xf32, #gm>
  tile.return
}
