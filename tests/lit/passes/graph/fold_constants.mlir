// RUN: npu-opt %s --graph-fold-constants | filecheck %s

// A chain of constants becomes one, and what it was made of disappears.
// CHECK:      func.func @chain(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
// CHECK-NEXT:   %[[C:.*]] = arith.constant dense<{{\[\[}}5.000000e+00, 1.000000e+01], [1.000000e+01, 2.000000e+01]]> : tensor<2x2xf32>
// CHECK-NEXT:   %[[R:.*]] = graph.add %x, %[[C]] {npu.node = "sum"}
// CHECK-NEXT:   func.return %[[R]]
func.func @chain(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %c = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %five = arith.constant dense<5.0> : tensor<f32>
  %0 = graph.transpose %c perm [1, 0] : (tensor<1x2xf32>) -> tensor<2x1xf32>
  %1 = graph.matmul %0, %c : (tensor<2x1xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %2 = graph.mul %1, %five : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %3 = graph.add %x, %2 {npu.node = "sum"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %3 : tensor<2x2xf32>
}

// A large result becomes an entry of the weight store, named after the node.
// CHECK:      func.func @large() -> tensor<4x5xf32> {
// CHECK-NEXT:   %[[W:.*]] = graph.weight @outer : tensor<4x5xf32>
// CHECK-NEXT:   func.return %[[W]]
func.func @large() -> tensor<4x5xf32> {
  %a = arith.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %b = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %0 = graph.mul %a, %b {npu.node = "outer"} : (tensor<4x1xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  func.return %0 : tensor<4x5xf32>
}

// Expansion is free at run time and stays; so does whatever depends on an input.
// CHECK:      func.func @stays(%x: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %[[C:.*]] = arith.constant
// CHECK-NEXT:   %[[E:.*]] = graph.expand %[[C]]
// CHECK-NEXT:   %[[M:.*]] = graph.mul %x, %[[C]]
// CHECK-NEXT:   func.return %[[E]], %[[M]]
func.func @stays(%x: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = graph.expand %c : (tensor<4xf32>) -> tensor<3x4xf32>
  %1 = graph.mul %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<3x4xf32>, tensor<4xf32>
}
