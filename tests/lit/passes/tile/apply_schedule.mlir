// RUN: npu-opt %s --tile-apply-schedule --split-input-file | filecheck %s

#gm = #tile.space<gm>
#id = affine_map<(m, n) -> (m, n)>

// A matrix product: loops over rows and columns, over K to L1, over K to L0, then its epilogue piece by piece. The
// second chunk of K reaches beyond 12: loads pad with zero.
// CHECK-LABEL: tile.kernel @product(
// CHECK:         scf.for %[[M:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:      scf.for %[[N:.*]] = %{{.*}} to %{{.*}} step
// CHECK:             %[[E:.*]] = tensor.empty() : tensor<4x3xf32, #tile.space<l0c>>
// CHECK:             %[[ZERO:.*]] = linalg.fill {{.*}} outs(%[[E]]
// CHECK:             %[[ACC:.*]] = scf.for %[[K:.*]] = {{.*}} iter_args(%[[C0:.*]] = %[[ZERO]]) -> (tensor<4x3xf32, #tile.space<l0c>>) {
// CHECK-NEXT:          %[[A:.*]] = tile.load %x[%[[M]], %[[K]]] map affine_map<(d0, d1, d2, d3) -> ((d0 + d2), (d1 + d3))> pad 0.000000e+00 : f32 : memref<8x12xf32, #tile.space<gm>> -> tensor<4x8xf32, #tile.space<l1>>
// CHECK-NEXT:          %[[B:.*]] = tile.load %w[%[[K]], %[[N]]] {{.*}} -> tensor<8x3xf32, #tile.space<l1>>
// CHECK-NEXT:          %[[R:.*]] = scf.for %[[K0:.*]] = {{.*}} iter_args(%[[C:.*]] = %[[C0]])
// CHECK-NEXT:            %[[A0:.*]] = tile.load %[[A]][%[[K0]]] map affine_map<(d0, d1, d2) -> (d1, (d0 + d2))> : tensor<4x8xf32, #tile.space<l1>> -> tensor<4x4xf32, #tile.space<l0a>>
// CHECK-NEXT:            %[[B0:.*]] = tile.load %[[B]][%[[K0]]] map affine_map<(d0, d1, d2) -> ((d0 + d1), d2)> : tensor<8x3xf32, #tile.space<l1>> -> tensor<4x3xf32, #tile.space<l0b>>
// CHECK-NEXT:            %{{.*}} = linalg.generic {{.*}} ins(%[[A0]], %[[B0]] : {{.*}}) outs(%[[C]] :
// CHECK:               scf.yield %[[R]]
// CHECK:             scf.for %[[S:.*]] =
// CHECK-NEXT:          %[[T:.*]] = tile.load %[[ACC]][%[[S]]] map affine_map<(d0, d1, d2) -> ((d0 + d1), d2)> : tensor<4x3xf32, #tile.space<l0c>> -> tensor<2x3xf32, #tile.space<ub>>
// CHECK:               %[[U:.*]] = linalg.generic {{.*}} ins(%[[T]] :
// CHECK:               tile.store %[[U]], %y[%[[M]], %[[S]], %[[N]]] map affine_map<(d0, d1, d2, d3, d4) -> (((d0 + d1) + d3), (d2 + d4))>
tile.kernel @product(%x: memref<8x12xf32, #gm>, %w: memref<12x6xf32, #gm>, %y: memref<8x6xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 3, 8], l0 = [0, 0, 4], ub = [2, 0, 0], order = [0, 1]> {
  %a = tile.load %x[] map #id : memref<8x12xf32, #gm> -> tensor<8x12xf32>
  %b = tile.load %w[] map #id : memref<12x6xf32, #gm> -> tensor<12x6xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x6xf32>) -> tensor<8x6xf32>
  %product = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                              affine_map<(m, n, k) -> (m, n)>],
                             iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<8x12xf32>, tensor<12x6xf32>) outs(%f : tensor<8x6xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x6xf32>
  %e1 = tensor.empty() : tensor<8x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%product : tensor<8x6xf32>) outs(%e1 : tensor<8x6xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<8x6xf32>
  tile.store %r, %y[] map #id : tensor<8x6xf32>, memref<8x6xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>

// The order of the loops decides what stays: %b depends on the outer loop only and is loaded there. The last tile of 10
// clips its store.
// CHECK-LABEL: tile.kernel @order(
// CHECK:         scf.for %[[N:.*]] =
// CHECK-NEXT:      %[[B:.*]] = tile.load %b[%[[N]]] {{.*}} -> tensor<3xf32, #tile.space<ub>>
// CHECK-NEXT:      scf.for %[[M:.*]] =
// CHECK-NEXT:        %[[A:.*]] = tile.load %a[%[[M]], %[[N]]] map affine_map<(d0, d1, d2, d3) -> ((d0 + d2), (d1 + d3))> pad 0.000000e+00
// CHECK:             linalg.generic {{.*}} ins(%[[A]], %[[B]] :
// CHECK:             tile.store
tile.kernel @order(%a: memref<10x6xf32, #gm>, %b: memref<6xf32, #gm>, %y: memref<10x6xf32, #gm>)
    schedule #tile.schedule<ub = [4, 3], order = [1, 0]> {
  %0 = tile.load %a[] map affine_map<(m, n) -> (m, n)> : memref<10x6xf32, #gm> -> tensor<10x6xf32>
  %1 = tile.load %b[] map affine_map<(n) -> (n)> : memref<6xf32, #gm> -> tensor<6xf32>
  %e = tensor.empty() : tensor<10x6xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>,
                                        affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%0, %1 : tensor<10x6xf32>, tensor<6xf32>) outs(%e : tensor<10x6xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<10x6xf32>
  tile.store %r, %y[] map affine_map<(m, n) -> (m, n)> : tensor<10x6xf32>, memref<10x6xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>

// A sum on the vector unit is exact: its last chunk is shorter and follows by itself.
// CHECK-LABEL: tile.kernel @sum(
// CHECK:         %[[S:.*]] = scf.for %[[I:.*]] = {{.*}} iter_args(%[[C:.*]] = %{{.*}}) -> (tensor<f32, #tile.space<ub>>) {
// CHECK-NEXT:      tile.load %a[%[[I]]] {{.*}} -> tensor<4xf32, #tile.space<ub>>
// CHECK:           scf.yield
// CHECK:         tile.load %a[%{{.*}}] {{.*}} -> tensor<2xf32, #tile.space<ub>>
// CHECK-NEXT:    linalg.generic {{.*}} outs(%[[S]] :
tile.kernel @sum(%a: memref<10xf32, #gm>, %y: memref<f32, #gm>)
    schedule #tile.schedule<ub = [4]> {
  %0 = tile.load %a[] map affine_map<(m) -> (m)> : memref<10xf32, #gm> -> tensor<10xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> ()>], iterator_types = ["reduction"]}
      ins(%0 : tensor<10xf32>) outs(%f : tensor<f32>) {
  ^bb0(%i: f32, %c: f32):
    %s = arith.addf %i, %c : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  tile.store %r, %y[] map affine_map<() -> ()> : tensor<f32>, memref<f32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>

// A window that slides: the load brings the box that it covers, the map of the operation stays.
// CHECK-LABEL: tile.kernel @pool(
// CHECK:         scf.for %[[I:.*]] =
// CHECK:           tile.load %a[%[[I]]] map affine_map<(d0, d1) -> (((d0 * 2) + d1))> {{.*}}-> tensor<5xf32, #tile.space<ub>>
// CHECK:           linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (((d0 * 2) + d1))>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>]
tile.kernel @pool(%a: memref<9xf32, #gm>, %y: memref<4xf32, #gm>)
    schedule #tile.schedule<ub = [2, 3], order = [0]> {
  %0 = tile.load %a[] map affine_map<(m) -> (m)> : memref<9xf32, #gm> -> tensor<9xf32>
  %low = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<3xf32>
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(o, k) -> (o * 2 + k)>, affine_map<(o, k) -> (k)>,
                                        affine_map<(o, k) -> (o)>], iterator_types = ["parallel", "reduction"]}
      ins(%0, %window : tensor<9xf32>, tensor<3xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %s = arith.maximumf %i, %c : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  tile.store %r, %y[] map affine_map<(m) -> (m)> : tensor<4xf32>, memref<4xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>

// Without a schedule a kernel stays as it is.
// CHECK-LABEL: tile.kernel @unscheduled(
// CHECK-NEXT:    tile.load %{{.*}}[] {{.*}} -> tensor<4xf32>
tile.kernel @unscheduled(%a: memref<4xf32, #gm>, %y: memref<4xf32, #gm>) {
  %0 = tile.load %a[] map affine_map<(m) -> (m)> : memref<4xf32, #gm> -> tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>], iterator_types = ["parallel"]}
      ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  tile.store %r, %y[] map affine_map<(m) -> (m)> : tensor<4xf32>, memref<4xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#id = affine_map<(m, n) -> (m, n)>

// Few indices are loaded at once, with zeros up to the end of the last tile; a tile of rows takes them from where it
// begins. What only hands rows on is no operation of its own.
// CHECK-LABEL: tile.kernel @rows(
// CHECK:         %[[R:.*]] = tile.load %i[] map affine_map<(d0) -> (d0)> pad 0 : i64 : memref<10xi64, #tile.space<gm>> -> tensor<12xi64, #tile.space<ub>>
// CHECK-NEXT:    scf.for %[[M:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:      scf.for %[[N:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:        %[[G:.*]] = tile.gather %t[%[[M]], %[[N]]] rows %[[R]] axis 0 map affine_map<(d0, d1, d2, d3) -> ((d0 + d2), (d1 + d3))> pad 0.000000e+00 : f32 : memref<50x8xf32, #tile.space<gm>>, tensor<12xi64, #tile.space<ub>> -> tensor<4x4xf32, #tile.space<ub>>
// CHECK-NEXT:        tile.store %[[G]], %y[%[[M]], %[[N]]]
tile.kernel @rows(%t: memref<50x8xf32, #gm>, %i: memref<10xi64, #gm>, %y: memref<10x8xf32, #gm>)
    schedule #tile.schedule<ub = [4, 4], order = [0, 1]> {
  %r = tile.load %i[] map affine_map<(m) -> (m)> : memref<10xi64, #gm> -> tensor<10xi64>
  %g = tile.gather %t[] rows %r axis 0 map #id : memref<50x8xf32, #gm>, tensor<10xi64> -> tensor<10x8xf32>
  %e = tensor.empty() : tensor<10x8xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g : tensor<10x8xf32>) outs(%e : tensor<10x8xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<10x8xf32>
  tile.store %c, %y[] map #id : tensor<10x8xf32>, memref<10x8xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#id = affine_map<(m) -> (m)>

// Many are loaded for each tile.
// CHECK-LABEL: tile.kernel @many(
// CHECK:         scf.for %[[M:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:      %[[R:.*]] = tile.load %i[%[[M]]] map affine_map<(d0, d1) -> ((d0 + d1))> : memref<4000xi64, #tile.space<gm>> -> tensor<100xi64, #tile.space<ub>>
// CHECK-NEXT:      %[[G:.*]] = tile.gather %t[] rows %[[R]] axis 0 map affine_map<(d0) -> (d0)> : memref<50xf32, #tile.space<gm>>, tensor<100xi64, #tile.space<ub>> -> tensor<100xf32, #tile.space<ub>>
tile.kernel @many(%t: memref<50xf32, #gm>, %i: memref<4000xi64, #gm>, %y: memref<4000xf32, #gm>)
    schedule #tile.schedule<ub = [100], order = [0]> {
  %r = tile.load %i[] map #id : memref<4000xi64, #gm> -> tensor<4000xi64>
  %g = tile.gather %t[] rows %r axis 0 map #id : memref<50xf32, #gm>, tensor<4000xi64> -> tensor<4000xf32>
  %e = tensor.empty() : tensor<4000xf32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%g : tensor<4000xf32>) outs(%e : tensor<4000xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<4000xf32>
  tile.store %c, %y[] map #id : tensor<4000xf32>, memref<4000xf32, #gm>
  tile.return
}
