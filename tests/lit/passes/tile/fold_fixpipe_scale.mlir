// RUN: npu-opt %s --tile-fold-fixpipe --split-input-file | filecheck %s

// Which scales there are is for the machine to say: the 910 has the one from i32 to f16.
#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// Dequantization to f16 is one load.
// CHECK-LABEL: tile.kernel @scale(
// CHECK:         %y0 = tile.load %acc[] map {{.*}} epilogue <scale 1.0e-03> : tensor<8x8xi32, #tile.space<l0c>> -> tensor<8x8xf16, #tile.space<ub>>
// CHECK-NOT:     linalg.generic
// CHECK:         tile.store %y0
builtin.module attributes {npu.target = "ascend-910"} {
tile.kernel @scale(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<8x8xi32, #l0c>
  %acc = linalg.fill ins(%zero : i32) outs(%empty : tensor<8x8xi32, #l0c>) -> tensor<8x8xi32, #l0c>
  %eh = tensor.empty() : tensor<8x8xf16, #ub>
  %ef = tensor.empty() : tensor<8x8xf32, #ub>
  %ei = tensor.empty() : tensor<8x8xi32, #ub>
  %t = tile.load %acc[] map #id : tensor<8x8xi32, #l0c> -> tensor<8x8xi32, #ub>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xi32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: i32, %o: f32):
    %v = arith.sitofp %i : i32 to f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<8x8xf32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: f32, %o: f32):
    %k = arith.constant 0.001 : f32
    %v = arith.mulf %i, %k : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %y0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%b : tensor<8x8xf32, #ub>) outs(%eh : tensor<8x8xf16, #ub>) {
  ^bb0(%i: f32, %o: f16):
    %v = arith.truncf %i : f32 to f16
    linalg.yield %v : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %y0, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// Relu in front of the cast.
// CHECK-LABEL: tile.kernel @relu(
// CHECK:         %y0 = tile.load %acc[] map {{.*}} epilogue <scale 1.0e-03, relu> : tensor<8x8xi32, #tile.space<l0c>> -> tensor<8x8xf16, #tile.space<ub>>
// CHECK-NOT:     linalg.generic
// CHECK:         tile.store %y0
builtin.module attributes {npu.target = "ascend-910"} {
tile.kernel @relu(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<8x8xi32, #l0c>
  %acc = linalg.fill ins(%zero : i32) outs(%empty : tensor<8x8xi32, #l0c>) -> tensor<8x8xi32, #l0c>
  %eh = tensor.empty() : tensor<8x8xf16, #ub>
  %ef = tensor.empty() : tensor<8x8xf32, #ub>
  %ei = tensor.empty() : tensor<8x8xi32, #ub>
  %t = tile.load %acc[] map #id : tensor<8x8xi32, #l0c> -> tensor<8x8xi32, #ub>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xi32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: i32, %o: f32):
    %v = arith.sitofp %i : i32 to f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<8x8xf32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: f32, %o: f32):
    %k = arith.constant 0.001 : f32
    %v = arith.mulf %i, %k : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%b : tensor<8x8xf32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: f32, %o: f32):
    %k = arith.constant 0.0 : f32
    %v = arith.maximumf %i, %k : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %y0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%c : tensor<8x8xf32, #ub>) outs(%eh : tensor<8x8xf16, #ub>) {
  ^bb0(%i: f32, %o: f16):
    %v = arith.truncf %i : f32 to f16
    linalg.yield %v : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %y0, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// Relu behind the cast is the same.
// CHECK-LABEL: tile.kernel @relu_behind(
// CHECK:         %y0 = tile.load %acc[] map {{.*}} epilogue <scale 1.0e-03, relu> : tensor<8x8xi32, #tile.space<l0c>> -> tensor<8x8xf16, #tile.space<ub>>
// CHECK-NOT:     linalg.generic
// CHECK:         tile.store %y0
builtin.module attributes {npu.target = "ascend-910"} {
tile.kernel @relu_behind(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<8x8xi32, #l0c>
  %acc = linalg.fill ins(%zero : i32) outs(%empty : tensor<8x8xi32, #l0c>) -> tensor<8x8xi32, #l0c>
  %eh = tensor.empty() : tensor<8x8xf16, #ub>
  %ef = tensor.empty() : tensor<8x8xf32, #ub>
  %ei = tensor.empty() : tensor<8x8xi32, #ub>
  %t = tile.load %acc[] map #id : tensor<8x8xi32, #l0c> -> tensor<8x8xi32, #ub>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xi32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: i32, %o: f32):
    %v = arith.sitofp %i : i32 to f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<8x8xf32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: f32, %o: f32):
    %k = arith.constant 0.001 : f32
    %v = arith.mulf %i, %k : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%b : tensor<8x8xf32, #ub>) outs(%eh : tensor<8x8xf16, #ub>) {
  ^bb0(%i: f32, %o: f16):
    %v = arith.truncf %i : f32 to f16
    linalg.yield %v : f16
  } -> tensor<8x8xf16, #ub>
  %y0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%c : tensor<8x8xf16, #ub>) outs(%eh : tensor<8x8xf16, #ub>) {
  ^bb0(%i: f16, %o: f16):
    %k = arith.constant 0.0 : f16
    %v = arith.maximumf %i, %k : f16
    linalg.yield %v : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %y0, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// No scale of the 910 ends in f32.
// CHECK-LABEL: tile.kernel @to_f32(
// CHECK:         tile.load %acc[] map affine_map<(d0, d1) -> (d0, d1)> : tensor<8x8xi32, #tile.space<l0c>> -> tensor<8x8xi32, #tile.space<ub>>
// CHECK:         arith.mulf
builtin.module attributes {npu.target = "ascend-910"} {
tile.kernel @to_f32(%y: memref<8x8xf32, #gm>) {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<8x8xi32, #l0c>
  %acc = linalg.fill ins(%zero : i32) outs(%empty : tensor<8x8xi32, #l0c>) -> tensor<8x8xi32, #l0c>
  %eh = tensor.empty() : tensor<8x8xf16, #ub>
  %ef = tensor.empty() : tensor<8x8xf32, #ub>
  %ei = tensor.empty() : tensor<8x8xi32, #ub>
  %t = tile.load %acc[] map #id : tensor<8x8xi32, #l0c> -> tensor<8x8xi32, #ub>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xi32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: i32, %o: f32):
    %v = arith.sitofp %i : i32 to f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %y0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<8x8xf32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: f32, %o: f32):
    %k = arith.constant 0.001 : f32
    %v = arith.mulf %i, %k : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  tile.store %y0, %y[] map #id : tensor<8x8xf32, #ub>, memref<8x8xf32, #gm>
  tile.return
}
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// Nor does one start from f32.
// CHECK-LABEL: tile.kernel @from_f32(
// CHECK:         tile.load %acc[] map affine_map<(d0, d1) -> (d0, d1)> : tensor<8x8xf32, #tile.space<l0c>> -> tensor<8x8xf32, #tile.space<ub>>
// CHECK:         arith.mulf
builtin.module attributes {npu.target = "ascend-910"} {
tile.kernel @from_f32(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32, #l0c>
  %acc = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32, #l0c>) -> tensor<8x8xf32, #l0c>
  %eh = tensor.empty() : tensor<8x8xf16, #ub>
  %ef = tensor.empty() : tensor<8x8xf32, #ub>
  %ei = tensor.empty() : tensor<8x8xi32, #ub>
  %t = tile.load %acc[] map #id : tensor<8x8xf32, #l0c> -> tensor<8x8xf32, #ub>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xf32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: f32, %o: f32):
    %k = arith.constant 0.001 : f32
    %v = arith.mulf %i, %k : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %y0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<8x8xf32, #ub>) outs(%eh : tensor<8x8xf16, #ub>) {
  ^bb0(%i: f32, %o: f16):
    %v = arith.truncf %i : f32 to f16
    linalg.yield %v : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %y0, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// The toy has none.
// CHECK-LABEL: tile.kernel @no_scale(
// CHECK:         tile.load %acc[] map affine_map<(d0, d1) -> (d0, d1)> : tensor<8x8xi32, #tile.space<l0c>> -> tensor<8x8xi32, #tile.space<ub>>
// CHECK:         arith.mulf
builtin.module attributes {npu.target = "toy"} {
tile.kernel @no_scale(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<8x8xi32, #l0c>
  %acc = linalg.fill ins(%zero : i32) outs(%empty : tensor<8x8xi32, #l0c>) -> tensor<8x8xi32, #l0c>
  %eh = tensor.empty() : tensor<8x8xf16, #ub>
  %ef = tensor.empty() : tensor<8x8xf32, #ub>
  %ei = tensor.empty() : tensor<8x8xi32, #ub>
  %t = tile.load %acc[] map #id : tensor<8x8xi32, #l0c> -> tensor<8x8xi32, #ub>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xi32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: i32, %o: f32):
    %v = arith.sitofp %i : i32 to f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<8x8xf32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: f32, %o: f32):
    %k = arith.constant 0.001 : f32
    %v = arith.mulf %i, %k : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %y0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%b : tensor<8x8xf32, #ub>) outs(%eh : tensor<8x8xf16, #ub>) {
  ^bb0(%i: f32, %o: f16):
    %v = arith.truncf %i : f32 to f16
    linalg.yield %v : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %y0, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// The accumulators are read twice.
// CHECK-LABEL: tile.kernel @read_twice(
// CHECK:         tile.load %acc[] map affine_map<(d0, d1) -> (d0, d1)> : tensor<8x8xi32, #tile.space<l0c>> -> tensor<8x8xi32, #tile.space<ub>>
// CHECK:         arith.mulf
builtin.module attributes {npu.target = "ascend-910"} {
tile.kernel @read_twice(%y: memref<8x8xf16, #gm>, %z: memref<8x8xi32, #gm>) outputs 2 {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<8x8xi32, #l0c>
  %acc = linalg.fill ins(%zero : i32) outs(%empty : tensor<8x8xi32, #l0c>) -> tensor<8x8xi32, #l0c>
  %eh = tensor.empty() : tensor<8x8xf16, #ub>
  %ef = tensor.empty() : tensor<8x8xf32, #ub>
  %ei = tensor.empty() : tensor<8x8xi32, #ub>
  %t = tile.load %acc[] map #id : tensor<8x8xi32, #l0c> -> tensor<8x8xi32, #ub>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xi32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: i32, %o: f32):
    %v = arith.sitofp %i : i32 to f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<8x8xf32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: f32, %o: f32):
    %k = arith.constant 0.001 : f32
    %v = arith.mulf %i, %k : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %y0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%b : tensor<8x8xf32, #ub>) outs(%eh : tensor<8x8xf16, #ub>) {
  ^bb0(%i: f32, %o: f16):
    %v = arith.truncf %i : f32 to f16
    linalg.yield %v : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %t, %z[] map #id : tensor<8x8xi32, #ub>, memref<8x8xi32, #gm>
  tile.store %y0, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// What is scaled is read twice, before the cast.
// CHECK-LABEL: tile.kernel @scaled_twice(
// CHECK:         tile.load %acc[] map affine_map<(d0, d1) -> (d0, d1)> : tensor<8x8xi32, #tile.space<l0c>> -> tensor<8x8xi32, #tile.space<ub>>
// CHECK:         arith.mulf
builtin.module attributes {npu.target = "ascend-910"} {
tile.kernel @scaled_twice(%y: memref<8x8xf16, #gm>, %z: memref<8x8xf32, #gm>) outputs 2 {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<8x8xi32, #l0c>
  %acc = linalg.fill ins(%zero : i32) outs(%empty : tensor<8x8xi32, #l0c>) -> tensor<8x8xi32, #l0c>
  %eh = tensor.empty() : tensor<8x8xf16, #ub>
  %ef = tensor.empty() : tensor<8x8xf32, #ub>
  %ei = tensor.empty() : tensor<8x8xi32, #ub>
  %t = tile.load %acc[] map #id : tensor<8x8xi32, #l0c> -> tensor<8x8xi32, #ub>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xi32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: i32, %o: f32):
    %v = arith.sitofp %i : i32 to f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<8x8xf32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: f32, %o: f32):
    %k = arith.constant 0.001 : f32
    %v = arith.mulf %i, %k : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %y0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%b : tensor<8x8xf32, #ub>) outs(%eh : tensor<8x8xf16, #ub>) {
  ^bb0(%i: f32, %o: f16):
    %v = arith.truncf %i : f32 to f16
    linalg.yield %v : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %b, %z[] map #id : tensor<8x8xf32, #ub>, memref<8x8xf32, #gm>
  tile.store %y0, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// Relu comes behind a scale, not in front.
// CHECK-LABEL: tile.kernel @relu_first(
// CHECK:         tile.load %acc[] map {{.*}} epilogue <relu> : tensor<8x8xi32, #tile.space<l0c>> -> tensor<8x8xi32, #tile.space<ub>>
// CHECK:         arith.mulf
builtin.module attributes {npu.target = "ascend-910"} {
tile.kernel @relu_first(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<8x8xi32, #l0c>
  %acc = linalg.fill ins(%zero : i32) outs(%empty : tensor<8x8xi32, #l0c>) -> tensor<8x8xi32, #l0c>
  %eh = tensor.empty() : tensor<8x8xf16, #ub>
  %ef = tensor.empty() : tensor<8x8xf32, #ub>
  %ei = tensor.empty() : tensor<8x8xi32, #ub>
  %t = tile.load %acc[] map #id : tensor<8x8xi32, #l0c> -> tensor<8x8xi32, #ub>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xi32, #ub>) outs(%ei : tensor<8x8xi32, #ub>) {
  ^bb0(%i: i32, %o: i32):
    %k = arith.constant 0 : i32
    %v = arith.maxsi %i, %k : i32
    linalg.yield %v : i32
  } -> tensor<8x8xi32, #ub>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<8x8xi32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: i32, %o: f32):
    %v = arith.sitofp %i : i32 to f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%b : tensor<8x8xf32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: f32, %o: f32):
    %k = arith.constant 0.001 : f32
    %v = arith.mulf %i, %k : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %y0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%c : tensor<8x8xf32, #ub>) outs(%eh : tensor<8x8xf16, #ub>) {
  ^bb0(%i: f32, %o: f16):
    %v = arith.truncf %i : f32 to f16
    linalg.yield %v : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %y0, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// A factor that is not finite in f32 is none of the fixpipe's.
// CHECK-LABEL: tile.kernel @infinite(
// CHECK:         tile.load %acc[] map affine_map<(d0, d1) -> (d0, d1)> : tensor<8x8xi32, #tile.space<l0c>> -> tensor<8x8xi32, #tile.space<ub>>
// CHECK:         arith.mulf
builtin.module attributes {npu.target = "ascend-910"} {
tile.kernel @infinite(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<8x8xi32, #l0c>
  %acc = linalg.fill ins(%zero : i32) outs(%empty : tensor<8x8xi32, #l0c>) -> tensor<8x8xi32, #l0c>
  %eh = tensor.empty() : tensor<8x8xf16, #ub>
  %ef = tensor.empty() : tensor<8x8xf32, #ub>
  %ei = tensor.empty() : tensor<8x8xi32, #ub>
  %t = tile.load %acc[] map #id : tensor<8x8xi32, #l0c> -> tensor<8x8xi32, #ub>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xi32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: i32, %o: f32):
    %v = arith.sitofp %i : i32 to f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<8x8xf32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: f32, %o: f32):
    %k = arith.constant 0x7F800000 : f32
    %v = arith.mulf %i, %k : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %y0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%b : tensor<8x8xf32, #ub>) outs(%eh : tensor<8x8xf16, #ub>) {
  ^bb0(%i: f32, %o: f16):
    %v = arith.truncf %i : f32 to f16
    linalg.yield %v : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %y0, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// An integer becomes a float by a scale only.
// CHECK-LABEL: tile.kernel @unscaled(
// CHECK:         tile.load %acc[] map affine_map<(d0, d1) -> (d0, d1)> : tensor<8x8xi32, #tile.space<l0c>> -> tensor<8x8xi32, #tile.space<ub>>
// CHECK:         arith.sitofp
builtin.module attributes {npu.target = "ascend-910"} {
tile.kernel @unscaled(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<8x8xi32, #l0c>
  %acc = linalg.fill ins(%zero : i32) outs(%empty : tensor<8x8xi32, #l0c>) -> tensor<8x8xi32, #l0c>
  %eh = tensor.empty() : tensor<8x8xf16, #ub>
  %ef = tensor.empty() : tensor<8x8xf32, #ub>
  %ei = tensor.empty() : tensor<8x8xi32, #ub>
  %t = tile.load %acc[] map #id : tensor<8x8xi32, #l0c> -> tensor<8x8xi32, #ub>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xi32, #ub>) outs(%ef : tensor<8x8xf32, #ub>) {
  ^bb0(%i: i32, %o: f32):
    %v = arith.sitofp %i : i32 to f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32, #ub>
  %y0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<8x8xf32, #ub>) outs(%eh : tensor<8x8xf16, #ub>) {
  ^bb0(%i: f32, %o: f16):
    %v = arith.truncf %i : f32 to f16
    linalg.yield %v : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %y0, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}
}
