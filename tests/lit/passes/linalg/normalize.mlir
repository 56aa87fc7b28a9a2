// RUN: npu-opt %s --linalg-normalize --check-equivalence | filecheck %s
// Twice is as good as once.
// RUN: npu-opt %s --linalg-normalize -o %t.mlir && npu-opt %t.mlir --linalg-normalize -o %t.twice.mlir && diff %t.mlir %t.twice.mlir

// CHECK-LABEL: func.func @concat
// CHECK:         %[[A:.*]] = tensor.pad %x low[0, 0] high[3, 0]
// CHECK:         %[[B:.*]] = tensor.pad %y low[2, 0] high[0, 0]
// CHECK:         linalg.generic {{.*}} ins(%[[A]], %[[B]] : tensor<5x8xf32>, tensor<5x8xf32>)
// CHECK:           arith.addf
func.func @concat(%x: tensor<2x8xf32>, %y: tensor<3x8xf32>) -> tensor<5x8xf32> {
  %0 = tensor.concat dim(0) %x, %y : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  func.return %0 : tensor<5x8xf32>
}

// Masks are joined by `or`; a piece without elements counts nothing.
// CHECK-LABEL: func.func @masks
// CHECK:         arith.ori
// CHECK-NOT:     arith.ori
func.func @masks(%x: tensor<2xi1>, %y: tensor<0xi1>, %z: tensor<3xi1>) -> tensor<5xi1> {
  %0 = tensor.concat dim(0) %x, %y, %z : (tensor<2xi1>, tensor<0xi1>, tensor<3xi1>) -> tensor<5xi1>
  func.return %0 : tensor<5xi1>
}

// What lies around an inserted slice comes from the destination.
// CHECK-LABEL: func.func @insert
// CHECK-COUNT-3: tensor.extract_slice %d
// CHECK:         arith.addf
func.func @insert(%x: tensor<2x3xf32>, %d: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = tensor.insert_slice %x into %d[1, 0] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<4x5xf32>
  func.return %0 : tensor<4x5xf32>
}

// A chain of insertions that starts empty is one sum, as long as they don't overlap.
// CHECK-LABEL: func.func @chain
// CHECK-NOT:     tensor.extract_slice
// CHECK:         func.return
func.func @chain(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %e = tensor.empty() : tensor<5xf32>
  %0 = tensor.insert_slice %x into %e[0] [2] [1] : tensor<2xf32> into tensor<5xf32>
  %1 = tensor.insert_slice %y into %0[2] [3] [1] : tensor<3xf32> into tensor<5xf32>
  func.return %1 : tensor<5xf32>
}

// CHECK-LABEL: func.func @overlapping
// CHECK:         tensor.extract_slice
func.func @overlapping(%x: tensor<2xf32>, %y: tensor<3xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensor.insert_slice %x into %d[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
  %1 = tensor.insert_slice %y into %0[1] [3] [1] : tensor<3xf32> into tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// Pads, slices and fills that are returned, reshaped or padded are copied.
// CHECK-LABEL: func.func @copies
// CHECK:         %[[S:.*]] = tensor.extract_slice %x
// CHECK:         %[[C:.*]] = linalg.generic {{.*}} ins(%[[S]]
// CHECK:         tensor.pad %[[C]]
// CHECK:         linalg.generic
// CHECK:         tensor.collapse_shape %[[C]]
func.func @copies(%x: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<6xf32>) {
  %z = arith.constant 0.0 : f32
  %0 = tensor.extract_slice %x[1, 0] [2, 3] [1, 2] : tensor<4x8xf32> to tensor<2x3xf32>
  %1 = tensor.pad %0 low[1, 0] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<2x3xf32> to tensor<4x4xf32>
  %2 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  func.return %1, %2 : tensor<4x4xf32>, tensor<6xf32>
}

// CHECK-LABEL: func.func @rank
// CHECK:         tensor.extract_slice %x[1, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
// CHECK:         tensor.collapse_shape
func.func @rank(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %0 = tensor.extract_slice %x[1, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @tensors
// CHECK:         linalg.generic
// CHECK:           arith.addf %{{.*}}, %{{.*}} : f32
// CHECK:         linalg.generic
// CHECK:           math.exp %{{.*}} : f32
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32>
  %1 = math.exp %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// Several results, a scalar input, an init that the body does not read.
// CHECK-LABEL: func.func @generics
// CHECK:         linalg.generic {{.*}} ins(%x : tensor<4xf32>) outs(%{{.*}} : tensor<4xf32>)
// CHECK:           arith.constant 2.000000e+00
// CHECK:         tensor.empty
// CHECK:         linalg.generic {{.*}} ins(%x : tensor<4xf32>)
// CHECK:           arith.negf
func.func @generics(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %two = arith.constant 2.0 : f32
  %0, %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x, %two : tensor<4xf32>, f32) outs(%x, %x : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32, %p: f32):
    %m = arith.mulf %a, %s : f32
    %n = arith.negf %a : f32
    linalg.yield %m, %n : f32, f32
  } -> tensor<4xf32>, tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Scalars: an element is read where it is, others become tensors; a fill with one is a generic.
// CHECK-LABEL: func.func @scalars
// CHECK:         %[[F:.*]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (2)>, affine_map<(d0) -> (d0)>], {{.*}} ins(%t : tensor<3xf32>)
// CHECK:         %[[S:.*]] = tensor.from_elements %s : tensor<f32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (2)>, affine_map<(d0) -> (d0)>], {{.*}} ins(%[[F]], %[[S]], %t : tensor<8xf32>, tensor<f32>, tensor<3xf32>)
// CHECK:           arith.mulf
// CHECK:           arith.addf
func.func @scalars(%t: tensor<3xf32>, %s: f32) -> tensor<8xf32> {
  %c2 = arith.constant 2 : index
  %e = tensor.empty() : tensor<8xf32>
  %element = tensor.extract %t[%c2] : tensor<3xf32>
  %0 = linalg.fill ins(%element : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0, %s : tensor<8xf32>, f32) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %m, %element : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  func.return %1 : tensor<8xf32>
}

// mlir-opt generalises a fill to this.
// CHECK-LABEL: func.func @fill
// CHECK:         %[[F:.*]] = linalg.fill
// CHECK:         linalg.generic {{.*}} ins(%x : tensor<4x8xf32>) outs(%[[F]] : tensor<4xf32>)
func.func @fill(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
