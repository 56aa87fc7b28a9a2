// RUN: npu-opt %s --tile-plan-memory --split-input-file --verify-diagnostics

#gm = #tile.space<gm>
builtin.module attributes {npu.target = "toy"} {
func.func @main(%s: tensor<8xf32>, %all: tensor<5x8xf32>) -> tensor<5x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %y = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %all) -> (tensor<5x8xf32>) {
    %r = tile.launch @copy(%s) : (tensor<8xf32>) -> tensor<8xf32>
    // expected-error @+1 {{a loop can only put together tensors without contents, row by row}}
    %b = tensor.insert_slice %r into %a[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<5x8xf32>
    scf.yield %b : tensor<5x8xf32>
  }
  func.return %y : tensor<5x8xf32>
}
tile.kernel @copy(%X: memref<8xf32, #gm>, %Y: memref<8xf32, #gm>) {
  tile.return
}
}

// -----

builtin.module attributes {npu.target = "toy"} {
func.func @main(%s: tensor<8xf32>) -> tensor<5x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %e = tensor.empty() : tensor<5x8xf32>
  %y = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %e) -> (tensor<5x8xf32>) {
    // expected-error @+1 {{what a loop puts together has to come from a launch: tile-copy-for-loops}}
    %b = tensor.insert_slice %s into %a[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<5x8xf32>
    scf.yield %b : tensor<5x8xf32>
  }
  func.return %y : tensor<5x8xf32>
}
}

// -----

#gm = #tile.space<gm>
builtin.module attributes {npu.target = "toy"} {
func.func @main(%s: tensor<8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %e = tensor.empty() : tensor<5x8xf32>
  %q, %y = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %s, %a = %e) -> (tensor<8xf32>, tensor<5x8xf32>) {
    %r = tile.launch @copy(%h) : (tensor<8xf32>) -> tensor<8xf32>
    // expected-error @+1 {{a result that is carried on has to be put into a place of its own}}
    %b = tensor.insert_slice %r into %a[%c0, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<5x8xf32>
    scf.yield %r, %b : tensor<8xf32>, tensor<5x8xf32>
  }
  func.return %q, %y : tensor<8xf32>, tensor<5x8xf32>
}
tile.kernel @copy(%X: memref<8xf32, #gm>, %Y: memref<8xf32, #gm>) {
  tile.return
}
}
