// Loads of what no section writes go before the boundary: those at the top of a kernel, and the first tile of those in
// loops, which the loop then leaves out. %X is what the section before makes; UB is not filled ahead.

// RUN: npu-opt %s --tile-load-ahead | filecheck %s
// CHECK-LABEL: tile.kernel @k
// CHECK-NEXT:    %x = tile.alloc
// CHECK-NEXT:    %w = tile.alloc {slots = 2 : i64}
// CHECK-NEXT:    %u = tile.alloc
// CHECK-NEXT:    %b = tile.alloc
// CHECK-NEXT:    %c0 = arith.constant 0
// CHECK-NEXT:    %c16 = arith.constant 16
// CHECK-NEXT:    %c64 = arith.constant 64
// CHECK-NEXT:    tile.load %B[] into %b
// CHECK-NEXT:    [[I:%.+]] = arith.constant 0 : index
// CHECK-NEXT:    [[S:%.+]] = tile.slot %w[[[I]]]
// CHECK-NEXT:    [[O:%.+]] = arith.constant 0 : index
// CHECK-NEXT:    tile.load %W[[[O]]] into [[S]]
// CHECK-NEXT:    tile.boundary
// CHECK:         scf.for %i
// CHECK-NEXT:      [[N:%.+]] = affine.apply affine_map<(d0) -> ((d0 floordiv 16))> (%i)
// CHECK-NEXT:      %n = affine.apply
// CHECK-NEXT:      tile.load %X[%i] into %x
// CHECK-NEXT:      %t = tile.slot %w[%n]
// CHECK-NEXT:      [[L:%.+]] = arith.constant 1 : index
// CHECK-NEXT:      [[A:%.+]] = arith.cmpi uge, [[N]], [[L]]
// CHECK-NEXT:      scf.if [[A]] {
// CHECK-NEXT:        tile.load %W[%i] into %t
// CHECK-NEXT:      }
// CHECK:           tile.load %U[%i] into %u

// Nothing for none; and what somebody has put there stays.
// RUN: npu-opt %s --tile-load-ahead=tiles=0 | filecheck %s --check-prefix=NONE
// NONE-NOT: scf.if
// RUN: npu-opt %s --tile-load-ahead | npu-opt --tile-load-ahead | filecheck %s

// RUN: not npu-opt %s --tile-load-ahead=tiles=-1 2>&1 | filecheck %s --check-prefix=BAD
// BAD: error: -1 tiles can't be loaded ahead

builtin.module attributes {npu.target = "ascend-910"} {
  func.func @main(%x: tensor<64xf16>, %w: tensor<64xf16>, %u: tensor<64xf16>, %b: tensor<64xf16>) -> tensor<64xf16> {
    %v = tile.program -> tensor<64xf16> {
      %0 = tile.launch @k(%x, %w, %u, %b) : (tensor<64xf16>, tensor<64xf16>, tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
      %1 = tile.launch @k(%0, %w, %u, %b) : (tensor<64xf16>, tensor<64xf16>, tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
      tile.yield %1 : tensor<64xf16>
    }
    func.return %v : tensor<64xf16>
  }
  tile.kernel @k(%X: memref<64xf16, #tile.space<gm>>, %W: memref<64xf16, #tile.space<gm>>, %U: memref<64xf16, #tile.space<gm>>, %B: memref<64xf16, #tile.space<gm>>, %Y: memref<64xf16, #tile.space<gm>>) {
    %x = tile.alloc : memref<16xf16, #tile.space<l1>>
    %w = tile.alloc {slots = 2 : i64} : memref<16xf16, #tile.space<l1>>
    %u = tile.alloc : memref<16xf16, #tile.space<ub>>
    %b = tile.alloc : memref<64xf16, #tile.space<l1>>
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    tile.boundary
    tile.load %B[] into %b map affine_map<(d) -> (d)> : memref<64xf16, #tile.space<gm>>, memref<64xf16, #tile.space<l1>>
    scf.for %i = %c0 to %c64 step %c16 {
      %n = affine.apply affine_map<(d) -> (d floordiv 16)> (%i)
      tile.load %X[%i] into %x map affine_map<(i, d) -> (i + d)> : memref<64xf16, #tile.space<gm>>, memref<16xf16, #tile.space<l1>>
      %t = tile.slot %w[%n] : memref<16xf16, #tile.space<l1>>
      tile.load %W[%i] into %t map affine_map<(i, d) -> (i + d)> : memref<64xf16, #tile.space<gm>>, memref<16xf16, #tile.space<l1>>
      tile.load %U[%i] into %u map affine_map<(i, d) -> (i + d)> : memref<64xf16, #tile.space<gm>>, memref<16xf16, #tile.space<ub>>
      tile.store %u, %Y[%i] map affine_map<(i, d) -> (i + d)> : memref<16xf16, #tile.space<ub>>, memref<64xf16, #tile.space<gm>>
    }
    tile.return
  }
}
