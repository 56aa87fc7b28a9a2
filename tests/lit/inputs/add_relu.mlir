func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = graph.add %x, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.relu %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %1 : tensor<64x64xf32>
}
