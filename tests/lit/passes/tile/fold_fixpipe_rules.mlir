// Each rule of the pass alone: what is folded, then what stays.
// RUN: npu-opt %s --tile-fold-fixpipe --split-input-file | filecheck %s

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// A cast alone.
// CHECK-LABEL: tile.kernel @cast(
// CHECK:         %[[R:.*]] = tile.load %acc[] {{.*}} -> tensor<8x8xf16, #tile.space<ub>>
// CHECK-NOT:     arith.truncf
// CHECK:         tile.store %[[R]]
tile.kernel @cast(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32, #l0c>
  %acc = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32, #l0c>) -> tensor<8x8xf32, #l0c>
  %t = tile.load %acc[] map #id : tensor<8x8xf32, #l0c> -> tensor<8x8xf32, #ub>
  %e = tensor.empty() : tensor<8x8xf16, #ub>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xf32, #ub>) outs(%e : tensor<8x8xf16, #ub>) {
  ^bb0(%a: f32, %o: f16):
    %1 = arith.truncf %a : f32 to f16
    linalg.yield %1 : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %r, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// Relu alone.
// CHECK-LABEL: tile.kernel @relu(
// CHECK:         %[[R:.*]] = tile.load %acc[] {{.*}} epilogue <relu> : {{.*}} -> tensor<8x8xf32, #tile.space<ub>>
// CHECK-NOT:     arith.maximumf
// CHECK:         tile.store %[[R]]
tile.kernel @relu(%y: memref<8x8xf32, #gm>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32, #l0c>
  %acc = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32, #l0c>) -> tensor<8x8xf32, #l0c>
  %t = tile.load %acc[] map #id : tensor<8x8xf32, #l0c> -> tensor<8x8xf32, #ub>
  %e = tensor.empty() : tensor<8x8xf32, #ub>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xf32, #ub>) outs(%e : tensor<8x8xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.constant 0.0 : f32
    %2 = arith.maximumf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8x8xf32, #ub>
  tile.store %r, %y[] map #id : tensor<8x8xf32, #ub>, memref<8x8xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// Relu in front of a cast is the same as behind it.
// CHECK-LABEL: tile.kernel @relu_and_cast(
// CHECK:         %[[R:.*]] = tile.load %acc[] {{.*}} epilogue <relu> : {{.*}} -> tensor<8x8xf16, #tile.space<ub>>
// CHECK-NOT:     linalg.generic
// CHECK:         tile.store %[[R]]
tile.kernel @relu_and_cast(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32, #l0c>
  %acc = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32, #l0c>) -> tensor<8x8xf32, #l0c>
  %t = tile.load %acc[] map #id : tensor<8x8xf32, #l0c> -> tensor<8x8xf32, #ub>
  %e = tensor.empty() : tensor<8x8xf32, #ub>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xf32, #ub>) outs(%e : tensor<8x8xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.constant 0.0 : f32
    %2 = arith.maximumf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8x8xf32, #ub>
  %e1 = tensor.empty() : tensor<8x8xf16, #ub>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%s : tensor<8x8xf32, #ub>) outs(%e1 : tensor<8x8xf16, #ub>) {
  ^bb0(%a: f32, %o: f16):
    %1 = arith.truncf %a : f32 to f16
    linalg.yield %1 : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %r, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// One relu has a place, a second one stays.
// CHECK-LABEL: tile.kernel @two_relus(
// CHECK:         tile.load %acc[] {{.*}} epilogue <relu> :
// CHECK:         arith.maximumf
// CHECK-NOT:     arith.maximumf
tile.kernel @two_relus(%y: memref<8x8xf32, #gm>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32, #l0c>
  %acc = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32, #l0c>) -> tensor<8x8xf32, #l0c>
  %t = tile.load %acc[] map #id : tensor<8x8xf32, #l0c> -> tensor<8x8xf32, #ub>
  %e = tensor.empty() : tensor<8x8xf32, #ub>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xf32, #ub>) outs(%e : tensor<8x8xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.constant 0.0 : f32
    %2 = arith.maximumf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8x8xf32, #ub>
  %e1 = tensor.empty() : tensor<8x8xf32, #ub>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%s : tensor<8x8xf32, #ub>) outs(%e1 : tensor<8x8xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.constant 0.0 : f32
    %2 = arith.maximumf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8x8xf32, #ub>
  tile.store %r, %y[] map #id : tensor<8x8xf32, #ub>, memref<8x8xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// What the fixpipe can't do stays, and so does what comes behind it.
// CHECK-LABEL: tile.kernel @other_work(
// CHECK:         tile.load %acc[] {{.*}} -> tensor<8x8xf32, #tile.space<ub>>
// CHECK:         math.exp
// CHECK:         arith.truncf
tile.kernel @other_work(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32, #l0c>
  %acc = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32, #l0c>) -> tensor<8x8xf32, #l0c>
  %t = tile.load %acc[] map #id : tensor<8x8xf32, #l0c> -> tensor<8x8xf32, #ub>
  %e = tensor.empty() : tensor<8x8xf32, #ub>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xf32, #ub>) outs(%e : tensor<8x8xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %1 = math.exp %a : f32
    linalg.yield %1 : f32
  } -> tensor<8x8xf32, #ub>
  %e1 = tensor.empty() : tensor<8x8xf16, #ub>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%s : tensor<8x8xf32, #ub>) outs(%e1 : tensor<8x8xf16, #ub>) {
  ^bb0(%a: f32, %o: f16):
    %1 = arith.truncf %a : f32 to f16
    linalg.yield %1 : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %r, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// A cast that permutes stays.
// CHECK-LABEL: tile.kernel @permutes(
// CHECK:         tile.load %acc[] {{.*}} -> tensor<8x8xf32, #tile.space<ub>>
// CHECK:         arith.truncf
tile.kernel @permutes(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32, #l0c>
  %acc = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32, #l0c>) -> tensor<8x8xf32, #l0c>
  %t = tile.load %acc[] map #id : tensor<8x8xf32, #l0c> -> tensor<8x8xf32, #ub>
  %e = tensor.empty() : tensor<8x8xf16, #ub>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (n, m)>, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xf32, #ub>) outs(%e : tensor<8x8xf16, #ub>) {
  ^bb0(%a: f32, %o: f16):
    %1 = arith.truncf %a : f32 to f16
    linalg.yield %1 : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %r, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// A reduction stays, although its body is a relu with the value so far.
// CHECK-LABEL: tile.kernel @reduces(
// CHECK:         tile.load %acc[] {{.*}} -> tensor<8x8xf32, #tile.space<ub>>
// CHECK:         arith.maximumf
tile.kernel @reduces(%y: memref<8xf32, #gm>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32, #l0c>
  %acc = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32, #l0c>) -> tensor<8x8xf32, #l0c>
  %t = tile.load %acc[] map #id : tensor<8x8xf32, #l0c> -> tensor<8x8xf32, #ub>
  %e = tensor.empty() : tensor<8xf32, #ub>
  %r = linalg.generic {indexing_maps = [#id, affine_map<(m, n) -> (m)>], iterator_types = ["parallel", "reduction"]}
    ins(%t : tensor<8x8xf32, #ub>) outs(%e : tensor<8xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %2 = arith.maximumf %a, %o : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32, #ub>
  tile.store %r, %y[] map affine_map<(m) -> (m)> : tensor<8xf32, #ub>, memref<8xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// Only what lies in the same block: in the loop it is done for each step, on the value that was loaded once.
// CHECK-LABEL: tile.kernel @other_block(
// CHECK:         tile.load %acc[] {{.*}} -> tensor<8x8xf32, #tile.space<ub>>
// CHECK:         scf.for
// CHECK:         arith.truncf
tile.kernel @other_block(%y: memref<8x8xf16, #gm>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32, #l0c>
  %acc = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32, #l0c>) -> tensor<8x8xf32, #l0c>
  %t = tile.load %acc[] map #id : tensor<8x8xf32, #l0c> -> tensor<8x8xf32, #ub>
  %from = arith.constant 0 : index
  %to = arith.constant 2 : index
  %step = arith.constant 1 : index
  scf.for %i = %from to %to step %step {
  %e = tensor.empty() : tensor<8x8xf16, #ub>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xf32, #ub>) outs(%e : tensor<8x8xf16, #ub>) {
  ^bb0(%a: f32, %o: f16):
    %1 = arith.truncf %a : f32 to f16
    linalg.yield %1 : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %r, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  }
  tile.return
}

// -----

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#l0c = #tile.space<l0c>
#id = affine_map<(m, n) -> (m, n)>

// Loads from elsewhere don't pass the fixpipe.
// CHECK-LABEL: tile.kernel @other_load(
// CHECK:         tile.load %x[] {{.*}} -> tensor<8x8xf32, #tile.space<ub>>
// CHECK:         arith.truncf
tile.kernel @other_load(%x: memref<8x8xf32, #gm>, %y: memref<8x8xf16, #gm>) {
  %t = tile.load %x[] map #id : memref<8x8xf32, #gm> -> tensor<8x8xf32, #ub>
  %e = tensor.empty() : tensor<8x8xf16, #ub>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x8xf32, #ub>) outs(%e : tensor<8x8xf16, #ub>) {
  ^bb0(%a: f32, %o: f16):
    %1 = arith.truncf %a : f32 to f16
    linalg.yield %1 : f16
  } -> tensor<8x8xf16, #ub>
  tile.store %r, %y[] map #id : tensor<8x8xf16, #ub>, memref<8x8xf16, #gm>
  tile.return
}
