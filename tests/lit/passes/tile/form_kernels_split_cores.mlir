// Where cube and vector unit are cores of their own, a kernel with a product ends in what the fixpipe can do.
// RUN: npu-opt %s --tile-form-kernels --tile-choose-schedule --tile-apply-schedule --split-input-file | filecheck %s

#id = affine_map<(m, n) -> (m, n)>

// Dequantization and relu are steps of the store.
// CHECK-LABEL: tile.kernel @k0(
// CHECK:         tile.store {{.*}} epilogue <scale 1.0e-03, relu> : {{.*}}, memref<8x6xf16, #tile.space<gm>>
// CHECK-NOT:   tile.kernel
builtin.module attributes {npu.target = "ascend-910b"} {
func.func @main(%x: tensor<8x12xi8>, %w: tensor<12x6xi8>) -> tensor<8x6xf16> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<8x6xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<8x6xi32>) -> tensor<8x6xi32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x12xi8>, tensor<12x6xi8>) outs(%f : tensor<8x6xi32>) {
  ^bb0(%a: i8, %b: i8, %c: i32):
    %0 = arith.extsi %a : i8 to i32
    %1 = arith.extsi %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %c, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<8x6xi32>
  %o = tensor.empty() : tensor<8x6xf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<8x6xi32>) outs(%o : tensor<8x6xf16>) {
  ^bb0(%v: i32, %y: f16):
    %s = arith.constant 0.001 : f32
    %h = arith.constant 0.0 : f16
    %4 = arith.sitofp %v : i32 to f32
    %5 = arith.mulf %4, %s : f32
    %6 = arith.truncf %5 : f32 to f16
    %7 = arith.maximumf %6, %h : f16
    linalg.yield %7 : f16
  } -> tensor<8x6xf16>
  func.return %r : tensor<8x6xf16>
}
}

// -----

#id = affine_map<(m, n) -> (m, n)>

// There is no scale from i32 to f32.
// CHECK-LABEL: tile.kernel @k0(
// CHECK:         tile.store {{.*}}, memref<8x6xi32, #tile.space<gm>>
// CHECK-LABEL: tile.kernel @k1(
// CHECK:         arith.mulf
builtin.module attributes {npu.target = "ascend-910b"} {
func.func @main(%x: tensor<8x12xi8>, %w: tensor<12x6xi8>) -> tensor<8x6xf32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<8x6xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<8x6xi32>) -> tensor<8x6xi32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x12xi8>, tensor<12x6xi8>) outs(%f : tensor<8x6xi32>) {
  ^bb0(%a: i8, %b: i8, %c: i32):
    %0 = arith.extsi %a : i8 to i32
    %1 = arith.extsi %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %c, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<8x6xi32>
  %o = tensor.empty() : tensor<8x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<8x6xi32>) outs(%o : tensor<8x6xf32>) {
  ^bb0(%v: i32, %y: f32):
    %s = arith.constant 0.001 : f32
    %h = arith.constant 0.0 : f16
    %4 = arith.sitofp %v : i32 to f32
    %5 = arith.mulf %4, %s : f32
    linalg.yield %5 : f32
  } -> tensor<8x6xf32>
  func.return %r : tensor<8x6xf32>
}
}
