// RUN: npu-opt %s --tile-form-kernels --verify-diagnostics
// RUN: npu-opt %s --graph-fold-constants --verify-diagnostics

// expected-error @+1 {{'@main' has jumps between blocks, which are not followed}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
^bb1(%z: f32):
  func.return %x : tensor<4xf32>
}
