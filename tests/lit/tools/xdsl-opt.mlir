// xdsl-opt finds our dialects and passes through the entry point `xdsl.universe`.

// RUN: xdsl-opt %s | filecheck %s
// RUN: xdsl-opt -p convert-graph-to-linalg %s | filecheck %s --check-prefix=LINALG

// CHECK: graph.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
// LINALG: linalg.generic
// LINALG: arith.maximumf
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
