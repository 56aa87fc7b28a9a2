// RUN: npu-opt %s --tile-choose-schedule --split-input-file | filecheck %s
// RUN: npu-opt %s --split-input-file --tile-choose-schedule --tile-apply-schedule --tile-split-compute --tile-bufferize --tile-double-buffer --tile-plan-memory | filecheck %s --check-prefix=FITS
// RUN: npu-opt %s --split-input-file --tile-choose-schedule --remarks-filter=tile-choose-schedule -o %t.mlir 2>&1 | filecheck %s --check-prefix=REMARKS

// Tile sizes for the classes m, n, k, per level where they are cut; the order names what is tiled; slots per space.
// CHECK-LABEL: tile.kernel @product(
// CHECK-SAME:    schedule #tile.schedule<l1 = [{{[0-9]+, [0-9]+, [0-9]+}}]{{.*}}, order = [{{.*}}], slots = {l1 = 2, l0a = 2, l0b = 2, l0c = {{[1-4]}}, ub = {{[12]}}}>
// FITS-LABEL: tile.kernel @product(
// FITS-COUNT-6:  address = {{[0-9]+}}
// The remark about the chosen schedule says how many cycles are expected, and how many were measured; for products only.
// REMARKS:       remark: [Passed] schedule | Category:tile-choose-schedule | Function=product | EstimatedCycles={{[0-9]+}}, MeasuredCycles={{[0-9]+}}, Remark=chosen, Schedule="#tile.schedule<l1 = {{.*}}>"
// REMARKS-NOT:   Function=given
// REMARKS:       Function=whole | Remark=chosen, Schedule="#tile.schedule<ub = [{{[1-8]}}, 24]
#gm = #tile.space<gm>
builtin.module attributes {npu.target = "toy"} {
tile.kernel @product(%x: memref<8x100xf32, #gm>, %w: memref<100x50xf32, #gm>, %y: memref<8x50xf32, #gm>) {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : memref<8x100xf32, #gm> -> tensor<8x100xf32>
  %b = tile.load %w[] map affine_map<(m, n) -> (m, n)> : memref<100x50xf32, #gm> -> tensor<100x50xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x50xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x50xf32>) -> tensor<8x50xf32>
  %product = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                              affine_map<(m, n, k) -> (m, n)>],
                             iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<8x100xf32>, tensor<100x50xf32>) outs(%f : tensor<8x50xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x50xf32>
  tile.store %product, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x50xf32>, memref<8x50xf32, #gm>
  tile.return
}
}

// -----

// A schedule that is there already stays.
// CHECK-LABEL: tile.kernel @given(
// CHECK-SAME:    schedule #tile.schedule<l1 = [4, 4, 8], order = [1, 0]>
#gm = #tile.space<gm>
builtin.module attributes {npu.target = "toy"} {
tile.kernel @given(%x: memref<8x16xf32, #gm>, %w: memref<16x8xf32, #gm>, %y: memref<8x8xf32, #gm>) schedule #tile.schedule<l1 = [4, 4, 8], order = [1, 0]> {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : memref<8x16xf32, #gm> -> tensor<8x16xf32>
  %b = tile.load %w[] map affine_map<(m, n) -> (m, n)> : memref<16x8xf32, #gm> -> tensor<16x8xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %product = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                              affine_map<(m, n, k) -> (m, n)>],
                             iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<8x16xf32>, tensor<16x8xf32>) outs(%f : tensor<8x8xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  tile.store %product, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x8xf32>, memref<8x8xf32, #gm>
  tile.return
}
}

// -----

// Rows that are needed whole are: class 1 is summed up and used again.
// CHECK-LABEL: tile.kernel @whole(
// CHECK-SAME:    ub = [{{[1-8]}}, 24]
#gm = #tile.space<gm>
builtin.module attributes {npu.target = "toy"} {
tile.kernel @whole(%x: memref<8x24xf32, #gm>, %y: memref<8x24xf32, #gm>) {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : memref<8x24xf32, #gm> -> tensor<8x24xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x24xf32>
  %product = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                             iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x24xf32>) outs(%e0 : tensor<8x24xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<8x24xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%product : tensor<8x24xf32>) outs(%f1 : tensor<8xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = arith.addf %c, %i : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %e2 = tensor.empty() : tensor<8x24xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>,
                                        affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%product, %sum : tensor<8x24xf32>, tensor<8xf32>) outs(%e2 : tensor<8x24xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %s = arith.divf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<8x24xf32>
  tile.store %r, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x24xf32>, memref<8x24xf32, #gm>
  tile.return
}
}
