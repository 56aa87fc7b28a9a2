// RUN: npu-opt %s --linalg-normalize --split-input-file --verify-diagnostics

func.func @strides(%x: tensor<2xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{a slice inserted with strides or at dynamic offsets has no lowering}}
  %0 = tensor.insert_slice %x into %d[0] [2] [2] : tensor<2xf32> into tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @inits(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{the results of a linalg.generic depend on each other's inits}}
  %0, %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%o: f32, %p: f32):
    linalg.yield %p, %o : f32, f32
  } -> tensor<4xf32>, tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
