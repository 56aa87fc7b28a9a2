// RUN: not npu-opt %s --tile-double-buffer --split-input-file 2>&1 | filecheck %s

#gm = #tile.space<gm>
#ub = #tile.space<ub>

// CHECK: error: the running count needs loops that start from zero
tile.kernel @start(%X: memref<8xf32, #gm>, %Y: memref<8xf32, #gm>) schedule #tile.schedule<slots = {ub = 2}> {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c4 to %c8 step %c4 {
    %x = tile.alloc : memref<4xf32, #ub>
    tile.load %X[%i] into %x map affine_map<(i, d) -> (i + d)> : memref<8xf32, #gm>, memref<4xf32, #ub>
    tile.store %x, %Y[%i] map affine_map<(i, d) -> (i + d)> : memref<4xf32, #ub>, memref<8xf32, #gm>
  }
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>

// CHECK: error: the bounds of a loop over tiles have to be constant
tile.kernel @bound(%X: memref<8xf32, #gm>, %Y: memref<8xf32, #gm>) schedule #tile.schedule<slots = {ub = 2}> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %end = arith.addi %c4, %c4 : index
  scf.for %i = %c0 to %end step %c4 {
    %x = tile.alloc : memref<4xf32, #ub>
    tile.load %X[%i] into %x map affine_map<(i, d) -> (i + d)> : memref<8xf32, #gm>, memref<4xf32, #ub>
    tile.store %x, %Y[%i] map affine_map<(i, d) -> (i + d)> : memref<4xf32, #ub>, memref<8xf32, #gm>
  }
  tile.return
}
