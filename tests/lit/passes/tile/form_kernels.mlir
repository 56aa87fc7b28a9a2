// RUN: npu-opt %s --tile-form-kernels --split-input-file | filecheck %s

// A product, its bias and relu are one kernel; constants of bodies go along. The kernel remembers its multiply-adds.
// CHECK-LABEL: func.func @epilogue(
// CHECK-NEXT:    %{{.*}} = tile.launch @k0_fc(%x, %w, %bias) {npu.node = "fc+relu"} : (tensor<8x12xf32>, tensor<12x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
// CHECK-NEXT:    func.return
// CHECK:       tile.kernel @k0_fc(%0: memref<8x12xf32, #tile.space<gm>>, %1: memref<12x6xf32, #tile.space<gm>>, %2: memref<6xf32, #tile.space<gm>>, %3: memref<8x6xf32, #tile.space<gm>>)
// CHECK-SAME:    attributes {npu.node = "fc+relu", npu.macs = 576 : i64}
// CHECK:         tile.load %0[]
// CHECK:         tile.load %1[]
// CHECK:         %product = linalg.generic
// CHECK:         tile.load %2[]
// CHECK:         %y = linalg.generic
// CHECK:           arith.constant 0.000000e+00 : f32
// CHECK:           arith.maximumf
// CHECK:         tile.store %y, %3[]
// CHECK-NEXT:    tile.return
#id = affine_map<(m, n) -> (m, n)>
func.func @epilogue(%x: tensor<8x12xf32>, %w: tensor<12x6xf32>, %bias: tensor<6xf32>) -> tensor<8x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %product = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                              affine_map<(m, n, k) -> (m, n)>],
                             iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x12xf32>, tensor<12x6xf32>) outs(%f : tensor<8x6xf32>) attrs = {npu.node = "fc"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x6xf32>
  %e2 = tensor.empty() : tensor<8x6xf32>
  %y = linalg.generic {indexing_maps = [#id, affine_map<(m, n) -> (n)>, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%product, %bias : tensor<8x6xf32>, tensor<6xf32>) outs(%e2 : tensor<8x6xf32>) attrs = {npu.node = "relu"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    %t = arith.maximumf %s, %zero : f32
    linalg.yield %t : f32
  } -> tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}

// -----

// A softmax along the rows is one kernel: the rows are its parallel class.
// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT:    tile.launch @k0(%x)
// CHECK-NEXT:    func.return
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
func.func @softmax(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<8xf32>
  %f0 = linalg.fill ins(%low : f32) outs(%e0 : tensor<8xf32>) -> tensor<8xf32>
  %top = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x6xf32>) outs(%f0 : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.maximumf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %e1 = tensor.empty() : tensor<8x6xf32>
  %power = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %top : tensor<8x6xf32>, tensor<8xf32>) outs(%e1 : tensor<8x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.subf %a, %b : f32
    %t = math.exp %s : f32
    linalg.yield %t : f32
  } -> tensor<8x6xf32>
  %e2 = tensor.empty() : tensor<8xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%power : tensor<8x6xf32>) outs(%f2 : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %e3 = tensor.empty() : tensor<8x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%power, %sum : tensor<8x6xf32>, tensor<8xf32>) outs(%e3 : tensor<8x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.divf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}

// -----

// Two products in a row whose first one is read elsewhere are two kernels, and since they are equal, one that is launched
// twice.
// CHECK-LABEL: func.func @twice(
// CHECK-NEXT:    %[[Y:.*]] = tile.launch @k0_first(%x, %w) {npu.node = "first"}
// CHECK-NEXT:    %{{.*}} = tile.launch @k0_first(%[[Y]], %w) {npu.node = "second"}
// CHECK:       tile.kernel @k0_first(
// CHECK-NOT:   tile.kernel
func.func @twice(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x8xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f0 : tensor<8x8xf32>) attrs = {npu.node = "first"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  %e1 = tensor.empty() : tensor<8x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f1 : tensor<8x8xf32>) attrs = {npu.node = "second"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  func.return %y, %z : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Pads and slices become the map and the padding of the load; views of GM stay on the host.
// CHECK-LABEL: func.func @front(
// CHECK-NEXT:    %[[V:.*]] = tensor.collapse_shape %x
// CHECK-NEXT:    %{{.*}} = tile.launch @k0(%[[V]], %z)
// CHECK-NEXT:    func.return
// CHECK:       tile.kernel
// CHECK:         tile.load %{{.*}}[] map affine_map<(d0) -> ((d0 + -1))> pad 2.000000e+00 : f32 : memref<8xf32, #tile.space<gm>> -> tensor<11xf32>
// CHECK:         tile.load %{{.*}}[] map affine_map<(d0) -> (((d0 * 2) + 3))> : memref<40xf32, #tile.space<gm>> -> tensor<11xf32>
func.func @front(%x: tensor<2x4xf32>, %z: tensor<40xf32>) -> tensor<11xf32> {
  %v = tensor.collapse_shape %x [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %two = arith.constant 2.0 : f32
  %p = tensor.pad %v low[1] high[2] {
  ^bb0(%i: index):
    tensor.yield %two : f32
  } : tensor<8xf32> to tensor<11xf32>
  %q = tensor.extract_slice %z[3] [11] [2] : tensor<40xf32> to tensor<11xf32>
  %e = tensor.empty() : tensor<11xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%p, %q : tensor<11xf32>, tensor<11xf32>) outs(%e : tensor<11xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<11xf32>
  func.return %y : tensor<11xf32>
}

// -----

// A result that is read both inside and outside is stored as well. What nobody reads is dropped.
// CHECK-LABEL: func.func @outputs(
// CHECK-NEXT:    %[[R:.*]], %[[S:.*]] = tile.launch @k0(%x) {npu.node = ""} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK-NEXT:    func.return %[[R]], %[[S]]
// CHECK:       tile.kernel @k0(%{{.*}}) outputs 2
// CHECK-COUNT-2: tile.store
// CHECK-NOT:   arith.mulf
func.func @outputs(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e0 = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e0 : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%y : tensor<8xf32>) outs(%e1 : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %e2 = tensor.empty() : tensor<8xf32>
  %unread = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                            iterator_types = ["parallel"]}
      ins(%y : tensor<8xf32>) outs(%e2 : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  func.return %y, %z : tensor<8xf32>, tensor<8xf32>
}

// -----

// Sums along the rows and then along the columns of something large would leave nothing parallel: two kernels.
// CHECK-LABEL: func.func @sums(
// CHECK-COUNT-2: tile.launch
// CHECK-NEXT:    func.return
func.func @sums(%x: tensor<8192x8xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8192xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8192xf32>) -> tensor<8192xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8192x8xf32>) outs(%f0 : tensor<8192xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<8192xf32>
  %e1 = tensor.empty() : tensor<f32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<f32>) -> tensor<f32>
  %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%y : tensor<8192xf32>) outs(%f1 : tensor<f32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  func.return %z : tensor<f32>
}

// -----

// A function without linalg stays as it is.
// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT:    %v = tensor.collapse_shape %x
// CHECK-NEXT:    func.return %v
func.func @nothing(%x: tensor<2x4xf32>) -> tensor<8xf32> {
  %v = tensor.collapse_shape %x [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  func.return %v : tensor<8xf32>
}

// -----

// What reads a tensor at places that depend on data and are no rows (here, -1 is not the last one) stays on the host; its
// operands and results are those of launches.
// CHECK-LABEL: func.func @gather(
// CHECK-NEXT:    %[[H:.*]] = tile.launch @k0(%x)
// CHECK-NEXT:    %[[G:.*]] = tile.host -> tensor<4xf32> attributes {npu.node = "pick"} {
// CHECK-NEXT:      %[[E:.*]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT:      linalg.generic
// CHECK:             tensor.extract %[[H]][
// CHECK:           tile.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[Y:.*]] = tile.launch @k1(%[[G]])
// CHECK-NEXT:    func.return %[[Y]]
#i = affine_map<(m) -> (m)>
func.func @gather(%x: tensor<8xf32>, %i: tensor<4xi32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %h = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %f = tensor.empty() : tensor<4xf32>
  %g = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%i : tensor<4xi32>) outs(%f : tensor<4xf32>) attrs = {npu.node = "pick"} {
  ^bb0(%c: i32, %o: f32):
    %k = arith.index_cast %c : i32 to index
    %0 = tensor.extract %h[%k] : tensor<8xf32>
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %l = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%g : tensor<4xf32>) outs(%l : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Dims of size 1 that are dropped or added between a pad or slice and its load are no obstacle.
// CHECK-LABEL: func.func @units(
// CHECK-NEXT:    %{{.*}} = tile.launch @k0(%x, %z)
// CHECK-NEXT:    func.return
// CHECK:       tile.kernel
// CHECK:         tile.load %{{.*}}[] map affine_map<(d0) -> (0, (d0 + -1))> pad 0.000000e+00 : f32 : memref<1x8xf32, #tile.space<gm>> -> tensor<10xf32>
// CHECK:         tile.load %{{.*}}[] map affine_map<(d0) -> (2, 0, (d0 * 2))> : memref<3x1x20xf32, #tile.space<gm>> -> tensor<10xf32>
func.func @units(%x: tensor<1x8xf32>, %z: tensor<3x1x20xf32>) -> tensor<10xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<1x8xf32> to tensor<1x10xf32>
  %v = tensor.collapse_shape %p [[0, 1]] : tensor<1x10xf32> into tensor<10xf32>
  %q = tensor.extract_slice %z[2, 0, 0] [1, 1, 10] [1, 1, 2] : tensor<3x1x20xf32> to tensor<1x1x10xf32>
  %w = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [1, 1, 1, 10] : tensor<1x1x10xf32> into tensor<1x1x1x10xf32>
  %u = tensor.collapse_shape %w [[0, 1, 2, 3]] : tensor<1x1x1x10xf32> into tensor<10xf32>
  %e = tensor.empty() : tensor<10xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%v, %u : tensor<10xf32>, tensor<10xf32>) outs(%e : tensor<10xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<10xf32>
  func.return %y : tensor<10xf32>
}

// -----

// A reshape that does more hides the slice: the host makes it. (linalg-normalize would have made a generic of it.)
// CHECK-LABEL: func.func @hidden(
// CHECK-NEXT:    %[[S:.*]] = tile.host -> tensor<2x4xf32> {
// CHECK-NEXT:      tensor.extract_slice %x[1, 0] [2, 4] [1, 1]
// CHECK-NEXT:      tile.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[V:.*]] = tensor.collapse_shape %[[S]]
// CHECK-NEXT:    tile.launch @k0(%[[V]])
func.func @hidden(%x: tensor<3x4xf32>) -> tensor<8xf32> {
  %s = tensor.extract_slice %x[1, 0] [2, 4] [1, 1] : tensor<3x4xf32> to tensor<2x4xf32>
  %v = tensor.collapse_shape %s [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%v : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// Rows of a table by indices are gathered by the kernel that reads them: from GM as it is, by a list of indices.
// CHECK-LABEL: func.func @rows(
// CHECK-NEXT:    %[[Y:.*]] = tile.launch @k0_pick(%i, %t) {npu.node = "pick+exp"} : (tensor<5xi64>, tensor<3x8x4xf32>) -> tensor<3x5x4xf32>
// CHECK-NEXT:    func.return %[[Y]]
// CHECK:       tile.kernel @k0_pick(%[[I:.*]]: memref<5xi64, #tile.space<gm>>, %[[T:.*]]: memref<3x8x4xf32, #tile.space<gm>>, %[[O:.*]]: memref<3x5x4xf32
// CHECK-NEXT:    %[[N:.*]] = tile.load %[[I]][] map affine_map<(d0) -> (d0)> : memref<5xi64, #tile.space<gm>> -> tensor<5xi64>
// CHECK-NEXT:    %[[G:.*]] = tile.gather %[[T]][] rows %[[N]] axis 1 map affine_map<(d0, d1, d2) -> (d0, d1, d2)> : memref<3x8x4xf32, #tile.space<gm>>, tensor<5xi64> -> tensor<3x5x4xf32>
// CHECK:         %[[C:.*]] = linalg.generic {{.*}} ins(%[[G]] : tensor<3x5x4xf32>)
// CHECK:         %[[E:.*]] = linalg.generic {{.*}} ins(%[[C]] : tensor<3x5x4xf32>)
// CHECK:         tile.store %[[E]], %[[O]][]
// CHECK-NEXT:    tile.return
func.func @rows(%t: tensor<3x8x4xf32>, %i: tensor<5xi64>) -> tensor<3x5x4xf32> {
  %e = tensor.empty() : tensor<3x5x4xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (b)>, affine_map<(a, b, c) -> (a, b, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%i : tensor<5xi64>) outs(%e : tensor<3x5x4xf32>) attrs = {npu.node = "pick"} {
  ^bb0(%n: i64, %o: f32):
    %zero = arith.constant 0 : i64
    %below = arith.cmpi slt, %n, %zero : i64
    %eight = arith.constant 8 : i64
    %end = arith.addi %n, %eight : i64
    %row = arith.select %below, %end, %n : i64
    %at = arith.index_cast %row : i64 to index
    %a = linalg.index 0 : index
    %c = linalg.index 2 : index
    %0 = tensor.extract %t[%a, %at, %c] : tensor<3x8x4xf32>
    linalg.yield %0 : f32
  } -> tensor<3x5x4xf32>
  %f = tensor.empty() : tensor<3x5x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%g : tensor<3x5x4xf32>) outs(%f : tensor<3x5x4xf32>) attrs = {npu.node = "exp"} {
  ^bb0(%v: f32, %o: f32):
    %0 = math.exp %v : f32
    linalg.yield %0 : f32
  } -> tensor<3x5x4xf32>
  func.return %y : tensor<3x5x4xf32>
}

// -----

// A list of indices that is a slice of another one is copied: what a tile would find behind its end may be no index.
// CHECK-LABEL: func.func @part(
// CHECK-NEXT:    %[[J:.*]] = tile.launch @k0_pick(%i) {{.*}} : (tensor<20xi32>) -> tensor<5xi32>
// CHECK-NEXT:    %[[Y:.*]] = tile.launch @k1_pick(%[[J]], %t) {{.*}} : (tensor<5xi32>, tensor<8xf32>) -> tensor<5xf32>
// CHECK-NEXT:    func.return %[[Y]]
func.func @part(%t: tensor<8xf32>, %i: tensor<20xi32>) -> tensor<5xf32> {
  %j = tensor.extract_slice %i[3] [5] [1] : tensor<20xi32> to tensor<5xi32>
  %e = tensor.empty() : tensor<5xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]}
      ins(%j : tensor<5xi32>) outs(%e : tensor<5xf32>) attrs = {npu.node = "pick"} {
  ^bb0(%n: i32, %o: f32):
    %zero = arith.constant 0 : i32
    %below = arith.cmpi slt, %n, %zero : i32
    %eight = arith.constant 8 : i32
    %end = arith.addi %n, %eight : i32
    %row = arith.select %below, %end, %n : i32
    %at = arith.index_cast %row : i32 to index
    %0 = tensor.extract %t[%at] : tensor<8xf32>
    linalg.yield %0 : f32
  } -> tensor<5xf32>
  func.return %g : tensor<5xf32>
}

// -----

// Rows put into an argument: a copy of it, then the rows. The kernel is tiled already, and has its schedule and its bound.
// CHECK-LABEL: func.func @append(
// CHECK-NEXT:    %[[Y:.*]] = tile.launch @k0_append(%x, %n, %u) {npu.node = "append"} : (tensor<100x64xf32>, tensor<2xi64>, tensor<2x64xf32>) -> tensor<100x64xf32>
// CHECK-NEXT:    func.return %[[Y]]
// CHECK:       tile.kernel @k0_append(%[[X:.*]]: memref<100x64xf32, #tile.space<gm>>, %[[N:.*]]: memref<2xi64, #tile.space<gm>>, %[[U:.*]]: memref<2x64xf32, #tile.space<gm>>, %[[O:.*]]: memref<100x64xf32, #tile.space<gm>>) schedule #tile.schedule<slots = {ub = 2}> attributes {npu.node = "append", npu.bound = {
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:      %[[T:.*]] = tile.load %[[X]][%[[I]]] map affine_map<(d0, d1, d2) -> ((d0 + d1), d2)> : memref<100x64xf32, #tile.space<gm>> -> tensor<25x64xf32, #tile.space<ub>>
// CHECK-NEXT:      tile.store %[[T]], %[[O]][%[[I]]] map affine_map<(d0, d1, d2) -> ((d0 + d1), d2)>
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[R:.*]] = tile.load %[[N]][] map affine_map<(d0) -> (d0)> : memref<2xi64, #tile.space<gm>> -> tensor<2xi64, #tile.space<ub>>
// CHECK-NEXT:    %[[V:.*]] = tile.load %[[U]][] map affine_map<(d0, d1) -> (d0, d1)> : memref<2x64xf32, #tile.space<gm>> -> tensor<2x64xf32, #tile.space<ub>>
// CHECK-NEXT:    tile.scatter %[[V]], %[[O]][] rows %[[R]] axis 0 map affine_map<(d0, d1) -> (d0, d1)>
// CHECK-NEXT:    tile.return
func.func @append(%x: tensor<100x64xf32>, %n: tensor<2xi64>, %u: tensor<2x64xf32>) -> tensor<100x64xf32> {
  %y = tile.scatter %u, %x[] rows %n axis 0 map affine_map<(a, b) -> (a, b)> {npu.node = "append"}
    : tensor<2x64xf32>, tensor<100x64xf32>, tensor<2xi64> -> tensor<100x64xf32>
  func.return %y : tensor<100x64xf32>
}

// -----

// What a kernel has made and nothing else reads is not copied: the rows go to where it lies.
// CHECK-LABEL: func.func @in_place(
// CHECK-NEXT:    %[[E:.*]] = tile.launch @k1(%x)
// CHECK-NEXT:    %[[Y:.*]] = tile.launch @k0(%[[E]], %n, %u)
// CHECK:       tile.kernel @k0({{.*}}) reuses [0] schedule
// CHECK-NOT:     tile.store
// CHECK:         tile.scatter
// CHECK-NEXT:    tile.return
func.func @in_place(%x: tensor<100x64xf32>, %n: tensor<2xi64>, %u: tensor<2x64xf32>) -> tensor<100x64xf32> {
  %e = tensor.empty() : tensor<100x64xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<100x64xf32>) outs(%e : tensor<100x64xf32>) {
  ^bb0(%p: f32, %q: f32):
    %0 = math.exp %p : f32
    linalg.yield %0 : f32
  } -> tensor<100x64xf32>
  %y = tile.scatter %u, %o[] rows %n axis 0 map affine_map<(a, b) -> (a, b)>
    : tensor<2x64xf32>, tensor<100x64xf32>, tensor<2xi64> -> tensor<100x64xf32>
  func.return %y : tensor<100x64xf32>
}
