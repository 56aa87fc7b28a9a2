// RUN: npu-opt %s --tile-copy-for-loops --check-equivalence | filecheck %s
// RUN: npu-opt %s --tile-copy-for-loops | npu-opt --tile-copy-for-loops | filecheck %s

// Of what is put together, arguments (also under another shape), constants, and what is put together twice.
// CHECK-LABEL: func.func private @step(
// CHECK:         %t = linalg.generic
// CHECK:         %v = tensor.expand_shape %t
// CHECK-NEXT:    %{{.*}} = tensor.empty() : tensor<8xf32>
// CHECK-NEXT:    %[[S:.*]] = linalg.generic {{.*}} ins(%s : tensor<8xf32>)
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      linalg.yield %[[A]] : f32
// CHECK-NEXT:    } -> tensor<8xf32>
// CHECK-NEXT:    %{{.*}} = tensor.empty() : tensor<8xf32>
// CHECK-NEXT:    %[[T:.*]] = linalg.generic {{.*}} ins(%t : tensor<8xf32>)
// CHECK:         func.return %t, %v, %[[S]], %[[T]] : tensor<8xf32>, tensor<8x1xf32>, tensor<8xf32>, tensor<8xf32>
#id = affine_map<(d0) -> (d0)>
func.func private @step(%s: tensor<8xf32>) -> (tensor<8xf32>, tensor<8x1xf32>, tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%s : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  %v = tensor.expand_shape %t [[0 : i64, 1 : i64]] output_shape [8, 1] : tensor<8xf32> into tensor<8x1xf32>
  func.return %t, %v, %s, %t : tensor<8xf32>, tensor<8x1xf32>, tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func @main(
func.func @main(%s: tensor<8xf32>) -> (tensor<8xf32>, tensor<5x8x1xf32>, tensor<5x8xf32>, tensor<5x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %e0 = tensor.empty() : tensor<5x8x1xf32>
  %e1 = tensor.empty() : tensor<5x8xf32>
  %e2 = tensor.empty() : tensor<5x8xf32>
  %r, %x, %y, %z = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %s, %a = %e0, %b = %e1, %c = %e2) -> (tensor<8xf32>, tensor<5x8x1xf32>, tensor<5x8xf32>, tensor<5x8xf32>) {
    %n, %p, %q, %o = func.call @step(%h) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8x1xf32>, tensor<8xf32>, tensor<8xf32>)
    %a1 = tensor.insert_slice %p into %a[%i, 0, 0] [1, 8, 1] [1, 1, 1] : tensor<8x1xf32> into tensor<5x8x1xf32>
    %b1 = tensor.insert_slice %q into %b[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<5x8xf32>
    %c2 = tensor.insert_slice %o into %c[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<5x8xf32>
    scf.yield %n, %a1, %b1, %c2 : tensor<8xf32>, tensor<5x8x1xf32>, tensor<5x8xf32>, tensor<5x8xf32>
  }
  func.return %r, %x, %y, %z : tensor<8xf32>, tensor<5x8x1xf32>, tensor<5x8xf32>, tensor<5x8xf32>
}

// What is only carried on stays: nothing is put together.
// CHECK-LABEL: func.func private @turn(
// CHECK-NEXT:    func.return %b, %a
func.func private @turn(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  func.return %b, %a : tensor<8xf32>, tensor<8xf32>
}
func.func @states(%s: tensor<8xf32>, %t: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r, %q = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %s, %k = %t) -> (tensor<8xf32>, tensor<8xf32>) {
    %n, %m = func.call @turn(%h, %k) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    scf.yield %n, %m : tensor<8xf32>, tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}
