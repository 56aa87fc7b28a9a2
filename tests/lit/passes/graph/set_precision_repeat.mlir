// RUN: npu-opt %s --graph-set-precision=precision=f16 --check-equivalence | filecheck %s

// A function that is run many times takes and returns f16; what it computes in f32 it casts itself.
// CHECK-LABEL: func.func private @step(%n: tensor<i32>, %s: tensor<8xf16>, %x: tensor<8xf16>) -> (tensor<8xf16>, tensor<i32>) {
// CHECK-NEXT:    %0 = graph.cast %s : (tensor<8xf16>) -> tensor<8xf32>
// CHECK-NEXT:    %e = graph.exp %0 : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:    %1 = graph.cast %x : (tensor<8xf16>) -> tensor<8xf32>
// CHECK-NEXT:    %t = graph.add %e, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:    %2 = graph.cast %t : (tensor<8xf32>) -> tensor<8xf16>
// CHECK-NEXT:    func.return %2, %n : tensor<8xf16>, tensor<i32>
func.func private @step(%n: tensor<i32>, %s: tensor<8xf32>, %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<i32>) {
  %e = graph.exp %s : (tensor<8xf32>) -> tensor<8xf32>
  %t = graph.add %e, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %t, %n : tensor<8xf32>, tensor<i32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    %0 = graph.cast %s : (tensor<8xf32>) -> tensor<8xf16>
// CHECK-NEXT:    %1 = graph.cast %xs : (tensor<2x8xf32>) -> tensor<2x8xf16>
// CHECK-NEXT:    %end, %is = graph.repeat numbered @step 2 times carry(%0 : tensor<8xf16>) each(%1 : tensor<2x8xf16>) -> tensor<8xf16>, tensor<2xi32>
// CHECK-NEXT:    %2 = graph.cast %end : (tensor<8xf16>) -> tensor<8xf32>
// CHECK-NEXT:    func.return %2, %is : tensor<8xf32>, tensor<2xi32>
func.func @main(%s: tensor<8xf32>, %xs: tensor<2x8xf32>) -> (tensor<8xf32>, tensor<2xi32>) {
  %end, %is = graph.repeat numbered @step 2 times carry(%s : tensor<8xf32>) each(%xs : tensor<2x8xf32>) -> tensor<8xf32>, tensor<2xi32>
  func.return %end, %is : tensor<8xf32>, tensor<2xi32>
}
