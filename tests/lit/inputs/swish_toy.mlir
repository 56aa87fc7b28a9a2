builtin.module attributes {npu.target = "toy"} {
  func.func @main(%x: tensor<32x64xf32>, %y: tensor<32x64xf32>) -> tensor<32x64xf32> {
    %0 = graph.sigmoid %x : (tensor<32x64xf32>) -> tensor<32x64xf32>
    %1 = graph.mul %0, %x : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
    %2 = graph.add %1, %y : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
    func.return %2 : tensor<32x64xf32>
  }
}
