// RUN: npu-opt %s --tile-double-buffer --split-input-file | filecheck %s

#gm = #tile.space<gm>
#ub = #tile.space<ub>

// A buffer that one pipe fills and another reads in a loop gets the slots of its space, and the running count over both
// loops selects one. The buffer of the vector unit alone keeps one slot. All stand at the top.
// CHECK-LABEL: tile.kernel @slots(
// CHECK-DAG:     %x = tile.alloc {slots = 2 : i64} : memref<4xf32, #tile.space<ub>>
// CHECK-DAG:     %t = tile.alloc : memref<4xf32, #tile.space<ub>>
// CHECK-DAG:     %y = tile.alloc {slots = 2 : i64} : memref<4xf32, #tile.space<ub>>
// CHECK:         scf.for %i =
// CHECK-NEXT:      scf.for %j =
// CHECK-NEXT:        %[[N:.*]] = affine.apply affine_map<(d0, d1) -> (((d0 floordiv 4) + ((d1 floordiv 2) * 3)))> (%j, %i)
// CHECK-NEXT:        %[[X:.*]] = tile.slot %x[%[[N]]]
// CHECK-NEXT:        tile.load %X[%i, %j] into %[[X]]
// CHECK:             linalg.generic {{.*}} ins(%[[X]] : {{.*}}) outs(%t :
// CHECK:             %[[Y:.*]] = tile.slot %y[%[[N]]]
// CHECK:             linalg.generic {{.*}} ins(%t, %t : {{.*}}) outs(%[[Y]] :
// CHECK:             tile.store %[[Y]], %Y[%i, %j]
tile.kernel @slots(%X: memref<8x12xf32, #gm>, %Y: memref<8x12xf32, #gm>)
    schedule #tile.schedule<slots = {ub = 2}> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  scf.for %i = %c0 to %c8 step %c2 {
    scf.for %j = %c0 to %c12 step %c4 {
      %x = tile.alloc : memref<4xf32, #ub>
      tile.load %X[%i, %j] into %x map affine_map<(i, j, d) -> (i, j + d)> : memref<8x12xf32, #gm>, memref<4xf32, #ub>
      %t = tile.alloc : memref<4xf32, #ub>
      linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>], iterator_types = ["parallel"]}
          ins(%x : memref<4xf32, #ub>) outs(%t : memref<4xf32, #ub>) {
      ^bb0(%a: f32, %c: f32):
        %s = math.exp %a : f32
        linalg.yield %s : f32
      }
      %y = tile.alloc : memref<4xf32, #ub>
      linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>, affine_map<(n) -> (n)>],
                      iterator_types = ["parallel"]}
          ins(%t, %t : memref<4xf32, #ub>, memref<4xf32, #ub>) outs(%y : memref<4xf32, #ub>) {
      ^bb0(%a: f32, %b: f32, %c: f32):
        %s = arith.mulf %a, %b : f32
        linalg.yield %s : f32
      }
      tile.store %y, %Y[%i, %j] map affine_map<(i, j, d) -> (i, j + d)> : memref<4xf32, #ub>, memref<8x12xf32, #gm>
    }
  }
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>

// Slots by role: three for what comes from GM, two for what goes there.
// CHECK-LABEL: tile.kernel @roles(
// CHECK-DAG:     %x = tile.alloc {slots = 3 : i64} : memref<4xf32, #tile.space<ub>>
// CHECK-DAG:     %t = tile.alloc : memref<4xf32, #tile.space<ub>>
// CHECK-DAG:     %y = tile.alloc {slots = 2 : i64} : memref<4xf32, #tile.space<ub>>
tile.kernel @roles(%X: memref<8x12xf32, #gm>, %Y: memref<8x12xf32, #gm>)
    schedule #tile.schedule<slots = {ub = {in = 3, out = 2}}> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  scf.for %i = %c0 to %c8 step %c2 {
    scf.for %j = %c0 to %c12 step %c4 {
      %x = tile.alloc : memref<4xf32, #ub>
      tile.load %X[%i, %j] into %x map affine_map<(i, j, d) -> (i, j + d)> : memref<8x12xf32, #gm>, memref<4xf32, #ub>
      %t = tile.alloc : memref<4xf32, #ub>
      linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>], iterator_types = ["parallel"]}
          ins(%x : memref<4xf32, #ub>) outs(%t : memref<4xf32, #ub>) {
      ^bb0(%a: f32, %c: f32):
        %s = math.exp %a : f32
        linalg.yield %s : f32
      }
      %y = tile.alloc : memref<4xf32, #ub>
      linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>, affine_map<(n) -> (n)>],
                      iterator_types = ["parallel"]}
          ins(%t, %t : memref<4xf32, #ub>, memref<4xf32, #ub>) outs(%y : memref<4xf32, #ub>) {
      ^bb0(%a: f32, %b: f32, %c: f32):
        %s = arith.mulf %a, %b : f32
        linalg.yield %s : f32
      }
      tile.store %y, %Y[%i, %j] map affine_map<(i, j, d) -> (i, j + d)> : memref<4xf32, #ub>, memref<8x12xf32, #gm>
    }
  }
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>

// Without a schedule, and outside of loops, buffers keep one slot.
// CHECK-LABEL: tile.kernel @one(
// CHECK-NEXT:    %x = tile.alloc : memref
// CHECK-NOT:     tile.slot
tile.kernel @one(%X: memref<8xf32, #gm>, %Y: memref<8xf32, #gm>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c4 {
    %x = tile.alloc : memref<4xf32, #ub>
    tile.load %X[%i] into %x map affine_map<(i, d) -> (i + d)> : memref<8xf32, #gm>, memref<4xf32, #ub>
    tile.store %x, %Y[%i] map affine_map<(i, d) -> (i + d)> : memref<4xf32, #ub>, memref<8xf32, #gm>
  }
  tile.return
}

// CHECK-LABEL: tile.kernel @outside(
// CHECK-NEXT:    %x = tile.alloc : memref
tile.kernel @outside(%X: memref<4xf32, #gm>, %Y: memref<4xf32, #gm>) schedule #tile.schedule<slots = {ub = 2}> {
  %x = tile.alloc : memref<4xf32, #ub>
  tile.load %X[] into %x map affine_map<(d) -> (d)> : memref<4xf32, #gm>, memref<4xf32, #ub>
  tile.store %x, %Y[] map affine_map<(d) -> (d)> : memref<4xf32, #ub>, memref<4xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>

// The scalar unit reads the indices that a load brings, and a store what a gather does: both get slots.
// CHECK-LABEL: tile.kernel @rows(
// CHECK-DAG:     %r = tile.alloc {slots = 2 : i64} : memref<4xi32, #tile.space<ub>>
// CHECK-DAG:     %g = tile.alloc {slots = 2 : i64} : memref<4x8xf16, #tile.space<ub>>
// CHECK:         tile.gather %T[] rows %{{.*}} into %{{.*}} axis 0
tile.kernel @rows(%T: memref<50x8xf16, #gm>, %I: memref<8xi32, #gm>, %Y: memref<8x8xf16, #gm>)
    schedule #tile.schedule<slots = {ub = 2}> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c4 {
    %r = tile.alloc : memref<4xi32, #ub>
    tile.load %I[%i] into %r map affine_map<(i, m) -> (i + m)> : memref<8xi32, #gm>, memref<4xi32, #ub>
    %g = tile.alloc : memref<4x8xf16, #ub>
    tile.gather %T[] rows %r into %g axis 0 map affine_map<(m, n) -> (m, n)>
      : memref<50x8xf16, #gm>, memref<4xi32, #ub>, memref<4x8xf16, #ub>
    tile.store %g, %Y[%i] map affine_map<(i, m, n) -> (i + m, n)> : memref<4x8xf16, #ub>, memref<8x8xf16, #gm>
  }
  tile.return
}
