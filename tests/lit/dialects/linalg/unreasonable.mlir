// RUN: npu-opt %s --split-input-file --verify-diagnostics

func.func @floordiv(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @+1 {{the map (d0) -> ((d0 floordiv 0)) divides by 0}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 floordiv 0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @mod(%i: index) -> index {
  // expected-error @+1 {{the map (d0) -> ((d0 mod 0)) divides by 0}}
  %e = affine.apply affine_map<(d0) -> (d0 mod 0)> (%i)
  func.return %e : index
}

// -----

func.func @large(%x: tensor<4xf32>) -> tensor<1099511627780xf32> {
  %c = arith.constant 0.0 : f32
  // expected-error @+1 {{tensor<1099511627780xf32> spans 1099511627780 elements: no memory holds as many}}
  %0 = tensor.pad %x low[0] high[1099511627776] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<4xf32> to tensor<1099511627780xf32>
  func.return %0 : tensor<1099511627780xf32>
}
