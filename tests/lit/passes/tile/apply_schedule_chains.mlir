// RUN: npu-opt %s --tile-apply-schedule --split-input-file | filecheck %s

// The classes: m, j (which the second product sums), k, n.

// Eight columns of j after the other go to L1; then the second product sums chunks of 16, in L0 of 4, of what is there.
// CHECK-LABEL: tile.kernel @whole(
// CHECK:         scf.for %[[M:[A-Za-z0-9_]+]] = {{.*}} {
// CHECK:           %[[E:[A-Za-z0-9_]+]] = tensor.empty() : tensor<4x32xf32, #tile.space<l1>>
// CHECK:           %[[H:[A-Za-z0-9_]+]] = scf.for %[[J:[A-Za-z0-9_]+]] = {{.*}} iter_args(%[[P:[A-Za-z0-9_]+]] = %[[E]]) -> (tensor<4x32xf32, #tile.space<l1>>) {
// CHECK:             tensor.empty() : tensor<4x8xf32, #tile.space<l0c>>
// CHECK:             tile.insert %{{.*}}, %[[P]][%[[J]]] map affine_map<(d0, d1, d2) -> (d1, (d0 + d2))> : tensor<4x8xf32, #tile.space<ub>>, tensor<4x32xf32, #tile.space<l1>>
// CHECK:           tensor.empty() : tensor<4x16xf32, #tile.space<l0c>>
// CHECK:           scf.for %[[K:[A-Za-z0-9_]+]] = {{.*}} {
// CHECK:             tile.load %V[%[[K]]] map {{.*}} -> tensor<16x16xf32, #tile.space<l1>>
// CHECK:             scf.for %[[L:[A-Za-z0-9_]+]] = {{.*}} {
// CHECK-NEXT:          tile.load %[[H]][%[[K]], %[[L]]] map affine_map<(d0, d1, d2, d3) -> (d2, ((d0 + d1) + d3))> : {{.*}} -> tensor<4x4xf32, #tile.space<l0a>>
#gm = #tile.space<gm>
tile.kernel @whole(%X: memref<8x24xf32, #gm>, %W: memref<24x32xf32, #gm>, %V: memref<32x16xf32, #gm>, %Y: memref<8x16xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 8, 24, 16], order = [0], ops = {2 = {l1 = [0, 16, 0, 0], l0 = [0, 4, 0, 0]}}> {
  %x = tile.load %X[] map affine_map<(m, n) -> (m, n)> : memref<8x24xf32, #gm> -> tensor<8x24xf32>
  %w = tile.load %W[] map affine_map<(m, n) -> (m, n)> : memref<24x32xf32, #gm> -> tensor<24x32xf32>
  %v = tile.load %V[] map affine_map<(m, n) -> (m, n)> : memref<32x16xf32, #gm> -> tensor<32x16xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x24xf32>, tensor<24x32xf32>) outs(%f0 : tensor<8x32xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %e1 = tensor.empty() : tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<8x32xf32>) outs(%e1 : tensor<8x32xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %e2 = tensor.empty() : tensor<8x16xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%r, %v : tensor<8x32xf32>, tensor<32x16xf32>) outs(%f2 : tensor<8x16xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  tile.store %y, %Y[] map affine_map<(m, n) -> (m, n)> : tensor<8x16xf32>, memref<8x16xf32, #gm>
  tile.return
}

// -----

// Eight columns are made, pass through UB in pieces of two rows, and are summed before the next ones are made.
// CHECK-LABEL: tile.kernel @tile_by_tile(
// CHECK:         %[[ACC:[A-Za-z0-9_]+]] = tensor.empty() : tensor<8x16xf32, #tile.space<l0c>>
// CHECK:         scf.for %[[J:[A-Za-z0-9_]+]] = {{.*}} {
// CHECK:           %[[E:[A-Za-z0-9_]+]] = tensor.empty() : tensor<8x8xf32, #tile.space<l1>>
// CHECK:           %[[H:[A-Za-z0-9_]+]] = scf.for %[[M:[A-Za-z0-9_]+]] = {{.*}} iter_args(%[[P:[A-Za-z0-9_]+]] = %[[E]]) -> (tensor<8x8xf32, #tile.space<l1>>) {
// CHECK:             tile.insert %{{.*}}, %[[P]][%[[M]]] map affine_map<(d0, d1, d2) -> ((d0 + d1), d2)> : tensor<2x8xf32, #tile.space<ub>>
// CHECK:           tile.load %V[%[[J]]] map {{.*}} -> tensor<8x16xf32, #tile.space<l1>>
// CHECK:           tile.load %[[H]][] map {{.*}} -> tensor<8x8xf32, #tile.space<l0a>>
#gm = #tile.space<gm>
tile.kernel @tile_by_tile(%X: memref<8x24xf32, #gm>, %W: memref<24x32xf32, #gm>, %V: memref<32x16xf32, #gm>, %Y: memref<8x16xf32, #gm>)
    schedule #tile.schedule<l1 = [8, 8, 24, 16], ub = [2, 0, 0, 0], ops = {2 = {l1 = [0, 8, 0, 0], via = tile}}> {
  %x = tile.load %X[] map affine_map<(m, n) -> (m, n)> : memref<8x24xf32, #gm> -> tensor<8x24xf32>
  %w = tile.load %W[] map affine_map<(m, n) -> (m, n)> : memref<24x32xf32, #gm> -> tensor<24x32xf32>
  %v = tile.load %V[] map affine_map<(m, n) -> (m, n)> : memref<32x16xf32, #gm> -> tensor<32x16xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x24xf32>, tensor<24x32xf32>) outs(%f0 : tensor<8x32xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %e1 = tensor.empty() : tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<8x32xf32>) outs(%e1 : tensor<8x32xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %e2 = tensor.empty() : tensor<8x16xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%r, %v : tensor<8x32xf32>, tensor<32x16xf32>) outs(%f2 : tensor<8x16xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  tile.store %y, %Y[] map affine_map<(m, n) -> (m, n)> : tensor<8x16xf32>, memref<8x16xf32, #gm>
  tile.return
}
