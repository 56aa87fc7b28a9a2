// RUN: npu-opt %s --tile-form-kernels --remarks-filter=tile-form-kernels -o %t.mlir 2>&1 | filecheck %s
// RUN: npu-opt %s --tile-form-kernels --remarks-filter-passed='.*' -o %t.mlir 2>&1 | filecheck %s --check-prefix=PASSED
// RUN: npu-opt %s --tile-form-kernels --remarks-filter-missed=tile -o %t.mlir 2> %t.none && diff %t.none /dev/null
// RUN: npu-opt %s --tile-form-kernels -o %t.mlir 2> %t.none && diff %t.none /dev/null

// A relu joins its product. What reads the result with another stride, behind a view, or as an operand of the next
// product does not, and the remark says which rule keeps them apart.
// CHECK:      :{{[0-9]+}}:3: remark: [Passed] one-kernel | Category:tile-form-kernels | Function=main | Remark="2 operations are one kernel"
// CHECK:      remark: [Missed] one-loop-nest | Category:tile-form-kernels | Function=main | Reason="one reads what another makes in windows, strided, or at a fixed place", Remark="'every second' is in another kernel than 'relu', which it reads"
// CHECK:      remark: [Missed] nothing-between | {{.*}}Reason="'tensor.collapse_shape' stands between them, which works on the whole tensor", Remark="'flat' is in another kernel than 'relu', which it reads"
// CHECK:      remark: [Missed] chain-ends | {{.*}}Reason="what the one has become is read by other kernels as well", Remark="'second' is in another kernel than 'relu', which it reads"
// PASSED-COUNT-1: remark: [Passed] one-kernel
// PASSED-NOT:     [Missed]
#id = affine_map<(m, n) -> (m, n)>
func.func @main(%x: tensor<8x12xf32>, %w: tensor<12x6xf32>, %v: tensor<6x6xf32>)
    -> (tensor<4x6xf32>, tensor<48xf32>, tensor<8x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %first = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                            affine_map<(m, n, k) -> (m, n)>],
                           iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x12xf32>, tensor<12x6xf32>) outs(%f : tensor<8x6xf32>) attrs = {npu.node = "first"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x6xf32>
  %relu = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%first : tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) attrs = {npu.node = "relu"} {
  ^bb0(%a: f32, %c: f32):
    %s = arith.maximumf %a, %zero : f32
    linalg.yield %s : f32
  } -> tensor<8x6xf32>
  %e1 = tensor.empty() : tensor<4x6xf32>
  %strided = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m * 2, n)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%relu : tensor<8x6xf32>) outs(%e1 : tensor<4x6xf32>) attrs = {npu.node = "every second"} {
  ^bb0(%a: f32, %c: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  %view = tensor.collapse_shape %relu [[0, 1]] : tensor<8x6xf32> into tensor<48xf32>
  %e2 = tensor.empty() : tensor<48xf32>
  %flat = linalg.generic {indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>], iterator_types = ["parallel"]}
      ins(%view : tensor<48xf32>) outs(%e2 : tensor<48xf32>) attrs = {npu.node = "flat"} {
  ^bb0(%a: f32, %c: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<48xf32>
  %second = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                             affine_map<(m, n, k) -> (m, n)>],
                            iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%relu, %v : tensor<8x6xf32>, tensor<6x6xf32>) outs(%f : tensor<8x6xf32>) attrs = {npu.node = "second"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x6xf32>
  func.return %strided, %flat, %second : tensor<4x6xf32>, tensor<48xf32>, tensor<8x6xf32>
}
