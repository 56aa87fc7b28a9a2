// RUN: not npu-opt %s --convert-graph-to-linalg 2>&1 | filecheck %s

// f32 does not hold all integers of 32 bits.
// CHECK: quantization_errors.mlir:{{[0-9]+}}:3: error: graph.quantize to i32 has no lowering to linalg
func.func @f(%x: tensor<4xf32>, %s: tensor<f32>, %z: tensor<i32>) -> tensor<4xi32> {
  %0 = graph.quantize %x, %s, %z : (tensor<4xf32>, tensor<f32>, tensor<i32>) -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}
