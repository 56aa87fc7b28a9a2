// RUN: not npu-opt %s --tile-keep-operands --split-input-file 2>&1 | filecheck %s

#gm = #tile.space<gm>
#l1 = #tile.space<l1>
#l0b = #tile.space<l0b>

// CHECK: error: the running count needs loops that start from zero
tile.kernel @start(%B: memref<32x8xf16, #gm>) schedule #tile.schedule<keep = [b]> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  scf.for %m = %c8 to %c32 step %c8 {
    scf.for %k = %c0 to %c32 step %c16 {
      %b = tile.alloc : memref<16x8xf16, #l1>
      tile.load %B[%k] into %b map affine_map<(k, i, j) -> (k + i, j)> : memref<32x8xf16, #gm>, memref<16x8xf16, #l1>
      %b0 = tile.alloc : memref<16x8xf16, #l0b>
      tile.load %b[] into %b0 map affine_map<(i, j) -> (i, j)> : memref<16x8xf16, #l1>, memref<16x8xf16, #l0b>
    }
  }
  tile.return
}
