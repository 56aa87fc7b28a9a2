// Each pass is checked on random inputs at the module's level; what declares a tolerance is held to it.

// RUN: npu-opt --split-input-file %s --canonicalize --cse --check-equivalence | filecheck %s
// RUN: npu-opt --split-input-file %s --check-equivalence=7 --canonicalize | filecheck %s --check-prefix=SEED
// RUN: not npu-opt %s --cse --check-equivalence=x 2>&1 | filecheck %s --check-prefix=BAD

// BAD: error: --check-equivalence: expected an integer, got 'x'

// CHECK: @scalars
// SEED: @scalars
func.func @scalars(%a: i32, %i: index) -> (i32, index) {
  %zero = arith.constant 0 : i32
  %b = arith.addi %a, %zero : i32
  %j = arith.addi %i, %i : index
  func.return %b, %j : i32, index
}

// A function that takes other sizes than its type says, one that writes, and one that only is declared.
// CHECK: @dynamic
// CHECK: @writes
func.func @dynamic(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = arith.addf %x, %y : tensor<?x4xf32>
  %1 = arith.addf %x, %y : tensor<?x4xf32>
  %2 = arith.mulf %0, %1 : tensor<?x4xf32>
  func.return %2 : tensor<?x4xf32>
}
func.func @writes(%m: memref<4xf32>, %i: index) {
  %x = memref.load %m[%i] : memref<4xf32>
  %y = arith.addf %x, %x : f32
  memref.store %y, %m[%i] : memref<4xf32>
  func.return
}
func.func private @declared(tensor<4xf32>)

// -----

// A kernel that nothing launches runs on operands of its own.
// CHECK: tile.kernel @alone
tile.kernel @alone(%a: memref<4x8xf32, #tile.space<gm>>, %y: memref<4x8xf32, #tile.space<gm>>) {
  %t = tile.load %a[] map affine_map<(d0, d1) -> (d0, d1)> : memref<4x8xf32, #tile.space<gm>> -> tensor<4x8xf32, #tile.space<ub>>
  tile.store %t, %y[] map affine_map<(d0, d1) -> (d0, d1)> : tensor<4x8xf32, #tile.space<ub>>, memref<4x8xf32, #tile.space<gm>>
  tile.return
}

// -----

// Weights without a file are random.
// CHECK: graph.weight
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x2xf32> {
  %w = graph.weight @w : tensor<8x2xf32>
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}
