// RUN: npu-opt %s --tile-fold-fixpipe | filecheck %s

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// A cast and a relu behind a load from L0C go into the load, which keeps its attributes.
// CHECK-LABEL: tile.kernel @cast_and_relu(
// CHECK:         %r = tile.load %acc[] map affine_map<(d0, d1) -> (d0, d1)> epilogue <relu> {test.note} : tensor<8x8xf32, #tile.space<l0c>> -> tensor<8x8xf16, #tile.space<ub>>
// CHECK:         tile.store %r
tile.kernel @cast_and_relu(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32, #l0c>
  %acc = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32, #l0c>) -> tensor<8x8xf32, #l0c>
  %t = tile.load %acc[] map #id {test.note} : tensor<8x8xf32, #l0c> -> tensor<8x8xf32, #ub>
  %e0 = tensor.empty() : tensor<8x8xf16, #ub>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xf32, #ub>) outs(%e0 : tensor<8x8xf16, #ub>) {
  ^bb0(%a: f32, %o: f16):
    %0 = arith.truncf %a : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<8x8xf16, #ub>
  %e1 = tensor.empty() : tensor<8x8xf16, #ub>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%c : tensor<8x8xf16, #ub>) outs(%e1 : tensor<8x8xf16, #ub>) {
  ^bb0(%a: f16, %o: f16):
    %1 = arith.constant 0.0 : f16
    %2 = arith.maximumf %a, %1 : f16
    linalg.yield %2 : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %r, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}

// What is read twice stays, and so does a maximum with another constant.
// CHECK-LABEL: tile.kernel @stays(
// CHECK:         tile.load %acc[] map affine_map<(d0, d1) -> (d0, d1)> : tensor<8x8xf32, #tile.space<l0c>> -> tensor<8x8xf32, #tile.space<ub>>
// CHECK:         arith.truncf
// CHECK:         tile.load %acc[] map affine_map<(d0, d1) -> (d0, d1)> : tensor<8x8xf32, #tile.space<l0c>> -> tensor<8x8xf32, #tile.space<ub>>
// CHECK:         arith.maximumf
tile.kernel @stays(%y: memref<8x8xf16, #gm>, %z: memref<8x8xf32, #gm>, %w: memref<8x8xf32, #gm>) outputs 3 {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32, #l0c>
  %acc = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32, #l0c>) -> tensor<8x8xf32, #l0c>
  %t = tile.load %acc[] map #id : tensor<8x8xf32, #l0c> -> tensor<8x8xf32, #ub>
  %e0 = tensor.empty() : tensor<8x8xf16, #ub>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xf32, #ub>) outs(%e0 : tensor<8x8xf16, #ub>) {
  ^bb0(%a: f32, %o: f16):
    %0 = arith.truncf %a : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %c, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.store %t, %z[] map #id : tensor<8x8xf32, #ub>, memref<8x8xf32, #gm>
  %u = tile.load %acc[] map #id : tensor<8x8xf32, #l0c> -> tensor<8x8xf32, #ub>
  %e1 = tensor.empty() : tensor<8x8xf32, #ub>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%u : tensor<8x8xf32, #ub>) outs(%e1 : tensor<8x8xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.constant 1.0 : f32
    %2 = arith.maximumf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8x8xf32, #ub>
  tile.store %r, %w[] map #id : tensor<8x8xf32, #ub>, memref<8x8xf32, #gm>
  tile.return
}
