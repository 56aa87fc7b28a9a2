// RUN: not npu-opt --split-input-file %s --graph-infer-shapes 2>&1 | filecheck %s

// CHECK: error: argument 1 of '@open' has open extents: tensor<?x4xf32>
func.func @open(%x: tensor<4xf32>, %y: tensor<?x4xf32>) {
  func.return
}

// -----

// What only shows once the shapes are known.
// CHECK: error: cannot infer the shape of 'graph.add': shapes 2x6 and 2x5 do not broadcast
func.func @late(%x: tensor<2x6xf32>, %y: tensor<2x5xf32>) -> tensor<2x?xf32> {
  %0 = graph.relu %x : (tensor<2x6xf32>) -> tensor<2x?xf32>
  %1 = graph.add %0, %y : (tensor<2x?xf32>, tensor<2x5xf32>) -> tensor<2x?xf32>
  func.return %1 : tensor<2x?xf32>
}

// -----

// CHECK: error: 'graph.reshape' op 2x6 cannot become ?x?
func.func @ambiguous(%x: tensor<2x6xf32>) -> tensor<?x?xf32> {
  %0 = graph.reshape %x : (tensor<2x6xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// -----

// CHECK: error: the shape of 'graph.expand' does not follow from its operands: tensor<2x?xf32>
func.func @expand(%x: tensor<2x1xf32>) -> tensor<2x?xf32> {
  %0 = graph.expand %x : (tensor<2x1xf32>) -> tensor<2x?xf32>
  func.return %0 : tensor<2x?xf32>
}
