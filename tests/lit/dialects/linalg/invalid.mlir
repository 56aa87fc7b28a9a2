// RUN: npu-opt %s --split-input-file --verify-diagnostics

func.func @strides(%x: tensor<1x9x9x4xf32>, %w: tensor<3x3x4xf32>, %o: tensor<1x4x4x4xf32>) {
  // expected-error @+1 {{expected 2 numbers in 'strides'}}
  %0 = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<2> : tensor<1xi64>} ins(%x, %w : tensor<1x9x9x4xf32>, tensor<3x3x4xf32>) outs(%o : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  func.return
}

// -----

func.func @inputs(%x: tensor<4x8xf32>, %o: tensor<4x4xf32>) {
  // expected-error @+1 {{expected 2 inputs and one output}}
  %0 = linalg.add ins(%x : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @kind(%x: tensor<4xi32>) {
  // expected-error @+1 {{'exp' is not defined on i32}}
  %0 = linalg.exp ins(%x : tensor<4xi32>) outs(%x : tensor<4xi32>) -> tensor<4xi32>
  func.return
}

// -----

func.func @shapes(%x: tensor<4x8xf32>, %o: tensor<4xf32>) {
  // expected-error @+1 {{expected an output of shape [8], got [4]}}
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<4x8xf32>) outs(%o : tensor<4xf32>) dimensions = [0]
  func.return
}

// -----

func.func @softmax(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected a dimension below 2}}
  %0 = linalg.softmax dimension(2) ins(%x : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @map(%x: tensor<4x8xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{expected operands of one shape}}
  %0 = linalg.map { arith.negf } ins(%y : tensor<8xf32>) outs(%x : tensor<4x8xf32>)
  func.return
}

// -----

func.func @pack(%x: tensor<20x30xf32>, %p: tensor<3x2x8x16xf32>) {
  // expected-error @+1 {{expected a padding value, as the tiles do not divide the tensor}}
  %0 = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [8, 16] into %p : tensor<20x30xf32> -> tensor<3x2x8x16xf32>
  func.return
}

// -----

func.func @packed_shape(%x: tensor<16x32xf32>, %p: tensor<2x2x8x16xf32>) {
  // expected-error @+1 {{expected a packed tensor of shape [4, 2, 8, 8], got tensor<2x2x8x16xf32>}}
  %0 = linalg.pack %x outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %p : tensor<16x32xf32> -> tensor<2x2x8x16xf32>
  func.return
}

// -----

func.func @unpack(%x: tensor<2x2x8x16xf32>, %p: tensor<16x32xf32>) {
  // expected-error @+1 {{inner_dims_pos: expected different dimensions below 2}}
  %0 = linalg.unpack %x inner_dims_pos = [0, 0] inner_tiles = [8, 16] into %p : tensor<2x2x8x16xf32> -> tensor<16x32xf32>
  func.return
}

// -----

func.func @order(%x: tensor<2x2x8x16xf32>, %p: tensor<16x32xf32>) {
  // expected-error @+1 {{outer_dims_perm: expected a permutation of 2 dimensions}}
  %0 = linalg.unpack %x outer_dims_perm = [0, 2] inner_dims_pos = [0, 1] inner_tiles = [8, 16] into %p : tensor<2x2x8x16xf32> -> tensor<16x32xf32>
  func.return
}
