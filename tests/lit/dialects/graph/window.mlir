// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

// Pools survive a round trip in their own and in the generic form.

// CHECK-LABEL: func.func @avg_pool
// CHECK-NEXT: {{.*}} = graph.avg_pool %x kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] layout NHWC : (tensor<1x24x24x8xf32>) -> tensor<1x12x12x8xf32>
func.func @avg_pool(%x: tensor<1x24x24x8xf32>) {
  %r = graph.avg_pool %x kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] layout NHWC : (tensor<1x24x24x8xf32>) -> tensor<1x12x12x8xf32>
  func.return
}

// CHECK-LABEL: func.func @global_avg_pool
// CHECK-NEXT: {{.*}} = graph.global_avg_pool %x : (tensor<1x8x24x24xf32>) -> tensor<1x8x1x1xf32>
func.func @global_avg_pool(%x: tensor<1x8x24x24xf32>) {
  %r = graph.global_avg_pool %x : (tensor<1x8x24x24xf32>) -> tensor<1x8x1x1xf32>
  func.return
}

// CHECK-LABEL: func.func @global_max_pool
// CHECK-NEXT: {{.*}} = graph.global_max_pool %x layout NHWC : (tensor<1x24x24x8xf32>) -> tensor<1x1x1x8xf32>
func.func @global_max_pool(%x: tensor<1x24x24x8xf32>) {
  %r = graph.global_max_pool %x layout NHWC : (tensor<1x24x24x8xf32>) -> tensor<1x1x1x8xf32>
  func.return
}

// CHECK-LABEL: func.func @max_pool
// CHECK-NEXT: {{.*}} = graph.max_pool %x kernel [3, 3] strides [2, 2] pads [0, 0, 1, 1] dilations [1, 1] : (tensor<1x8x24x24xf32>) -> tensor<1x8x12x12xf32>
func.func @max_pool(%x: tensor<1x8x24x24xf32>) {
  %r = graph.max_pool %x kernel [3, 3] strides [2, 2] pads [0, 0, 1, 1] dilations [1, 1] : (tensor<1x8x24x24xf32>) -> tensor<1x8x12x12xf32>
  func.return
}
