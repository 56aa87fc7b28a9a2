// RUN: npu-opt %s --npu-isa-cleanup | filecheck %s

#gm = #tile.space<gm>

// Constants stand first, once; scalar code is computed once and as far out as its operands allow; what is unused goes,
// loops without instructions included.
// CHECK-LABEL: tile.kernel @scalars(
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %xs = npu_isa.buffer 2 x 256 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    scf.for %i = %c0 to %c8 step %c8 {
// CHECK-NEXT:      %n = arith.addi %i, %c1 : index
// CHECK-NEXT:      %h = arith.divui %n, %c2 : index
// CHECK-NEXT:      %s = npu_isa.slot %xs[%h] : !npu_isa.addr<ub>
// CHECK-NEXT:      scf.for %j = %c0 to %c8 step %c1 {
// CHECK-NEXT:        %q = arith.divui %j, %i : index
// CHECK-NEXT:        npu_isa.load_ub %A[%n] -> %s<1> over [8] map affine_map<(d0, d1) -> ((d0 + d1))> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:        npu_isa.store_ub %s<1> -> %Y[%q] over [8] map affine_map<(d0, d1) -> ((d0 + d1))> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @scalars(%A: memref<64xf32, #gm>, %Y: memref<64xf32, #gm>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %unused = arith.constant 9 : index
  %xs = npu_isa.buffer 2 x 256 at 0 : !npu_isa.addr<ub>
  %ys = npu_isa.buffer 2 x 256 at 512 : !npu_isa.addr<ub>
  scf.for %i = %c0 to %c8 step %c8 {
    %c1 = arith.constant 1 : index
    scf.for %j = %c0 to %c8 step %c1 {
      %c1_0 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %n = arith.addi %i, %c1_0 : index
      %h = arith.divui %n, %c2 : index
      %s = npu_isa.slot %xs[%h] : !npu_isa.addr<ub>
      %q = arith.divui %j, %i : index
      %m = arith.addi %i, %c1 : index
      %t = npu_isa.slot %ys[%m] : !npu_isa.addr<ub>
      npu_isa.load_ub %A[%n] -> %s<1> over [8] map affine_map<(i, x) -> (i + x)> : memref<64xf32, #gm>
      npu_isa.store_ub %s<1> -> %Y[%q] over [8] map affine_map<(i, x) -> (i + x)> : memref<64xf32, #gm>
    }
    scf.for %j = %c0 to %c8 step %c1 {
      %n = arith.addi %i, %j : index
    }
  }
  tile.return
}

// A division by what may be zero stays where it is; so does the slot of a later definition.
// CHECK-LABEL: tile.kernel @divisions(
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %xs = npu_isa.buffer 2 x 256 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %x = npu_isa.slot %xs[%c1] : !npu_isa.addr<ub>
// CHECK-NEXT:    scf.for %i = %c0 to %c8 step %c1 {
// CHECK-NEXT:      scf.for %j = %c0 to %c8 step %c1 {
// CHECK-NEXT:        %q = arith.divui %c8, %i : index
// CHECK-NEXT:        npu_isa.store_ub %x<1> -> %Y[%q] over [8] map affine_map<(d0, d1) -> ((d0 + d1))> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @divisions(%A: memref<64xf32, #gm>, %Y: memref<64xf32, #gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %xs = npu_isa.buffer 2 x 256 at 0 : !npu_isa.addr<ub>
  %x = npu_isa.slot %xs[%c1] : !npu_isa.addr<ub>
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %q = arith.divui %c8, %i : index
      npu_isa.store_ub %x<1> -> %Y[%q] over [8] map affine_map<(i, x) -> (i + x)> : memref<64xf32, #gm>
    }
  }
  tile.return
}

// Barriers at the start, at the end, and next to each other wait for nothing.
// CHECK-LABEL: tile.kernel @barriers(
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:    npu_isa.barrier
// CHECK-NEXT:    scf.for %i = %c0 to %c8 step %c1 {
// CHECK-NEXT:      npu_isa.barrier
// CHECK-NEXT:      npu_isa.vunary exp %x<1>, %x<1> over [64] : f32
// CHECK-NEXT:      npu_isa.barrier
// CHECK-NEXT:    }
// CHECK-NEXT:    npu_isa.barrier
// CHECK-NEXT:    npu_isa.store_ub %x<1> -> %Y[] over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @barriers(%A: memref<64xf32, #gm>, %Y: memref<64xf32, #gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  npu_isa.barrier
  %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
  npu_isa.barrier
  npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
  npu_isa.barrier
  npu_isa.barrier
  scf.for %i = %c0 to %c8 step %c1 {
    npu_isa.barrier
    npu_isa.vunary exp %x<1>, %x<1> over [64] : f32
    npu_isa.barrier
    npu_isa.barrier
  }
  npu_isa.barrier
  npu_isa.store_ub %x<1> -> %Y[] over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
  npu_isa.barrier
  tile.return
}
