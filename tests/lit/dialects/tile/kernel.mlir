// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

// CHECK:       func.func @main(%x: tensor<8xf32>)
// CHECK-NEXT:    %y = tile.launch @copy(%x) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:    %a, %b = tile.launch @both(%y, %x) {npu.node = "node", result_offsets = array<i64: 0, 512>} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>)
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = tile.launch @copy(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %a, %b = tile.launch @both(%y, %x) {result_offsets = array<i64: 0, 512>, npu.node = "node"}
    : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>)
  func.return %a : tensor<8xf32>
}

// CHECK:       tile.kernel @copy(%x: memref<8xf32, #tile.space<gm>>, %y: memref<8xf32, #tile.space<gm>>) {
// CHECK-NEXT:    tile.return
tile.kernel @copy(%x: memref<8xf32, #tile.space<gm>>, %y: memref<8xf32, #tile.space<gm>>) {
  tile.return
}

// CHECK:       tile.kernel @both({{.*}}) outputs 2 schedule #tile.schedule<ub = [4], order = [0], slots = {ub = 2}, keep = [a, b], bypass_ub> attributes {npu.node = "node"} {
tile.kernel @both(%x: memref<8xf32, #tile.space<gm>>, %y: memref<8xf32, #tile.space<gm>>,
                  %z: memref<8xf32, #tile.space<gm>>, %w: memref<f32, #tile.space<gm>>) outputs 2
    schedule #tile.schedule<ub = [4], order = [0], slots = {ub = 2}, keep = [a, b], bypass_ub>
    attributes {npu.node = "node"} {
  tile.return
}
