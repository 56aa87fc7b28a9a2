// RUN: npu-opt %s --graph-interleave-pieces | filecheck %s

// CHECK-LABEL: func.func @shuffle(
// CHECK-NEXT:    %[[A:.*]] = graph.reshape %x {{.*}} -> tensor<1x7x7x3x1xf32>
// CHECK-NEXT:    %[[B:.*]] = graph.reshape %y {{.*}} -> tensor<1x7x7x3x1xf32>
// CHECK-NEXT:    %[[T:.*]] = graph.concat %[[A]], %[[B]] axis 4 {npu.node = "cat+swap"}
// CHECK-NEXT:    func.return %[[T]] : tensor<1x7x7x3x2xf32>
func.func @shuffle(%x: tensor<1x7x7x3xf32>, %y: tensor<1x7x7x3xf32>) -> tensor<1x7x7x3x2xf32> {
  %c = graph.concat %x, %y axis 3 {npu.node = "cat"} : (tensor<1x7x7x3xf32>, tensor<1x7x7x3xf32>) -> tensor<1x7x7x6xf32>
  %r = graph.reshape %c : (tensor<1x7x7x6xf32>) -> tensor<1x7x7x2x3xf32>
  %t = graph.transpose %r perm [0, 1, 2, 4, 3] {npu.node = "swap"} : (tensor<1x7x7x2x3xf32>) -> tensor<1x7x7x3x2xf32>
  func.return %t : tensor<1x7x7x3x2xf32>
}

// Left alone: other parts than the pieces, other axes, pieces of two sizes, and what is read elsewhere as well.
// CHECK-LABEL: func.func @alone(
// CHECK-COUNT-4: graph.transpose
func.func @alone(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %z: tensor<4x3xf32>)
    -> (tensor<4x3x4xf32>, tensor<2x4x6xf32>, tensor<4x5x3xf32>, tensor<4x6x2xf32>, tensor<4x12xf32>) {
  %c = graph.concat %x, %y axis 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
  %r = graph.reshape %c : (tensor<4x12xf32>) -> tensor<4x4x3xf32>
  %t = graph.transpose %r perm [0, 2, 1] : (tensor<4x4x3xf32>) -> tensor<4x3x4xf32>
  %c1 = graph.concat %x, %y axis 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
  %r1 = graph.reshape %c1 : (tensor<4x12xf32>) -> tensor<4x2x6xf32>
  %t1 = graph.transpose %r1 perm [1, 0, 2] : (tensor<4x2x6xf32>) -> tensor<2x4x6xf32>
  %c2 = graph.concat %x, %z, %x axis 1 : (tensor<4x6xf32>, tensor<4x3xf32>, tensor<4x6xf32>) -> tensor<4x15xf32>
  %r2 = graph.reshape %c2 : (tensor<4x15xf32>) -> tensor<4x3x5xf32>
  %t2 = graph.transpose %r2 perm [0, 2, 1] : (tensor<4x3x5xf32>) -> tensor<4x5x3xf32>
  %c3 = graph.concat %x, %y axis 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
  %r3 = graph.reshape %c3 : (tensor<4x12xf32>) -> tensor<4x2x6xf32>
  %t3 = graph.transpose %r3 perm [0, 2, 1] : (tensor<4x2x6xf32>) -> tensor<4x6x2xf32>
  func.return %t, %t1, %t2, %t3, %c3 : tensor<4x3x4xf32>, tensor<2x4x6xf32>, tensor<4x5x3xf32>, tensor<4x6x2xf32>, tensor<4x12xf32>
}
