// RUN: npu-opt %s --dce | filecheck %s

#id = affine_map<(d0) -> (d0)>

// Dead chains of tensor and linalg ops go, however long.
// CHECK:      func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   func.return %x
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%1 : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  func.return %x : tensor<4xf32>
}

// What writes memory stays, and so does what it needs.
// CHECK:      func.func @memory(%m: memref<4xf32>) {
// CHECK-NEXT:   %zero = arith.constant
// CHECK-NEXT:   linalg.fill ins(%zero : f32) outs(%m : memref<4xf32>)
// CHECK-NEXT:   func.return
func.func @memory(%m: memref<4xf32>) {
  %i = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %read = memref.load %m[%i] : memref<4xf32>
  linalg.fill ins(%zero : f32) outs(%m : memref<4xf32>)
  func.return
}

// A loop is dead if everything in it is; dead ops within a living loop go alone.
// CHECK:      func.func @loops(
// CHECK-NEXT:   %c0 = arith.constant 0
// CHECK-NEXT:   %c1 = arith.constant 1
// CHECK-NEXT:   scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:     %v = arith.constant
// CHECK-NEXT:     memref.store
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
func.func @loops(%n: index, %x: tensor<4xf32>, %m: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<4xf32>) {
    %u = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%t : tensor<4xf32>) {
    ^bb0(%a: f32):
      linalg.yield %a : f32
    } -> tensor<4xf32>
    scf.yield %u : tensor<4xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %d = arith.addi %i, %i : index
    %v = arith.constant 1.0 : f32
    memref.store %v, %m[%i] : memref<4xf32>
  }
  func.return
}

// Calls have unknown effects.
// CHECK-LABEL: func.func @calls
// CHECK-NEXT:    func.call @loops
func.func private @declared() -> f32
func.func @calls(%n: index, %x: tensor<4xf32>, %m: memref<4xf32>) {
  func.call @loops(%n, %x, %m) : (index, tensor<4xf32>, memref<4xf32>) -> ()
  func.return
}
