// RUN: npu-opt %s --linalg-generalize-named-ops --verify-diagnostics

func.func @pack(%x: tensor<20xf32>, %s: f32, %p: tensor<3x8xf32>) -> tensor<3x8xf32> {
  // expected-error @+1 {{the padding value of linalg.pack has to be a constant}}
  %0 = linalg.pack %x padding_value(%s : f32) inner_dims_pos = [0] inner_tiles = [8] into %p : tensor<20xf32> -> tensor<3x8xf32>
  func.return %0 : tensor<3x8xf32>
}
