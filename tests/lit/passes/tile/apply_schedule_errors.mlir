// RUN: not npu-opt %s --tile-apply-schedule --split-input-file 2>&1 | filecheck %s

// CHECK: error: the schedule must give 'l1' for 3 dimension classes, got 2
#gm = #tile.space<gm>
tile.kernel @count(%x: memref<8x12xf32, #gm>, %w: memref<12x6xf32, #gm>, %y: memref<8x6xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 3], order = [0, 1]> {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : memref<8x12xf32, #gm> -> tensor<8x12xf32>
  %b = tile.load %w[] map affine_map<(m, n) -> (m, n)> : memref<12x6xf32, #gm> -> tensor<12x6xf32>
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
  tile.store %product, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x6xf32>, memref<8x6xf32, #gm>
  tile.return
}

// -----

// CHECK: error: the schedule has sizes for operation 1, the kernel has 1
#gm = #tile.space<gm>
tile.kernel @operation(%x: memref<8x12xf32, #gm>, %w: memref<12x6xf32, #gm>, %y: memref<8x6xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 3, 8], order = [0, 1], ops = {1 = {l0 = [0, 0, 2]}}> {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : memref<8x12xf32, #gm> -> tensor<8x12xf32>
  %b = tile.load %w[] map affine_map<(m, n) -> (m, n)> : memref<12x6xf32, #gm> -> tensor<12x6xf32>
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
  tile.store %product, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x6xf32>, memref<8x6xf32, #gm>
  tile.return
}

// -----

// CHECK: error: class 0: 'ub' can't be more than 'l1', got 8 and 4
#gm = #tile.space<gm>
tile.kernel @larger(%x: memref<8x12xf32, #gm>, %w: memref<12x6xf32, #gm>, %y: memref<8x6xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 3, 8], ub = [8, 0, 0], order = [0, 1]> {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : memref<8x12xf32, #gm> -> tensor<8x12xf32>
  %b = tile.load %w[] map affine_map<(m, n) -> (m, n)> : memref<12x6xf32, #gm> -> tensor<12x6xf32>
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
  tile.store %product, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x6xf32>, memref<8x6xf32, #gm>
  tile.return
}

// -----

// CHECK: error: class 2: 'l0' has to divide 'l1', got 3 and 8
#gm = #tile.space<gm>
tile.kernel @divide(%x: memref<8x12xf32, #gm>, %w: memref<12x6xf32, #gm>, %y: memref<8x6xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 3, 8], l0 = [0, 0, 3], order = [0, 1]> {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : memref<8x12xf32, #gm> -> tensor<8x12xf32>
  %b = tile.load %w[] map affine_map<(m, n) -> (m, n)> : memref<12x6xf32, #gm> -> tensor<12x6xf32>
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
  tile.store %product, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x6xf32>, memref<8x6xf32, #gm>
  tile.return
}

// -----

// CHECK: error: the order must name the tiled parallel classes [0, 1]
#gm = #tile.space<gm>
tile.kernel @order(%x: memref<8x12xf32, #gm>, %w: memref<12x6xf32, #gm>, %y: memref<8x6xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 3, 8], order = [0]> {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : memref<8x12xf32, #gm> -> tensor<8x12xf32>
  %b = tile.load %w[] map affine_map<(m, n) -> (m, n)> : memref<12x6xf32, #gm> -> tensor<12x6xf32>
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
  tile.store %product, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x6xf32>, memref<8x6xf32, #gm>
  tile.return
}

// -----

// CHECK: error: class 1: it is reduced and used again, so it has to be whole, 12
#gm = #tile.space<gm>
tile.kernel @whole(%x: memref<8x12xf32, #gm>, %y: memref<8x12xf32, #gm>)
    schedule #tile.schedule<ub = [4, 6], order = [0]> {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : memref<8x12xf32, #gm> -> tensor<8x12xf32>
  %e2 = tensor.empty() : tensor<8x12xf32>
  %power = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                           iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x12xf32>) outs(%e2 : tensor<8x12xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%power : tensor<8x12xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = arith.addf %c, %i : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %e1 = tensor.empty() : tensor<8x12xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>,
                                        affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%power, %sum : tensor<8x12xf32>, tensor<8xf32>) outs(%e1 : tensor<8x12xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %s = arith.divf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  tile.store %r, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x12xf32>, memref<8x12xf32, #gm>
  tile.return
}

// -----

// CHECK: error: class 0 is no loop of a matrix product: it has a size in 'ub' only
#gm = #tile.space<gm>
tile.kernel @pieces(%x: memref<8x12xf32, #gm>, %y: memref<8x12xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 12], order = [0]> {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : memref<8x12xf32, #gm> -> tensor<8x12xf32>
  %e2 = tensor.empty() : tensor<8x12xf32>
  %power = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                           iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x12xf32>) outs(%e2 : tensor<8x12xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%power : tensor<8x12xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = arith.addf %c, %i : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %e1 = tensor.empty() : tensor<8x12xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>,
                                        affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%power, %sum : tensor<8x12xf32>, tensor<8xf32>) outs(%e1 : tensor<8x12xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %s = arith.divf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<8x12xf32>
  tile.store %r, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x12xf32>, memref<8x12xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
// CHECK: error: class 0: it is a batch of matrix products: its tile must be 1, got 2
tile.kernel @batch(%x: memref<4x8x12xf32, #gm>, %w: memref<4x12x6xf32, #gm>, %y: memref<4x8x6xf32, #gm>)
    schedule #tile.schedule<l1 = [2, 8, 6, 12], order = [0]> {
  %a = tile.load %x[] map affine_map<(b, m, n) -> (b, m, n)> : memref<4x8x12xf32, #gm> -> tensor<4x8x12xf32>
  %b = tile.load %w[] map affine_map<(b, m, n) -> (b, m, n)> : memref<4x12x6xf32, #gm> -> tensor<4x12x6xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x8x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x8x6xf32>) -> tensor<4x8x6xf32>
  %product = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>,
                                              affine_map<(b, m, n, k) -> (b, k, n)>,
                                              affine_map<(b, m, n, k) -> (b, m, n)>],
                             iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8x12xf32>, tensor<4x12x6xf32>) outs(%f : tensor<4x8x6xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8x6xf32>
  tile.store %product, %y[] map affine_map<(b, m, n) -> (b, m, n)> : tensor<4x8x6xf32>, memref<4x8x6xf32, #gm>
  tile.return
}

// -----

// The operand is a slice: its neighbours must not be added.
// CHECK: error: class 2: it is a sum over a part of an operand: its tile has to divide 12, got 8
#gm = #tile.space<gm>
tile.kernel @neighbours(%x: memref<8x20xf32, #gm>, %w: memref<12x6xf32, #gm>, %y: memref<8x6xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 3, 8], order = [0, 1]> {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n + 2)> : memref<8x20xf32, #gm> -> tensor<8x12xf32>
  %b = tile.load %w[] map affine_map<(m, n) -> (m, n)> : memref<12x6xf32, #gm> -> tensor<12x6xf32>
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
  tile.store %product, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x6xf32>, memref<8x6xf32, #gm>
  tile.return
}

// -----

// CHECK: error: only what the fixpipe does (a scale, relu, a cast) can be done on the way from L0C to GM
#gm = #tile.space<gm>
tile.kernel @direct(%x: memref<8x12xf32, #gm>, %w: memref<12x6xf32, #gm>, %y: memref<8x6xf32, #gm>)
    schedule #tile.schedule<l1 = [4, 3, 12], order = [0, 1], bypass_ub> {
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : memref<8x12xf32, #gm> -> tensor<8x12xf32>
  %b = tile.load %w[] map affine_map<(m, n) -> (m, n)> : memref<12x6xf32, #gm> -> tensor<12x6xf32>
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
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%product : tensor<8x6xf32>) outs(%e1 : tensor<8x6xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<8x6xf32>
  tile.store %r, %y[] map affine_map<(m, n) -> (m, n)> : tensor<8x6xf32>, memref<8x6xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
// CHECK: error: the operations of the kernel do not form one loop nest
tile.kernel @nest(%a: memref<4x4xf32, #gm>, %y: memref<4x4xf32, #gm>)
    schedule #tile.schedule<ub = [4, 4]> {
  %0 = tile.load %a[] map affine_map<(m, n) -> (m, n)> : memref<4x4xf32, #gm> -> tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %e1 = tensor.empty() : tensor<4x4xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n, m)>,
                                        affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%r, %r : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e1 : tensor<4x4xf32>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  tile.store %t, %y[] map affine_map<(m, n) -> (m, n)> : tensor<4x4xf32>, memref<4x4xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
// CHECK: error: a kernel stores results of linalg.generic only
tile.kernel @copy(%a: memref<4xf32, #gm>, %y: memref<4xf32, #gm>)
    schedule #tile.schedule<> {
  %0 = tile.load %a[] map affine_map<(m) -> (m)> : memref<4xf32, #gm> -> tensor<4xf32>
  tile.store %0, %y[] map affine_map<(m) -> (m)> : tensor<4xf32>, memref<4xf32, #gm>
  tile.return
}

// -----

// CHECK: error: a kernel that is not tiled loads whole operands, through linear maps
#gm = #tile.space<gm>
tile.kernel @indices(%x: memref<12xf32, #gm>, %y: memref<4xf32, #gm>)
    schedule #tile.schedule<ub = [4]> {
  %i = arith.constant 3 : index
  %a = tile.load %x[%i] map affine_map<(i, m) -> (i + m)> : memref<12xf32, #gm> -> tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>], iterator_types = ["parallel"]}
      ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = math.exp %0 : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  tile.store %r, %y[] map affine_map<(m) -> (m)> : tensor<4xf32>, memref<4xf32, #gm>
  tile.return
}

// -----

// CHECK: error: a kernel that is not tiled gathers whole operands, by indices that it loads
#gm = #tile.space<gm>
tile.kernel @rows(%t: memref<50x8xf32, #gm>, %i: memref<10xi64, #gm>, %y: memref<8x10xf32, #gm>)
    schedule #tile.schedule<ub = [4, 4], order = [0, 1]> {
  %r = tile.load %i[] map affine_map<(m) -> (m)> : memref<10xi64, #gm> -> tensor<10xi64>
  %g = tile.gather %t[] rows %r axis 0 map affine_map<(m, n) -> (n, m)>
    : memref<50x8xf32, #gm>, tensor<10xi64> -> tensor<8x10xf32>
  tile.return
}
