// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

func.func private @step(%n: tensor<i32>, %s: tensor<8xf32>, %x: tensor<8xf32>, %k: tensor<f32>) -> (tensor<8xf32>, tensor<4xf32>, tensor<f32>) {
  %t = graph.add %s, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %p = graph.slice %t offsets [0] sizes [4] strides [1] : (tensor<8xf32>) -> tensor<4xf32>
  func.return %t, %p, %k : tensor<8xf32>, tensor<4xf32>, tensor<f32>
}

func.func private @states(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  func.return %b, %a : tensor<8xf32>, tensor<8xf32>
}

func.func private @parts(%x: tensor<i8>) -> tensor<i8> {
  func.return %x : tensor<i8>
}

// CHECK-LABEL: func.func @main(
func.func @main(%s: tensor<8xf32>, %xs: tensor<9x8xf32>, %k: tensor<f32>, %i: tensor<3xi8>) -> tensor<8xf32> {
  // CHECK-NEXT:    %end, %ps, %ks = graph.repeat numbered @step 9 times carry(%s : tensor<8xf32>) each(%xs : tensor<9x8xf32>) with(%k : tensor<f32>) backwards_each [1] backwards_stacks [0, 1] {npu.node = "scan"} -> tensor<8xf32>, tensor<9x4xf32>, tensor<9xf32>
  %end, %ps, %ks = graph.repeat numbered @step 9 times carry(%s : tensor<8xf32>) each(%xs : tensor<9x8xf32>)
    with(%k : tensor<f32>) backwards_each [1] backwards_stacks [0, 1] {npu.node = "scan"} -> tensor<8xf32>, tensor<9x4xf32>, tensor<9xf32>
  // CHECK-NEXT:    %a, %b = graph.repeat @states 3 times carry(%s, %end : tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>, tensor<8xf32>
  %a, %b = graph.repeat @states 3 times carry(%s, %end : tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>, tensor<8xf32>
  // CHECK-NEXT:    %j = graph.repeat @parts 3 times each(%i : tensor<3xi8>) -> tensor<3xi8>
  %j = graph.repeat @parts 3 times each(%i : tensor<3xi8>) -> tensor<3xi8>
  func.return %a : tensor<8xf32>
}
