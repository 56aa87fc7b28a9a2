// What mlir-opt fuses is taken apart again where it concerns products: each of the two is one for the cube. The same
// functions without mlir-opt in between have the same meaning.

// REQUIRES: mlir-opt
// RUN: %mlir-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops -o %t.fused.mlir
// RUN: filecheck %s --check-prefix=FUSED < %t.fused.mlir
// RUN: npu-opt %t.fused.mlir --lower-to=isa --check-equivalence -o %t.isa.mlir
// RUN: grep -c npu_isa.mmad %t.isa.mlir | filecheck %s --check-prefix=CUBE
// RUN: %python %inputs/same_meaning.py %s %t.isa.mlir | filecheck %s

// Locations pass through both tools.
// RUN: %mlir-opt %s --linalg-generalize-named-ops --linalg-fuse-elementwise-ops --mlir-print-debuginfo \
// RUN:   | npu-opt --lower-to=isa --mlir-print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: %mlir-opt %s --mlir-print-debuginfo --mlir-print-local-scope | npu-opt --mlir-print-debuginfo --mlir-print-local-scope \
// RUN:   | filecheck %s --check-prefix=LOCAL

// FUSED:     arith.maximumf
// FUSED:     arith.mulf
// FUSED:     math.tanh
// FUSED:     arith.mulf
// CUBE:      2
// CHECK:     1 function agree
// LOC:       npu_isa.mmad {{.*}} loc("{{.*}}fused.mlir":{{.*}})
// LOC:       npu_isa.vunary exp {{.*}}fused.mlir
// LOCAL:     linalg.matmul {{.*}} loc("{{.*}}fused.mlir":[[#]]:[[#]])

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
module {
  func.func @main(%x: tensor<4x16xf16>, %b: tensor<16xf16>, %w: tensor<16x8xf16>,
                  %i: tensor<1x8x8x4xf32>, %c: tensor<4xf32>, %k: tensor<3x3x4x8xf32>, %s: f32)
      -> (tensor<4x8xf32>, tensor<1x6x6x8xf32>, tensor<4x4xf32>, tensor<2x1x2x16xf32>, tensor<4x8xf32>) {
    %zero = arith.constant 0.000000e+00 : f32
    %narrow = arith.constant 0.000000e+00 : f16
    %e0 = tensor.empty() : tensor<4x16xf16>
    %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<4x16xf16>, tensor<16xf16>) outs(%e0 : tensor<4x16xf16>) {
    ^bb0(%p: f16, %q: f16, %o: f16):
      %sum = arith.addf %p, %q : f16
      %relu = arith.maximumf %sum, %narrow : f16
      linalg.yield %relu : f16
    } -> tensor<4x16xf16>
    %e1 = tensor.empty() : tensor<4x8xf32>
    %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = linalg.matmul ins(%0, %w : tensor<4x16xf16>, tensor<16x8xf16>) outs(%f1 : tensor<4x8xf32>) -> tensor<4x8xf32>

    %e2 = tensor.empty() : tensor<1x8x8x4xf32>
    %wide = linalg.broadcast ins(%c : tensor<4xf32>) outs(%e2 : tensor<1x8x8x4xf32>) dimensions = [0, 1, 2]
    %2 = linalg.add ins(%i, %wide : tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) outs(%e2 : tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
    %3 = linalg.tanh ins(%2 : tensor<1x8x8x4xf32>) outs(%e2 : tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
    %e3 = tensor.empty() : tensor<1x6x6x8xf32>
    %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
    %4 = linalg.conv_2d_nhwc_hwcf ins(%3, %k : tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) outs(%f3 : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>

    // Positions, tiles and a scalar.
    %e5 = tensor.empty() : tensor<4x4xf32>
    %5 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e5 : tensor<4x4xf32>) {
    ^bb0(%o: f32):
      %row = linalg.index 0 : index
      %column = linalg.index 1 : index
      %lower = arith.cmpi sge, %row, %column : index
      %mask = arith.select %lower, %zero, %s : f32
      linalg.yield %mask : f32
    } -> tensor<4x4xf32>
    %e6 = tensor.empty() : tensor<2x1x2x16xf32>
    %6 = linalg.pack %1 padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [2, 16] into %e6 : tensor<4x8xf32> -> tensor<2x1x2x16xf32>
    %7 = linalg.unpack %6 inner_dims_pos = [0, 1] inner_tiles = [2, 16] into %e1 : tensor<2x1x2x16xf32> -> tensor<4x8xf32>
    return %1, %4, %5, %6, %7 : tensor<4x8xf32>, tensor<1x6x6x8xf32>, tensor<4x4xf32>, tensor<2x1x2x16xf32>, tensor<4x8xf32>
  }
}
