func.func @main(%x: tensor<16x300xf32>) -> tensor<16x300xf32> {
  %0 = graph.softmax %x axis 1 {npu.node = "probabilities"} : (tensor<16x300xf32>) -> tensor<16x300xf32>
  func.return %0 : tensor<16x300xf32>
}
