// RUN: npu-opt %s --graph-fold-batch-norm | filecheck %s

// Scale 2 / sqrt(3 + 1) = 1 for the first channel, 4 / 2 = 2 for the second.
// CHECK:      func.func @conv(%x: tensor<1x1x2x2xf32>) -> tensor<1x2x2x2xf32> {
// CHECK-NEXT:   %[[W:.*]] = arith.constant dense<{{\[\[\[\[}}5.000000e-01]]], {{\[\[\[}}3.000000e+00]]]]> : tensor<2x1x1x1xf32>
// CHECK-NEXT:   %[[B:.*]] = arith.constant dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:   %[[R:.*]] = graph.conv %x, %[[W]], %[[B]] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] {npu.node = "conv+bn"}
// CHECK-NEXT:   func.return %[[R]]
func.func @conv(%x: tensor<1x1x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %w = arith.constant dense<[[[[0.5]]], [[[1.5]]]]> : tensor<2x1x1x1xf32>
  %scale = arith.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %bias = arith.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %mean = arith.constant dense<1.0> : tensor<2xf32>
  %variance = arith.constant dense<3.0> : tensor<2xf32>
  %0 = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] {npu.node = "conv"}
      : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %1 = graph.batch_norm %0, %scale, %bias, %mean, %variance epsilon 1.0 {npu.node = "bn"}
      : (tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  func.return %1 : tensor<1x2x2x2xf32>
}

// A bias that a model adds by itself, in the layout NHWC: ((x * w + 1) - 3) * 2 = x * 2w - 4.
// CHECK:      func.func @bias(%x: tensor<1x2x2x1xf32>) -> tensor<1x2x2x2xf32> {
// CHECK-NEXT:   %[[W:.*]] = arith.constant dense<{{\[\[\[\[}}1.000000e+00, 3.000000e+00]]]]> : tensor<1x1x1x2xf32>
// CHECK-NEXT:   %[[B:.*]] = arith.constant dense<-4.000000e+00> : tensor<2xf32>
// CHECK-NEXT:   %[[R:.*]] = graph.conv %x, %[[W]], %[[B]] {{.*}} layout NHWC
// CHECK-NEXT:   func.return %[[R]]
func.func @bias(%x: tensor<1x2x2x1xf32>) -> tensor<1x2x2x2xf32> {
  %w = arith.constant dense<[[[[0.5, 1.5]]]]> : tensor<1x1x1x2xf32>
  %b = arith.constant dense<1.0> : tensor<2xf32>
  %three = arith.constant dense<3.0> : tensor<2xf32>
  %two = arith.constant dense<2.0> : tensor<f32>
  %0 = graph.conv %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] layout NHWC
      : (tensor<1x2x2x1xf32>, tensor<1x1x1x2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %1 = graph.sub %0, %three : (tensor<1x2x2x2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %2 = graph.mul %two, %1 : (tensor<f32>, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  func.return %2 : tensor<1x2x2x2xf32>
}

// Without a convolution before it, a batch norm becomes a multiplication and an addition.
// CHECK:      func.func @alone(%x: tensor<1x2x3xf32>) -> tensor<1x2x3xf32> {
// CHECK-NEXT:   %[[S:.*]] = arith.constant dense<{{\[\[}}1.000000e+00], [2.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT:   %[[M:.*]] = graph.mul %x, %[[S]] {npu.node = "bn"}
// CHECK-NEXT:   %[[T:.*]] = arith.constant dense<{{\[\[}}0.000000e+00], [1.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT:   %[[R:.*]] = graph.add %[[M]], %[[T]] {npu.node = "bn"}
// CHECK-NEXT:   func.return %[[R]]
func.func @alone(%x: tensor<1x2x3xf32>) -> tensor<1x2x3xf32> {
  %scale = arith.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %bias = arith.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %mean = arith.constant dense<1.0> : tensor<2xf32>
  %variance = arith.constant dense<3.0> : tensor<2xf32>
  %0 = graph.batch_norm %x, %scale, %bias, %mean, %variance epsilon 1.0 {npu.node = "bn"}
      : (tensor<1x2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
  func.return %0 : tensor<1x2x3xf32>
}

// Statistics that the model computes are arithmetic like any other.
// CHECK-LABEL: func.func @computed
// CHECK:   graph.sqrt
// CHECK:   graph.div %scale
// CHECK-NOT: graph.batch_norm
// CHECK:   func.return
func.func @computed(%x: tensor<1x2x3xf32>, %scale: tensor<2xf32>, %mean: tensor<2xf32>) -> tensor<1x2x3xf32> {
  %0 = graph.batch_norm %x, %scale, %mean, %mean, %scale epsilon 1.0
      : (tensor<1x2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
  func.return %0 : tensor<1x2x3xf32>
}

// Not absorbed: a convolution that has other uses, weights that are no constants, values that differ by position.
// CHECK-LABEL: func.func @leaves_alone
// CHECK:   graph.conv %x, %w
// CHECK:   graph.conv %x, %c
// CHECK:   graph.conv %x, %c
// CHECK:   graph.add
// CHECK:   graph.add
// CHECK:   graph.add
// CHECK:   func.return
func.func @leaves_alone(%x: tensor<1x1x1x2xf32>, %w: tensor<2x1x1x1xf32>)
    -> (tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>) {
  %c = arith.constant dense<[[[[0.5]]], [[[1.5]]]]> : tensor<2x1x1x1xf32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %position = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1]
      : (tensor<1x1x1x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x1x2xf32>
  %1 = graph.conv %x, %c strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1]
      : (tensor<1x1x1x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x1x2xf32>
  %2 = graph.conv %x, %c strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1]
      : (tensor<1x1x1x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x1x2xf32>
  %3 = graph.add %0, %one : (tensor<1x2x1x2xf32>, tensor<f32>) -> tensor<1x2x1x2xf32>
  %4 = graph.add %1, %one : (tensor<1x2x1x2xf32>, tensor<f32>) -> tensor<1x2x1x2xf32>
  %5 = graph.add %2, %position : (tensor<1x2x1x2xf32>, tensor<2xf32>) -> tensor<1x2x1x2xf32>
  func.return %3, %1, %4, %5
      : tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>
}

// A convolution of integers has no bias to take an addition into.
// CHECK:      func.func @integers
// CHECK-NEXT:   %[[W:.*]] = arith.constant dense<1> : tensor<2x1x1x1xi8>
// CHECK-NEXT:   %[[ONE:.*]] = arith.constant dense<1> : tensor<i32>
// CHECK-NEXT:   %[[R:.*]] = graph.conv %x, %[[W]] strides
// CHECK-NEXT:   graph.add %[[R]], %[[ONE]]
func.func @integers(%x: tensor<1x1x2x2xi8>) -> tensor<1x2x2x2xi32> {
  %w = arith.constant dense<1> : tensor<2x1x1x1xi8>
  %one = arith.constant dense<1> : tensor<i32>
  %0 = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1]
      : (tensor<1x1x2x2xi8>, tensor<2x1x1x1xi8>) -> tensor<1x2x2x2xi32>
  %1 = graph.add %0, %one : (tensor<1x2x2x2xi32>, tensor<i32>) -> tensor<1x2x2x2xi32>
  func.return %1 : tensor<1x2x2x2xi32>
}
