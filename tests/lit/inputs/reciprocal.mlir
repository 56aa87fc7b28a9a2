func.func @main(%x: tensor<32x64xf32>, %y: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %0 = graph.exp %x : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %1 = graph.reciprocal %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %2 = graph.mul %1, %y : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  func.return %2 : tensor<32x64xf32>
}
