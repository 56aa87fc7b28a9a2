// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

// CHECK-LABEL: func.func @host(
// CHECK-NEXT:    %y, %z = tile.host -> tensor<4xf32>, tensor<4xf32> attributes {npu.node = "negate"} {
// CHECK-NEXT:      %n = arith.negf %x : tensor<4xf32>
// CHECK-NEXT:      tile.yield %n, %x : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:    }
func.func @host(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %z = tile.host -> tensor<4xf32>, tensor<4xf32> attributes {npu.node = "negate"} {
    %n = arith.negf %x : tensor<4xf32>
    tile.yield %n, %x : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}
