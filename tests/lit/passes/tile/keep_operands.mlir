// RUN: npu-opt %s --tile-keep-operands --split-input-file | filecheck %s
// RUN: npu-opt %s --tile-keep-operands --tile-double-buffer --split-input-file | filecheck %s --check-prefix=SLOTS

#gm = #tile.space<gm>
#l1 = #tile.space<l1>
#l0a = #tile.space<l0a>
#l0b = #tile.space<l0b>

// Chunks of the left operand depend on %m and %k: in each iteration of %n but the first they are there. There are two of
// them. The right operand stays where it is for as long as %m runs: all of its four chunks.
// CHECK-LABEL: tile.kernel @both(
// CHECK-DAG:     %a = tile.alloc {slots = 2 : i64} : memref<16x16xf16, #tile.space<l1>>
// CHECK-DAG:     %b = tile.alloc {slots = 4 : i64} : memref<16x8xf16, #tile.space<l1>>
// CHECK:         scf.for %m =
// CHECK-NEXT:      scf.for %n =
// CHECK-NEXT:        scf.for %k =
// CHECK-DAG:           %[[COUNT:.*]] = affine.apply affine_map<(d0, d1, d2) -> ((((d0 floordiv 16) + ((d1 floordiv 8) * 2)) + ((d2 floordiv 16) * 4)))> (%k, %n, %m)
// CHECK-DAG:           %[[A:.*]] = tile.slot %a[%{{.*}}]
// CHECK-DAG:           %[[FIRST_N:.*]] = arith.cmpi eq, %n, %c0 : index
// CHECK:               scf.if %[[FIRST_N]] {
// CHECK-NEXT:            tile.load %A[%m, %k] into %[[A]]
// CHECK-NEXT:          }
// CHECK:               %[[B:.*]] = tile.slot %b[%{{.*}}]
// CHECK:               %[[FIRST_M:.*]] = arith.cmpi eq, %m, %c0 : index
// CHECK-NEXT:          scf.if %[[FIRST_M]] {
// CHECK-NEXT:            tile.load %B[%k, %n] into %[[B]]
// CHECK-NEXT:          }
// CHECK:               tile.load %[[A]][] into %a0
// CHECK:               tile.load %[[B]][] into %b0
// SLOTS-LABEL: tile.kernel @both(
// SLOTS:         %a = tile.alloc {slots = 2 : i64} : memref<16x16xf16, #tile.space<l1>>
tile.kernel @both(%A: memref<32x32xf16, #gm>, %B: memref<32x16xf16, #gm>, %C: memref<8xf16, #gm>)
    schedule #tile.schedule<slots = {l1 = 3}, keep = [a, b]> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  scf.for %m = %c0 to %c32 step %c16 {
    scf.for %n = %c0 to %c16 step %c8 {
      scf.for %k = %c0 to %c32 step %c16 {
        %a = tile.alloc : memref<16x16xf16, #l1>
        tile.load %A[%m, %k] into %a map affine_map<(m, k, i, j) -> (m + i, k + j)> : memref<32x32xf16, #gm>, memref<16x16xf16, #l1>
        %b = tile.alloc : memref<16x8xf16, #l1>
        tile.load %B[%k, %n] into %b map affine_map<(k, n, i, j) -> (k + i, n + j)> : memref<32x16xf16, #gm>, memref<16x8xf16, #l1>
        %a0 = tile.alloc : memref<16x16xf16, #l0a>
        tile.load %a[] into %a0 map affine_map<(i, j) -> (i, j)> : memref<16x16xf16, #l1>, memref<16x16xf16, #l0a>
        %b0 = tile.alloc : memref<16x8xf16, #l0b>
        tile.load %b[] into %b0 map affine_map<(i, j) -> (i, j)> : memref<16x8xf16, #l1>, memref<16x8xf16, #l0b>
      }
    }
  }
  tile.return
}

// -----

#gm = #tile.space<gm>
#l1 = #tile.space<l1>
#l0a = #tile.space<l0a>
#l0b = #tile.space<l0b>

// Two loops that the operand does not depend on, one in the other: it is loaded in the first iteration of both.
// CHECK-LABEL: tile.kernel @two_loops(
// CHECK:         %b = tile.alloc {slots = 2 : i64}
// CHECK-DAG:     %[[ONE:.*]] = arith.cmpi eq, %w, %c0
// CHECK-DAG:     %[[OTHER:.*]] = arith.cmpi eq, %h, %c0
// CHECK:         %[[BOTH:.*]] = arith.andi %[[ONE]], %[[OTHER]] : i1
// CHECK-NEXT:    scf.if %[[BOTH]] {
tile.kernel @two_loops(%B: memref<32x8xf16, #gm>) schedule #tile.schedule<keep = [b]> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  scf.for %h = %c0 to %c32 step %c16 {
    scf.for %w = %c0 to %c32 step %c16 {
      scf.for %k = %c0 to %c32 step %c16 {
        %b = tile.alloc : memref<16x8xf16, #l1>
        tile.load %B[%k] into %b map affine_map<(k, i, j) -> (k + i, j)> : memref<32x8xf16, #gm>, memref<16x8xf16, #l1>
        %b0 = tile.alloc : memref<16x8xf16, #l0b>
        tile.load %b[] into %b0 map affine_map<(i, j) -> (i, j)> : memref<16x8xf16, #l1>, memref<16x8xf16, #l0b>
      }
    }
  }
  tile.return
}

// -----

#gm = #tile.space<gm>
#l1 = #tile.space<l1>
#l0a = #tile.space<l0a>
#l0b = #tile.space<l0b>

// Left alone: an operand that is not named, one that depends on all loops, and one that is loaded in a single piece.
// CHECK-LABEL: tile.kernel @alone(
// CHECK-NOT:     scf.if
// CHECK-NOT:     tile.slot
// CHECK:         tile.return
tile.kernel @alone(%A: memref<32x32xf16, #gm>, %B: memref<32x8xf16, #gm>) schedule #tile.schedule<keep = [a]> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  scf.for %m = %c0 to %c32 step %c16 {
    %p = tile.alloc : memref<16x32xf16, #l1>
    tile.load %A[%m] into %p map affine_map<(m, i, j) -> (m + i, j)> : memref<32x32xf16, #gm>, memref<16x32xf16, #l1>
    scf.for %k = %c0 to %c32 step %c16 {
      %a = tile.alloc : memref<16x16xf16, #l1>
      tile.load %A[%m, %k] into %a map affine_map<(m, k, i, j) -> (m + i, k + j)> : memref<32x32xf16, #gm>, memref<16x16xf16, #l1>
      %b = tile.alloc : memref<16x8xf16, #l1>
      tile.load %B[%k] into %b map affine_map<(k, i, j) -> (k + i, j)> : memref<32x8xf16, #gm>, memref<16x8xf16, #l1>
      %a0 = tile.alloc : memref<16x16xf16, #l0a>
      tile.load %a[] into %a0 map affine_map<(i, j) -> (i, j)> : memref<16x16xf16, #l1>, memref<16x16xf16, #l0a>
      %a1 = tile.alloc : memref<16x16xf16, #l0a>
      tile.load %p[%k] into %a1 map affine_map<(k, i, j) -> (i, k + j)> : memref<16x32xf16, #l1>, memref<16x16xf16, #l0a>
      %b0 = tile.alloc : memref<16x8xf16, #l0b>
      tile.load %b[] into %b0 map affine_map<(i, j) -> (i, j)> : memref<16x8xf16, #l1>, memref<16x8xf16, #l0b>
    }
  }
  tile.return
}

// -----

#gm = #tile.space<gm>
#l1 = #tile.space<l1>
#l0a = #tile.space<l0a>

// Nothing to keep an operand for: it depends on all loops around it.
// CHECK-LABEL: tile.kernel @depends(
// CHECK-NOT:     scf.if
// CHECK:         tile.return
tile.kernel @depends(%A: memref<32x32xf16, #gm>) schedule #tile.schedule<keep = [a]> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  scf.for %m = %c0 to %c32 step %c16 {
    scf.for %k = %c0 to %c32 step %c16 {
      %a = tile.alloc : memref<16x16xf16, #l1>
      tile.load %A[%m, %k] into %a map affine_map<(m, k, i, j) -> (m + i, k + j)> : memref<32x32xf16, #gm>, memref<16x16xf16, #l1>
      %a0 = tile.alloc : memref<16x16xf16, #l0a>
      tile.load %a[] into %a0 map affine_map<(i, j) -> (i, j)> : memref<16x16xf16, #l1>, memref<16x16xf16, #l0a>
    }
  }
  tile.return
}
