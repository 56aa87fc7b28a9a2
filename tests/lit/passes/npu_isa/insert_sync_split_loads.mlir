// A load that a loop leaves out the first time, because it stands in the head, has its flags there: it waits for no slot,
// for which there is no set before the loop, and sets the one of the first slot. The last sets of slots that only what is
// behind the loop would wait for are left out: pipes go on to the next section.

// RUN: npu-opt %s --npu-isa-insert-sync | filecheck %s
// CHECK-LABEL: tile.kernel @k
// CHECK:         npu_isa.set_flag [V, MTE2, 7]
// CHECK-NEXT:    npu_isa.set_flag [MTE2, MTE3, 7]
// CHECK:         npu_isa.wait_flag [MTE3, MTE2, 6]
// CHECK-NEXT:    npu_isa.wait_flag [V, MTE2, 7]
// CHECK-NEXT:    npu_isa.wait_flag [MTE3, MTE2, 7]
// CHECK-NEXT:    npu_isa.load_ub %X[]
// CHECK-NEXT:    npu_isa.set_flag [MTE2, V, 0]
// CHECK-NOT:     npu_isa.set_flag [V, MTE2, 0]
// CHECK:         npu_isa.set_flag [V, MTE2, 1]
// CHECK:         scf.for %i
// CHECK:           scf.if %again {
// CHECK-NEXT:        npu_isa.wait_flag [V, MTE2, 0 + %n mod 2]
// CHECK-NEXT:        npu_isa.load_ub %X[%i]
// CHECK-NEXT:        npu_isa.set_flag [MTE2, V, 0 + %n mod 2]
// CHECK-NEXT:      }
// CHECK-NEXT:      npu_isa.slot
// CHECK-NEXT:      npu_isa.wait_flag [MTE2, V, 0 + %n mod 2]
// CHECK-NEXT:      npu_isa.wait_flag [MTE3, V, 0 + %n mod 2]
// CHECK-NEXT:      npu_isa.vunary exp
// CHECK:           arith.constant 6 : index
// CHECK-NEXT:      arith.cmpi ult, %n
// CHECK-NEXT:      scf.if
// CHECK-NEXT:        npu_isa.set_flag [V, MTE2, 0 + %n mod 2]

// And what it waits for is said by the one before.
// CHECK-LABEL: tile.kernel @first
// CHECK:         npu_isa.store_ub
// CHECK-NEXT:    npu_isa.set_flag [MTE3, MTE2, 6]

builtin.module attributes {npu.target = "ascend-910"} {
  func.func @main(%x: tensor<512xf32>) -> tensor<512xf32> {
    %v = tile.program -> tensor<512xf32> {
      %y = tile.launch @first(%x) : (tensor<512xf32>) -> tensor<512xf32>
      %z = tile.launch @k(%y) : (tensor<512xf32>) -> tensor<512xf32>
      tile.yield %z : tensor<512xf32>
    }
    func.return %v : tensor<512xf32>
  }
  tile.kernel @k(%X: memref<512xf32, #tile.space<gm>>, %Y: memref<512xf32, #tile.space<gm>>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c512 = arith.constant 512 : index
    %x = npu_isa.buffer 2 x 256 at 0 : !npu_isa.addr<ub>
    %y = npu_isa.buffer 2 x 256 at 512 : !npu_isa.addr<ub>
    %s0 = npu_isa.slot %x[%c0] : !npu_isa.addr<ub>
    tile.await_stored from <ub>
    npu_isa.load_ub %X[] -> %s0<1> over [64] map affine_map<(d) -> (d)> : memref<512xf32, #tile.space<gm>>
    tile.boundary
    scf.for %i = %c0 to %c512 step %c64 {
      %n = affine.apply affine_map<(i) -> (i floordiv 64)> (%i)
      %s = npu_isa.slot %x[%n] : !npu_isa.addr<ub>
      %again = arith.cmpi uge, %n, %c1 : index
      scf.if %again {
        npu_isa.load_ub %X[%i] -> %s<1> over [64] map affine_map<(i, d) -> (i + d)> : memref<512xf32, #tile.space<gm>>
      }
      %t = npu_isa.slot %y[%n] : !npu_isa.addr<ub>
      npu_isa.vunary exp %t<1>, %s<1> over [64] : f32
      npu_isa.store_ub %t<1> -> %Y[%i] over [64] map affine_map<(i, d) -> (i + d)> : memref<512xf32, #tile.space<gm>>
    }
    tile.return
  }
  tile.kernel @first(%X: memref<512xf32, #tile.space<gm>>, %Y: memref<512xf32, #tile.space<gm>>) {
    %x = npu_isa.buffer 1 x 2048 at 0 : !npu_isa.addr<ub>
    tile.boundary
    npu_isa.load_ub %X[] -> %x<1> over [512] map affine_map<(d) -> (d)> : memref<512xf32, #tile.space<gm>>
    npu_isa.vunary exp %x<1>, %x<1> over [512] : f32
    npu_isa.store_ub %x<1> -> %Y[] over [512] map affine_map<(d) -> (d)> : memref<512xf32, #tile.space<gm>>
    tile.stored
    tile.return
  }
}
