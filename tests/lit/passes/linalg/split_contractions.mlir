// RUN: npu-opt %s --linalg-split-contractions --check-equivalence | filecheck %s
// RUN: npu-opt %s --linalg-split-contractions -o %t.mlir && npu-opt %t.mlir --linalg-split-contractions -o %t.twice.mlir && diff %t.mlir %t.twice.mlir

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#k = affine_map<(d0, d1, d2) -> (d2)>

// What mlir-opt makes of bias, relu and a product. The cast stays; the maximum is taken before it.
// CHECK-LABEL: func.func @bias_relu
// CHECK:         linalg.fill
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%x, %v : tensor<4x16xf16>, tensor<16xf16>) outs(%{{.*}} : tensor<4x16xf16>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.addf {{.*}} : f16
// CHECK-NEXT:      arith.constant
// CHECK-NEXT:      arith.maximumf {{.*}} : f16
// CHECK-NEXT:      linalg.yield
// CHECK:         linalg.generic {{.*}}["parallel", "parallel", "reduction"]} ins(%[[T]], %w : tensor<4x16xf16>, tensor<16x8xf16>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.extf
// CHECK-NEXT:      arith.extf
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      arith.addf
func.func @bias_relu(%x: tensor<4x16xf16>, %v: tensor<16xf16>, %w: tensor<16x8xf16>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#a, #k, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %v, %w : tensor<4x16xf16>, tensor<16xf16>, tensor<16x8xf16>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%p: f16, %q: f16, %r: f16, %o: f32):
    %s = arith.addf %p, %q : f16
    %se = arith.extf %s : f16 to f32
    %m = arith.maximumf %se, %zero : f32
    %re = arith.extf %r : f16 to f32
    %t = arith.mulf %m, %re : f32
    %u = arith.addf %o, %t : f32
    linalg.yield %u : f32
  } -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// A factor computed in f32 meets one that is widened: both are made beforehand.
// CHECK-LABEL: func.func @wide
// CHECK:         linalg.generic {{.*}} ins(%x : tensor<4x16xf16>) outs(%{{.*}} : tensor<4x16xf32>)
// CHECK:         linalg.generic {{.*}} ins(%w : tensor<16x8xf16>) outs(%{{.*}} : tensor<16x8xf32>)
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4x16xf32>, tensor<16x8xf32>)
func.func @wide(%x: tensor<4x16xf16>, %w: tensor<16x8xf16>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x16xf16>, tensor<16x8xf16>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%p: f16, %r: f16, %o: f32):
    %pe = arith.extf %p : f16 to f32
    %m = math.exp %pe : f32
    %re = arith.extf %r : f16 to f32
    %t = arith.mulf %m, %re : f32
    %u = arith.addf %t, %o : f32
    linalg.yield %u : f32
  } -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// Before a convolution, in the index space of the image: not once for each place of the window.
// CHECK-LABEL: func.func @window
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], {{.*}} ins(%x, %v : tensor<9x4xf32>, tensor<4xf32>) outs(%{{.*}} : tensor<9x4xf32>)
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (((d0 * 2) + d2), d3)>,
func.func @window(%x: tensor<9x4xf32>, %v: tensor<4xf32>, %w: tensor<3x4x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0 * 2 + d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x, %v, %w : tensor<9x4xf32>, tensor<4xf32>, tensor<3x4x8xf32>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %t = arith.mulf %m, %r : f32
    %u = arith.addf %o, %t : f32
    linalg.yield %u : f32
  } -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// A product on top of another value starts from zero.
// CHECK-LABEL: func.func @init
// CHECK:         %[[F:.*]] = linalg.fill
// CHECK:         %[[P:.*]] = linalg.generic {{.*}} outs(%[[F]] : tensor<4x8xi32>)
// CHECK:         linalg.generic {{.*}} ins(%[[P]], %z : tensor<4x8xi32>, tensor<4x8xi32>)
// CHECK:           arith.addi
func.func @init(%x: tensor<4x16xi32>, %w: tensor<16x8xi32>, %z: tensor<4x8xi32>) -> tensor<4x8xi32> {
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x16xi32>, tensor<16x8xi32>) outs(%z : tensor<4x8xi32>) {
  ^bb0(%p: i32, %r: i32, %o: i32):
    %t = arith.muli %p, %r : i32
    %u = arith.addi %o, %t : i32
    linalg.yield %u : i32
  } -> tensor<4x8xi32>
  func.return %0 : tensor<4x8xi32>
}

// No contractions: the square of a difference, a sum of products along the same dims, what is cast in between, and
// what would take more room than the product has steps.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: linalg.generic
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func @others(%x: tensor<4x16xf32>, %y: tensor<4xf32>, %h: tensor<4x16xf16>, %g: tensor<16x8xf16>, %s: tensor<40x2xf32>, %w: tensor<2x2xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>, tensor<2x2xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %y : tensor<4x16xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %d = arith.subf %p, %q : f32
    %t = arith.mulf %d, %d : f32
    %u = arith.addf %o, %t : f32
    linalg.yield %u : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %y : tensor<4x16xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %d = math.absf %p : f32
    %t = arith.mulf %d, %q : f32
    %u = arith.addf %o, %t : f32
    linalg.yield %u : f32
  } -> tensor<4xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%h, %g : tensor<4x16xf16>, tensor<16x8xf16>) outs(%f1 : tensor<4x8xf32>) {
  ^bb0(%p: f16, %q: f16, %o: f32):
    %t = arith.mulf %p, %q : f16
    %te = arith.extf %t : f16 to f32
    %u = arith.addf %o, %te : f32
    linalg.yield %u : f32
  } -> tensor<4x8xf32>
  %e2 = tensor.empty() : tensor<2x2xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0 * 30, d2)>, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s, %w : tensor<40x2xf32>, tensor<2x2xf32>) outs(%f2 : tensor<2x2xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %d = math.absf %p : f32
    %t = arith.mulf %d, %q : f32
    %u = arith.addf %o, %t : f32
    linalg.yield %u : f32
  } -> tensor<2x2xf32>
  func.return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>, tensor<2x2xf32>
}

// Units read factors as signed numbers: unsigned ones are widened beforehand.
// CHECK-LABEL: func.func @unsigned
// CHECK:         linalg.generic {{.*}} ins(%x : tensor<4x16xi8>) outs(%{{.*}} : tensor<4x16xi32>)
// CHECK:           arith.extui
// CHECK:         linalg.generic {{.*}} ins(%w : tensor<16x8xi8>) outs(%{{.*}} : tensor<16x8xi32>)
// CHECK:           arith.extsi
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4x16xi32>, tensor<16x8xi32>)
func.func @unsigned(%x: tensor<4x16xi8>, %w: tensor<16x8xi8>) -> tensor<4x8xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4x8xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<4x8xi32>) -> tensor<4x8xi32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x16xi8>, tensor<16x8xi8>) outs(%f : tensor<4x8xi32>) {
  ^bb0(%p: i8, %r: i8, %o: i32):
    %pe = arith.extui %p : i8 to i32
    %re = arith.extsi %r : i8 to i32
    %t = arith.muli %pe, %re : i32
    %u = arith.addi %t, %o : i32
    linalg.yield %u : i32
  } -> tensor<4x8xi32>
  func.return %0 : tensor<4x8xi32>
}

// A sum of fewer than 32 bits is computed in f32 and rounded at the end.
// CHECK-LABEL: func.func @narrow_sum
// CHECK:         %[[P:.*]] = linalg.generic {{.*}} ins(%x, %w : tensor<4x16xf16>, tensor<16x8xf16>) outs(%{{.*}} : tensor<4x8xf32>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.extf
// CHECK-NEXT:      arith.extf
// CHECK-NEXT:      arith.mulf {{.*}} : f32
// CHECK-NEXT:      arith.addf {{.*}} : f32
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} ins(%[[P]], %init : tensor<4x8xf32>, tensor<4x8xf16>) outs(%{{.*}} : tensor<4x8xf16>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.truncf
// CHECK-NEXT:      arith.addf {{.*}} : f16
// CHECK:         func.return %[[R]]
func.func @narrow_sum(%x: tensor<4x16xf16>, %w: tensor<16x8xf16>, %init: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x16xf16>, tensor<16x8xf16>) outs(%init : tensor<4x8xf16>) {
  ^bb0(%p: f16, %r: f16, %o: f16):
    %t = arith.mulf %p, %r : f16
    %u = arith.addf %o, %t : f16
    linalg.yield %u : f16
  } -> tensor<4x8xf16>
  func.return %0 : tensor<4x8xf16>
}
