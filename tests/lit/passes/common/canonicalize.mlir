// RUN: npu-opt %s --canonicalize | filecheck %s

#id = affine_map<(d0) -> (d0)>

// Constants are folded and what they leave behind is erased, until nothing changes.
// CHECK:      func.func @fold(%x: i32) -> i32 {
// CHECK-NEXT:   %[[C:.*]] = arith.constant 7 : i32
// CHECK-NEXT:   %[[S:.*]] = arith.addi %x, %[[C]] {npu.node = "node"} : i32
// CHECK-NEXT:   func.return %[[S]] : i32
func.func @fold(%x: i32) -> i32 {
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c0 = arith.constant 0 : i32
  %0 = arith.muli %c2, %c2 : i32
  %1 = arith.addi %0, %c3 : i32
  %2 = arith.addi %x, %c0 : i32
  %3 = arith.addi %2, %1 {npu.node = "node"} : i32
  func.return %3 : i32
}

// A loop of one iteration is inlined; dead linalg ops are erased.
// CHECK:      func.func @loop(%m: memref<4xindex>) {
// CHECK-NEXT:   %[[C:.*]] = arith.constant 0 : index
// CHECK-NEXT:   memref.store %[[C]], %m[%[[C]]] : memref<4xindex>
// CHECK-NEXT:   func.return
func.func @loop(%m: memref<4xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    %e = tensor.empty() : tensor<4xf32>
    %g = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32):
      linalg.yield %a : f32
    } -> tensor<4xf32>
    memref.store %i, %m[%i] : memref<4xindex>
  }
  func.return
}

// A product with 1 is its operand, and a sum with -0.0. With 0.0 it is one where the operand can't be -0.0: behind a sum
// with 0.0 it can't.
// CHECK:      func.func @units(%x: f32) -> (f32, f32) {
// CHECK-NEXT:   %[[Z:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:   %[[S:.*]] = arith.addf %x, %[[Z]] : f32
// CHECK-NEXT:   %[[E:.*]] = math.exp %x : f32
// CHECK-NEXT:   func.return %[[S]], %[[E]] : f32, f32
func.func @units(%x: f32) -> (f32, f32) {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %minus = arith.constant -0.0 : f32
  %0 = arith.mulf %x, %one : f32
  %1 = arith.addf %minus, %0 : f32
  %2 = arith.addf %1, %zero : f32
  %3 = arith.addf %zero, %2 : f32
  %4 = math.exp %0 : f32
  %5 = arith.addf %4, %zero : f32
  func.return %3, %5 : f32, f32
}
