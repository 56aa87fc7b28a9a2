// RUN: not npu-opt %s --tile-plan-memory 2>&1 | filecheck %s

// The error lists the largest buffers that live at once, with their slots.
// CHECK: error: kernel '@full' needs 2560 bytes of ub, 'toy' has 2048; the largest buffers alive at once are listed
// CHECK: note: 2048 bytes: memref<256xf32, #tile.space<ub>>, 2 slots
// CHECK-NEXT: note: 512 bytes: memref<128xf32, #tile.space<ub>>
// CHECK-NOT: note: 32 bytes
#gm = #tile.space<gm>
#ub = #tile.space<ub>
builtin.module attributes {npu.target = "toy"} {
tile.kernel @full(%X: memref<256xf32, #gm>, %Y: memref<256xf32, #gm>) {
  %a = tile.alloc {slots = 2} : memref<256xf32, #ub>
  %b = tile.alloc : memref<128xf32, #ub>
  %later = tile.alloc : memref<8xf32, #ub>
  %c0 = arith.constant 0 : index
  %s = tile.slot %a[%c0] : memref<256xf32, #ub>
  tile.load %X[] into %b map affine_map<(d) -> (d)> : memref<256xf32, #gm>, memref<128xf32, #ub>
  tile.load %X[] into %s map affine_map<(d) -> (d)> : memref<256xf32, #gm>, memref<256xf32, #ub>
  tile.store %b, %Y[] map affine_map<(d) -> (d)> : memref<128xf32, #ub>, memref<256xf32, #gm>
  tile.store %s, %Y[] map affine_map<(d) -> (d)> : memref<256xf32, #ub>, memref<256xf32, #gm>
  tile.load %X[] into %later map affine_map<(d) -> (d)> : memref<256xf32, #gm>, memref<8xf32, #ub>
  tile.store %later, %Y[] map affine_map<(d) -> (d)> : memref<8xf32, #ub>, memref<256xf32, #gm>
  tile.return
}
}
