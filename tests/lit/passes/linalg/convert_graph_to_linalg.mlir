// RUN: npu-opt %s --convert-graph-to-linalg | filecheck %s

// The bias broadcasts by a map, without its unit dims; the model node is kept.
// CHECK-LABEL: func.func @bias
// CHECK-NEXT:    %[[B:.*]] = tensor.collapse_shape %b {{\[\[}}0 : i64, 1 : i64, 2 : i64{{\]\]}} {npu.node = "Add_1"} : tensor<8x1x1xf32> into tensor<8xf32>
// CHECK-NEXT:    %[[E:.*]] = tensor.empty() : tensor<1x8x4x4xf32>
// CHECK-NEXT:    %[[R:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %[[B]] : tensor<1x8x4x4xf32>, tensor<8xf32>) outs(%[[E]] : tensor<1x8x4x4xf32>)
// CHECK:           arith.addf
func.func @bias(%x: tensor<1x8x4x4xf32>, %b: tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32> {
  %0 = graph.add %x, %b {npu.node = "Add_1"} : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
  func.return %0 : tensor<1x8x4x4xf32>
}

// Sums of f16 products are kept in f32 and rounded once.
// CHECK-LABEL: func.func @matmul
// CHECK-NEXT:    %[[Z:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %[[E:.*]] = tensor.empty() : tensor<4x2xf32>
// CHECK-NEXT:    %[[F:.*]] = linalg.fill ins(%[[Z]] : f32) outs(%[[E]] : tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT:    %[[P:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<4x8xf16>, tensor<8x2xf16>) outs(%[[F]] : tensor<4x2xf32>)
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f16, %[[B:.*]]: f16, %[[C:.*]]: f32):
// CHECK-NEXT:      %[[A32:.*]] = arith.extf %[[A]] : f16 to f32
// CHECK-NEXT:      %[[B32:.*]] = arith.extf %[[B]] : f16 to f32
// CHECK-NEXT:      %[[M:.*]] = arith.mulf %[[A32]], %[[B32]] : f32
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[C]], %[[M]] : f32
// CHECK-NEXT:      linalg.yield %[[S]] : f32
// CHECK:         linalg.generic {{.*}} ins(%[[P]] : tensor<4x2xf32>) outs({{.*}} : tensor<4x2xf16>)
// CHECK:           arith.truncf
func.func @matmul(%x: tensor<4x8xf16>, %y: tensor<8x2xf16>) -> tensor<4x2xf16> {
  %0 = graph.matmul %x, %y : (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf16>
  func.return %0 : tensor<4x2xf16>
}

// A convolution pads first; its loops are batch, rows, columns, output channel, window, input channel.
// CHECK-LABEL: func.func @conv
// CHECK:         tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0]
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d1 * 2) + d4), ((d2 * 2) + d5), d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
func.func @conv(%x: tensor<1x8x8x3xf32>, %w: tensor<3x3x3x4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = graph.conv %x, %w strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] layout NHWC
    : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x4x4xf32>
  func.return %0 : tensor<1x4x4x4xf32>
}

// A depthwise convolution has no loops for the channels of a group.
// CHECK-LABEL: func.func @depthwise
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 + d4), (d2 + d5), d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>]
func.func @depthwise(%x: tensor<1x9x9x8xf32>, %w: tensor<3x3x1x8xf32>) -> tensor<1x7x7x8xf32> {
  %0 = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 8 layout NHWC
    : (tensor<1x9x9x8xf32>, tensor<3x3x1x8xf32>) -> tensor<1x7x7x8xf32>
  func.return %0 : tensor<1x7x7x8xf32>
}

// The window of a pool is an operand that is only a shape; padding never wins.
// CHECK-LABEL: func.func @pool
// CHECK:         arith.constant 0xff800000 : f32
// CHECK:         tensor.pad
// CHECK:         %[[W:.*]] = tensor.empty() : tensor<3x3xf32>
// CHECK:         linalg.generic {{.*}}(d0, d1, ((d2 * 2) + d4), ((d3 * 2) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>{{.*}} ins({{.*}}, %[[W]] :
func.func @pool(%x: tensor<1x8x24x24xf32>) -> tensor<1x8x12x12xf32> {
  %0 = graph.max_pool %x kernel [3, 3] strides [2, 2] pads [0, 0, 1, 1] dilations [1, 1]
    : (tensor<1x8x24x24xf32>) -> tensor<1x8x12x12xf32>
  func.return %0 : tensor<1x8x12x12xf32>
}

// Constants of one value move into the body; weights stay.
// CHECK-LABEL: func.func @constants
// CHECK-NEXT:    graph.weight @w : tensor<4xf32>
// CHECK:         ^bb0(%[[A:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      %[[C:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:      arith.mulf %[[A]], %[[C]] : f32
func.func @constants() -> tensor<4xf32> {
  %w = graph.weight @w : tensor<4xf32>
  %c = arith.constant dense<2.0> : tensor<1xf32>
  %0 = graph.mul %w, %c : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// Linalg is left alone.
// CHECK-LABEL: func.func @other
// CHECK-NEXT:    %e = tensor.empty() : tensor<4xf32>
// CHECK-NEXT:    %r = linalg.generic
// CHECK:         func.return %r
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// Rows of a table: what lies before and behind the axis is one dim each.
// CHECK-LABEL: func.func @scatter
// CHECK-NEXT:    %[[X:.*]] = tensor.collapse_shape %x {{.*}} : tensor<2x3x8x5xf32> into tensor<6x8x5xf32>
// CHECK-NEXT:    %[[U:.*]] = tensor.collapse_shape %u {{.*}} : tensor<2x3x2x2x5xf32> into tensor<6x4x5xf32>
// CHECK-NEXT:    %[[I:.*]] = tensor.collapse_shape %i {{.*}} : tensor<2x2xi64> into tensor<4xi64>
// CHECK-NEXT:    %[[Y:.*]] = tile.scatter %[[U]], %[[X]][] rows %[[I]] axis 1 map affine_map<(d0, d1, d2) -> (d0, d1, d2)> {npu.node = "append"} : tensor<6x4x5xf32>, tensor<6x8x5xf32>, tensor<4xi64> -> tensor<6x8x5xf32>
// CHECK-NEXT:    tensor.expand_shape %[[Y]]
func.func @scatter(%x: tensor<2x3x8x5xf32>, %i: tensor<2x2xi64>, %u: tensor<2x3x2x2x5xf32>) -> tensor<2x3x8x5xf32> {
  %0 = graph.scatter %x, %i, %u axis 2 {npu.node = "append"} : (tensor<2x3x8x5xf32>, tensor<2x2xi64>, tensor<2x3x2x2x5xf32>) -> tensor<2x3x8x5xf32>
  func.return %0 : tensor<2x3x8x5xf32>
}
