// RUN: npu-opt %s --inline-calls --split-input-file --verify-diagnostics

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

func.func private @again(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'@main' calls itself}}
  %0 = func.call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
