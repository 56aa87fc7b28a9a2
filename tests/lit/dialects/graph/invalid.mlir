// RUN: not npu-opt --split-input-file %s 2>&1 | filecheck %s

// What the verifiers of graph ops reject: operands that do not fit, and results that do not follow from them.

// Operands that do not broadcast, or whose types differ.
// CHECK: :{{[0-9]+}}:3: error: 'graph.add' op shapes 2x3 and 2 do not broadcast
func.func @f(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  %0 = graph.add %x, %y : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.mul' op operand element types f32 and f16 differ
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf16>) {
  %0 = graph.mul %x, %y : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  func.return
}

// -----

// A result that does not follow from the operands.
// CHECK: :{{[0-9]+}}:3: error: 'graph.add' op result shape is 2x4, inferred 2x3
func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) {
  %0 = graph.add %x, %y : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.relu' op result element type is f16, inferred f32
func.func @f(%x: tensor<4xf32>) {
  %0 = graph.relu %x : (tensor<4xf32>) -> tensor<4xf16>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.equal' op result element type is i32, inferred i1
func.func @f(%x: tensor<4xi32>) {
  %0 = graph.equal %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  func.return
}

// -----

// Open extents may be declared, but not wrong ones.
// CHECK: :{{[0-9]+}}:3: error: 'graph.relu' op result shape is ?x6, inferred 4x5
func.func @f(%x: tensor<4x5xf32>) {
  %0 = graph.relu %x : (tensor<4x5xf32>) -> tensor<?x6xf32>
  func.return
}

// -----

// Element types that an op does not take.
// CHECK: :{{[0-9]+}}:3: error: 'graph.exp' op element type must be a float, got i32
func.func @f(%x: tensor<4xi32>) {
  %0 = graph.exp %x : (tensor<4xi32>) -> tensor<4xi32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.logical_not' op element type must be i1, got f32
func.func @f(%x: tensor<4xf32>) {
  %0 = graph.logical_not %x : (tensor<4xf32>) -> tensor<4xi1>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.where' op condition must be i1, got f32
func.func @f(%x: tensor<4xf32>) {
  %0 = graph.where %x, %x, %x : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.where' op branches are f32 and f16
func.func @f(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf16>) {
  %0 = graph.where %c, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.cast' op cannot cast to index
func.func @f(%x: tensor<4xf32>) {
  %0 = graph.cast %x : (tensor<4xf32>) -> tensor<4xindex>
  func.return
}

// -----

// A slope that is larger than the input.
// CHECK: :{{[0-9]+}}:3: error: 'graph.prelu' op slope 2x3 does not broadcast to 3
func.func @f(%x: tensor<3xf32>, %s: tensor<2x3xf32>) {
  %0 = graph.prelu %x, %s : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// Convolutions.
// CHECK: :{{[0-9]+}}:3: error: 'graph.conv' op input 4x4 and weight 4x4 must have equal rank >= 3
func.func @f(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) {
  %0 = graph.conv %x, %w strides [] pads [] dilations [] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.conv' op 1 groups of 4 input channels to 8 output channels do not fit 3 channels
func.func @f(%x: tensor<1x3x8x8xf32>, %w: tensor<8x4x3x3xf32>) {
  %0 = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : (tensor<1x3x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.conv' op bias is 4, expected 8
func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<4xf32>) {
  %0 = graph.conv %x, %w, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>, tensor<4xf32>) -> tensor<1x8x6x6xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.conv' op strides has 1 entries, expected 2
func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xf32>) {
  %0 = graph.conv %x, %w strides [1] pads [0, 0, 0, 0] dilations [1, 1] : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.conv' op strides has an entry below 1
func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xf32>) {
  %0 = graph.conv %x, %w strides [0, 1] pads [0, 0, 0, 0] dilations [1, 1] : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.conv' op pads has an entry below 0
func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xf32>) {
  %0 = graph.conv %x, %w strides [1, 1] pads [0, -1, 0, 0] dilations [1, 1] : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.conv' op window of reach 9 exceeds padded extent 8 of spatial axis 1
func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xf32>) {
  %0 = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 4] : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  func.return
}

// -----

// Products.
// CHECK: :{{[0-9]+}}:3: error: 'graph.matmul' op inner extents of 4x3 and 4x3 differ
func.func @f(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) {
  %0 = graph.matmul %x, %y : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.matmul' op operands 4 and 4x3 must have rank 2 or more
func.func @f(%x: tensor<4xf32>, %y: tensor<4x3xf32>) {
  %0 = graph.matmul %x, %y : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.gemm' op shapes 4x5 and 4 do not broadcast
func.func @f(%x: tensor<4x3xf32>, %y: tensor<3x5xf32>, %b: tensor<4xf32>) {
  %0 = graph.gemm %x, %y, %b alpha 1.0 beta 1.0 : (tensor<4x3xf32>, tensor<3x5xf32>, tensor<4xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.gemm' op operands 2x4x3 and 3x5 must have rank 2
func.func @f(%x: tensor<2x4x3xf32>, %y: tensor<3x5xf32>) {
  %0 = graph.gemm %x, %y alpha 1.0 beta 1.0 : (tensor<2x4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

// Pools.
// CHECK: :{{[0-9]+}}:3: error: 'graph.max_pool' op input 4x4 must have rank 3 or more
func.func @f(%x: tensor<4x4xf32>) {
  %0 = graph.max_pool %x kernel [] strides [] pads [] dilations [] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.global_avg_pool' op input 4x4 must have rank 3 or more
func.func @f(%x: tensor<4x4xf32>) {
  %0 = graph.global_avg_pool %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return
}

// -----

// Axes.
// CHECK: :{{[0-9]+}}:3: error: 'graph.reduce' op axes [2] exceed rank 2
func.func @f(%x: tensor<4x4xf32>) {
  %0 = graph.reduce sum %x axes [2] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.reduce' op axes [1, 0] are not ascending and distinct
func.func @f(%x: tensor<4x4xf32>) {
  %0 = graph.reduce sum %x axes [1, 0] : (tensor<4x4xf32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.softmax' op axes [2] exceed rank 2
func.func @f(%x: tensor<4x4xf32>) {
  %0 = graph.softmax %x axis 2 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return
}

// -----

// Normalisation.
// CHECK: :{{[0-9]+}}:3: error: 'graph.layer_norm' op shapes 4x4 and 3 do not broadcast
func.func @f(%x: tensor<4x4xf32>, %s: tensor<3xf32>) {
  %0 = graph.layer_norm %x, %s axis 1 epsilon 1.0e-05 : (tensor<4x4xf32>, tensor<3xf32>) -> tensor<4x4xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.batch_norm' op statistics are 2, expected 4
func.func @f(%x: tensor<1x4x2xf32>, %s: tensor<2xf32>) {
  %0 = graph.batch_norm %x, %s, %s, %s, %s epsilon 1.0e-05 : (tensor<1x4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x4x2xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.batch_norm' op input 2 must have rank 2 or more
func.func @f(%s: tensor<2xf32>) {
  %0 = graph.batch_norm %s, %s, %s, %s, %s epsilon 1.0e-05 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// Movement.
// CHECK: :{{[0-9]+}}:3: error: 'graph.reshape' op 2x3 has 6 elements, 7 has 7
func.func @f(%x: tensor<2x3xf32>) {
  %0 = graph.reshape %x : (tensor<2x3xf32>) -> tensor<7xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.expand' op shapes 2x3 and 4x3 do not broadcast
func.func @f(%x: tensor<2x3xf32>) {
  %0 = graph.expand %x : (tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.transpose' op perm [0, 2] is no permutation of rank 2
func.func @f(%x: tensor<2x3xf32>) {
  %0 = graph.transpose %x perm [0, 2] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.concat' op shapes 2x3 and 2x4 differ outside of axis 0
func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  %0 = graph.concat %x, %y axis 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.slice' op 3 elements from 1 in steps of 1 leave extent 3
func.func @f(%x: tensor<2x3xf32>) {
  %0 = graph.slice %x offsets [0, 1] sizes [2, 3] strides [1, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.slice' op offsets, sizes and strides need 2 entries each
func.func @f(%x: tensor<2x3xf32>) {
  %0 = graph.slice %x offsets [0] sizes [2] strides [1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.pad' op padding must not be negative
func.func @f(%x: tensor<2x3xf32>) {
  %0 = graph.pad %x low [0, -1] high [0, 0] value 0.0 : f32 : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.pad' op low and high need 2 entries each
func.func @f(%x: tensor<2x3xf32>) {
  %0 = graph.pad %x low [0] high [0] value 0.0 : f32 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.pad' op padding value is i32, elements are f32
func.func @f(%x: tensor<2x3xf32>) {
  %0 = graph.pad %x low [0, 0] high [0, 0] value 0 : i32 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.gather' op indices must be integers, got f32
func.func @f(%x: tensor<2x3xf32>, %i: tensor<1xf32>) {
  %0 = graph.gather %x, %i axis 0 : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<1x3xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.bitwise_and' op element type must be an integer, got f32
func.func @f(%x: tensor<4xf32>) {
  %0 = graph.bitwise_and %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.sin' op element type must be a float, got i32
func.func @f(%x: tensor<4xi32>) {
  %0 = graph.sin %x : (tensor<4xi32>) -> tensor<4xi32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.bitcast' op f32 and i64 are not of the same width
func.func @f(%x: tensor<4xf32>) {
  %0 = graph.bitcast %x : (tensor<4xf32>) -> tensor<4xi64>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.scatter' op indices must be integers, got f32
func.func @f(%x: tensor<4x3xf32>, %i: tensor<2xf32>, %u: tensor<2x3xf32>) {
  %0 = graph.scatter %x, %i, %u axis 0 : (tensor<4x3xf32>, tensor<2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.scatter' op updates are f16, elements are f32
func.func @f(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<2x3xf16>) {
  %0 = graph.scatter %x, %i, %u axis 0 : (tensor<4x3xf32>, tensor<2xi64>, tensor<2x3xf16>) -> tensor<4x3xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.scatter' op updates are 3x3, expected 2x3
func.func @f(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<3x3xf32>) {
  %0 = graph.scatter %x, %i, %u axis 0 : (tensor<4x3xf32>, tensor<2xi64>, tensor<3x3xf32>) -> tensor<4x3xf32>
  func.return
}
