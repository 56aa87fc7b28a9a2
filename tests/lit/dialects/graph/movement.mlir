// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

// Ops that move elements survive a round trip in their own and in the generic form.

// CHECK-LABEL: func.func @concat
// CHECK-NEXT: {{.*}} = graph.concat %x, %y axis 1 : (tensor<1x8x4xf32>, tensor<1x2x4xf32>) -> tensor<1x10x4xf32>
func.func @concat(%x: tensor<1x8x4xf32>, %y: tensor<1x2x4xf32>) {
  %r = graph.concat %x, %y axis 1 : (tensor<1x8x4xf32>, tensor<1x2x4xf32>) -> tensor<1x10x4xf32>
  func.return
}

// CHECK-LABEL: func.func @expand
// CHECK-NEXT: {{.*}} = graph.expand %x : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
func.func @expand(%x: tensor<3x1xf32>) {
  %r = graph.expand %x : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
  func.return
}

// CHECK-LABEL: func.func @gather
// CHECK-NEXT: {{.*}} = graph.gather %table, %indices axis 0 : (tensor<100x8xf32>, tensor<2x5xi64>) -> tensor<2x5x8xf32>
func.func @gather(%table: tensor<100x8xf32>, %indices: tensor<2x5xi64>) {
  %r = graph.gather %table, %indices axis 0 : (tensor<100x8xf32>, tensor<2x5xi64>) -> tensor<2x5x8xf32>
  func.return
}

// CHECK-LABEL: func.func @pad
// CHECK-NEXT: {{.*}} = graph.pad %x low [0, 1] high [0, 2] value 0.000000e+00 : f32 : (tensor<2x8xf32>) -> tensor<2x11xf32>
func.func @pad(%x: tensor<2x8xf32>) {
  %r = graph.pad %x low [0, 1] high [0, 2] value 0.000000e+00 : f32 : (tensor<2x8xf32>) -> tensor<2x11xf32>
  func.return
}

// CHECK-LABEL: func.func @reshape
// CHECK-NEXT: {{.*}} = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
func.func @reshape(%x: tensor<2x3x4xf32>) {
  %r = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK-LABEL: func.func @slice
// CHECK-NEXT: {{.*}} = graph.slice %x offsets [0, 2] sizes [2, 3] strides [1, 2] : (tensor<2x8xf32>) -> tensor<2x3xf32>
func.func @slice(%x: tensor<2x8xf32>) {
  %r = graph.slice %x offsets [0, 2] sizes [2, 3] strides [1, 2] : (tensor<2x8xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @transpose
// CHECK-NEXT: {{.*}} = graph.transpose %x perm [0, 3, 1, 2] : (tensor<1x24x24x3xf32>) -> tensor<1x3x24x24xf32>
func.func @transpose(%x: tensor<1x24x24x3xf32>) {
  %r = graph.transpose %x perm [0, 3, 1, 2] : (tensor<1x24x24x3xf32>) -> tensor<1x3x24x24xf32>
  func.return
}

// CHECK-LABEL: func.func @scatter
// CHECK-NEXT: {{.*}} = graph.scatter %x, %i, %u axis 1 : (tensor<2x8xf32>, tensor<3x1xi64>, tensor<2x3x1xf32>) -> tensor<2x8xf32>
func.func @scatter(%x: tensor<2x8xf32>, %i: tensor<3x1xi64>, %u: tensor<2x3x1xf32>) {
  %r = graph.scatter %x, %i, %u axis 1 : (tensor<2x8xf32>, tensor<3x1xi64>, tensor<2x3x1xf32>) -> tensor<2x8xf32>
  func.return
}
