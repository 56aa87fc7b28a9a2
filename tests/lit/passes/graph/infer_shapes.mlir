// RUN: npu-opt %s --graph-infer-shapes | filecheck %s

// Open extents are computed from the operands; the signature follows.
// CHECK:      func.func @main(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x144xf32> {
// CHECK-NEXT:   %0 = graph.conv %x, %w {{.*}} -> tensor<1x4x6x6xf32>
// CHECK-NEXT:   %1 = graph.relu %0 : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
// CHECK-NEXT:   %2 = graph.reshape %1 : (tensor<1x4x6x6xf32>) -> tensor<1x144xf32>
// CHECK-NEXT:   func.return %2 : tensor<1x144xf32>
func.func @main(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x?xf32> {
  %0 = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1]
      : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<?x?x?x?xf32>
  %1 = graph.relu %0 : (tensor<?x?x?x?xf32>) -> tensor<1x?x?x?xf32>
  %2 = graph.reshape %1 : (tensor<1x?x?x?xf32>) -> tensor<1x?xf32>
  func.return %2 : tensor<1x?xf32>
}

// Static functions stay as they are.
// CHECK:      func.func @static(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %0 = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   func.return %0 : tensor<4xf32>
func.func @static(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
