// RUN: npu-opt %s --tile-plan-memory --verify-diagnostics

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{only what a launch has made can be overwritten by another one}}
  %a = tile.launch @put(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %a : tensor<8xf32>
}
tile.kernel @put(%X: memref<8xf32, #tile.space<gm>>, %Y: memref<8xf32, #tile.space<gm>>) reuses [0] {
  tile.return
}
