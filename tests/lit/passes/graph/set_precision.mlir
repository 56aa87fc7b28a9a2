// RUN: npu-opt %s --graph-set-precision="precision=f16" | filecheck %s
// RUN: npu-opt %s --graph-set-precision="precision=f32" | filecheck %s --check-prefix=SAME
// RUN: npu-opt %s --graph-set-precision | filecheck %s --check-prefix=SAME
// RUN: not npu-opt %s --graph-set-precision="precision=f8" 2>&1 | filecheck %s --check-prefix=ERROR

// SAME-NOT: f16
// ERROR: error: unknown precision 'f8'; there are f32 and f16

// Casts at the boundary, constants converted, the signature unchanged.
// CHECK:      func.func @main(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
// CHECK-NEXT:   %[[X:.*]] = graph.cast %x {npu.node = "dense"} : (tensor<2x3xf32>) -> tensor<2x3xf16>
// CHECK-NEXT:   %[[W:.*]] = arith.constant dense<{{.*}}> : tensor<3x2xf16>
// CHECK-NEXT:   %[[M:.*]] = graph.matmul %[[X]], %[[W]] {npu.node = "dense"} : {{.*}} -> tensor<2x2xf16>
// CHECK-NEXT:   %[[R:.*]] = graph.relu %[[M]] : (tensor<2x2xf16>) -> tensor<2x2xf16>
// CHECK-NEXT:   %[[S:.*]] = graph.softmax %[[R]] axis 1 : (tensor<2x2xf16>) -> tensor<2x2xf16>
// CHECK-NEXT:   %[[Y:.*]] = graph.cast %[[S]] : (tensor<2x2xf16>) -> tensor<2x2xf32>
// CHECK-NEXT:   func.return %[[Y]] : tensor<2x2xf32>
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %0 = graph.matmul %x, %w {npu.node = "dense"} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %1 = graph.relu %0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = graph.softmax %1 axis 1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}

// The variance of a layer norm in small steps is f32, from the square on; so is what is computed with it.
// CHECK:      func.func @variance(%x: tensor<2x8xf32>, %w: tensor<8x2xf32>) -> tensor<2x2xf32> {
// CHECK-NEXT:   %[[X:.*]] = graph.cast %x : (tensor<2x8xf32>) -> tensor<2x8xf16>
// CHECK-NEXT:   %[[T:.*]] = graph.tanh %[[X]] : (tensor<2x8xf16>) -> tensor<2x8xf16>
// CHECK-NEXT:   %[[T32:.*]] = graph.cast %[[T]] : (tensor<2x8xf16>) -> tensor<2x8xf32>
// CHECK-NEXT:   %[[Q:.*]] = graph.mul %[[T32]], %[[T32]]
// CHECK-NEXT:   %[[V:.*]] = graph.reduce mean %[[Q]] axes [1] keepdims : (tensor<2x8xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:   %[[S:.*]] = graph.sqrt %[[V]]
// CHECK-NEXT:   %[[D:.*]] = graph.div %[[T32]], %[[S]] : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:   %[[D16:.*]] = graph.cast %[[D]] : (tensor<2x8xf32>) -> tensor<2x8xf16>
// CHECK-NEXT:   %[[W:.*]] = graph.cast %w : (tensor<8x2xf32>) -> tensor<8x2xf16>
// CHECK-NEXT:   %[[M:.*]] = graph.matmul %[[D16]], %[[W]]
func.func @variance(%x: tensor<2x8xf32>, %w: tensor<8x2xf32>) -> tensor<2x2xf32> {
  %0 = graph.tanh %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = graph.mul %0, %0 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = graph.reduce mean %1 axes [1] keepdims : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %3 = graph.sqrt %2 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = graph.div %0, %3 : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %5 = graph.matmul %4, %w : (tensor<2x8xf32>, tensor<8x2xf32>) -> tensor<2x2xf32>
  func.return %5 : tensor<2x2xf32>
}

// Integers stay, a cast of small ones to f32 becomes one to f16, padding values and limits follow.
// CHECK:      func.func @types(%i: tensor<4xi8>) -> (tensor<6xf32>, tensor<4xi8>) {
// CHECK-NEXT:   %[[A:.*]] = graph.add %i, %i : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
// CHECK-NEXT:   %[[C:.*]] = graph.cast %[[A]] : (tensor<4xi8>) -> tensor<4xf16>
// CHECK-NEXT:   %[[L:.*]] = arith.constant dense<6.550400e+04> : tensor<f16>
// CHECK-NEXT:   %[[M:.*]] = graph.minimum %[[C]], %[[L]]
// CHECK-NEXT:   %[[P:.*]] = graph.pad %[[M]] low [1] high [1] value 1.000000e+00 : f16 : (tensor<4xf16>) -> tensor<6xf16>
// CHECK-NEXT:   %[[R:.*]] = graph.cast %[[P]] : (tensor<6xf16>) -> tensor<6xf32>
// CHECK-NEXT:   func.return %[[R]], %[[A]]
func.func @types(%i: tensor<4xi8>) -> (tensor<6xf32>, tensor<4xi8>) {
  %limit = arith.constant dense<1.0e+30> : tensor<f32>
  %0 = graph.add %i, %i : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %1 = graph.cast %0 : (tensor<4xi8>) -> tensor<4xf32>
  %2 = graph.minimum %1, %limit : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = graph.pad %2 low [1] high [1] value 1.0 : f32 : (tensor<4xf32>) -> tensor<6xf32>
  func.return %3, %0 : tensor<6xf32>, tensor<4xi8>
}

// Sums of products of integers can be larger than f16: they are scaled in f32.
// CHECK:      func.func @sums(%i: tensor<4xi32>, %x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %[[C:.*]] = graph.cast %i : (tensor<4xi32>) -> tensor<4xf32>
// CHECK-NEXT:   %[[M:.*]] = graph.mul %[[C]], %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   func.return %[[M]]
func.func @sums(%i: tensor<4xi32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.cast %i : (tensor<4xi32>) -> tensor<4xf32>
  %1 = graph.mul %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
