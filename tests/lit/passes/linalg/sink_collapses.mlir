// RUN: npu-opt %s --linalg-sink-collapses | filecheck %s

#x = affine_map<(m, b, n, k) -> (m, b, k)>
#w = affine_map<(m, b, n, k) -> (b, k, n)>
#y = affine_map<(m, b, n, k) -> (m, b, n)>
#id = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>

// A bias and a rounding behind it run over groups and what is in them. The sum reads rows of all groups.
// CHECK-LABEL: func.func @epilogue(
// CHECK:         } -> tensor<8x2x4xf32>
// CHECK:         %[[B:.*]] = tensor.expand_shape %bias {{\[\[}}0 : i64, 1 : i64]] output_shape [2, 4]
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK-SAME:      ins(%{{.*}}, %[[B]] : tensor<8x2x4xf32>, tensor<2x4xf16>)
// CHECK:         } -> tensor<8x2x4xf16>
// CHECK:         %[[J:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0 : i64], [1 : i64, 2 : i64]] : tensor<8x2x4xf16> into tensor<8x8xf16>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>]
// CHECK-SAME:      ins(%[[J]] : tensor<8x8xf16>)
// CHECK:         func.return %[[J]], %{{.*}}
func.func @epilogue(%x: tensor<8x2x3xf32>, %w: tensor<2x3x4xf32>, %bias: tensor<8xf16>) -> (tensor<8x8xf16>, tensor<8xf16>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x2x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  %p = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<8x2x3xf32>, tensor<2x3x4xf32>) outs(%f : tensor<8x2x4xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %2 = arith.mulf %l, %r : f32
    %3 = arith.addf %acc, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<8x2x4xf32>
  %j = tensor.collapse_shape %p [[0], [1, 2]] : tensor<8x2x4xf32> into tensor<8x8xf32>
  %e1 = tensor.empty() : tensor<8x8xf16>
  %q = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
    ins(%j, %bias : tensor<8x8xf32>, tensor<8xf16>) outs(%e1 : tensor<8x8xf16>) {
  ^bb0(%l: f32, %r: f16, %o: f16):
    %4 = arith.extf %r : f16 to f32
    %5 = arith.addf %l, %4 : f32
    %6 = arith.truncf %5 : f32 to f16
    linalg.yield %6 : f16
  } -> tensor<8x8xf16>
  %none = arith.constant 0.0 : f16
  %e2 = tensor.empty() : tensor<8xf16>
  %f2 = linalg.fill ins(%none : f16) outs(%e2 : tensor<8xf16>) -> tensor<8xf16>
  %s = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
    ins(%q : tensor<8x8xf16>) outs(%f2 : tensor<8xf16>) {
  ^bb0(%l: f16, %acc: f16):
    %7 = arith.addf %acc, %l : f16
    linalg.yield %7 : f16
  } -> tensor<8xf16>
  func.return %q, %s : tensor<8x8xf16>, tensor<8xf16>
}

// Left alone: one that reads neighbours along the joined dim, one that reads it twice, and another product.
// CHECK-LABEL: func.func @alone(
// CHECK:         %[[J:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0 : i64], [1 : i64, 2 : i64]] : tensor<8x2x4xf32> into tensor<8x8xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[J]] : tensor<8x8xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[J]], %[[J]] : tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[J]], %v : tensor<8x8xf32>, tensor<8x8xf32>)
func.func @alone(%x: tensor<8x2x3xf32>, %w: tensor<2x3x4xf32>, %v: tensor<8x8xf32>) -> (tensor<8x7xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x2x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  %p = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<8x2x3xf32>, tensor<2x3x4xf32>) outs(%f : tensor<8x2x4xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %2 = arith.mulf %l, %r : f32
    %3 = arith.addf %acc, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<8x2x4xf32>
  %j = tensor.collapse_shape %p [[0], [1, 2]] : tensor<8x2x4xf32> into tensor<8x8xf32>
  %e1 = tensor.empty() : tensor<8x7xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n + 1)>, #id], iterator_types = ["parallel", "parallel"]}
    ins(%j : tensor<8x8xf32>) outs(%e1 : tensor<8x7xf32>) {
  ^bb0(%l: f32, %o: f32):
    %5 = arith.addf %l, %l : f32
    linalg.yield %5 : f32
  } -> tensor<8x7xf32>
  %e2 = tensor.empty() : tensor<8x8xf32>
  %t = linalg.generic {indexing_maps = [#id, affine_map<(m, n) -> (n, m)>, #id], iterator_types = ["parallel", "parallel"]}
    ins(%j, %j : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e2 : tensor<8x8xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %6 = arith.addf %l, %r : f32
    linalg.yield %6 : f32
  } -> tensor<8x8xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%j, %v : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f3 : tensor<8x8xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %7 = arith.mulf %l, %r : f32
    %8 = arith.addf %acc, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<8x8xf32>
  func.return %q, %t, %u : tensor<8x7xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
