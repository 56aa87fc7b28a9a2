// RUN: npu-opt %s --canonicalize | filecheck %s

// Ops that do nothing disappear.
// CHECK:      func.func @nothing(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:   func.return %x
func.func @nothing(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.transpose %x perm [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = graph.reshape %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = graph.expand %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = graph.slice %2 offsets [0, 0] sizes [2, 3] strides [1, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = graph.pad %3 low [0, 0] high [0, 0] value 0.0 : f32 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = graph.concat %4 axis 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = graph.cast %5 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %6 : tensor<2x3xf32>
}

// Pairs become one op, and a pair that undoes itself none.
// CHECK:      func.func @pairs(%x: tensor<2x3x4xf32>) -> (tensor<4x2x3xf32>, tensor<24xf32>, tensor<2x3x4xf32>) {
// CHECK-NEXT:   %[[T:.*]] = graph.transpose %x perm [2, 0, 1] {npu.node = "second"}
// CHECK-NEXT:   %[[R:.*]] = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<24xf32>
// CHECK-NEXT:   func.return %[[T]], %[[R]], %x
func.func @pairs(%x: tensor<2x3x4xf32>) -> (tensor<4x2x3xf32>, tensor<24xf32>, tensor<2x3x4xf32>) {
  %0 = graph.transpose %x perm [1, 0, 2] : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %1 = graph.transpose %0 perm [2, 1, 0] {npu.node = "second"} : (tensor<3x2x4xf32>) -> tensor<4x2x3xf32>
  %2 = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %3 = graph.reshape %2 : (tensor<6x4xf32>) -> tensor<24xf32>
  %4 = graph.transpose %0 perm [1, 0, 2] : (tensor<3x2x4xf32>) -> tensor<2x3x4xf32>
  func.return %1, %3, %4 : tensor<4x2x3xf32>, tensor<24xf32>, tensor<2x3x4xf32>
}

// A cast back from a type that holds every value is none; one that rounded stays.
// CHECK:      func.func @casts(%h: tensor<4xf16>, %x: tensor<4xf32>, %b: tensor<4xi1>) -> (tensor<4xf16>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %[[N:.*]] = graph.cast %x : (tensor<4xf32>) -> tensor<4xf16>
// CHECK-NEXT:   %[[W:.*]] = graph.cast %[[N]] : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT:   %[[B:.*]] = graph.cast %b : (tensor<4xi1>) -> tensor<4xf32>
// CHECK-NEXT:   func.return %h, %[[W]], %[[B]]
func.func @casts(%h: tensor<4xf16>, %x: tensor<4xf32>, %b: tensor<4xi1>) -> (tensor<4xf16>, tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.cast %h : (tensor<4xf16>) -> tensor<4xf32>
  %1 = graph.cast %0 : (tensor<4xf32>) -> tensor<4xf16>
  %2 = graph.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %3 = graph.cast %2 : (tensor<4xf16>) -> tensor<4xf32>
  %4 = graph.cast %b : (tensor<4xi1>) -> tensor<4xi32>
  %5 = graph.cast %4 : (tensor<4xi32>) -> tensor<4xf32>
  func.return %1, %3, %5 : tensor<4xf16>, tensor<4xf32>, tensor<4xf32>
}

// Zeros around an image are padding of the convolution; other values, and padded channels, are not.
// CHECK:      func.func @pad(%x: tensor<1x1x4x4xf32>, %w: tensor<2x1x3x3xf32>) -> (tensor<1x2x5x4xf32>, tensor<1x2x4x4xf32>) {
// CHECK-NEXT:   %[[C:.*]] = graph.conv %x, %w strides [1, 1] pads [1, 0, 2, 2] dilations [1, 1]
// CHECK-NEXT:   %[[P:.*]] = graph.pad
// CHECK-NEXT:   %[[D:.*]] = graph.conv %[[P]], %w
// CHECK-NEXT:   func.return %[[C]], %[[D]]
func.func @pad(%x: tensor<1x1x4x4xf32>, %w: tensor<2x1x3x3xf32>) -> (tensor<1x2x5x4xf32>, tensor<1x2x4x4xf32>) {
  %0 = graph.pad %x low [0, 0, 1, 0] high [0, 0, 1, 2] value 0.0 : f32 : (tensor<1x1x4x4xf32>) -> tensor<1x1x6x6xf32>
  %1 = graph.conv %0, %w strides [1, 1] pads [0, 0, 1, 0] dilations [1, 1]
      : (tensor<1x1x6x6xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x5x4xf32>
  %2 = graph.pad %x low [0, 0, 1, 0] high [0, 0, 1, 2] value 1.0 : f32 : (tensor<1x1x4x4xf32>) -> tensor<1x1x6x6xf32>
  %3 = graph.conv %2, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1]
      : (tensor<1x1x6x6xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x4x4xf32>
  func.return %1, %3 : tensor<1x2x5x4xf32>, tensor<1x2x4x4xf32>
}

// Elementwise ops broadcast by themselves, unless all of their operands are expanded.
// CHECK:      func.func @expand(%x: tensor<2x4xf32>, %y: tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
// CHECK-NEXT:   %[[A:.*]] = graph.add %x, %y : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:   %[[E:.*]] = graph.expand %y
// CHECK-NEXT:   %[[M:.*]] = graph.relu %[[E]]
// CHECK-NEXT:   func.return %[[A]], %[[M]]
func.func @expand(%x: tensor<2x4xf32>, %y: tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = graph.expand %y : (tensor<2x1xf32>) -> tensor<2x4xf32>
  %1 = graph.add %x, %0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = graph.expand %y : (tensor<2x1xf32>) -> tensor<2x4xf32>
  %3 = graph.relu %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %1, %3 : tensor<2x4xf32>, tensor<2x4xf32>
}
