// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s
// RUN: npu-opt %s --lower-to=isa | npu-opt | filecheck %s --check-prefix=ISA
// RUN: npu-opt %s --lower-to=isa --check-equivalence | filecheck %s --check-prefix=ISA

// A call of the host survives a round trip, in its own and in the generic form, and all levels as it is.

// CHECK-LABEL: func.func @main
// CHECK: graph.host_call ["Det"] opset 17 model "CAoSADo1{{.*}}"(%{{.*}}) {npu.node = "det"} : (tensor<2x2xf32>) -> tensor<f32>
// ISA: %[[X:.*]] = tile.launch
// ISA: %[[D:.*]] = graph.host_call ["Det"] opset 17 model "CAoSADo1{{.*}}"(%[[X]]) {npu.node = "det"} : (tensor<2x2xf32>) -> tensor<f32>
// ISA: tile.launch @{{.*}}(%[[X]], %[[D]])
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = graph.relu %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = graph.host_call ["Det"] opset 17 model "CAoSADo1CgsKAWESAWIiA0RldBIEaG9zdFoTCgFhEg4KDAgBEggKAggCCgIIAmILCgFiEgYKBAgBEgBCBAoAEBE="(%0) {npu.node = "det"} : (tensor<2x2xf32>) -> tensor<f32>
  %2 = graph.add %0, %1 : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}
