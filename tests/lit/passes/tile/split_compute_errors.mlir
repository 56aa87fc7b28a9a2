// RUN: not npu-opt %s --tile-split-compute 2>&1 | filecheck %s

#gm = #tile.space<gm>
#ub = #tile.space<ub>

// CHECK: error: the accumulator may only be read by the last operation of the body
// CHECK-NEXT: linalg.generic
tile.kernel @accumulator(%X: memref<8x4xf32, #gm>, %Y: memref<8xf32, #gm>) {
  %x = tile.load %X[] map affine_map<(m, n) -> (m, n)> : memref<8x4xf32, #gm> -> tensor<8x4xf32, #ub>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32, #ub>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32, #ub>) -> tensor<8xf32, #ub>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x4xf32, #ub>) outs(%f : tensor<8xf32, #ub>) {
  ^bb0(%i: f32, %c: f32):
    %h = math.exp %c : f32
    %s = arith.addf %h, %i : f32
    linalg.yield %s : f32
  } -> tensor<8xf32, #ub>
  tile.store %r, %Y[] map affine_map<(m) -> (m)> : tensor<8xf32, #ub>, memref<8xf32, #gm>
  tile.return
}
