// RUN: npu-opt %s --linalg-materialize-indices --check-equivalence | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A mask of rows and columns, in two places: one weight, which has no dim for the heads.
// CHECK-LABEL: func.func @mask
// CHECK:         %[[M:.*]] = graph.weight @index : tensor<5x5xi1>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], {{.*}} ins(%x, %[[M]] : tensor<2x5x5xf32>, tensor<5x5xi1>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.select
// CHECK-NEXT:      linalg.yield
// CHECK:         graph.weight @index : tensor<5x5xi1>
func.func @mask(%x: tensor<2x5x5xf32>) -> tensor<2x5x5xf32> {
  %low = arith.constant -1.0e+10 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %c = arith.cmpi sge, %i, %j : index
    %r = arith.select %c, %a, %low : f32
    linalg.yield %r : f32
  } -> tensor<2x5x5xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%0 : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %c = arith.cmpi sge, %i, %j : index
    %n = arith.negf %a : f32
    %r = arith.select %c, %n, %a : f32
    linalg.yield %r : f32
  } -> tensor<2x5x5xf32>
  func.return %1 : tensor<2x5x5xf32>
}

// A position beside data is an i32, as is what is computed from both; divisions are done here.
// CHECK-LABEL: func.func @lengths
// CHECK:         linalg.generic {{.*}} ins(%x, %n, %{{.*}}, %{{.*}} : tensor<3x40xf32>, tensor<3xi64>, tensor<40xi32>, tensor<40xf32>)
// CHECK:           arith.trunci %{{.*}} : i64 to i32
// CHECK-NEXT:      arith.addi %{{.*}} : i32
// CHECK-NEXT:      arith.cmpi slt, %{{.*}} : i32
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      arith.select
// CHECK-NEXT:      linalg.yield
func.func @lengths(%x: tensor<3x40xf32>, %n: tensor<3xi64>) -> tensor<3x40xf32> {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x40xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %n : tensor<3x40xf32>, tensor<3xi64>) outs(%e : tensor<3x40xf32>) {
  ^bb0(%a: f32, %b: i64, %o: f32):
    %j = linalg.index 1 : index
    %length = arith.index_cast %b : i64 to index
    %end = arith.addi %length, %c1 : index
    %inside = arith.cmpi slt, %j, %end : index
    %third = arith.divui %j, %c3 : index
    %number = arith.index_cast %third : index to i64
    %float = arith.sitofp %number : i64 to f32
    %product = arith.mulf %a, %float : f32
    %r = arith.select %inside, %product, %zero : f32
    linalg.yield %r : f32
  } -> tensor<3x40xf32>
  func.return %0 : tensor<3x40xf32>
}

// Nothing but positions: a copy of a constant. Along a summed dim as well.
// CHECK-LABEL: func.func @numbers
// CHECK:         %[[N:.*]] = arith.constant dense<{{\[\[}}0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>
// CHECK:         linalg.generic {{.*}} ins(%[[N]] : tensor<2x3xi32>)
// CHECK:         %[[W:.*]] = arith.constant dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>]{{.*}} ins(%x, %[[W]]
func.func @numbers(%x: tensor<2x3xf32>) -> (tensor<2x3xi32>, tensor<3xf32>) {
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3xi32>
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<2x3xi32>) {
  ^bb0(%o: i32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %p = arith.muli %i, %c3 : index
    %s = arith.addi %p, %j : index
    %f = arith.index_cast %s : index to i32
    linalg.yield %f : i32
  } -> tensor<2x3xi32>
  %e1 = tensor.empty() : tensor<3xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3xf32>) -> tensor<3xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x3xf32>) outs(%f1 : tensor<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 1 : index
    %f = arith.index_cast %i : index to i32
    %g = arith.sitofp %f : i32 to f32
    %m = arith.mulf %a, %g : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<3xf32>
  func.return %0, %1 : tensor<2x3xi32>, tensor<3xf32>
}

// A gather stays as it is.
// CHECK-LABEL: func.func @gather
// CHECK:         linalg.index 0
// CHECK:         tensor.extract
func.func @gather(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %r = arith.subi %c3, %i : index
    %v = tensor.extract %x[%r] : tensor<4xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
