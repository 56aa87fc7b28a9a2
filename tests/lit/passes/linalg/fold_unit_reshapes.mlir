// RUN: npu-opt %s --linalg-fold-unit-reshapes | filecheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Between a sum and what it scales nothing is left of the kept dim.
// CHECK-LABEL: func.func @mean
// CHECK:         %[[S:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
// CHECK:         %[[M:.*]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%[[S]] : tensor<4xf32>) outs({{.*}} : tensor<4xf32>)
// CHECK:         linalg.generic {{.*}} ins(%x, %[[M]] : tensor<4x8xf32>, tensor<4xf32>)
// CHECK-NOT:     shape
func.func @mean(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %b = arith.addf %a, %acc : f32
    linalg.yield %b : f32
  } -> tensor<4xf32>
  %k = tensor.expand_shape %s [[0, 1]] output_shape [4, 1] : tensor<4xf32> into tensor<4x1xf32>
  %e1 = tensor.empty() : tensor<4x1xf32>
  %m = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%k : tensor<4x1xf32>) outs(%e1 : tensor<4x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %c = arith.constant 0.125 : f32
    %b = arith.mulf %a, %c : f32
    linalg.yield %b : f32
  } -> tensor<4x1xf32>
  %c = tensor.collapse_shape %m [[0, 1]] : tensor<4x1xf32> into tensor<4xf32>
  %e2 = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %c : tensor<4x8xf32>, tensor<4xf32>) outs(%e2 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  } -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// Dims that are split, and values that are used otherwise, are left alone.
// CHECK-LABEL: func.func @kept
// CHECK:         tensor.collapse_shape %r
// CHECK:         tensor.expand_shape %x
func.func @kept(%x: tensor<8xf32>, %y: tensor<4x1xf32>) -> (tensor<4x1xf32>, tensor<4xf32>, tensor<2x4xf32>) {
  %e = tensor.empty() : tensor<4x1xf32>
  %r = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<4x1xf32>) outs(%e : tensor<4x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.addf %a, %a : f32
    linalg.yield %b : f32
  } -> tensor<4x1xf32>
  %c = tensor.collapse_shape %r [[0, 1]] : tensor<4x1xf32> into tensor<4xf32>
  %s = tensor.expand_shape %x [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  func.return %r, %c, %s : tensor<4x1xf32>, tensor<4xf32>, tensor<2x4xf32>
}

// A matrix product with one row keeps the loop of that row.
// CHECK-LABEL: func.func @row
// CHECK:         %[[P:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK:         tensor.collapse_shape %[[P]]
func.func @row(%x: tensor<1x8xf32>, %w: tensor<8x4xf32>) -> tensor<4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x4xf32>) -> tensor<1x4xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<1x8xf32>, tensor<8x4xf32>) outs(%f : tensor<1x4xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x4xf32>
  %c = tensor.collapse_shape %p [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// A window of 2 that has one place in 3 elements keeps the loop over places: without it, it would read all 3.
// CHECK-LABEL: func.func @one_place(
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (((d0 * 2) + d1))>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>]
// CHECK:         tensor.collapse_shape
func.func @one_place(%x: tensor<3xf32>) -> tensor<f32> {
  %low = arith.constant 0xff800000 : f32
  %window = tensor.empty() : tensor<2xf32>
  %e = tensor.empty() : tensor<1xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<1xf32>) -> tensor<1xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(o, k) -> (o * 2 + k)>, affine_map<(o, k) -> (k)>,
                                        affine_map<(o, k) -> (o)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %window : tensor<3xf32>, tensor<2xf32>) outs(%f : tensor<1xf32>) {
  ^bb0(%a: f32, %w: f32, %c: f32):
    %m = arith.maximumf %a, %c : f32
    linalg.yield %m : f32
  } -> tensor<1xf32>
  %z = tensor.collapse_shape %y [] : tensor<1xf32> into tensor<f32>
  func.return %z : tensor<f32>
}

// A generic that reads a tensor at places that are data keeps its loops, those of rows and of what is in them.
// CHECK-LABEL: func.func @gathered(
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK:         tensor.collapse_shape
func.func @gathered(%t: tensor<8x4xf32>, %i: tensor<1xi32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<1x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<1xi32>) outs(%e : tensor<1x4xf32>) {
  ^bb0(%n: i32, %o: f32):
    %at = arith.index_cast %n : i32 to index
    %b = linalg.index 1 : index
    %v = tensor.extract %t[%at, %b] : tensor<8x4xf32>
    linalg.yield %v : f32
  } -> tensor<1x4xf32>
  %c = tensor.collapse_shape %r [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
  func.return %c : tensor<4xf32>
}
