// RUN: npu-opt %s --graph-layout | filecheck %s
// RUN: npu-opt %s --graph-layout="layout=nchw" | filecheck %s --check-prefix=SAME
// RUN: not npu-opt %s --graph-layout="layout=chwn" 2>&1 | filecheck %s --check-prefix=ERROR

// SAME: graph.conv %x, {{.*}} dilations [1, 1] {npu.node = "conv"} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>)
// ERROR: error: unknown layout 'chwn'; there are nhwc and nchw

// Weights become HWIO, slopes and biases move their channels, transposes stay at the boundary only.
// CHECK:      func.func @chain(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
// CHECK-NEXT:   %[[T:.*]] = graph.transpose %x perm [0, 2, 3, 1] {npu.node = "conv"} : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
// CHECK-NEXT:   %[[W:.*]] = arith.constant dense<{{\[\[\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]]]> : tensor<1x1x2x2xf32>
// CHECK-NEXT:   %[[C:.*]] = graph.conv %[[T]], %[[W]] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] layout NHWC {npu.node = "conv"}
// CHECK-NEXT:   %[[S:.*]] = arith.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
// CHECK-NEXT:   %[[P:.*]] = graph.prelu %[[C]], %[[S]] : (tensor<1x4x4x2xf32>, tensor<2xf32>) -> tensor<1x4x4x2xf32>
// CHECK-NEXT:   %[[M:.*]] = graph.max_pool %[[P]] kernel [2, 2] {{.*}} layout NHWC : {{.*}} -> tensor<1x2x2x2xf32>
// CHECK-NEXT:   %[[R:.*]] = graph.transpose %[[M]] perm [0, 3, 1, 2]
// CHECK-NEXT:   func.return %[[R]]
func.func @chain(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %w = arith.constant dense<[[[[1.0]], [[3.0]]], [[[2.0]], [[4.0]]]]> : tensor<2x2x1x1xf32>
  %slope = arith.constant dense<[[[0.5]], [[0.25]]]> : tensor<2x1x1xf32>
  %0 = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] {npu.node = "conv"}
      : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = graph.prelu %0, %slope : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = graph.max_pool %1 kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1]
      : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  func.return %2 : tensor<1x2x2x2xf32>
}

// A model whose own transposes lead from and to NHWC keeps none; softmax follows the channels.
// CHECK:      func.func @no_transposes(%x: tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32> {
// CHECK-NEXT:   %[[P:.*]] = graph.avg_pool %x {{.*}} layout NHWC
// CHECK-NEXT:   %[[S:.*]] = graph.softmax %[[P]] axis 3
// CHECK-NEXT:   func.return %[[S]]
func.func @no_transposes(%x: tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32> {
  %0 = graph.transpose %x perm [0, 3, 1, 2] : (tensor<1x4x4x2xf32>) -> tensor<1x2x4x4xf32>
  %1 = graph.avg_pool %0 kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1]
      : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %2 = graph.softmax %1 axis 1 : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %3 = graph.transpose %2 perm [0, 2, 3, 1] : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  func.return %3 : tensor<1x2x2x2xf32>
}

// Squeeze and excitation: a gate that comes from a vector is reshaped, which costs nothing.
// CHECK:      func.func @gate(%x: tensor<1x4x4x2xf32>, %g: tensor<1x2xf32>) -> tensor<1x4x4x2xf32> {
// CHECK:        graph.relu %x
// CHECK:        %[[G:.*]] = graph.reshape {{.*}} -> tensor<1x1x1x2xf32>
// CHECK-NEXT:   graph.mul {{.*}}, %[[G]] : (tensor<1x4x4x2xf32>, tensor<1x1x1x2xf32>) -> tensor<1x4x4x2xf32>
// CHECK-NOT:    graph.transpose
// CHECK:        func.return
func.func @gate(%x: tensor<1x4x4x2xf32>, %g: tensor<1x2xf32>) -> tensor<1x4x4x2xf32> {
  %0 = graph.transpose %x perm [0, 3, 1, 2] : (tensor<1x4x4x2xf32>) -> tensor<1x2x4x4xf32>
  %1 = graph.relu %0 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %2 = graph.reshape %g : (tensor<1x2xf32>) -> tensor<1x2x1x1xf32>
  %3 = graph.mul %1, %2 : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %4 = graph.transpose %3 perm [0, 2, 3, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
  func.return %4 : tensor<1x4x4x2xf32>
}

// Axes, boxes and padding are renumbered.
// CHECK:      func.func @renumbered(%x: tensor<1x4x5x2xf32>) -> tensor<1x4xf32> {
// CHECK-NEXT:   %[[C:.*]] = graph.concat %x, %x axis 3 : {{.*}} -> tensor<1x4x5x4xf32>
// CHECK-NEXT:   %[[S:.*]] = graph.slice %[[C]] offsets [0, 0, 1, 0] sizes [1, 4, 3, 4] strides [1, 1, 1, 1]
// CHECK-NEXT:   %[[P:.*]] = graph.pad %[[S]] low [0, 2, 0, 0] high [0, 0, 3, 0] value {{.*}} -> tensor<1x6x6x4xf32>
// CHECK-NEXT:   %[[M:.*]] = graph.reduce mean %[[P]] axes [1, 2] : (tensor<1x6x6x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT:   func.return %[[M]]
func.func @renumbered(%x: tensor<1x4x5x2xf32>) -> tensor<1x4xf32> {
  %0 = graph.transpose %x perm [0, 3, 1, 2] : (tensor<1x4x5x2xf32>) -> tensor<1x2x4x5xf32>
  %1 = graph.concat %0, %0 axis 1 : (tensor<1x2x4x5xf32>, tensor<1x2x4x5xf32>) -> tensor<1x4x4x5xf32>
  %2 = graph.slice %1 offsets [0, 0, 0, 1] sizes [1, 4, 4, 3] strides [1, 1, 1, 1]
      : (tensor<1x4x4x5xf32>) -> tensor<1x4x4x3xf32>
  %3 = graph.pad %2 low [0, 0, 2, 0] high [0, 0, 0, 3] value 0.0 : f32
      : (tensor<1x4x4x3xf32>) -> tensor<1x4x6x6xf32>
  %4 = graph.reduce mean %3 axes [2, 3] : (tensor<1x4x6x6xf32>) -> tensor<1x4xf32>
  func.return %4 : tensor<1x4xf32>
}

// A flattened image keeps its order; the rows of the matrix move instead: 0 1 2 3 are (channel, column) and
// become 0 2 1 3, which are (column, channel).
// CHECK:      func.func @flatten(%x: tensor<1x1x2x2xf32>) -> tensor<1x1xf32> {
// CHECK-NEXT:   %[[F:.*]] = graph.reshape %x : (tensor<1x1x2x2xf32>) -> tensor<1x4xf32>
// CHECK-NEXT:   %[[W:.*]] = arith.constant dense<{{\[\[}}0.000000e+00], [2.000000e+00], [1.000000e+00], [3.000000e+00]]>
// CHECK-NEXT:   %[[M:.*]] = graph.matmul %[[F]], %[[W]]
// CHECK-NEXT:   func.return %[[M]]
func.func @flatten(%x: tensor<1x1x2x2xf32>) -> tensor<1x1xf32> {
  %w = arith.constant dense<[[0.0], [1.0], [2.0], [3.0]]> : tensor<4x1xf32>
  %0 = graph.transpose %x perm [0, 3, 1, 2] : (tensor<1x1x2x2xf32>) -> tensor<1x2x1x2xf32>
  %1 = graph.reshape %0 : (tensor<1x2x1x2xf32>) -> tensor<1x4xf32>
  %2 = graph.matmul %1, %w : (tensor<1x4xf32>, tensor<4x1xf32>) -> tensor<1x1xf32>
  func.return %2 : tensor<1x1xf32>
}

// Left alone: what is NHWC already, and transposes in front of ops that need the order as it is.
// CHECK:      func.func @leaves_alone(%x: tensor<1x4x5x2xf32>) -> (tensor<1x1x1x2xf32>, tensor<8x5xf32>) {
// CHECK-NEXT:   %[[P:.*]] = graph.global_avg_pool %x layout NHWC
// CHECK-NEXT:   %[[T:.*]] = graph.transpose %x perm [0, 3, 1, 2]
// CHECK-NEXT:   %[[R:.*]] = graph.reshape %[[T]]
// CHECK-NEXT:   func.return %[[P]], %[[R]]
func.func @leaves_alone(%x: tensor<1x4x5x2xf32>) -> (tensor<1x1x1x2xf32>, tensor<8x5xf32>) {
  %0 = graph.global_avg_pool %x layout NHWC : (tensor<1x4x5x2xf32>) -> tensor<1x1x1x2xf32>
  %1 = graph.transpose %x perm [0, 3, 1, 2] : (tensor<1x4x5x2xf32>) -> tensor<1x2x4x5xf32>
  %2 = graph.reshape %1 : (tensor<1x2x4x5xf32>) -> tensor<8x5xf32>
  func.return %0, %2 : tensor<1x1x1x2xf32>, tensor<8x5xf32>
}

// Channels that are split into groups which change places are joined again behind a transpose of theirs alone.
// CHECK-LABEL: func.func @channel_shuffle(
// CHECK:         graph.conv
// CHECK-NEXT:    graph.reshape {{.*}} -> tensor<1x4x4x2x3xf32>
// CHECK-NEXT:    graph.transpose {{.*}} perm [0, 1, 2, 4, 3] {{.*}} -> tensor<1x4x4x3x2xf32>
// CHECK-NEXT:    %[[J:.*]] = graph.reshape {{.*}} -> tensor<1x4x4x6xf32>
// CHECK:         graph.conv %[[J]]
func.func @channel_shuffle(%x: tensor<1x4x4x4xf32>, %w: tensor<6x4x1x1xf32>, %v: tensor<5x6x1x1xf32>) -> tensor<1x5x4x4xf32> {
  %0 = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : (tensor<1x4x4x4xf32>, tensor<6x4x1x1xf32>) -> tensor<1x6x4x4xf32>
  %1 = graph.reshape %0 : (tensor<1x6x4x4xf32>) -> tensor<1x2x3x4x4xf32>
  %2 = graph.transpose %1 perm [0, 2, 1, 3, 4] : (tensor<1x2x3x4x4xf32>) -> tensor<1x3x2x4x4xf32>
  %3 = graph.reshape %2 : (tensor<1x3x2x4x4xf32>) -> tensor<1x6x4x4xf32>
  %4 = graph.conv %3, %v strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : (tensor<1x6x4x4xf32>, tensor<5x6x1x1xf32>) -> tensor<1x5x4x4xf32>
  func.return %4 : tensor<1x5x4x4xf32>
}
