// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

// Reductions and normalisation survive a round trip in their own and in the generic form.

// CHECK-LABEL: func.func @batch_norm
// CHECK-NEXT: {{.*}} = graph.batch_norm %x, %scale, %bias, %mean, %variance epsilon 1.000000e-05 : (tensor<1x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
func.func @batch_norm(%x: tensor<1x8x4x4xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>, %mean: tensor<8xf32>, %variance: tensor<8xf32>) {
  %r = graph.batch_norm %x, %scale, %bias, %mean, %variance epsilon 1.000000e-05 : (tensor<1x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  func.return
}

// CHECK-LABEL: func.func @layer_norm
// CHECK-NEXT: {{.*}} = graph.layer_norm %x, %scale, %bias axis 2 epsilon 1.000000e-05 : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
func.func @layer_norm(%x: tensor<2x4x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) {
  %r = graph.layer_norm %x, %scale, %bias axis 2 epsilon 1.000000e-05 : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  func.return
}

// CHECK-LABEL: func.func @log_softmax
// CHECK-NEXT: {{.*}} = graph.log_softmax %x axis 1 : (tensor<4x10xf32>) -> tensor<4x10xf32>
func.func @log_softmax(%x: tensor<4x10xf32>) {
  %r = graph.log_softmax %x axis 1 : (tensor<4x10xf32>) -> tensor<4x10xf32>
  func.return
}

// CHECK-LABEL: func.func @reduce
// CHECK-NEXT: {{.*}} = graph.reduce sum %x axes [1, 2] keepdims : (tensor<2x3x4xf32>) -> tensor<2x1x1xf32>
func.func @reduce(%x: tensor<2x3x4xf32>) {
  %r = graph.reduce sum %x axes [1, 2] keepdims : (tensor<2x3x4xf32>) -> tensor<2x1x1xf32>
  func.return
}

// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: {{.*}} = graph.softmax %x axis 1 : (tensor<4x10xf32>) -> tensor<4x10xf32>
func.func @softmax(%x: tensor<4x10xf32>) {
  %r = graph.softmax %x axis 1 : (tensor<4x10xf32>) -> tensor<4x10xf32>
  func.return
}

// CHECK-LABEL: func.func @rms_norm
// CHECK-NEXT: {{.*}} = graph.rms_norm %x, %scale axis 2 epsilon 1.000000e-05 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
func.func @rms_norm(%x: tensor<2x4x8xf32>, %scale: tensor<8xf32>) {
  %r = graph.rms_norm %x, %scale axis 2 epsilon 1.000000e-05 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  func.return
}
