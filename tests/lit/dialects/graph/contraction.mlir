// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

// Convolution and matrix products survive a round trip in their own and in the generic form.

// CHECK-LABEL: func.func @conv
// CHECK-NEXT: {{.*}} = graph.conv %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>, tensor<16xf32>) -> tensor<1x16x5x5xf32>
func.func @conv(%x: tensor<1x8x9x9xf32>, %w: tensor<16x8x3x3xf32>, %b: tensor<16xf32>) {
  %r = graph.conv %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>, tensor<16xf32>) -> tensor<1x16x5x5xf32>
  func.return
}

// CHECK-LABEL: func.func @conv_1
// CHECK-NEXT: {{.*}} = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 8 layout NHWC : (tensor<1x9x9x8xf32>, tensor<3x3x1x8xf32>) -> tensor<1x7x7x8xf32>
func.func @conv_1(%x: tensor<1x9x9x8xf32>, %w: tensor<3x3x1x8xf32>) {
  %r = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 8 layout NHWC : (tensor<1x9x9x8xf32>, tensor<3x3x1x8xf32>) -> tensor<1x7x7x8xf32>
  func.return
}

// CHECK-LABEL: func.func @gemm
// CHECK-NEXT: {{.*}} = graph.gemm %x, %w, %b alpha 1.000000e+00 beta 1.000000e+00 trans_b : (tensor<4x16xf32>, tensor<32x16xf32>, tensor<32xf32>) -> tensor<4x32xf32>
func.func @gemm(%x: tensor<4x16xf32>, %w: tensor<32x16xf32>, %b: tensor<32xf32>) {
  %r = graph.gemm %x, %w, %b alpha 1.000000e+00 beta 1.000000e+00 trans_b : (tensor<4x16xf32>, tensor<32x16xf32>, tensor<32xf32>) -> tensor<4x32xf32>
  func.return
}

// CHECK-LABEL: func.func @matmul
// CHECK-NEXT: {{.*}} = graph.matmul %x, %w : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
func.func @matmul(%x: tensor<4x8x16xf32>, %w: tensor<16x32xf32>) {
  %r = graph.matmul %x, %w : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
  func.return
}
