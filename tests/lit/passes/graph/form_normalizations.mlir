// RUN: npu-opt %s --graph-form-normalizations --check-equivalence | filecheck %s

// CHECK-LABEL: func.func @layer_norm
// CHECK-NEXT:    %[[Y:.*]] = graph.layer_norm %x, %g, %b axis 1 epsilon 9.99999974{{.*}}e-06 {npu.node = "mean+end"}
// CHECK-NEXT:    func.return %[[Y]]
func.func @layer_norm(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %b: tensor<1x8xf32>) -> tensor<4x8xf32> {
  %e = arith.constant dense<1.0e-05> : tensor<f32>
  %0 = graph.reduce mean %x axes [1] keepdims {npu.node = "mean"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = graph.sub %x, %0 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = graph.mul %1, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.reduce mean %2 axes [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = graph.add %e, %3 : (tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = graph.sqrt %4 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %6 = graph.div %1, %5 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %7 = graph.mul %g, %6 : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %8 = graph.add %7, %b {npu.node = "end"} : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  func.return %8 : tensor<4x8xf32>
}

// With a power and a reciprocal, over two dims, without scale and bias.
// CHECK-LABEL: func.func @plain
// CHECK:         %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<3x5xf32>
// CHECK:         %[[Y:.*]] = graph.layer_norm %x, %[[ONES]] axis 1
// CHECK-NEXT:    func.return %[[Y]]
func.func @plain(%x: tensor<4x3x5xf32>) -> tensor<4x3x5xf32> {
  %e = arith.constant dense<1.0e-03> : tensor<f32>
  %two = arith.constant dense<2.0> : tensor<f32>
  %0 = graph.reduce mean %x axes [1, 2] keepdims : (tensor<4x3x5xf32>) -> tensor<4x1x1xf32>
  %1 = graph.sub %x, %0 : (tensor<4x3x5xf32>, tensor<4x1x1xf32>) -> tensor<4x3x5xf32>
  %2 = graph.pow %1, %two : (tensor<4x3x5xf32>, tensor<f32>) -> tensor<4x3x5xf32>
  %3 = graph.reduce mean %2 axes [1, 2] keepdims : (tensor<4x3x5xf32>) -> tensor<4x1x1xf32>
  %4 = graph.add %3, %e : (tensor<4x1x1xf32>, tensor<f32>) -> tensor<4x1x1xf32>
  %5 = graph.sqrt %4 : (tensor<4x1x1xf32>) -> tensor<4x1x1xf32>
  %6 = graph.reciprocal %5 : (tensor<4x1x1xf32>) -> tensor<4x1x1xf32>
  %7 = graph.mul %6, %1 : (tensor<4x1x1xf32>, tensor<4x3x5xf32>) -> tensor<4x3x5xf32>
  func.return %7 : tensor<4x3x5xf32>
}

// Without a mean, by a power; what is normalised may be read elsewhere.
// CHECK-LABEL: func.func @rms
// CHECK:         %[[Y:.*]] = graph.rms_norm %x, %g axis 1
// CHECK-NEXT:    %[[Z:.*]] = graph.add %[[Y]], %x
// CHECK-NEXT:    func.return %[[Z]]
func.func @rms(%x: tensor<4x8xf32>, %g: tensor<8xf32>) -> tensor<4x8xf32> {
  %e = arith.constant dense<1.0e-05> : tensor<f32>
  %h = arith.constant dense<-0.5> : tensor<f32>
  %0 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reduce mean %0 axes [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = graph.add %1, %e : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %3 = graph.pow %2, %h : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %4 = graph.mul %x, %3 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %5 = graph.mul %4, %g : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %6 = graph.add %5, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %6 : tensor<4x8xf32>
}

// Left alone: a variance that is a result, a mean over the first dim, an epsilon that is no constant; a scale that
// differs from row to row stays behind.
// CHECK-LABEL: func.func @alone
// CHECK-NOT:     graph.layer_norm
// CHECK-COUNT-1: graph.rms_norm
// CHECK-NEXT:    graph.mul %{{.*}}, %c
// CHECK-NOT:     _norm
func.func @alone(%x: tensor<4x8xf32>, %c: tensor<4x1xf32>)
    -> (tensor<4x1xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = arith.constant dense<1.0e-05> : tensor<f32>
  %0 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reduce mean %0 axes [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = graph.add %1, %e : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %3 = graph.sqrt %2 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %4 = graph.div %x, %3 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %5 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = graph.reduce mean %5 axes [0] keepdims : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %7 = graph.add %6, %e : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %8 = graph.sqrt %7 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %9 = graph.div %x, %8 : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  %10 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %11 = graph.reduce mean %10 axes [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %d = graph.mul %c, %c : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %12 = graph.add %11, %d : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %13 = graph.sqrt %12 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %14 = graph.div %x, %13 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %15 = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %16 = graph.reduce mean %15 axes [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %17 = graph.add %16, %e : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %18 = graph.sqrt %17 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %19 = graph.div %x, %18 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %20 = graph.mul %19, %c : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  func.return %1, %4, %9, %14, %20
    : tensor<4x1xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
