// RUN: npu-opt %s --linalg-generalize-named-ops --linalg-normalize --tile-split-epilogues --split-input-file | filecheck %s
// RUN: npu-opt %s --linalg-generalize-named-ops --linalg-normalize --tile-split-epilogues --tile-form-kernels --split-input-file --check-equivalence | filecheck %s --check-prefix=KERNELS

#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>

// The bias and the cast belong to the product, the shortcut and relu to the vector unit, which reads f16.
// CHECK-LABEL: func.func @main
// CHECK:         %p = linalg.generic
// CHECK:         %[[Q:[0-9]+]] = linalg.generic {{.*}} ins(%p, %bias : tensor<8x6xf32>, tensor<6xf16>) {{.*}} attrs = {{ *}}{npu.node = "conv"} {
// CHECK-NEXT:      ^bb0(%{{.*}}: f32, %{{.*}}: f16, %{{.*}}: f16):
// CHECK-NEXT:      arith.extf
// CHECK-NEXT:      arith.addf {{.*}} : f32
// CHECK-NEXT:      arith.truncf
// CHECK-NEXT:      linalg.yield
// CHECK:         linalg.generic {{.*}} ins(%[[Q]], %r : tensor<8x6xf16>, tensor<8x6xf16>) {{.*}} attrs = {{ *}}{npu.node = "add"} {
// CHECK-NOT:       arith.extf
// CHECK:           arith.addf {{.*}} : f16
// CHECK-NEXT:      arith.maximumf
// KERNELS-LABEL: tile.kernel @k0
// KERNELS:         arith.truncf
// KERNELS:       tile.kernel @k1
// KERNELS:         arith.maximumf
// KERNELS-NOT:   tile.kernel
builtin.module attributes {npu.target = "ascend-910b"} {
func.func @main(%x: tensor<8x12xf16>, %w: tensor<12x6xf16>, %bias: tensor<6xf16>, %r: tensor<8x6xf16>) -> tensor<8x6xf16> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %p = linalg.matmul ins(%x, %w : tensor<8x12xf16>, tensor<12x6xf16>) outs(%f : tensor<8x6xf32>) -> tensor<8x6xf32>
  %o = tensor.empty() : tensor<8x6xf16>
  %y = linalg.generic {indexing_maps = [#id, #row, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %bias, %r : tensor<8x6xf32>, tensor<6xf16>, tensor<8x6xf16>) outs(%o : tensor<8x6xf16>)
      attrs = {npu.node = "conv+add"} {
  ^bb0(%v: f32, %b: f16, %s: f16, %u: f16):
    %h = arith.constant 0.0 : f16
    %4 = arith.extf %b {npu.node = "conv"} : f16 to f32
    %5 = arith.addf %v, %4 {npu.node = "conv"} : f32
    %6 = arith.truncf %5 {npu.node = "conv"} : f32 to f16
    %7 = arith.addf %6, %s {npu.node = "add"} : f16
    %8 = arith.maximumf %7, %h {npu.node = "add"} : f16
    linalg.yield %8 : f16
  } -> tensor<8x6xf16>
  func.return %y : tensor<8x6xf16>
}
}

// -----

#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>

// All of it is the cube's: one kernel.
// CHECK-LABEL: func.func @main
// CHECK:         linalg.generic
// CHECK:         linalg.generic
// CHECK-NOT:     linalg.generic
// KERNELS-LABEL: tile.kernel @k0
// KERNELS-NOT:   tile.kernel
builtin.module attributes {npu.target = "ascend-910b"} {
func.func @main(%x: tensor<8x12xf16>, %w: tensor<12x6xf16>, %bias: tensor<6xf32>) -> tensor<8x6xf16> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %p = linalg.matmul ins(%x, %w : tensor<8x12xf16>, tensor<12x6xf16>) outs(%f : tensor<8x6xf32>) -> tensor<8x6xf32>
  %o = tensor.empty() : tensor<8x6xf16>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %bias : tensor<8x6xf32>, tensor<6xf32>) outs(%o : tensor<8x6xf16>) {
  ^bb0(%v: f32, %b: f32, %u: f16):
    %h = arith.constant 0.0 : f32
    %5 = arith.addf %v, %b : f32
    %6 = arith.maximumf %5, %h : f32
    %7 = arith.truncf %6 : f32 to f16
    linalg.yield %7 : f16
  } -> tensor<8x6xf16>
  func.return %y : tensor<8x6xf16>
}
}

// -----

#id = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (m)>

// Nothing of it is: the bias of rows is added by the vector unit, and what comes behind it too.
// CHECK-LABEL: func.func @main
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %bias : tensor<8x6xf32>, tensor<8xf32>)
// CHECK-NOT:     linalg.generic
// KERNELS-LABEL: tile.kernel @k0
// KERNELS:       tile.kernel @k1
builtin.module attributes {npu.target = "ascend-910b"} {
func.func @main(%x: tensor<8x12xf16>, %w: tensor<12x6xf16>, %bias: tensor<8xf32>) -> tensor<8x6xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %p = linalg.matmul ins(%x, %w : tensor<8x12xf16>, tensor<12x6xf16>) outs(%f : tensor<8x6xf32>) -> tensor<8x6xf32>
  %o = tensor.empty() : tensor<8x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %bias : tensor<8x6xf32>, tensor<8xf32>) outs(%o : tensor<8x6xf32>) {
  ^bb0(%v: f32, %b: f32, %u: f32):
    %5 = arith.addf %v, %b : f32
    %6 = math.exp %5 : f32
    linalg.yield %6 : f32
  } -> tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}
}

// -----

#id = affine_map<(m, n) -> (m, n)>

// Where the fixpipe reaches UB, nothing has to be split.
// CHECK-LABEL: func.func @main
// CHECK:         arith.truncf
// CHECK-NEXT:    arith.addf
// KERNELS-LABEL: tile.kernel @k0
// KERNELS-NOT:   tile.kernel
builtin.module attributes {npu.target = "ascend-910"} {
func.func @main(%x: tensor<8x12xf16>, %w: tensor<12x6xf16>, %r: tensor<8x6xf16>) -> tensor<8x6xf16> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %p = linalg.matmul ins(%x, %w : tensor<8x12xf16>, tensor<12x6xf16>) outs(%f : tensor<8x6xf32>) -> tensor<8x6xf32>
  %o = tensor.empty() : tensor<8x6xf16>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %r : tensor<8x6xf32>, tensor<8x6xf16>) outs(%o : tensor<8x6xf16>) {
  ^bb0(%v: f32, %s: f16, %u: f16):
    %6 = arith.truncf %v : f32 to f16
    %7 = arith.addf %6, %s : f16
    linalg.yield %7 : f16
  } -> tensor<8x6xf16>
  func.return %y : tensor<8x6xf16>
}
}
