// RUN: npu-opt %s --graph-form-sigmoid | filecheck %s

// GELU by a tangent: the factor in front of it doubles.
// CHECK:      func.func @gelu(%w: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:   %[[C:.*]] = arith.constant dense<1.500000e+00> : tensor<f32>
// CHECK-NEXT:   %[[V:.*]] = graph.mul %[[C]], %w {npu.node = "scale"}
// CHECK-NEXT:   %[[S:.*]] = graph.sigmoid %[[V]] {npu.node = "tanh+more+half"}
// CHECK-NEXT:   %[[Y:.*]] = graph.mul %w, %[[S]]
// CHECK-NEXT:   func.return %[[Y]]
func.func @gelu(%w: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %c = arith.constant dense<0.75> : tensor<1x1xf32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %half = arith.constant dense<0.5> : tensor<f32>
  %v = graph.mul %c, %w {npu.node = "scale"} : (tensor<1x1xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %t = graph.tanh %v {npu.node = "tanh"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %m = graph.add %one, %t {npu.node = "more"} : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %h = graph.mul %m, %half {npu.node = "half"} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %y = graph.mul %w, %h : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// The half may be in the other factor, or behind the product. Without a factor in front, one is made.
// CHECK:      func.func @halves(%x: tensor<4xf32>, %v: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-DAG:    %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<f32>
// CHECK:        %[[V:.*]] = graph.mul %{{.*}}, %v
// CHECK-NEXT:   %[[S:.*]] = graph.sigmoid %[[V]]
// CHECK-NEXT:   %[[A:.*]] = graph.mul %x, %[[S]]
// CHECK:        %[[W:.*]] = graph.mul %{{.*}}, %v
// CHECK-NEXT:   %[[T:.*]] = graph.sigmoid %[[W]]
// CHECK-NEXT:   %[[B:.*]] = graph.mul %[[T]], %x {npu.node = "product+half"}
// CHECK-NEXT:   func.return %[[A]], %[[B]]
func.func @halves(%x: tensor<4xf32>, %v: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = arith.constant dense<1.0> : tensor<f32>
  %half = arith.constant dense<0.5> : tensor<f32>
  %0 = graph.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.tanh %v : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = graph.mul %0, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.tanh %v : (tensor<4xf32>) -> tensor<4xf32>
  %5 = graph.add %4, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = graph.mul %5, %x {npu.node = "product"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = graph.mul %half, %6 {npu.node = "half"} : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %3, %7 : tensor<4xf32>, tensor<4xf32>
}

// Left alone: a tangent, a sum or a half that is read twice; another sum, another factor; a half that broadcasts.
// CHECK:      func.func @alone
// CHECK-NOT:    graph.sigmoid
func.func @alone(%v: tensor<4xf32>, %u: tensor<1xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = arith.constant dense<1.0> : tensor<f32>
  %half = arith.constant dense<0.5> : tensor<f32>
  %two = arith.constant dense<2.0> : tensor<f32>
  %t = graph.tanh %v : (tensor<4xf32>) -> tensor<4xf32>
  %m = graph.add %t, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %h = graph.mul %m, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %t1 = graph.tanh %h : (tensor<4xf32>) -> tensor<4xf32>
  %m1 = graph.add %t1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %h1 = graph.mul %m1, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %t2 = graph.tanh %h1 : (tensor<4xf32>) -> tensor<4xf32>
  %m2 = graph.add %t2, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %h2 = graph.mul %m2, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %t3 = graph.tanh %u : (tensor<1xf32>) -> tensor<1xf32>
  %ones = arith.constant dense<1.0> : tensor<4xf32>
  %m3 = graph.add %t3, %ones : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  %h3 = graph.mul %m3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = graph.mul %v, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %t4 = graph.tanh %h3 : (tensor<4xf32>) -> tensor<4xf32>
  %m4 = graph.add %t4, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %h4 = graph.mul %m4, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %t, %h1, %h2, %h3, %h4, %b
      : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
