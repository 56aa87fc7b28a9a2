// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

// Weights survive a round trip in their own and in the generic form.

// CHECK-LABEL: func.func @weight
// CHECK-NEXT: {{.*}} = graph.weight @"conv1/kernel" : tensor<16x8x3x3xf32>
func.func @weight() {
  %r = graph.weight @"conv1/kernel" : tensor<16x8x3x3xf32>
  func.return
}
