// A missing flag: both instructions, their graph ops and the flag are named, and nothing is written.

// RUN: not npu-run %s --report %t.json 2>&1 | filecheck %s
// CHECK:      race.mlir:{{[0-9]+}}:5: error: race between MTE2 and V: bytes 0 to 128 of ub, which MTE2 writes, are read by V with no flag between them: npu_isa.vunary relu %u<1>, %u<1> over [32] : f32
// CHECK-NEXT: npu_isa.vunary relu
// CHECK:      race.mlir:{{[0-9]+}}:5: note: written by MTE2: npu_isa.load_ub %X[] -> %u<8, 1> over [4, 8]
// CHECK:      note: fix: npu_isa.set_flag [MTE2, V, 0] behind the former, npu_isa.wait_flag [MTE2, V, 0] before the latter
// CHECK-NOT:  Traceback
// RUN: test ! -e %t.json

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {input_names = ["x"], output_names = ["y"]} {
    %y = tile.launch @copy(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    func.return %y : tensor<4x8xf32>
  }
  tile.kernel @copy(%X: memref<4x8xf32, #tile.space<gm>>, %Y: memref<4x8xf32, #tile.space<gm>>) {
    %u = npu_isa.buffer 1 x 128 at 0 : !npu_isa.addr<ub>
    npu_isa.load_ub %X[] -> %u<8, 1> over [4, 8] map affine_map<(a, b) -> (a, b)> {"npu.node" = "conv1"} : memref<4x8xf32, #tile.space<gm>>
    npu_isa.vunary relu %u<1>, %u<1> over [32] : f32
    npu_isa.set_flag [V, MTE3, 0]
    npu_isa.wait_flag [V, MTE3, 0]
    npu_isa.store_ub %u<8, 1> -> %Y[] over [4, 8] map affine_map<(a, b) -> (a, b)> {"npu.node" = "conv1"} : memref<4x8xf32, #tile.space<gm>>
    tile.return
  }
}
