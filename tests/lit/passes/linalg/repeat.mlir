// RUN: npu-opt %s --convert-graph-to-linalg --linalg-normalize --check-equivalence | filecheck %s

// What an iteration reads and where its results go stays as it is, signs are those of the function.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    %u_1 = builtin.unrealized_conversion_cast %u : tensor<3xui8> to tensor<3xi8>
// CHECK-NEXT:    %0 = arith.constant 0 : index
// CHECK-NEXT:    %1 = arith.constant 1 : index
// CHECK-NEXT:    %2 = arith.constant 2 : index
// CHECK-NEXT:    %3 = arith.constant 3 : index
// CHECK-NEXT:    %4 = tensor.empty() : tensor<3xi8>
// CHECK-NEXT:    %end, %us = scf.for %5 = %0 to %3 step %1 iter_args(%6 = %s, %7 = %4) -> (tensor<8xf32>, tensor<3xi8>) {
// CHECK-NEXT:      %8 = arith.subi %2, %5 : index
// CHECK-NEXT:      %9 = arith.index_cast %5 : index to i32
// CHECK-NEXT:      %10 = tensor.from_elements %9 : tensor<i32>
// CHECK-NEXT:      %11 = tensor.extract_slice %xs[%5, 0] [1, 8] [1, 1] : tensor<3x8xf32> to tensor<8xf32>
// CHECK-NEXT:      %12 = tensor.extract_slice %u_1[%8] [1] [1] : tensor<3xi8> to tensor<i8>
// CHECK-NEXT:      %13 = builtin.unrealized_conversion_cast %12 : tensor<i8> to tensor<ui8>
// CHECK-NEXT:      %14, %15 = func.call @step(%10, %6, %11, %13) {npu.node = "scan"} : (tensor<i32>, tensor<8xf32>, tensor<8xf32>, tensor<ui8>) -> (tensor<8xf32>, tensor<ui8>)
// CHECK-NEXT:      %16 = builtin.unrealized_conversion_cast %15 : tensor<ui8> to tensor<i8>
// CHECK-NEXT:      %17 = tensor.insert_slice %16 into %7[%5] [1] [1] : tensor<i8> into tensor<3xi8>
// CHECK-NEXT:      scf.yield %14, %17 : tensor<8xf32>, tensor<3xi8>
// CHECK-NEXT:    }
func.func private @step(%n: tensor<i32>, %s: tensor<8xf32>, %x: tensor<8xf32>, %u: tensor<ui8>) -> (tensor<8xf32>, tensor<ui8>) {
  %f = graph.cast %n : (tensor<i32>) -> tensor<f32>
  %t = graph.add %s, %f : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %v = graph.add %t, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %m = graph.maximum %u, %u : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
  func.return %v, %m : tensor<8xf32>, tensor<ui8>
}
func.func @main(%s: tensor<8xf32>, %xs: tensor<3x8xf32>, %u: tensor<3xui8>) -> (tensor<8xf32>, tensor<3xui8>) {
  %end, %us = graph.repeat numbered @step 3 times carry(%s : tensor<8xf32>) each(%xs, %u : tensor<3x8xf32>, tensor<3xui8>)
    backwards_each [0, 1] {npu.node = "scan"} -> tensor<8xf32>, tensor<3xui8>
  func.return %end, %us : tensor<8xf32>, tensor<3xui8>
}

// What is run once is called without a loop.
// CHECK-LABEL: func.func @once(
// CHECK:         %0 = tensor.collapse_shape %xs
// CHECK-NEXT:    %1 = tensor.collapse_shape %u_1
// CHECK-NEXT:    %2 = arith.constant dense<0> : tensor<i32>
// CHECK-NEXT:    %3 = builtin.unrealized_conversion_cast %1 : tensor<i8> to tensor<ui8>
// CHECK-NEXT:    %end, %4 = func.call @step(%2, %s, %0, %3)
// CHECK:         linalg.generic
func.func @once(%s: tensor<8xf32>, %xs: tensor<1x8xf32>, %u: tensor<1xui8>) -> (tensor<8xf32>, tensor<1xui8>) {
  %end, %us = graph.repeat numbered @step 1 times carry(%s : tensor<8xf32>) each(%xs, %u : tensor<1x8xf32>, tensor<1xui8>) -> tensor<8xf32>, tensor<1xui8>
  func.return %end, %us : tensor<8xf32>, tensor<1xui8>
}
