// RUN: npu-opt %s --inline-calls | filecheck %s

// A function that is called twice, by another one that is called: each call gets its own results.
func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.mulf %x, %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

func.func private @fourth(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = func.call @square(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @square(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1, %x : tensor<4xf32>, tensor<4xf32>
}

// CHECK-NOT: @square
// CHECK-LABEL: @main
// CHECK-NEXT: %0 = arith.mulf %x, %x
// CHECK-NEXT: %1 = arith.mulf %0, %0
// CHECK-NEXT: %2 = arith.addf %1, %x
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0, %1 = func.call @fourth(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %2 = arith.addf %0, %1 : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// Public functions stay, and so do calls of declarations.
// CHECK-LABEL: func.func @public
// CHECK: func.call @outside
func.func private @outside(tensor<4xf32>) -> tensor<4xf32>

func.func @public(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @outside(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
