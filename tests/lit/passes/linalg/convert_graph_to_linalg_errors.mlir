// RUN: not npu-opt %s --convert-graph-to-linalg 2>&1 | filecheck %s

// CHECK: convert_graph_to_linalg_errors.mlir:5:3: error: graph.pow on integers has no lowering to linalg
func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = graph.pow %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}
