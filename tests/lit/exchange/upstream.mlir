// Text as people write it for mlir-opt goes through all levels. Nothing of ours is in it: no target, no names.
// RUN: npu-opt %s --lower-to=isa --check-equivalence -o %t.mlir
// RUN: npu-run %t.mlir | filecheck %s --check-prefix=OUT
// RUN: npu-run %s | filecheck %s --check-prefix=OUT

// OUT: output0
// OUT: output5

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module {
  func.func @forward(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x4x8xf32>, %d: tensor<2x2x8xf32>, %m: tensor<8x16xf16>,
                     %bias: tensor<16xf32>)
      -> (tensor<1x2x2x8xf32>, tensor<9x16xf32>, tensor<9xf32>, tensor<16x9xf32>, tensor<9x20xf32>, tensor<2x3x5xf32>) {
    %zero = arith.constant 0.000000e+00 : f32
    %low = arith.constant 0xFF800000 : f32

    // A convolution with padding, a depthwise one, a pool.
    %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
    ^bb0(%i: index, %j: index, %k: index, %l: index):
      tensor.yield %zero : f32
    } : tensor<1x8x8x4xf32> to tensor<1x10x10x4xf32>
    %e0 = tensor.empty() : tensor<1x4x4x8xf32>
    %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
    %conv = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%p, %w : tensor<1x10x10x4xf32>, tensor<3x3x4x8xf32>) outs(%f0 : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
    %e1 = tensor.empty() : tensor<1x3x3x8xf32>
    %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1x3x3x8xf32>) -> tensor<1x3x3x8xf32>
    %deep = linalg.depthwise_conv_2d_nhwc_hwc
      ins(%conv, %d : tensor<1x4x4x8xf32>, tensor<2x2x8xf32>) outs(%f1 : tensor<1x3x3x8xf32>) -> tensor<1x3x3x8xf32>
    %window = tensor.empty() : tensor<2x2xf32>
    %e2 = tensor.empty() : tensor<1x2x2x8xf32>
    %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32>
    %pool = linalg.pooling_nhwc_max {strides = dense<1> : tensor<2xi64>}
      ins(%deep, %window : tensor<1x3x3x8xf32>, tensor<2x2xf32>) outs(%f2 : tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32>

    // A product of halves, summed in f32.
    %flat = tensor.collapse_shape %deep [[0, 1, 2], [3]] : tensor<1x3x3x8xf32> into tensor<9x8xf32>
    %half = arith.truncf %flat : tensor<9x8xf32> to tensor<9x8xf16>
    %e3 = tensor.empty() : tensor<9x16xf32>
    %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<9x16xf32>) -> tensor<9x16xf32>
    %mm = linalg.matmul ins(%half, %m : tensor<9x8xf16>, tensor<8x16xf16>) outs(%f3 : tensor<9x16xf32>) -> tensor<9x16xf32>
    %biased = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%mm, %bias : tensor<9x16xf32>, tensor<16xf32>) outs(%e3 : tensor<9x16xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<9x16xf32>
    %soft = linalg.softmax dimension(1) ins(%biased : tensor<9x16xf32>) outs(%e3 : tensor<9x16xf32>) -> tensor<9x16xf32>

    // Elementwise ops, reductions, moves.
    %e4 = tensor.empty() : tensor<9xf32>
    %f4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<9xf32>) -> tensor<9xf32>
    %square = linalg.map { arith.mulf } ins(%biased, %biased : tensor<9x16xf32>, tensor<9x16xf32>) outs(%e3 : tensor<9x16xf32>)
    %sum = linalg.reduce { arith.addf } ins(%square : tensor<9x16xf32>) outs(%f4 : tensor<9xf32>) dimensions = [1]
    %root = linalg.sqrt ins(%sum : tensor<9xf32>) outs(%e4 : tensor<9xf32>) -> tensor<9xf32>
    %wide = linalg.broadcast ins(%root : tensor<9xf32>) outs(%e3 : tensor<9x16xf32>) dimensions = [1]
    %unit = linalg.div ins(%biased, %wide : tensor<9x16xf32>, tensor<9x16xf32>) outs(%e3 : tensor<9x16xf32>) -> tensor<9x16xf32>
    %e5 = tensor.empty() : tensor<16x9xf32>
    %turned = linalg.transpose ins(%unit : tensor<9x16xf32>) outs(%e5 : tensor<16x9xf32>) permutation = [1, 0]
    %part = tensor.extract_slice %unit[0, 2] [9, 4] [1, 1] : tensor<9x16xf32> to tensor<9x4xf32>
    %joined = tensor.concat dim(1) %part, %soft : (tensor<9x4xf32>, tensor<9x16xf32>) -> tensor<9x20xf32>

    // A batch of products between views of one tensor.
    %some = tensor.extract_slice %soft[0, 0] [6, 4] [1, 1] : tensor<9x16xf32> to tensor<6x4xf32>
    %left = tensor.expand_shape %some [[0, 1], [2]] output_shape [2, 3, 4] : tensor<6x4xf32> into tensor<2x3x4xf32>
    %other = tensor.extract_slice %unit[0, 0] [8, 5] [1, 2] : tensor<9x16xf32> to tensor<8x5xf32>
    %right = tensor.expand_shape %other [[0, 1], [2]] output_shape [2, 4, 5] : tensor<8x5xf32> into tensor<2x4x5xf32>
    %e6 = tensor.empty() : tensor<2x3x5xf32>
    %f6 = linalg.fill ins(%zero : f32) outs(%e6 : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
    %batch = linalg.batch_matmul ins(%left, %right : tensor<2x3x4xf32>, tensor<2x4x5xf32>)
      outs(%f6 : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
    return %pool, %soft, %root, %turned, %joined, %batch
      : tensor<1x2x2x8xf32>, tensor<9x16xf32>, tensor<9xf32>, tensor<16x9xf32>, tensor<9x20xf32>, tensor<2x3x5xf32>
  }
}
