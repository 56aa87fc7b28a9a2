// RUN: npu-opt %s --tile-form-kernels --split-input-file | filecheck %s
// RUN: npu-opt %s --tile-form-kernels --split-input-file --remarks-filter=tile-form-kernels -o %t.mlir 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: npu-opt %s --tile-form-kernels=chains=never --split-input-file | filecheck %s --check-prefix=NEVER
// RUN: not npu-opt %s --tile-form-kernels=chains=some --split-input-file 2>&1 | filecheck %s --check-prefix=WRONG

// WRONG: error: 'chains' is one of auto, always, never, got 'some'

// What the second product sums is made in the same kernel, where that is faster by the formula.
// REMARK:      remark: [Passed] chain | Category:tile-form-kernels | Function=main | Reason="{{[0-9]+}} cycles, {{[0-9]+}} in kernels of their own", Remark="what this contraction sums stays in L1"
// CHECK:       func.func @main(
// CHECK-NEXT:    %{{.*}} = tile.launch @k0_first(%x, %w, %v) {npu.node = "first+second+exp"}
// CHECK:       tile.kernel @k0_first(
// CHECK-NOT:   tile.kernel
// NEVER:       tile.launch @k0_first(%x, %w)
// NEVER:       tile.launch @k1_second(
builtin.module attributes {npu.target = "ascend-910"} {
func.func @main(%x: tensor<8x24xf32>, %w: tensor<24x32xf32>, %v: tensor<32x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x24xf32>, tensor<24x32xf32>) outs(%f0 : tensor<8x32xf32>) attrs = {npu.node = "first"} {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %e1 = tensor.empty() : tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<8x32xf32>) outs(%e1 : tensor<8x32xf32>) attrs = {npu.node = "exp"} {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %e2 = tensor.empty() : tensor<8x16xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%r, %v : tensor<8x32xf32>, tensor<32x16xf32>) outs(%f2 : tensor<8x16xf32>) attrs = {npu.node = "second"} {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  func.return %y : tensor<8x16xf32>
}
}

// -----

// It is read by others, too.
// REMARK:      remark: [Missed] chain-ends | {{.*}}Reason="what the one has become is read by other kernels as well"
// CHECK:       tile.launch @k0_first(%x, %w)
// CHECK:       tile.launch @k1_second(
builtin.module attributes {npu.target = "ascend-910"} {
func.func @main(%x: tensor<8x24xf32>, %w: tensor<24x32xf32>, %v: tensor<32x16xf32>) -> (tensor<8x32xf32>, tensor<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x24xf32>, tensor<24x32xf32>) outs(%f0 : tensor<8x32xf32>) attrs = {npu.node = "first"} {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %e1 = tensor.empty() : tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<8x32xf32>) outs(%e1 : tensor<8x32xf32>) attrs = {npu.node = "exp"} {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %e2 = tensor.empty() : tensor<8x16xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%r, %v : tensor<8x32xf32>, tensor<32x16xf32>) outs(%f2 : tensor<8x16xf32>) attrs = {npu.node = "second"} {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  func.return %r, %y : tensor<8x32xf32>, tensor<8x16xf32>
}
}

// -----

// Where cube and vector unit are cores of their own, there is no way from the one to the other but through GM.
// REMARK:      remark: [Missed] one-core
// CHECK:       tile.launch @k0_first(%x, %w)
// CHECK:       tile.launch @k1_exp(
// CHECK:       tile.launch @k2_second(
builtin.module attributes {npu.target = "ascend-910b"} {
func.func @main(%x: tensor<8x24xf32>, %w: tensor<24x32xf32>, %v: tensor<32x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x24xf32>, tensor<24x32xf32>) outs(%f0 : tensor<8x32xf32>) attrs = {npu.node = "first"} {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %e1 = tensor.empty() : tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<8x32xf32>) outs(%e1 : tensor<8x32xf32>) attrs = {npu.node = "exp"} {
  ^bb0(%i: f32, %c: f32):
    %s = math.exp %i : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %e2 = tensor.empty() : tensor<8x16xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%r, %v : tensor<8x32xf32>, tensor<32x16xf32>) outs(%f2 : tensor<8x16xf32>) attrs = {npu.node = "second"} {
  ^bb0(%i: f32, %j: f32, %c: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  func.return %y : tensor<8x16xf32>
}
}
