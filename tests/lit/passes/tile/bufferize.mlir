// RUN: npu-opt %s --tile-bufferize --split-input-file | filecheck %s

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#id = affine_map<(m, n) -> (m, n)>

// The operand dies in the operation and is read element by element: its buffer takes the result. A new buffer is made
// where it is read later, or read through another map.
// CHECK-LABEL: tile.kernel @in_place(
// CHECK:         %x = tile.alloc : memref<4x4xf32, #tile.space<ub>>
// CHECK-NEXT:    tile.load %X[] into %x map
// CHECK-NEXT:    %y = tile.alloc
// CHECK-NEXT:    linalg.generic {{.*}} ins(%x : {{.*}}) outs(%y :
// CHECK:         %z = tile.alloc
// CHECK-NEXT:    linalg.generic {{.*}} ins(%x : {{.*}}) outs(%z :
// CHECK:         linalg.generic {{.*}} ins(%y, %z : {{.*}}) outs(%y :
// CHECK:         tile.store %y, %Y[] map
// CHECK-NEXT:    tile.return
tile.kernel @in_place(%X: memref<4x4xf32, #gm>, %Y: memref<4x4xf32, #gm>) {
  %x = tile.load %X[] map #id : memref<4x4xf32, #gm> -> tensor<4x4xf32, #ub>
  %e0 = tensor.empty() : tensor<4x4xf32, #ub>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x4xf32, #ub>) outs(%e0 : tensor<4x4xf32, #ub>) {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32, #ub>
  %e1 = tensor.empty() : tensor<4x4xf32, #ub>
  %z = linalg.generic {indexing_maps = [affine_map<(m, n) -> (n, m)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x4xf32, #ub>) outs(%e1 : tensor<4x4xf32, #ub>) {
  ^bb0(%i: f32, %c: f32):
    linalg.yield %i : f32
  } -> tensor<4x4xf32, #ub>
  %e2 = tensor.empty() : tensor<4x4xf32, #ub>
  %w = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %z : tensor<4x4xf32, #ub>, tensor<4x4xf32, #ub>) outs(%e2 : tensor<4x4xf32, #ub>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32, #ub>
  tile.store %w, %Y[] map #id : tensor<4x4xf32, #ub>, memref<4x4xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>

// A value carried around a loop stays in one buffer, which is filled before it. A start that is read again later is
// copied first.
// CHECK-LABEL: tile.kernel @carried(
// CHECK:         %f = tile.alloc
// CHECK-NEXT:    linalg.fill {{.*}} outs(%f :
// CHECK:         %[[COPY:.*]] = tile.alloc
// CHECK-NEXT:    tile.load %f[] into %[[COPY]]
// CHECK-NEXT:    scf.for %i = %c0 to %c8 step %c4 {
// CHECK:           tile.load %X[%i] into
// CHECK-NEXT:      linalg.generic {{.*}} outs(%[[COPY]] :
// CHECK:         }
// CHECK:         tile.store %[[COPY]], %Y[]
// CHECK:         tile.store %f, %Z[]
tile.kernel @carried(%X: memref<8xf32, #gm>, %Y: memref<f32, #gm>, %Z: memref<f32, #gm>) outputs 2 {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32, #ub>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32, #ub>) -> tensor<f32, #ub>
  %sum = scf.for %i = %c0 to %c8 step %c4 iter_args(%acc = %f) -> (tensor<f32, #ub>) {
    %x = tile.load %X[%i] map affine_map<(i, d) -> (i + d)> : memref<8xf32, #gm> -> tensor<4xf32, #ub>
    %r = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> ()>],
                         iterator_types = ["reduction"]}
        ins(%x : tensor<4xf32, #ub>) outs(%acc : tensor<f32, #ub>) {
    ^bb0(%a: f32, %c: f32):
      %s = arith.addf %a, %c : f32
      linalg.yield %s : f32
    } -> tensor<f32, #ub>
    scf.yield %r : tensor<f32, #ub>
  }
  tile.store %sum, %Y[] map affine_map<() -> ()> : tensor<f32, #ub>, memref<f32, #gm>
  tile.store %f, %Z[] map affine_map<() -> ()> : tensor<f32, #ub>, memref<f32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#l0a = #tile.space<l0a>
#l0b = #tile.space<l0b>
#l0c = #tile.space<l0c>
#l1 = #tile.space<l1>

// Matrix buffers know how many of their dims are rows.
// CHECK-LABEL: tile.kernel @rows(
// CHECK-DAG:     tile.alloc {rows = 2 : i64} : memref<2x2x4xf32, #tile.space<l0a>>
// CHECK-DAG:     tile.alloc {rows = 1 : i64} : memref<4x3xf32, #tile.space<l0b>>
// CHECK-DAG:     tile.alloc {rows = 2 : i64} : memref<2x2x3xf32, #tile.space<l0c>>
tile.kernel @rows(%X: memref<2x2x4xf32, #gm>, %W: memref<4x3xf32, #gm>, %Y: memref<2x2x3xf32, #gm>) {
  %x = tile.load %X[] map affine_map<(l, m, k) -> (l, m, k)> : memref<2x2x4xf32, #gm> -> tensor<2x2x4xf32, #l1>
  %w = tile.load %W[] map affine_map<(k, n) -> (k, n)> : memref<4x3xf32, #gm> -> tensor<4x3xf32, #l1>
  %a = tile.load %x[] map affine_map<(l, m, k) -> (l, m, k)> : tensor<2x2x4xf32, #l1> -> tensor<2x2x4xf32, #l0a>
  %b = tile.load %w[] map affine_map<(k, n) -> (k, n)> : tensor<4x3xf32, #l1> -> tensor<4x3xf32, #l0b>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2x3xf32, #l0c>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x2x3xf32, #l0c>) -> tensor<2x2x3xf32, #l0c>
  %r = linalg.generic {indexing_maps = [affine_map<(l, m, n, k) -> (l, m, k)>, affine_map<(l, m, n, k) -> (k, n)>,
                                        affine_map<(l, m, n, k) -> (l, m, n)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2x2x4xf32, #l0a>, tensor<4x3xf32, #l0b>) outs(%f : tensor<2x2x3xf32, #l0c>) {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x2x3xf32, #l0c>
  tile.store %r, %Y[] map affine_map<(l, m, n) -> (l, m, n)> : tensor<2x2x3xf32, #l0c>, memref<2x2x3xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#id = affine_map<(m, n) -> (m, n)>

// Rows are gathered into a buffer of their own, by indices in another.
// CHECK-LABEL: tile.kernel @rows(
// CHECK:         %r = tile.alloc : memref<4xi32, #tile.space<ub>>
// CHECK-NEXT:    tile.load %I[] into %r map
// CHECK-NEXT:    %g = tile.alloc : memref<4x8xf16, #tile.space<ub>>
// CHECK-NEXT:    tile.gather %T[] rows %r into %g axis 0 map affine_map<(d0, d1) -> (d0, d1)> pad 0.000000e+00 : f16 {npu.node = "pick"} :
// CHECK-NEXT:    tile.store %g, %Y[] map
tile.kernel @rows(%T: memref<50x8xf16, #gm>, %I: memref<4xi32, #gm>, %Y: memref<4x8xf16, #gm>) {
  %r = tile.load %I[] map affine_map<(m) -> (m)> : memref<4xi32, #gm> -> tensor<4xi32, #ub>
  %g = tile.gather %T[] rows %r axis 0 map #id pad 0.0 : f16 {npu.node = "pick"}
    : memref<50x8xf16, #gm>, tensor<4xi32, #ub> -> tensor<4x8xf16, #ub>
  tile.store %g, %Y[] map #id : tensor<4x8xf16, #ub>, memref<4x8xf16, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>

// What is put into GM, and where, are buffers.
// CHECK-LABEL: tile.kernel @put(
// CHECK:         tile.scatter %u, %Y[] rows %r axis 0 map affine_map<(d0, d1) -> (d0, d1)> : memref<4x8xf16, #tile.space<ub>>, memref<50x8xf16, #tile.space<gm>>, memref<4xi32, #tile.space<ub>>
tile.kernel @put(%X: memref<50x8xf16, #gm>, %I: memref<4xi32, #gm>, %U: memref<4x8xf16, #gm>, %Y: memref<50x8xf16, #gm>) reuses [0] {
  %r = tile.load %I[] map affine_map<(m) -> (m)> : memref<4xi32, #gm> -> tensor<4xi32, #ub>
  %u = tile.load %U[] map affine_map<(m, n) -> (m, n)> : memref<4x8xf16, #gm> -> tensor<4x8xf16, #ub>
  tile.scatter %u, %Y[] rows %r axis 0 map affine_map<(m, n) -> (m, n)>
    : tensor<4x8xf16, #ub>, memref<50x8xf16, #gm>, tensor<4xi32, #ub>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#id = affine_map<(i, j) -> (i, j)>

// Either operand dies in the sum: what was computed is overwritten, so that the next tile from GM waits for no store.
// CHECK-LABEL: tile.kernel @residual(
// CHECK:         tile.load %X[] into %x
// CHECK:         tile.load %Z[] into %z
// CHECK:         linalg.generic {{.*}} ins(%z : {{.*}}) outs(%z :
// CHECK:         linalg.generic {{.*}} ins(%x, %z : {{.*}}) outs(%z :
// CHECK:         tile.store %z, %Y[]
tile.kernel @residual(%X: memref<4x4xf32, #gm>, %Z: memref<4x4xf32, #gm>, %Y: memref<4x4xf32, #gm>) {
  %x = tile.load %X[] map #id : memref<4x4xf32, #gm> -> tensor<4x4xf32, #ub>
  %z = tile.load %Z[] map #id : memref<4x4xf32, #gm> -> tensor<4x4xf32, #ub>
  %e = tensor.empty() : tensor<4x4xf32, #ub>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%z : tensor<4x4xf32, #ub>) outs(%e : tensor<4x4xf32, #ub>) {
  ^bb0(%a: f32, %c: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<4x4xf32, #ub>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : tensor<4x4xf32, #ub>, tensor<4x4xf32, #ub>) outs(%e : tensor<4x4xf32, #ub>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<4x4xf32, #ub>
  tile.store %s, %Y[] map #id : tensor<4x4xf32, #ub>, memref<4x4xf32, #gm>
  tile.return
}

// -----

// What is made part by part, around a loop, is one buffer.
// CHECK-LABEL: tile.kernel @parts(
// CHECK:         %e = tile.alloc : memref<4x16xf32, #tile.space<l1>>
// CHECK-NEXT:    scf.for %i = {{.*}} {
// CHECK:           %x = tile.alloc : memref<4x4xf32, #tile.space<ub>>
// CHECK:           tile.insert %x, %e[%i] map {{.*}} : memref<4x4xf32, #tile.space<ub>>, memref<4x16xf32, #tile.space<l1>>
// CHECK:         tile.load %e[] into %u map
#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l1 = #tile.space<l1>
tile.kernel @parts(%X: memref<4x16xf32, #gm>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %e = tensor.empty() : tensor<4x16xf32, #l1>
  %h = scf.for %i = %c0 to %c16 step %c4 iter_args(%p = %e) -> (tensor<4x16xf32, #l1>) {
    %x = tile.load %X[%i] map affine_map<(i, m, n) -> (m, i + n)> : memref<4x16xf32, #gm> -> tensor<4x4xf32, #ub>
    %q = tile.insert %x, %p[%i] map affine_map<(i, m, n) -> (m, i + n)> : tensor<4x4xf32, #ub>, tensor<4x16xf32, #l1> -> tensor<4x16xf32, #l1>
    scf.yield %q : tensor<4x16xf32, #l1>
  }
  %u = tile.load %h[] map affine_map<(m, n) -> (m, n)> : tensor<4x16xf32, #l1> -> tensor<4x16xf32, #ub>
  tile.return
}
