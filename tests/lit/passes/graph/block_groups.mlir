// RUN: npu-opt %s --graph-block-groups | filecheck %s
// RUN: npu-opt %s --graph-block-groups=groups=2 | filecheck %s --check-prefix=TWO
// RUN: npu-opt %s --graph-block-groups=groups=1 | filecheck %s --check-prefix=ONE
// RUN: not npu-opt %s --graph-block-groups=groups=-2 2>&1 | filecheck %s --check-prefix=ERROR
// ERROR: error: groups of a block are 0 (chosen by estimate) or more, not -2

builtin.module attributes {npu.target = "ascend-910"} {

// 32 channels, each with its own window, are two products of 16 channels with 16.
// CHECK-LABEL: func.func @depthwise(
// CHECK:         graph.conv %x, %{{.*}} strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 2 layout NHWC
// CHECK-SAME:      {npu.node = "conv", npu.joined = 16 : i64} : (tensor<1x56x56x32xf16>, tensor<3x3x16x32xf16>) -> tensor<1x56x56x32xf16>
// TWO-LABEL:   func.func @depthwise(
// TWO:           group 16 layout NHWC {{.*}} tensor<3x3x2x32xf16>
// ONE-LABEL:   func.func @depthwise(
// ONE:           group 32 layout NHWC {{.*}} tensor<3x3x1x32xf16>
func.func @depthwise(%x: tensor<1x56x56x32xf16>) -> tensor<1x56x56x32xf16> {
  %w = arith.constant dense<0.5> : tensor<3x3x1x32xf16>
  %0 = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 32 layout NHWC {npu.node = "conv"}
    : (tensor<1x56x56x32xf16>, tensor<3x3x1x32xf16>) -> tensor<1x56x56x32xf16>
  func.return %0 : tensor<1x56x56x32xf16>
}

// Weights of other channels are 0; in either layout.
// TWO-LABEL:   func.func @weights(
// TWO:           arith.constant dense<[{{\[\[\[}}1.000000e+00, 0.000000e+00], [0.000000e+00, 2.000000e+00]]]]> : tensor<1x1x2x2xf32>
// TWO:           arith.constant dense<[{{\[\[\[}}1.000000e+00]], {{\[\[}}0.000000e+00]]], {{\[\[\[}}0.000000e+00]], {{\[\[}}2.000000e+00]]]]> : tensor<2x2x1x1xf32>
// TWO:           graph.conv {{.*}} dilations [1, 1] {npu.joined = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>)
func.func @weights(%x: tensor<1x4x4x2xf32>, %y: tensor<1x2x4x4xf32>) -> (tensor<1x4x4x2xf32>, tensor<1x2x4x4xf32>) {
  %w = arith.constant dense<[[[[1.0, 2.0]]]]> : tensor<1x1x1x2xf32>
  %v = arith.constant dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>
  %0 = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 2 layout NHWC
    : (tensor<1x4x4x2xf32>, tensor<1x1x1x2xf32>) -> tensor<1x4x4x2xf32>
  %1 = graph.conv %y, %v strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 2
    : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  func.return %0, %1 : tensor<1x4x4x2xf32>, tensor<1x2x4x4xf32>
}

// Left alone: weights that only the run knows, groups as wide as the cube, one group.
// CHECK-LABEL: func.func @alone(
// CHECK:         group 32 layout NHWC
// CHECK:         group 2 layout NHWC
// CHECK:         dilations [1, 1] layout NHWC
func.func @alone(%x: tensor<1x56x56x32xf16>, %w: tensor<3x3x1x32xf16>)
    -> (tensor<1x56x56x32xf16>, tensor<1x56x56x32xf16>, tensor<1x56x56x32xf16>) {
  %v = arith.constant dense<0.5> : tensor<3x3x16x32xf16>
  %u = arith.constant dense<0.5> : tensor<3x3x32x32xf16>
  %0 = graph.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 32 layout NHWC
    : (tensor<1x56x56x32xf16>, tensor<3x3x1x32xf16>) -> tensor<1x56x56x32xf16>
  %1 = graph.conv %x, %v strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 2 layout NHWC
    : (tensor<1x56x56x32xf16>, tensor<3x3x16x32xf16>) -> tensor<1x56x56x32xf16>
  %2 = graph.conv %x, %u strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] layout NHWC
    : (tensor<1x56x56x32xf16>, tensor<3x3x32x32xf16>) -> tensor<1x56x56x32xf16>
  func.return %0, %1, %2 : tensor<1x56x56x32xf16>, tensor<1x56x56x32xf16>, tensor<1x56x56x32xf16>
}
}
