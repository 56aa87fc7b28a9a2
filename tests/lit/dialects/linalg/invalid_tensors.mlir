// What upstream's verifiers say of tensor ops, and xDSL's don't.
// RUN: npu-opt %s --split-input-file --verify-diagnostics

func.func @expand(%x: tensor<4x6xf32>) -> tensor<2x2x6xf32> {
  // expected-error @+1 {{'tensor.expand_shape' op has 4 as extent 0 of its output shape, and 2 in the type of its result}}
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 1, 6] : tensor<4x6xf32> into tensor<2x2x6xf32>
  func.return %0 : tensor<2x2x6xf32>
}

// -----

func.func @collapse(%x: tensor<4x6xf32>) -> tensor<23xf32> {
  // expected-error @+1 {{'tensor.collapse_shape' op makes dim 0 of extent 23 of extents [4, 6]}}
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x6xf32> into tensor<23xf32>
  func.return %0 : tensor<23xf32>
}

// -----

func.func @collapse(%x: tensor<4x6xf32>) -> tensor<24xf32> {
  // expected-error @+1 {{'tensor.collapse_shape' op groups 2 dims into 1 by}}
  %0 = tensor.collapse_shape %x [[0], [1]] : tensor<4x6xf32> into tensor<24xf32>
  func.return %0 : tensor<24xf32>
}

// -----

func.func @sizes(%x: tensor<4x6xf32>) -> tensor<3x3xf32> {
  // expected-error @+1 {{'tensor.extract_slice' op has sizes [2, 3] for a part of shape [3, 3]}}
  %0 = tensor.extract_slice %x[0, 0] [2, 3] [1, 1] : tensor<4x6xf32> to tensor<3x3xf32>
  func.return %0 : tensor<3x3xf32>
}

// -----

func.func @outside(%x: tensor<4x6xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{'tensor.extract_slice' op takes position 4 along dim 0, which has 4}}
  %0 = tensor.extract_slice %x[2, 0] [2, 3] [2, 1] : tensor<4x6xf32> to tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

func.func @inserted(%x: tensor<4x6xf32>, %y: tensor<2x2xf32>) -> tensor<4x6xf32> {
  // expected-error @+1 {{'tensor.insert_slice' op has sizes [2, 3] for a part of shape [2, 2]}}
  %0 = tensor.insert_slice %y into %x[0, 0] [2, 3] [1, 1] : tensor<2x2xf32> into tensor<4x6xf32>
  func.return %0 : tensor<4x6xf32>
}

// -----

func.func @padded(%x: tensor<4x6xf32>) -> tensor<4x9xf32> {
  %z = arith.constant 0.0 : f32
  // expected-error @+1 {{'tensor.pad' op makes 6 + 1 + 1 of dim 1, and the type of its result says 9}}
  %0 = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<4x6xf32> to tensor<4x9xf32>
  func.return %0 : tensor<4x9xf32>
}

// -----

func.func @element(%x: tensor<4x6xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{'tensor.extract' op has 1 indices for 2 dims}}
  %0 = tensor.extract %x[%c0] : tensor<4x6xf32>
  func.return %0 : f32
}

// -----

// These are right: unit dims may go, whichever they are, and what only the run knows is not judged.
func.func @sound(%x: tensor<1x4x1x6xf32>, %i: index) -> (tensor<4x1x2xf32>, tensor<1x2xf32>) {
  %0 = tensor.extract_slice %x[0, 0, 0, 1] [1, 4, 1, 2] [1, 1, 1, 3] : tensor<1x4x1x6xf32> to tensor<4x1x2xf32>
  %1 = tensor.extract_slice %x[0, %i, 0, 1] [1, 1, 1, 2] [1, 1, 1, 3] : tensor<1x4x1x6xf32> to tensor<1x2xf32>
  func.return %0, %1 : tensor<4x1x2xf32>, tensor<1x2xf32>
}
