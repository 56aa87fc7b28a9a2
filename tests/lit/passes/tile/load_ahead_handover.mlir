// What the section before makes is loaded ahead as well, as soon as it is stored: a kernel waits for that in its head, and
// the one before says when, behind the last store that meets the first tile. Rows 0 to 20 are needed, of which the last is
// in the second of four tiles.

// RUN: npu-opt %s --tile-load-ahead | filecheck %s
// CHECK-LABEL: tile.kernel @first
// CHECK:           tile.store
// CHECK-NEXT:      [[C:%.+]] = arith.constant 1 : index
// CHECK-NEXT:      [[H:%.+]] = arith.cmpi eq, {{.*}}, [[C]]
// CHECK-NEXT:      scf.if [[H]] {
// CHECK-NEXT:        tile.stored
// CHECK-NEXT:      }
// CHECK-LABEL: tile.kernel @second
// CHECK:         tile.await_stored from <ub>
// CHECK:         tile.load %X
// CHECK-NEXT:    tile.boundary
// CHECK:           scf.if
// CHECK-NEXT:        tile.load %X

// Not if it is not asked for, or where another section comes between, in which nothing waits.
// RUN: npu-opt %s --tile-load-ahead=activations=false | filecheck %s --check-prefix=NONE
// RUN: sed 's/@second(%v)/@third(%v)/' %s | npu-opt --tile-load-ahead | filecheck %s --check-prefix=NONE
// NONE-NOT: tile.stored
// NONE-NOT: tile.await_stored

builtin.module attributes {npu.target = "ascend-910"} {
  func.func @main(%x: tensor<64x8xf16>) -> tensor<8x8x8xf16> {
    %p = tile.program -> tensor<8x8x8xf16> {
      %u = tile.launch @first(%x) : (tensor<64x8xf16>) -> tensor<64x8xf16>
      %v = tensor.expand_shape %u [[0 : i64, 1 : i64], [2 : i64]] output_shape [8, 8, 8] : tensor<64x8xf16> into tensor<8x8x8xf16>
      %w = tile.launch @second(%v) : (tensor<8x8x8xf16>) -> tensor<8x8x8xf16>
      tile.yield %w : tensor<8x8x8xf16>
    }
    func.return %p : tensor<8x8x8xf16>
  }
  tile.kernel @first(%X: memref<64x8xf16, #tile.space<gm>>, %Y: memref<64x8xf16, #tile.space<gm>>) {
    %x = tile.alloc : memref<16x8xf16, #tile.space<ub>>
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    tile.boundary
    scf.for %i = %c0 to %c64 step %c16 {
      tile.load %X[%i] into %x map affine_map<(i, d, e) -> (i + d, e)> : memref<64x8xf16, #tile.space<gm>>, memref<16x8xf16, #tile.space<ub>>
      tile.store %x, %Y[%i] map affine_map<(i, d, e) -> (i + d, e)> : memref<16x8xf16, #tile.space<ub>>, memref<64x8xf16, #tile.space<gm>>
    }
    tile.return
  }
  tile.kernel @second(%X: memref<8x8x8xf16, #tile.space<gm>>, %Y: memref<8x8x8xf16, #tile.space<gm>>) {
    %x = tile.alloc : memref<3x8x8xf16, #tile.space<l1>>
    %y = tile.alloc : memref<2x8x8xf16, #tile.space<ub>>
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    tile.boundary
    scf.for %i = %c0 to %c8 step %c2 {
      tile.load %X[%i] into %x map affine_map<(i, d, e, f) -> (i + d, e, f)> pad 0.0 : f16 : memref<8x8x8xf16, #tile.space<gm>>, memref<3x8x8xf16, #tile.space<l1>>
      tile.load %x[] into %y map affine_map<(d, e, f) -> (d, e, f)> : memref<3x8x8xf16, #tile.space<l1>>, memref<2x8x8xf16, #tile.space<ub>>
      tile.store %y, %Y[%i] map affine_map<(i, d, e, f) -> (i + d, e, f)> : memref<2x8x8xf16, #tile.space<ub>>, memref<8x8x8xf16, #tile.space<gm>>
    }
    tile.return
  }
  tile.kernel @third(%X: memref<8x8x8xf16, #tile.space<gm>>, %Y: memref<8x8x8xf16, #tile.space<gm>>) {
    %y = tile.alloc : memref<8x8x8xf16, #tile.space<ub>>
    tile.boundary
    tile.load %X[] into %y map affine_map<(d, e, f) -> (d, e, f)> : memref<8x8x8xf16, #tile.space<gm>>, memref<8x8x8xf16, #tile.space<ub>>
    tile.store %y, %Y[] map affine_map<(d, e, f) -> (d, e, f)> : memref<8x8x8xf16, #tile.space<ub>>, memref<8x8x8xf16, #tile.space<gm>>
    tile.return
  }
}
