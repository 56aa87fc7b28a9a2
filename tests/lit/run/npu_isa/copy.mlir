// A kernel written by hand runs, with flags in order. Its cycles follow from the target's file: the launch (100), the load
// (1 + 20 + 20), the wait and the relu (1 + 2 + 4 + 3), the wait and the store (1 + 20 + 20).

// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as n; n.save('%t/x.npy', n.arange(-16, 16, dtype='f').reshape(4, 8))"
// RUN: npu-run %s --input x=%t/x.npy --output-dir %t | filecheck %s
// RUN: %python -c "import numpy as n; x, y = (n.load('%t/' + f + '.npy') for f in 'xy'); assert (y == n.maximum(x, 0)).all()"
// CHECK: target toy
// CHECK: copy{{ *}}│{{ *}}│{{ *}}1 │{{ *}}3 │{{ *}}192 │

// RUN: not npu-run %s --target ascend-910 2>&1 | filecheck %s --check-prefix=TARGET
// TARGET: error: the module was compiled for the target 'toy' and can't be used with 'ascend-910'

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {input_names = ["x"], output_names = ["y"]} {
    %y = tile.launch @copy(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    func.return %y : tensor<4x8xf32>
  }
  tile.kernel @copy(%X: memref<4x8xf32, #tile.space<gm>>, %Y: memref<4x8xf32, #tile.space<gm>>) {
    %u = npu_isa.buffer 1 x 128 at 0 : !npu_isa.addr<ub>
    npu_isa.load_ub %X[] -> %u<8, 1> over [4, 8] map affine_map<(a, b) -> (a, b)> : memref<4x8xf32, #tile.space<gm>>
    npu_isa.set_flag [MTE2, V, 0]
    npu_isa.wait_flag [MTE2, V, 0]
    npu_isa.vunary relu %u<1>, %u<1> over [32] : f32
    npu_isa.set_flag [V, MTE3, 0]
    npu_isa.wait_flag [V, MTE3, 0]
    npu_isa.store_ub %u<8, 1> -> %Y[] over [4, 8] map affine_map<(a, b) -> (a, b)> : memref<4x8xf32, #tile.space<gm>>
    tile.return
  }
}
