// Two results in one linalg.generic, as mlir-opt prints them: read, printed and read again, and lowered.
// RUN: npu-opt %s -o %t.mlir && filecheck %s --input-file %t.mlir
// RUN: npu-opt %t.mlir | diff - %t.mlir
// RUN: npu-opt %t.mlir --lower-to=isa --check-equivalence | npu-run - | filecheck %s --check-prefix=SHAPE

// CHECK: %0, %1 = linalg.generic
// CHECK: } -> (tensor<4xf32>, tensor<4xf32>)
// SHAPE: output1 │ 4 float32
func.func @main(%x: tensor<4x6xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4xf32>
  %o = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %p = linalg.fill ins(%lowest : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x6xf32>) outs(%o, %p : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %b, %a : f32
    %m = arith.maximumf %c, %a : f32
    linalg.yield %s, %m : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
