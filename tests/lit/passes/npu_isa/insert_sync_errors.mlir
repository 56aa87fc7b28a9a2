// RUN: not npu-opt %s --npu-isa-insert-sync --split-input-file 2>&1 | filecheck %s

// CHECK: error: flags need to know the buffer: a loop or conditional carries this address
// CHECK-NEXT: npu_isa.load_ub
tile.kernel @carried(%A: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
  %y = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
  %end:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%p = %x, %q = %y) -> (!npu_isa.addr<ub>, !npu_isa.addr<ub>) {
    npu_isa.load_ub %A[] -> %p<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #tile.space<gm>>
    scf.yield %q, %p : !npu_isa.addr<ub>, !npu_isa.addr<ub>
  }
  tile.return
}

// -----

// CHECK: error: flags cannot be placed in 'scf.while'
tile.kernel @while(%A: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
  %end = "scf.while"(%c0) ({
  ^bb0(%i: index):
    %more = arith.cmpi ne, %i, %c1 : index
    "scf.condition"(%more, %i) : (i1, index) -> ()
  }, {
  ^bb0(%i: index):
    npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #tile.space<gm>>
    %n = arith.addi %i, %c1 : index
    "scf.yield"(%n) : (index) -> ()
  }) : (index) -> index
  tile.return
}
