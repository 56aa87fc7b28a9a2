// RUN: npu-opt %s --linalg-generalize-named-ops | filecheck %s

// CHECK-LABEL: func.func @matmul
// CHECK-NEXT:    linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<4x8xf16>, tensor<8x2xf16>) outs(%z : tensor<4x2xf32>)
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f16, %[[B:.*]]: f16, %[[C:.*]]: f32):
// CHECK-NEXT:      %[[A32:.*]] = arith.extf %[[A]] : f16 to f32
// CHECK-NEXT:      %[[B32:.*]] = arith.extf %[[B]] : f16 to f32
// CHECK-NEXT:      %[[M:.*]] = arith.mulf %[[A32]], %[[B32]] : f32
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[C]], %[[M]] : f32
// CHECK-NEXT:      linalg.yield %[[S]] : f32
func.func @matmul(%x: tensor<4x8xf16>, %y: tensor<8x2xf16>, %z: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = linalg.matmul ins(%x, %y : tensor<4x8xf16>, tensor<8x2xf16>) outs(%z : tensor<4x2xf32>) -> tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}

// Those that xDSL has no structured form of. A fill stays.
// CHECK-LABEL: func.func @others
// CHECK-NEXT:    %z = arith.constant
// CHECK-NEXT:    linalg.fill ins(%z : f32) outs(%r : tensor<4xf32>)
// CHECK-NEXT:    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
func.func @others(%x: tensor<4x8xf32>, %r: tensor<4xf32>, %w: tensor<4x8xf32>, %t: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.reduce ins(%x : tensor<4x8xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
    (%a: f32, %b: f32) {
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }
  %1 = linalg.broadcast ins(%0 : tensor<4xf32>) outs(%w : tensor<4x8xf32>) dimensions = [1]
  %2 = linalg.transpose ins(%1 : tensor<4x8xf32>) outs(%t : tensor<8x4xf32>) permutation = [1, 0]
  func.return %2 : tensor<8x4xf32>
}

// On memrefs there is no result.
// CHECK-LABEL: func.func @memrefs
// CHECK-NEXT:    linalg.generic {{.*}} ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%y : memref<4xf32>)
func.func @memrefs(%x: memref<4xf32>, %y: memref<4xf32>) {
  linalg.add ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%y : memref<4xf32>)
  func.return
}

// Tiles: a pad, a reshape and a transposition; and back.
// CHECK-LABEL: func.func @tiles
// CHECK:         %[[P:.*]] = tensor.pad %x low[0, 0] high[4, 2]
// CHECK:           tensor.yield %{{.*}} : f32
// CHECK:         %[[E:.*]] = tensor.expand_shape %[[P]] {{.*}} output_shape [3, 8, 2, 16]
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2, d0, d3)>, {{.*}} ins(%[[E]] : tensor<3x8x2x16xf32>)
// CHECK:         linalg.generic {{.*}} -> (d2, d0, d1, d3)>, {{.*}} outs(%{{.*}} : tensor<3x8x2x16xf32>)
// CHECK:         tensor.collapse_shape {{.*}} into tensor<24x32xf32>
// CHECK:         tensor.extract_slice {{.*}}[0, 0] [20, 30] [1, 1]
func.func @tiles(%x: tensor<20x30xf32>, %p: tensor<2x3x8x16xf32>) -> (tensor<2x3x8x16xf32>, tensor<20x30xf32>) {
  %low = arith.constant -1.5 : f32
  %0 = linalg.pack %x padding_value(%low : f32) outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 16] into %p : tensor<20x30xf32> -> tensor<2x3x8x16xf32>
  %1 = linalg.unpack %0 outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 16] into %x : tensor<2x3x8x16xf32> -> tensor<20x30xf32>
  func.return %0, %1 : tensor<2x3x8x16xf32>, tensor<20x30xf32>
}
