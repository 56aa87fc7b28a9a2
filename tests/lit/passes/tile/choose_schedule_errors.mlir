// RUN: not npu-opt %s --tile-choose-schedule --split-input-file 2>&1 | filecheck %s

// A row of 1024 numbers does not fit 2 KiB, however few rows there are in a tile.
// CHECK: error: kernel '@rows' needs {{[0-9]+}} bytes of ub, 'toy' has 2048; the largest buffers alive at once are listed
// CHECK: note: {{[0-9]+}} bytes: memref<1x1024xf32, #tile.space<ub>>
#gm = #tile.space<gm>
builtin.module attributes {npu.target = "toy"} {
tile.kernel @rows(%x: memref<8x1024xf32, #gm>, %y: memref<8x1024xf32, #gm>) {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : memref<8x1024xf32, #gm> -> tensor<8x1024xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x1024xf32>
  %product = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                             iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x1024xf32>) outs(%e0 : tensor<8x1024xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<8x1024xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%product : tensor<8x1024xf32>) outs(%f1 : tensor<8xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = arith.addf %c, %i : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %e2 = tensor.empty() : tensor<8x1024xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>,
                                        affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%product, %sum : tensor<8x1024xf32>, tensor<8xf32>) outs(%e2 : tensor<8x1024xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %s = arith.divf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<8x1024xf32>
  tile.store %r, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x1024xf32>, memref<8x1024xf32, #gm>
  tile.return
}
}

// -----

// The rows of the product are needed whole: 4 x 128 accumulators take 2 KiB of the 1 KiB of L0C.
// CHECK: error: kernel '@accumulators': no tile of its matrix product fits the memories of 'toy'
#gm = #tile.space<gm>
builtin.module attributes {npu.target = "toy"} {
tile.kernel @accumulators(%x: memref<8x16xf32, #gm>, %w: memref<16x128xf32, #gm>, %y: memref<8x128xf32, #gm>) {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : memref<8x16xf32, #gm> -> tensor<8x16xf32>
  %b = tile.load %w[] map affine_map<(m, n) -> (m, n)> : memref<16x128xf32, #gm> -> tensor<16x128xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x128xf32>) -> tensor<8x128xf32>
  %product = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                              affine_map<(m, n, k) -> (m, n)>],
                             iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<8x16xf32>, tensor<16x128xf32>) outs(%f : tensor<8x128xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x128xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%product : tensor<8x128xf32>) outs(%f1 : tensor<8xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = arith.addf %c, %i : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %e2 = tensor.empty() : tensor<8x128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>,
                                        affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%product, %sum : tensor<8x128xf32>, tensor<8xf32>) outs(%e2 : tensor<8x128xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %s = arith.divf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<8x128xf32>
  tile.store %r, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x128xf32>, memref<8x128xf32, #gm>
  tile.return
}
}
