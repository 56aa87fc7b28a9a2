// RUN: npu-opt %s --linalg-widen-biases --check-equivalence | filecheck %s

// CHECK-LABEL: func.func @columns
// CHECK:         ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f16, %{{.*}}: f16):
// CHECK-NEXT:      %[[W:.*]] = arith.extf %[[B]] : f16 to f32
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[A]], %[[W]] : f32
// CHECK-NEXT:      %[[T:.*]] = arith.truncf %[[S]] : f32 to f16
// CHECK-NEXT:      %[[K:.*]] = arith.constant
// CHECK-NEXT:      arith.maximumf %[[T]], %[[K]] : f16
func.func @columns(%x: tensor<8x16xf16>, %w: tensor<16x32xf16>, %b: tensor<32xf16>) -> tensor<8x32xf16> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<8x16xf16>, tensor<16x32xf16>) outs(%z : tensor<8x32xf32>) {
  ^bb0(%a: f16, %v: f16, %o: f32):
    %l = arith.extf %a : f16 to f32
    %r = arith.extf %v : f16 to f32
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %m, %o : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %n = tensor.empty() : tensor<8x32xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<8x32xf32>, tensor<32xf16>) outs(%n : tensor<8x32xf16>) {
  ^bb0(%a: f32, %v: f16, %o: f16):
    %t = arith.truncf %a : f32 to f16
    %s = arith.addf %t, %v : f16
    %k = arith.constant 0.0 : f16
    %u = arith.maximumf %s, %k : f16
    linalg.yield %u : f16
  } -> tensor<8x32xf16>
  func.return %y : tensor<8x32xf16>
}

// Left alone: what is added along the rows, or everywhere; a product that something else reads.
// CHECK-LABEL: func.func @rows
// CHECK:         %[[T:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT:    arith.addf %[[T]], %{{.*}} : f16
func.func @rows(%x: tensor<8x16xf16>, %w: tensor<16x32xf16>, %b: tensor<8xf16>) -> tensor<8x32xf16> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<8x16xf16>, tensor<16x32xf16>) outs(%z : tensor<8x32xf32>) {
  ^bb0(%a: f16, %v: f16, %o: f32):
    %l = arith.extf %a : f16 to f32
    %r = arith.extf %v : f16 to f32
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %m, %o : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %n = tensor.empty() : tensor<8x32xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<8x32xf32>, tensor<8xf16>) outs(%n : tensor<8x32xf16>) {
  ^bb0(%a: f32, %v: f16, %o: f16):
    %t = arith.truncf %a : f32 to f16
    %s = arith.addf %t, %v : f16
    %k = arith.constant 0.0 : f16
    %u = arith.maximumf %s, %k : f16
    linalg.yield %u : f16
  } -> tensor<8x32xf16>
  func.return %y : tensor<8x32xf16>
}

// CHECK-LABEL: func.func @everywhere
// CHECK:         %[[T:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT:    arith.addf %[[T]], %{{.*}} : f16
func.func @everywhere(%x: tensor<8x16xf16>, %w: tensor<16x32xf16>, %b: tensor<8x32xf16>) -> tensor<8x32xf16> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<8x16xf16>, tensor<16x32xf16>) outs(%z : tensor<8x32xf32>) {
  ^bb0(%a: f16, %v: f16, %o: f32):
    %l = arith.extf %a : f16 to f32
    %r = arith.extf %v : f16 to f32
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %m, %o : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %n = tensor.empty() : tensor<8x32xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<8x32xf32>, tensor<8x32xf16>) outs(%n : tensor<8x32xf16>) {
  ^bb0(%a: f32, %v: f16, %o: f16):
    %t = arith.truncf %a : f32 to f16
    %s = arith.addf %t, %v : f16
    %k = arith.constant 0.0 : f16
    %u = arith.maximumf %s, %k : f16
    linalg.yield %u : f16
  } -> tensor<8x32xf16>
  func.return %y : tensor<8x32xf16>
}

// CHECK-LABEL: func.func @twice
// CHECK:         %[[T:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT:    arith.addf %[[T]], %{{.*}} : f16
func.func @twice(%x: tensor<8x16xf16>, %w: tensor<16x32xf16>, %b: tensor<32xf16>) -> (tensor<8x32xf32>, tensor<8x32xf16>) {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<8x16xf16>, tensor<16x32xf16>) outs(%z : tensor<8x32xf32>) {
  ^bb0(%a: f16, %v: f16, %o: f32):
    %l = arith.extf %a : f16 to f32
    %r = arith.extf %v : f16 to f32
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %m, %o : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %n = tensor.empty() : tensor<8x32xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<8x32xf32>, tensor<32xf16>) outs(%n : tensor<8x32xf16>) {
  ^bb0(%a: f32, %v: f16, %o: f16):
    %t = arith.truncf %a : f32 to f16
    %s = arith.addf %t, %v : f16
    %k = arith.constant 0.0 : f16
    %u = arith.maximumf %s, %k : f16
    linalg.yield %u : f16
  } -> tensor<8x32xf16>
  func.return %p, %y : tensor<8x32xf32>, tensor<8x32xf16>
}
