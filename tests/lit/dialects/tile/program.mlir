// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    %y, %z = tile.program -> tensor<64xf32>, tensor<64xf32> attributes {npu.node = "both"} {
// CHECK-NEXT:      %a = tile.launch @l(%x) : (tensor<64xf32>) -> tensor<64xf32>
// CHECK-NEXT:      tile.prefetch %a : tensor<64xf32>
// CHECK-NEXT:      %b = tile.launch @k(%a) : (tensor<64xf32>) -> tensor<64xf32>
// CHECK-NEXT:      tile.yield %a, %b : tensor<64xf32>, tensor<64xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.program {
// CHECK-NEXT:      tile.yield
// CHECK-NEXT:    }
// CHECK-LABEL: tile.kernel @k
// CHECK-NEXT:    tile.await_stored from <ub>
// CHECK-NEXT:    tile.boundary
// CHECK-NEXT:    tile.stored
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y, %z = tile.program -> tensor<64xf32>, tensor<64xf32> attributes {npu.node = "both"} {
    %a = tile.launch @l(%x) : (tensor<64xf32>) -> tensor<64xf32>
    tile.prefetch %a : tensor<64xf32>
    %b = tile.launch @k(%a) : (tensor<64xf32>) -> tensor<64xf32>
    tile.yield %a, %b : tensor<64xf32>, tensor<64xf32>
  }
  tile.program {
    tile.yield
  }
  func.return %z : tensor<64xf32>
}
tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  tile.await_stored from <ub>
  tile.boundary
  tile.stored
  tile.return
}
tile.kernel @l(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  tile.boundary
  tile.stored
  tile.return
}
