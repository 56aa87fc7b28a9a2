// RUN: not npu-opt %s --tile-apply-schedule --split-input-file 2>&1 | filecheck %s

// CHECK: error: class 1: a later product sums it: its tile has to divide 32, got 12
#gm = #tile.space<gm>
tile.kernel @wrong0(%X: memref<8x24xf32, #gm>, %W: memref<24x32xf32, #gm>, %V: memref<32x16xf32, #gm>, %Y: memref<8x16xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 12, 24, 16], order = [0]> {
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

// CHECK: error: operation 2, class 1: 'l1' has to divide 32, which the kernel makes, and 'l0' has to divide 'l1', got 12 and 12
#gm = #tile.space<gm>
tile.kernel @wrong1(%X: memref<8x24xf32, #gm>, %W: memref<24x32xf32, #gm>, %V: memref<32x16xf32, #gm>, %Y: memref<8x16xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 8, 24, 16], order = [0], ops = {2 = {l1 = [0, 12, 0, 0]}}> {
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

// CHECK: error: operation 2, class 1: with via = tile, 'l1' is the tile that the kernel makes, 8, got 16
#gm = #tile.space<gm>
tile.kernel @wrong2(%X: memref<8x24xf32, #gm>, %W: memref<24x32xf32, #gm>, %V: memref<32x16xf32, #gm>, %Y: memref<8x16xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 8, 24, 16], order = [0], ops = {2 = {l1 = [0, 16, 0, 0], via = tile}}> {
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

// CHECK: error: operation 0 reads nothing that the kernel makes: it has no 'via'
#gm = #tile.space<gm>
tile.kernel @wrong3(%X: memref<8x24xf32, #gm>, %W: memref<24x32xf32, #gm>, %V: memref<32x16xf32, #gm>, %Y: memref<8x16xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 8, 24, 16], order = [0], ops = {0 = {via = tile}}> {
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

// CHECK: error: the order names class 1, which is summed: it is no outer loop
#gm = #tile.space<gm>
tile.kernel @wrong4(%X: memref<8x24xf32, #gm>, %W: memref<24x32xf32, #gm>, %V: memref<32x16xf32, #gm>, %Y: memref<8x16xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 8, 24, 16], order = [0, 1]> {
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

// CHECK: error: 'via' is one of whole, tile
#gm = #tile.space<gm>
tile.kernel @wrong5(%X: memref<8x24xf32, #gm>, %W: memref<24x32xf32, #gm>, %V: memref<32x16xf32, #gm>, %Y: memref<8x16xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 8, 24, 16], ops = {2 = {via = gm}}> {
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
