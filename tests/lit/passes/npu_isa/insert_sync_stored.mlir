// The store that stands above tile.stored may be in a loop of its own.
// RUN: npu-opt %s --npu-isa-insert-sync | filecheck %s
// CHECK-LABEL: tile.kernel @k(
// CHECK:         npu_isa.store_ub
// CHECK:         }
// CHECK:         npu_isa.set_flag [MTE3, MTE2, 6]
// CHECK-NOT:     tile.stored
builtin.module attributes {npu.target = "toy"} {
  tile.kernel @k(%x: memref<64xf32, #tile.space<gm>>, %y: memref<64xf32, #tile.space<gm>>) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %u = npu_isa.buffer 1 x 32 at 0 : !npu_isa.addr<ub>
    scf.for %i = %c0 to %c64 step %c8 {
      npu_isa.load_ub %x[%i] -> %u<1> over [8] map affine_map<(i, a) -> (i + a)> : memref<64xf32, #tile.space<gm>>
      npu_isa.store_ub %u<1> -> %y[%i] over [8] map affine_map<(i, a) -> (i + a)> : memref<64xf32, #tile.space<gm>>
    }
    tile.stored
    tile.return
  }
}
