// A load that is too small: the store would take bytes to GM that nothing wrote.

// RUN: not npu-run %s 2>&1 | filecheck %s
// CHECK:     error: MTE3 reads 32 bytes that no instruction wrote, among bytes 0 to 128 of ub: npu_isa.store_ub %u<8, 1>
// CHECK:     note: the slot begins at byte 0 of ub: %u = npu_isa.buffer 1 x 128 at 0
// CHECK:     note: MTE2 writes to this buffer, but not all that is read: npu_isa.load_ub
// CHECK-NOT: Traceback

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {input_names = ["x"], output_names = ["y"]} {
    %y = tile.launch @copy(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    func.return %y : tensor<4x8xf32>
  }
  tile.kernel @copy(%X: memref<4x8xf32, #tile.space<gm>>, %Y: memref<4x8xf32, #tile.space<gm>>) {
    %u = npu_isa.buffer 1 x 128 at 0 : !npu_isa.addr<ub>
    npu_isa.load_ub %X[] -> %u<8, 1> over [3, 8] map affine_map<(a, b) -> (a, b)> : memref<4x8xf32, #tile.space<gm>>
    npu_isa.set_flag [MTE2, V, 0]
    npu_isa.wait_flag [MTE2, V, 0]
    npu_isa.vunary relu %u<1>, %u<1> over [32] : f32
    npu_isa.set_flag [V, MTE3, 0]
    npu_isa.wait_flag [V, MTE3, 0]
    npu_isa.store_ub %u<8, 1> -> %Y[] over [4, 8] map affine_map<(a, b) -> (a, b)> : memref<4x8xf32, #tile.space<gm>>
    tile.return
  }
}
