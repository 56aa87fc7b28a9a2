// RUN: npu-opt %s --tile-split-compute --split-input-file | filecheck %s

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#id = affine_map<(m, n) -> (m, n)>

// Each operation of the body becomes an operation of its own. What only depends on the row %b stays a row: exp is
// computed on 4 elements, not on 32.
// CHECK-LABEL: tile.kernel @chain(
// CHECK:         %[[E0:.*]] = tensor.empty() : tensor<4xf32, #tile.space<ub>>
// CHECK-NEXT:    %[[P:.*]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%b : {{.*}}) outs(%[[E0]] :
// CHECK:           math.exp
// CHECK:         %[[S:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], {{.*}} ins(%x, %[[P]] :
// CHECK:           arith.addf
// CHECK-NEXT:      linalg.yield
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} ins(%[[S]] :
// CHECK:           arith.constant 0.000000e+00
// CHECK:           arith.maximumf
// CHECK-NEXT:      linalg.yield
// CHECK:         tile.store %[[R]]
tile.kernel @chain(%X: memref<8x4xf32, #gm>, %B: memref<4xf32, #gm>, %Y: memref<8x4xf32, #gm>) {
  %x = tile.load %X[] map #id : memref<8x4xf32, #gm> -> tensor<8x4xf32, #ub>
  %b = tile.load %B[] map affine_map<(n) -> (n)> : memref<4xf32, #gm> -> tensor<4xf32, #ub>
  %e = tensor.empty() : tensor<8x4xf32, #ub>
  %r = linalg.generic {indexing_maps = [#id, affine_map<(m, n) -> (n)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<8x4xf32, #ub>, tensor<4xf32, #ub>) outs(%e : tensor<8x4xf32, #ub>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %p = math.exp %j : f32
    %s = arith.addf %i, %p : f32
    %zero = arith.constant 0.0 : f32
    %t = arith.maximumf %s, %zero : f32
    linalg.yield %t : f32
  } -> tensor<8x4xf32, #ub>
  tile.store %r, %Y[] map #id : tensor<8x4xf32, #ub>, memref<8x4xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>

// The square is computed first; its sum accumulates from where it started.
// CHECK-LABEL: tile.kernel @squares(
// CHECK:         %[[Q:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%x
// CHECK:           arith.mulf
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[Q]] : {{.*}}) outs(%f :
// CHECK:           arith.maximumf
// CHECK:         tile.store %[[R]]
tile.kernel @squares(%X: memref<8x4xf32, #gm>, %Y: memref<8xf32, #gm>) {
  %x = tile.load %X[] map affine_map<(m, n) -> (m, n)> : memref<8x4xf32, #gm> -> tensor<8x4xf32, #ub>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32, #ub>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32, #ub>) -> tensor<8xf32, #ub>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x4xf32, #ub>) outs(%f : tensor<8xf32, #ub>) {
  ^bb0(%i: f32, %c: f32):
    %q = arith.mulf %i, %i : f32
    %s = arith.maximumf %q, %c : f32
    linalg.yield %s : f32
  } -> tensor<8xf32, #ub>
  tile.store %r, %Y[] map affine_map<(m) -> (m)> : tensor<8xf32, #ub>, memref<8xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>

// One instruction already: a widening multiply-add, a copy, a single operation. Nothing changes.
// CHECK-LABEL: tile.kernel @single(
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT:     linalg.generic
tile.kernel @single(%X: memref<8x4xf16, #gm>, %Y: memref<4xf32, #gm>) {
  %x = tile.load %X[] map affine_map<(m, n) -> (m, n)> : memref<8x4xf16, #gm> -> tensor<8x4xf16, #ub>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32, #ub>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32, #ub>) -> tensor<4xf32, #ub>
  %r = linalg.generic {indexing_maps = [affine_map<(n, m) -> (m, n)>, affine_map<(n, m) -> (m, n)>,
                                        affine_map<(n, m) -> (n)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %x : tensor<8x4xf16, #ub>, tensor<8x4xf16, #ub>) outs(%f : tensor<4xf32, #ub>) {
  ^bb0(%i: f16, %j: f16, %c: f32):
    %a = arith.extf %i : f16 to f32
    %b = arith.extf %j : f16 to f32
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32, #ub>
  %e1 = tensor.empty() : tensor<4xf32, #ub>
  %t = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>], iterator_types = ["parallel"]}
      ins(%r : tensor<4xf32, #ub>) outs(%e1 : tensor<4xf32, #ub>) {
  ^bb0(%i: f32, %c: f32):
    linalg.yield %i : f32
  } -> tensor<4xf32, #ub>
  %e2 = tensor.empty() : tensor<4xf32, #ub>
  %u = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>], iterator_types = ["parallel"]}
      ins(%t : tensor<4xf32, #ub>) outs(%e2 : tensor<4xf32, #ub>) {
  ^bb0(%i: f32, %c: f32):
    %s = math.sqrt %i : f32
    linalg.yield %s : f32
  } -> tensor<4xf32, #ub>
  tile.store %u, %Y[] map affine_map<(n) -> (n)> : tensor<4xf32, #ub>, memref<4xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>

// An instruction takes one constant: another becomes a tile of one element that is broadcast.
// CHECK-LABEL: tile.kernel @constants(
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<1xf32, #tile.space<ub>>
// CHECK:         %[[F:.*]] = linalg.fill {{.*}} outs(%[[E]]
// CHECK:         linalg.generic {{.*}} ins(%m, %[[F]] :
// CHECK:           arith.select
tile.kernel @constants(%M: memref<4xi1, #gm>, %Y: memref<4xf32, #gm>) {
  %m = tile.load %M[] map affine_map<(n) -> (n)> : memref<4xi1, #gm> -> tensor<4xi1, #ub>
  %e = tensor.empty() : tensor<4xf32, #ub>
  %r = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>], iterator_types = ["parallel"]}
      ins(%m : tensor<4xi1, #ub>) outs(%e : tensor<4xf32, #ub>) {
  ^bb0(%i: i1, %c: f32):
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %s = arith.select %i, %one, %two : f32
    linalg.yield %s : f32
  } -> tensor<4xf32, #ub>
  tile.store %r, %Y[] map affine_map<(n) -> (n)> : tensor<4xf32, #ub>, memref<4xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#l0a = #tile.space<l0a>
#l0b = #tile.space<l0b>
#l0c = #tile.space<l0c>
#l1 = #tile.space<l1>

// What the cube does stays whole.
// CHECK-LABEL: tile.kernel @cube(
// CHECK:         arith.mulf
// CHECK-NEXT:    arith.addf
// CHECK-NEXT:    linalg.yield
tile.kernel @cube(%X: memref<4x4xf32, #gm>, %Y: memref<4x4xf32, #gm>) {
  %x = tile.load %X[] map affine_map<(m, n) -> (m, n)> : memref<4x4xf32, #gm> -> tensor<4x4xf32, #l1>
  %a = tile.load %x[] map affine_map<(m, n) -> (m, n)> : tensor<4x4xf32, #l1> -> tensor<4x4xf32, #l0a>
  %b = tile.load %x[] map affine_map<(m, n) -> (m, n)> : tensor<4x4xf32, #l1> -> tensor<4x4xf32, #l0b>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32, #l0c>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32, #l0c>) -> tensor<4x4xf32, #l0c>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x4xf32, #l0a>, tensor<4x4xf32, #l0b>) outs(%f : tensor<4x4xf32, #l0c>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32, #l0c>
  tile.store %r, %Y[] map affine_map<(m, n) -> (m, n)> : tensor<4x4xf32, #l0c>, memref<4x4xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#id = affine_map<(m, n) -> (m, n)>
#t = affine_map<(m, n) -> (n, m)>

// What narrows its operand is computed first, and then transposed.
// CHECK-LABEL: tile.kernel @transposed_cast(
// CHECK:         %[[C:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], {{.*}} ins(%x : {{.*}}) outs(%{{.*}} : tensor<32x16xf16, #tile.space<ub>>)
// CHECK:           arith.truncf
// CHECK:         %[[R:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], {{.*}} ins(%[[C]] : tensor<32x16xf16, #tile.space<ub>>) outs(%e :
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f16, %{{.*}}: f16):
// CHECK-NEXT:      linalg.yield %[[A]]
// CHECK:         tile.store %[[R]]
tile.kernel @transposed_cast(%X: memref<32x16xf32, #gm>, %Y: memref<16x32xf16, #gm>) {
  %x = tile.load %X[] map #id : memref<32x16xf32, #gm> -> tensor<32x16xf32, #ub>
  %e = tensor.empty() : tensor<16x32xf16, #ub>
  %r = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<32x16xf32, #ub>) outs(%e : tensor<16x32xf16, #ub>) {
  ^bb0(%i: f32, %o: f16):
    %c = arith.truncf %i : f32 to f16
    linalg.yield %c : f16
  } -> tensor<16x32xf16, #ub>
  tile.store %r, %Y[] map #id : tensor<16x32xf16, #ub>, memref<16x32xf16, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#id = affine_map<(m, n) -> (m, n)>
#t = affine_map<(m, n) -> (n, m)>

// One of two operands is brought in order before they meet.
// CHECK-LABEL: tile.kernel @transposed_sum(
// CHECK:         %[[C:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], {{.*}} ins(%x : tensor<32x16xf16, #tile.space<ub>>) outs(%{{.*}} : tensor<16x32xf16, #tile.space<ub>>)
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], {{.*}} ins(%[[C]], %y : {{.*}}) outs(%e :
// CHECK:           arith.addf
tile.kernel @transposed_sum(%X: memref<32x16xf16, #gm>, %Z: memref<16x32xf16, #gm>, %Y: memref<16x32xf16, #gm>) {
  %x = tile.load %X[] map #id : memref<32x16xf16, #gm> -> tensor<32x16xf16, #ub>
  %y = tile.load %Z[] map #id : memref<16x32xf16, #gm> -> tensor<16x32xf16, #ub>
  %e = tensor.empty() : tensor<16x32xf16, #ub>
  %r = linalg.generic {indexing_maps = [#t, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<32x16xf16, #ub>, tensor<16x32xf16, #ub>) outs(%e : tensor<16x32xf16, #ub>) {
  ^bb0(%i: f16, %j: f16, %o: f16):
    %c = arith.addf %i, %j : f16
    linalg.yield %c : f16
  } -> tensor<16x32xf16, #ub>
  tile.store %r, %Y[] map #id : tensor<16x32xf16, #ub>, memref<16x32xf16, #gm>
  tile.return
}
