// RUN: npu-opt %s --graph-select-channels | filecheck %s

// Of the shuffled channels 0 3 1 4 2 5, the convolution reads the first half: 0 3 1. What else reads it gets a product.
// CHECK-LABEL: func.func @shuffle(
// CHECK:         %[[ONES:.*]] = graph.weight {{.*}} : tensor<1x1x6x3xf32>
// CHECK-NEXT:    %[[H:.*]] = graph.conv %x, %[[ONES]] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] layout NHWC {{.*}}npu.joined = 6
// CHECK:         arith.constant dense<[{{\[\[\[}}1.000000e+00], [3.000000e+00], [0.000000e+00], [2.000000e+00], [0.000000e+00], [0.000000e+00]]]]> : tensor<1x1x6x1xf32>
// CHECK-NEXT:    %[[Y:.*]] = graph.conv %x, %{{.*}} layout NHWC {npu.joined = 2 : i64} : (tensor<1x4x4x6xf32>
// CHECK-NEXT:    func.return %[[Y]], %[[H]]
func.func @shuffle(%x: tensor<1x4x4x6xf32>) -> (tensor<1x4x4x1xf32>, tensor<1x4x4x3xf32>) {
  %w = arith.constant dense<[[[[1.0], [2.0], [3.0]]]]> : tensor<1x1x3x1xf32>
  %r = graph.reshape %x : (tensor<1x4x4x6xf32>) -> tensor<1x4x4x2x3xf32>
  %t = graph.transpose %r perm [0, 1, 2, 4, 3] : (tensor<1x4x4x2x3xf32>) -> tensor<1x4x4x3x2xf32>
  %s = graph.reshape %t : (tensor<1x4x4x3x2xf32>) -> tensor<1x4x4x6xf32>
  %h = graph.slice %s offsets [0, 0, 0, 0] sizes [1, 4, 4, 3] strides [1, 1, 1, 1] : (tensor<1x4x4x6xf32>) -> tensor<1x4x4x3xf32>
  %y = graph.conv %h, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] layout NHWC : (tensor<1x4x4x3xf32>, tensor<1x1x3x1xf32>) -> tensor<1x4x4x1xf32>
  func.return %y, %h : tensor<1x4x4x1xf32>, tensor<1x4x4x3xf32>
}

// Left alone: slices in order, integers, rows that change places.
// CHECK-LABEL: func.func @alone(
// CHECK-NOT:     graph.conv
// CHECK:         func.return
func.func @alone(%x: tensor<1x4x4x6xf32>, %i: tensor<1x4x4x6xi32>) -> (tensor<1x4x4x3xf32>, tensor<1x4x4x6xi32>, tensor<1x4x4x6xf32>) {
  %h = graph.slice %x offsets [0, 0, 0, 0] sizes [1, 4, 4, 3] strides [1, 1, 1, 2] : (tensor<1x4x4x6xf32>) -> tensor<1x4x4x3xf32>
  %r = graph.reshape %i : (tensor<1x4x4x6xi32>) -> tensor<1x4x4x2x3xi32>
  %t = graph.transpose %r perm [0, 1, 2, 4, 3] : (tensor<1x4x4x2x3xi32>) -> tensor<1x4x4x3x2xi32>
  %s = graph.reshape %t : (tensor<1x4x4x3x2xi32>) -> tensor<1x4x4x6xi32>
  %u = graph.transpose %x perm [0, 2, 1, 3] : (tensor<1x4x4x6xf32>) -> tensor<1x4x4x6xf32>
  func.return %h, %s, %u : tensor<1x4x4x3xf32>, tensor<1x4x4x6xi32>, tensor<1x4x4x6xf32>
}
