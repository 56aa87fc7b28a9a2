// RUN: npu-opt %s --graph-form-activations --check-equivalence | filecheck %s

// GELU as ONNX spells it, and with the constants elsewhere.
// CHECK:      func.func @gelu(%x: tensor<2x3xf32>, %y: tensor<4xf32>)
// CHECK-NEXT:   %[[A:.*]] = graph.gelu %x {npu.node = "erf+half"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %[[B:.*]] = graph.gelu %y : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   func.return %[[A]], %[[B]]
func.func @gelu(%x: tensor<2x3xf32>, %y: tensor<4xf32>) -> (tensor<2x3xf32>, tensor<4xf32>) {
  %root = arith.constant dense<1.41421354> : tensor<f32>
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %half = arith.constant dense<0.5> : tensor<f32>
  %0 = graph.div %x, %root : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = graph.erf %0 {npu.node = "erf"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = graph.add %1, %one : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  %3 = graph.mul %x, %2 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = graph.mul %3, %half {npu.node = "half"} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %c = arith.constant dense<0.707106769> : tensor<f32>
  %5 = graph.mul %c, %y : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = graph.erf %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = graph.add %one, %6 : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = graph.mul %y, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %9 = graph.mul %7, %8 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %4, %9 : tensor<2x3xf32>, tensor<4xf32>
}

// The form with a tangent, which is a sigmoid by now, with the cube as a power or as products; in f16 with its digits.
// CHECK:      func.func @tangent
// CHECK-NEXT:   %[[A:.*]] = graph.gelu tanh %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   %[[B:.*]] = graph.gelu tanh %y : (tensor<4xf16>) -> tensor<4xf16>
// CHECK-NEXT:   func.return %[[A]], %[[B]]
func.func @tangent(%x: tensor<4xf32>, %y: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>) {
  %three = arith.constant dense<3.0> : tensor<f32>
  %k = arith.constant dense<0.044715> : tensor<f32>
  %c = arith.constant dense<1.59576917> : tensor<f32>
  %0 = graph.pow %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.mul %0, %k : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = graph.add %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.mul %2, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = graph.sigmoid %3 : (tensor<4xf32>) -> tensor<4xf32>
  %5 = graph.mul %x, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %one = arith.constant dense<1.0> : tensor<f16>
  %l = arith.constant dense<4.4708e-02> : tensor<f16>
  %d = arith.constant dense<1.5957> : tensor<f16>
  %6 = graph.mul %y, %y : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %7 = graph.mul %6, %l : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %8 = graph.add %7, %one : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %9 = graph.mul %y, %d : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %10 = graph.mul %9, %8 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %11 = graph.sigmoid %10 : (tensor<4xf16>) -> tensor<4xf16>
  %12 = graph.mul %11, %y : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  func.return %5, %12 : tensor<4xf32>, tensor<4xf16>
}

// CHECK:      func.func @swish
// CHECK-NEXT:   %[[A:.*]] = graph.swish %x alpha 1.000000e+00 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   %[[B:.*]] = graph.swish %x alpha -1.500000e+00 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   func.return %[[A]], %[[B]]
func.func @swish(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = arith.constant dense<1.5> : tensor<f32>
  %0 = graph.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.mul %c, %2 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.sigmoid %3 : (tensor<4xf32>) -> tensor<4xf32>
  %5 = graph.mul %4, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1, %5 : tensor<4xf32>, tensor<4xf32>
}

// CHECK:      func.func @hard_swish
// CHECK-NEXT:   %[[A:.*]] = graph.hard_swish %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   %[[B:.*]] = graph.hard_swish %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   %[[C:.*]] = graph.hard_swish %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   func.return %[[A]], %[[B]], %[[C]]
func.func @hard_swish(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %three = arith.constant dense<3.0> : tensor<f32>
  %six = arith.constant dense<6.0> : tensor<f32>
  %sixth = arith.constant dense<0.166666672> : tensor<f32>
  %0 = graph.hard_sigmoid %x alpha 0.166666672 beta 0.5 : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.add %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = graph.clip %2 min 0.0 max 6.0 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.mul %3, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = graph.div %4, %six : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = graph.add %three, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = graph.clip %6 min 0.0 max 6.0 : (tensor<4xf32>) -> tensor<4xf32>
  %8 = graph.mul %7, %sixth : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %9 = graph.mul %x, %8 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1, %5, %9 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Left alone: another constant, a gate of something else, steps that are read twice, a square, a product that broadcasts.
// CHECK:      func.func @alone
// CHECK-NOT:    graph.gelu
// CHECK-NOT:    graph.swish
func.func @alone(%x: tensor<4xf32>, %y: tensor<4xf32>, %u: tensor<1xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %root = arith.constant dense<1.41> : tensor<f32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %half = arith.constant dense<0.5> : tensor<f32>
  %0 = graph.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = graph.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.mul %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = graph.sigmoid %y : (tensor<4xf32>) -> tensor<4xf32>
  %6 = graph.mul %5, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = graph.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %8 = graph.mul %7, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = graph.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %10 = graph.sigmoid %9 : (tensor<4xf32>) -> tensor<4xf32>
  %11 = graph.mul %10, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %12 = graph.sigmoid %u : (tensor<1xf32>) -> tensor<1xf32>
  %13 = graph.mul %12, %x : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %4, %6, %7, %8, %11, %13 :
    tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
