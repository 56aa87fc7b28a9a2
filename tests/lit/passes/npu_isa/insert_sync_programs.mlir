// Flags take the place of boundaries: pipes that touch the same memory shake hands, the one that has its data first sets
// first, by an id of their own. The others do so at once, or before they do something; MTE2 waits before each load of the
// head for those that use what it overwrites, and for the rest at the boundary.

// RUN: npu-opt %s --npu-isa-insert-sync | filecheck %s

// The head loads to where the kernel before has what MTE3 stores. V of that works elsewhere, and there is none here.
// CHECK-LABEL: tile.kernel @second
// CHECK-NEXT:    npu_isa.buffer
// CHECK-NEXT:    npu_isa.buffer
// CHECK-NEXT:    npu_isa.set_flag [MTE2, MTE3, 7]
// CHECK-NEXT:    npu_isa.wait_flag [MTE2, MTE3, 7]
// CHECK-NEXT:    npu_isa.set_flag [MTE3, MTE2, 7]
// CHECK-NEXT:    npu_isa.wait_flag [MTE3, MTE2, 7]
// CHECK-NEXT:    npu_isa.load_ub %W[]
// CHECK-NEXT:    npu_isa.set_flag [MTE2, MTE3, 0]
// CHECK-NEXT:    npu_isa.load_ub %X[]
// CHECK-NEXT:    npu_isa.wait_flag [MTE2, MTE3, 0]
// CHECK-NEXT:    npu_isa.store_ub

// Nothing comes before the first: it has no flags but its own.
// CHECK-LABEL: tile.kernel @first
// CHECK-NOT:     tile.boundary
// CHECK-NOT:     , 7]
// CHECK:         tile.return

// In a loop, the last section of an iteration comes before the first of the next.
// RUN: sed 's/%v = tile.program/%v = tile.host/; s/%n = tile.host/%n = tile.program/' %s | npu-opt --npu-isa-insert-sync | filecheck %s --check-prefix=LOOP
// LOOP-LABEL: tile.kernel @second
// LOOP-LABEL: tile.kernel @first
// LOOP:         npu_isa.set_flag [MTE3, MTE2, 7]

builtin.module attributes {npu.target = "ascend-910"} {
  func.func @main(%x: tensor<64xf32>, %w: tensor<64xf32>) -> tensor<64xf32> {
    %v = tile.program -> tensor<64xf32> {
      %y = tile.launch @first(%x) : (tensor<64xf32>) -> tensor<64xf32>
      %z = tile.launch @second(%y, %w) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      tile.yield %z : tensor<64xf32>
    }
    %n = tile.host -> tensor<64xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c9 = arith.constant 9 : index
      %s = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> (tensor<64xf32>) {
        %y = tile.launch @first(%a) : (tensor<64xf32>) -> tensor<64xf32>
        %z = tile.launch @second(%y, %w) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
        scf.yield %z : tensor<64xf32>
      }
      tile.yield %s : tensor<64xf32>
    }
    func.return %v : tensor<64xf32>
  }
  tile.kernel @second(%X: memref<64xf32, #tile.space<gm>>, %W: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %w = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    %x = npu_isa.buffer 1 x 256 at 512 : !npu_isa.addr<ub>
    npu_isa.load_ub %W[] -> %w<1> over [64] map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<gm>>
    tile.boundary
    npu_isa.load_ub %X[] -> %x<1> over [64] map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<gm>>
    npu_isa.store_ub %w<1> -> %Y[] over [64] map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<gm>>
    tile.return
  }
  tile.kernel @first(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    tile.boundary
    %x = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
    %y = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    npu_isa.vdup %x<1>, imm 0.0 : f32 over [64] : f32
    npu_isa.load_ub %X[] -> %y<1> over [64] map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<gm>>
    npu_isa.store_ub %y<1> -> %Y[] over [64] map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<gm>>
    tile.return
  }
}
