// RUN: npu-opt %s --tile-fold-reductions --check-equivalence | filecheck %s

#gm = #tile.space<gm>
#ub = #tile.space<ub>
#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// Twelve chunks of 64: two are added, ten further ones added to that, and 64 lanes reduced.
// CHECK-LABEL: tile.kernel @sum
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<4x1x64xf32, #tile.space<ub>>
// CHECK:         %[[A:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, ((d1 * 64) + d2))>, affine_map<(d0, d1, d2) -> (d0, (((d1 * 64) + d2) + 64))>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[X:.*]], %[[X]] :
// CHECK:         %[[W:.*]] = tensor.empty() : tensor<10xf32>
// CHECK:         %[[B:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[W]] : {{.*}}) outs(%[[A]] :
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "reduction"]} ins(%[[B]] : tensor<4x1x64xf32, {{.*}}>) outs(%{{.*}} : tensor<4xf32,
// CHECK:         tile.store %[[R]]
tile.kernel @sum(%x: memref<4x768xf32, #gm>, %y: memref<4xf32, #gm>) {
  %0 = tile.load %x[] map #id : memref<4x768xf32, #gm> -> tensor<4x768xf32, #ub>
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32, #ub>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32, #ub>) -> tensor<4xf32, #ub>
  %r = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<4x768xf32, #ub>) outs(%f : tensor<4xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32, #ub>
  tile.store %r, %y[] map affine_map<(d0) -> (d0)> : tensor<4xf32, #ub>, memref<4xf32, #gm>
  tile.return
}

// A cast is done by what reads: for the first chunk alone, and for the eleven others while they are added.
// CHECK-LABEL: tile.kernel @widened
// CHECK:         %[[X:.*]] = tile.load
// CHECK-NOT:     tensor<4x768xf32
// CHECK:         ins(%[[X]] : tensor<4x768xf16, {{.*}}>) outs(%{{.*}} : tensor<4x1x64xf32
// CHECK:         %[[W:.*]] = tensor.empty() : tensor<11xf32>
// CHECK:         ins(%[[X]], %[[W]] :
// CHECK:           arith.extf
// CHECK-NEXT:      arith.addf
tile.kernel @widened(%x: memref<4x768xf16, #gm>, %y: memref<4xf32, #gm>) {
  %0 = tile.load %x[] map #id : memref<4x768xf16, #gm> -> tensor<4x768xf16, #ub>
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32, #ub>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32, #ub>) -> tensor<4xf32, #ub>
  %we = tensor.empty() : tensor<4x768xf32, #ub>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<4x768xf16, #ub>) outs(%we : tensor<4x768xf32, #ub>) {
  ^bb0(%p: f16, %t: f32):
    %u = arith.extf %p : f16 to f32
    linalg.yield %u : f32
  } -> tensor<4x768xf32, #ub>
  %r = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%w : tensor<4x768xf32, #ub>) outs(%f : tensor<4xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32, #ub>
  tile.store %r, %y[] map affine_map<(d0) -> (d0)> : tensor<4xf32, #ub>, memref<4xf32, #gm>
  tile.return
}

// Products are added as they are made, from zero.
// CHECK-LABEL: tile.kernel @squares
// CHECK:         %[[X:.*]] = tile.load
// CHECK-NOT:     tensor<4x768xf32
// CHECK:         %[[Z:.*]] = linalg.fill {{.*}} -> tensor<4x1x64xf32
// CHECK:         %[[W:.*]] = tensor.empty() : tensor<12xf32>
// CHECK:         ins(%[[X]], %[[X]], %[[W]] : {{.*}}) outs(%[[Z]] :
// CHECK:           arith.mulf
// CHECK-NEXT:      arith.addf
tile.kernel @squares(%x: memref<4x768xf16, #gm>, %y: memref<4xf32, #gm>) {
  %0 = tile.load %x[] map #id : memref<4x768xf16, #gm> -> tensor<4x768xf16, #ub>
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32, #ub>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32, #ub>) -> tensor<4xf32, #ub>
  %we = tensor.empty() : tensor<4x768xf32, #ub>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<4x768xf16, #ub>) outs(%we : tensor<4x768xf32, #ub>) {
  ^bb0(%p: f16, %t: f32):
    %u = arith.extf %p : f16 to f32
    linalg.yield %u : f32
  } -> tensor<4x768xf32, #ub>
  %qe = tensor.empty() : tensor<4x768xf32, #ub>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<4x768xf32, #ub>) outs(%qe : tensor<4x768xf32, #ub>) {
  ^bb0(%p: f32, %t: f32):
    %u = arith.mulf %p, %p : f32
    linalg.yield %u : f32
  } -> tensor<4x768xf32, #ub>
  %r = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%q : tensor<4x768xf32, #ub>) outs(%f : tensor<4xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32, #ub>
  tile.store %r, %y[] map affine_map<(d0) -> (d0)> : tensor<4xf32, #ub>, memref<4xf32, #gm>
  tile.return
}

// Five elements of 197 fill no chunk: they are reduced alone, and so are squares made first.
// CHECK-LABEL: tile.kernel @rest
// CHECK:         arith.maximumf
// CHECK:         %[[W:.*]] = tensor.empty() : tensor<5xf32>
// CHECK:         %[[I:.*]] = linalg.generic {{.*}} (d0, (d1 + 192))>, {{.*}} ins(%{{.*}}, %[[W]] : {{.*}}) outs(%{{.*}} : tensor<4xf32
// CHECK:         ins(%{{.*}} : tensor<4x1x64xf32, {{.*}}>) outs(%[[I]] :
tile.kernel @rest(%x: memref<4x197xf32, #gm>, %y: memref<4xf32, #gm>) {
  %0 = tile.load %x[] map #id : memref<4x197xf32, #gm> -> tensor<4x197xf32, #ub>
  %c = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4xf32, #ub>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32, #ub>) -> tensor<4xf32, #ub>
  %r = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<4x197xf32, #ub>) outs(%f : tensor<4xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.maximumf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32, #ub>
  tile.store %r, %y[] map affine_map<(d0) -> (d0)> : tensor<4xf32, #ub>, memref<4xf32, #gm>
  tile.return
}

// CHECK-LABEL: tile.kernel @rest_of_squares
// CHECK:         outs(%{{.*}} : tensor<4x197xf32
// CHECK:         arith.mulf
// CHECK:         (d0, (d1 + 192))>
tile.kernel @rest_of_squares(%x: memref<4x197xf32, #gm>, %y: memref<4xf32, #gm>) {
  %0 = tile.load %x[] map #id : memref<4x197xf32, #gm> -> tensor<4x197xf32, #ub>
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32, #ub>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32, #ub>) -> tensor<4xf32, #ub>
  %qe = tensor.empty() : tensor<4x197xf32, #ub>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<4x197xf32, #ub>) outs(%qe : tensor<4x197xf32, #ub>) {
  ^bb0(%p: f32, %t: f32):
    %u = arith.mulf %p, %p : f32
    linalg.yield %u : f32
  } -> tensor<4x197xf32, #ub>
  %r = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%q : tensor<4x197xf32, #ub>) outs(%f : tensor<4xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32, #ub>
  tile.store %r, %y[] map affine_map<(d0) -> (d0)> : tensor<4xf32, #ub>, memref<4xf32, #gm>
  tile.return
}

// Too short to fold: a cast still goes, and a row of one step stays as it is.
// CHECK-LABEL: tile.kernel @short
// CHECK:         %[[X:.*]] = tile.load
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4x64xf16, {{.*}}>) outs(%{{.*}} : tensor<4xf32,
// CHECK:           arith.extf
// CHECK:         tile.store %[[R]]
tile.kernel @short(%x: memref<4x64xf16, #gm>, %y: memref<4xf32, #gm>) {
  %0 = tile.load %x[] map #id : memref<4x64xf16, #gm> -> tensor<4x64xf16, #ub>
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32, #ub>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32, #ub>) -> tensor<4xf32, #ub>
  %we = tensor.empty() : tensor<4x64xf32, #ub>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<4x64xf16, #ub>) outs(%we : tensor<4x64xf32, #ub>) {
  ^bb0(%p: f16, %t: f32):
    %u = arith.extf %p : f16 to f32
    linalg.yield %u : f32
  } -> tensor<4x64xf32, #ub>
  %r = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%w : tensor<4x64xf32, #ub>) outs(%f : tensor<4xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32, #ub>
  tile.store %r, %y[] map affine_map<(d0) -> (d0)> : tensor<4xf32, #ub>, memref<4xf32, #gm>
  tile.return
}

// CHECK-LABEL: tile.kernel @alone
// CHECK-NOT:     tensor<4x1x
// CHECK:         tile.return
tile.kernel @alone(%x: memref<4x64xf32, #gm>, %y: memref<4xf32, #gm>) {
  %0 = tile.load %x[] map #id : memref<4x64xf32, #gm> -> tensor<4x64xf32, #ub>
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32, #ub>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32, #ub>) -> tensor<4xf32, #ub>
  %r = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<4x64xf32, #ub>) outs(%f : tensor<4xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32, #ub>
  tile.store %r, %y[] map affine_map<(d0) -> (d0)> : tensor<4xf32, #ub>, memref<4xf32, #gm>
  tile.return
}

// Along an outer dim there are no lanes to fold, but the cast goes.
// CHECK-LABEL: tile.kernel @outer
// CHECK:         %[[X:.*]] = tile.load
// CHECK-NOT:     tensor<4x64xf32
// CHECK:         linalg.generic {{.*}} ins(%[[X]] : tensor<4x64xf16, {{.*}}>) outs(%{{.*}} : tensor<64xf32,
// CHECK:           arith.extf
// CHECK-NEXT:      arith.addf
tile.kernel @outer(%x: memref<4x64xf16, #gm>, %y: memref<64xf32, #gm>) {
  %0 = tile.load %x[] map #id : memref<4x64xf16, #gm> -> tensor<4x64xf16, #ub>
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32, #ub>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<64xf32, #ub>) -> tensor<64xf32, #ub>
  %we = tensor.empty() : tensor<4x64xf32, #ub>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<4x64xf16, #ub>) outs(%we : tensor<4x64xf32, #ub>) {
  ^bb0(%p: f16, %t: f32):
    %u = arith.extf %p : f16 to f32
    linalg.yield %u : f32
  } -> tensor<4x64xf32, #ub>
  %r = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
      ins(%w : tensor<4x64xf32, #ub>) outs(%f : tensor<64xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<64xf32, #ub>
  tile.store %r, %y[] map affine_map<(d0) -> (d0)> : tensor<64xf32, #ub>, memref<64xf32, #gm>
  tile.return
}
