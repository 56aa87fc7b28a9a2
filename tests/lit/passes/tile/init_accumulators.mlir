// RUN: npu-opt %s --tile-init-accumulators | filecheck %s
// RUN: npu-opt %s --tile-init-accumulators --tile-choose-schedule --tile-apply-schedule --tile-split-compute --tile-fold-fixpipe --tile-bufferize --tile-double-buffer --tile-plan-memory --convert-tile-to-npu-isa | filecheck %s --check-prefix=ISA

#gm = #tile.space<gm>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>
#row = affine_map<(m, n) -> (m)>

builtin.module attributes {npu.target = "toy"} {

// The bias of the columns becomes what the product starts from; the relu stays behind.
// CHECK-LABEL: tile.kernel @bias(
// CHECK:         %[[BIAS:.*]] = tile.load %bias[]
// CHECK:         %[[START:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME:      ins(%[[BIAS]] :
// CHECK:         outs(%[[START]] : tensor<8x4xf32>)
// CHECK:         arith.mulf
// CHECK:         linalg.generic
// CHECK-NOT:     arith.addf
// CHECK:         arith.maximumf
// ISA-LABEL:   tile.kernel @bias(
// ISA:           npu_isa.load_l1 %bias
// ISA:           npu_isa.mmad {{.*}} bias {{.*}} : f32, f32 -> f32
// ISA:           npu_isa.fixpipe_ub {{.*}} epilogue <relu> : f32
// ISA-NOT:       npu_isa.vbinary
// ISA:           tile.return
tile.kernel @bias(%x: memref<8x6xf32, #gm>, %w: memref<6x4xf32, #gm>, %bias: memref<4xf32, #gm>, %y: memref<8x4xf32, #gm>) {
  %0 = tile.load %x[] map #id : memref<8x6xf32, #gm> -> tensor<8x6xf32>
  %1 = tile.load %w[] map #id : memref<6x4xf32, #gm> -> tensor<6x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%0, %1 : tensor<8x6xf32>, tensor<6x4xf32>) outs(%f : tensor<8x4xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %2 = arith.mulf %l, %r : f32
    %3 = arith.addf %acc, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<8x4xf32>
  %4 = tile.load %bias[] map affine_map<(d0) -> (d0)> : memref<4xf32, #gm> -> tensor<4xf32>
  %e1 = tensor.empty() : tensor<8x4xf32>
  %q = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
    ins(%p, %4 : tensor<8x4xf32>, tensor<4xf32>) outs(%e1 : tensor<8x4xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %5 = arith.addf %l, %r : f32
    %6 = arith.constant 0.0 : f32
    %7 = arith.maximumf %5, %6 : f32
    linalg.yield %7 : f32
  } -> tensor<8x4xf32>
  tile.store %q, %y[] map #id : tensor<8x4xf32>, memref<8x4xf32, #gm>
  tile.return
}

// A bias along the rows is added by the vector unit.
// CHECK-LABEL: tile.kernel @rows(
// CHECK:         linalg.fill
// CHECK:         arith.mulf
// CHECK:         arith.addf
// CHECK:         arith.addf
// ISA-LABEL:   tile.kernel @rows(
// ISA-NOT:       bias %
// ISA:           npu_isa.vbinary add
tile.kernel @rows(%x: memref<8x6xf32, #gm>, %w: memref<6x4xf32, #gm>, %bias: memref<8xf32, #gm>, %y: memref<8x4xf32, #gm>) {
  %0 = tile.load %x[] map #id : memref<8x6xf32, #gm> -> tensor<8x6xf32>
  %1 = tile.load %w[] map #id : memref<6x4xf32, #gm> -> tensor<6x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%0, %1 : tensor<8x6xf32>, tensor<6x4xf32>) outs(%f : tensor<8x4xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %2 = arith.mulf %l, %r : f32
    %3 = arith.addf %acc, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<8x4xf32>
  %4 = tile.load %bias[] map affine_map<(d0) -> (d0)> : memref<8xf32, #gm> -> tensor<8xf32>
  %e1 = tensor.empty() : tensor<8x4xf32>
  %q = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%p, %4 : tensor<8x4xf32>, tensor<8xf32>) outs(%e1 : tensor<8x4xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %5 = arith.addf %l, %r : f32
    linalg.yield %5 : f32
  } -> tensor<8x4xf32>
  tile.store %q, %y[] map #id : tensor<8x4xf32>, memref<8x4xf32, #gm>
  tile.return
}

// Each product of a batch has a bias of its own: a row of it is loaded with the weights of that product.
// CHECK-LABEL: tile.kernel @batch(
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK-NOT:     arith.extf
// CHECK:         arith.mulf
// ISA-LABEL:   tile.kernel @batch(
// ISA:           scf.for
// ISA:           npu_isa.load_l1 %bias
// ISA:           npu_isa.mmad {{.*}} bias
// ISA-NOT:       npu_isa.vbinary
// ISA:           tile.return
tile.kernel @batch(%x: memref<8x2x6xf32, #gm>, %w: memref<2x6x4xf32, #gm>, %bias: memref<2x4xf32, #gm>, %y: memref<8x2x4xf32, #gm>) {
  %0 = tile.load %x[] map affine_map<(d0, d1, d2) -> (d0, d1, d2)> : memref<8x2x6xf32, #gm> -> tensor<8x2x6xf32>
  %1 = tile.load %w[] map affine_map<(d0, d1, d2) -> (d0, d1, d2)> : memref<2x6x4xf32, #gm> -> tensor<2x6x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x2x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, b, n, k) -> (m, b, k)>, affine_map<(m, b, n, k) -> (b, k, n)>, affine_map<(m, b, n, k) -> (m, b, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%0, %1 : tensor<8x2x6xf32>, tensor<2x6x4xf32>) outs(%f : tensor<8x2x4xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %2 = arith.mulf %l, %r : f32
    %3 = arith.addf %acc, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<8x2x4xf32>
  %4 = tile.load %bias[] map affine_map<(d0, d1) -> (d0, d1)> : memref<2x4xf32, #gm> -> tensor<2x4xf32>
  %e1 = tensor.empty() : tensor<8x2x4xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(m, b, n) -> (m, b, n)>, affine_map<(m, b, n) -> (b, n)>, affine_map<(m, b, n) -> (m, b, n)>], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%p, %4 : tensor<8x2x4xf32>, tensor<2x4xf32>) outs(%e1 : tensor<8x2x4xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %5 = arith.addf %l, %r : f32
    linalg.yield %5 : f32
  } -> tensor<8x2x4xf32>
  tile.store %q, %y[] map affine_map<(d0, d1, d2) -> (d0, d1, d2)> : tensor<8x2x4xf32>, memref<8x2x4xf32, #gm>
  tile.return
}
}
