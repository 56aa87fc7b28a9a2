// RUN: npu-opt %s --cse | filecheck %s

#id = affine_map<(d0) -> (d0)>

// Chains of equal ops become one; where they come from doesn't count, other attributes do.
// CHECK:      func.func @scalars(
// CHECK-NEXT:   %0 = arith.addi %a, %b {npu.node = "first"}
// CHECK-NEXT:   %1 = arith.muli %0, %a
// CHECK-NEXT:   %2 = arith.muli %0, %a {other = 1 : i32}
// CHECK-NEXT:   func.return %1, %1, %2
func.func @scalars(%a: i32, %b: i32) -> (i32, i32, i32) {
  %0 = arith.addi %a, %b {npu.node = "first"} : i32
  %1 = arith.muli %0, %a : i32
  %2 = arith.addi %a, %b {npu.node = "second"} : i32
  %3 = arith.muli %2, %a : i32
  %4 = arith.muli %2, %a {other = 1 : i32} : i32
  func.return %1, %3, %4 : i32, i32, i32
}

// Destinations are never shared: bufferization writes into them.
// CHECK:      func.func @destinations
// CHECK:      tensor.empty
// CHECK:      tensor.empty
// CHECK:      linalg.fill
// CHECK:      linalg.fill
func.func @destinations() -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4xf32>
  %1 = tensor.empty() : tensor<4xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%1 : tensor<4xf32>) -> tensor<4xf32>
  func.return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// Ops with regions are equal if their regions are.
// CHECK:      func.func @regions(
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT:  linalg.generic
// CHECK:      func.return %0, %0, %1
func.func @regions(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A value of an outer block stands in for one in a loop, not the other way round; reads are left alone.
// CHECK:      func.func @scopes
// CHECK:      %0 = arith.muli %n, %n
// CHECK:      scf.for
// CHECK-NEXT:   %1 = arith.addi %n, %n
// CHECK-NEXT:   memref.store %x, %m[%0, %1]
// CHECK:      %2 = arith.addi %n, %n
// CHECK-NEXT: memref.load
// CHECK-NEXT: memref.store
// CHECK-NEXT: memref.load
func.func @scopes(%n: index, %x: f32, %m: memref<8x8xf32>) -> (f32, f32, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = arith.muli %n, %n : index
  scf.for %i = %c0 to %n step %c1 {
    %1 = arith.muli %n, %n : index
    %2 = arith.addi %n, %n : index
    memref.store %x, %m[%1, %2] : memref<8x8xf32>
  }
  %3 = arith.addi %n, %n : index
  %4 = memref.load %m[%3, %3] : memref<8x8xf32>
  memref.store %x, %m[%3, %3] : memref<8x8xf32>
  %5 = memref.load %m[%3, %3] : memref<8x8xf32>
  func.return %4, %5, %0 : f32, f32, index
}
