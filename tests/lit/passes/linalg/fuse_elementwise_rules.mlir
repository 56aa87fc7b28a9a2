// Each rule of the pass alone: what is fused, then what stays apart.
// RUN: npu-opt %s --linalg-fuse-elementwise --split-input-file | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#swapped = affine_map<(d0, d1) -> (d1, d0)>

// The consumer may read through a permutation of its loops.
// CHECK-LABEL: func.func @permuted_read
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], {{.*}} ins(%x : tensor<8x4xf32>) outs(%{{.*}} : tensor<4x8xf32>)
// CHECK:           math.exp
// CHECK:           math.sqrt
// CHECK-NOT:     linalg.generic
func.func @permuted_read(%x: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %e0 = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%e0 : tensor<8x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#swapped, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<8x4xf32>) outs(%e1 : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.sqrt %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#swapped = affine_map<(d0, d1) -> (d1, d0)>

// One consumer may read it twice, also through other maps; what both read is one operand.
// CHECK-LABEL: func.func @read_twice
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], {{.*}} ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>)
// CHECK-COUNT-2:   math.exp
// CHECK:           arith.addf
// CHECK-NOT:     linalg.generic
func.func @read_twice(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #swapped, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %0, %x : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    %t = arith.addf %s, %r : f32
    linalg.yield %t : f32
  } -> tensor<4x4xf32>
  func.return %1 : tensor<4x4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Only broadcasts go into reductions: other work would be done by the reduction, which the cube can't.
// CHECK-LABEL: func.func @into_reduction
// CHECK:         math.exp
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.addf
func.func @into_reduction(%x: tensor<4x8xf32>, %acc: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<4x8xf32>) outs(%acc : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

#d = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0) -> (d0)>

// A reduction is no producer.
// CHECK-LABEL: func.func @from_reduction
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @from_reduction(%x: tensor<4x8xf32>, %acc: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [#d, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%acc : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// A producer that reads its destination stays, and so does one whose result is the destination that the consumer reads.
// CHECK-LABEL: func.func @destinations
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @destinations(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%1 : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  func.return %2 : tensor<8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// A body that computes with positions stays: they are those of its own loops.
// CHECK-LABEL: func.func @positions
// CHECK:         linalg.index
// CHECK:         linalg.yield
// CHECK:         math.exp
func.func @positions() -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<8xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %s = arith.sitofp %j : i32 to f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  func.return %1 : tensor<8xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#swapped = affine_map<(d0, d1) -> (d1, d0)>

// A producer that permutes what it writes stays.
// CHECK-LABEL: func.func @permuted_write
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @permuted_write(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #swapped], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<8x4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  func.return %1 : tensor<8x4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// A producer with two results stays.
// CHECK-LABEL: func.func @two_results
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @two_results(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e, %e : tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32, %q: f32):
    %s = math.exp %p : f32
    linalg.yield %s, %p : f32, f32
  } -> (tensor<8xf32>, tensor<8xf32>)
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0#0 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.sqrt %p : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  func.return %1, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#left = affine_map<(d0, d1, d2) -> (d0, d2)>
#right = affine_map<(d0, d1, d2) -> (d2, d1)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>

// Two products keep an epilogue each: the relu of the first stays apart from the sum with the second.
// CHECK-LABEL: func.func @two_products
// CHECK:         arith.mulf
// CHECK:         arith.maximumf
// CHECK-NEXT:    linalg.yield
// CHECK:         arith.mulf
// CHECK:         linalg.generic
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.addf
func.func @two_products(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>, %acc: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %zero = arith.constant 0.0 : f32
  %0 = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x8xf32>, tensor<8x4xf32>) outs(%acc : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.maximumf %p, %zero : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x8xf32>, tensor<8x4xf32>) outs(%acc : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%1, %2 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  func.return %3 : tensor<4x4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#left = affine_map<(d0, d1, d2) -> (d0, d2)>
#right = affine_map<(d0, d1, d2) -> (d2, d1)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>

// Of two products with epilogues of their own, the later takes the sum in: the first hands over its f16.
// CHECK-LABEL: func.func @later_product
// CHECK:         %[[FIRST:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<4x4xf32>) outs(%{{.*}} : tensor<4x4xf16>)
// CHECK:         linalg.generic {{.*}} ins(%[[FIRST]], %{{.*}} : tensor<4x4xf16>, tensor<4x4xf32>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.truncf
// CHECK-NEXT:      arith.addf
func.func @later_product(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>, %acc: tensor<4x4xf32>) -> tensor<4x4xf16> {
  %e = tensor.empty() : tensor<4x4xf16>
  %0 = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x8xf32>, tensor<8x4xf32>) outs(%acc : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf16>) {
  ^bb0(%p: f32, %o: f16):
    %s = arith.truncf %p : f32 to f16
    linalg.yield %s : f16
  } -> tensor<4x4xf16>
  %2 = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x8xf32>, tensor<8x4xf32>) outs(%acc : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<4x4xf32>) outs(%e : tensor<4x4xf16>) {
  ^bb0(%p: f32, %o: f16):
    %s = arith.truncf %p : f32 to f16
    linalg.yield %s : f16
  } -> tensor<4x4xf16>
  %4 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%1, %3 : tensor<4x4xf16>, tensor<4x4xf16>) outs(%e : tensor<4x4xf16>) {
  ^bb0(%p: f16, %q: f16, %o: f16):
    %s = arith.addf %p, %q : f16
    linalg.yield %s : f16
  } -> tensor<4x4xf16>
  func.return %4 : tensor<4x4xf16>
}

// -----

// Rows of a table are moved, not computed: neither what makes the indices nor what reads the rows goes into them.
// CHECK-LABEL: func.func @rows
// CHECK-COUNT-3: linalg.generic
func.func @rows(%t: tensor<8xf32>, %i: tensor<4xi32>) -> tensor<4xf32> {
  %e0 = tensor.empty() : tensor<4xi32>
  %j = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%i : tensor<4xi32>) outs(%e0 : tensor<4xi32>) {
  ^bb0(%p: i32, %o: i32):
    %s = arith.addi %p, %p : i32
    linalg.yield %s : i32
  } -> tensor<4xi32>
  %e1 = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%j : tensor<4xi32>) outs(%e1 : tensor<4xf32>) {
  ^bb0(%p: i32, %o: f32):
    %at = arith.index_cast %p : i32 to index
    %s = tensor.extract %t[%at] : tensor<8xf32>
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %e2 = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%r : tensor<4xf32>) outs(%e2 : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
