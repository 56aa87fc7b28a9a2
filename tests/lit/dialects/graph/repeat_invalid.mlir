// RUN: not npu-opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: error: 'graph.repeat' op 0 runs: it has to run at least once
func.func private @step(%s: tensor<8xf32>) -> tensor<8xf32> {
  func.return %s : tensor<8xf32>
}
func.func @main(%s: tensor<8xf32>) {
  %r = graph.repeat @step 0 times carry(%s : tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: error: 'graph.repeat' op 5 runs, and a leading dim of another size: tensor<4x8xf32>
func.func private @step(%x: tensor<8xf32>) -> tensor<8xf32> {
  func.return %x : tensor<8xf32>
}
func.func @main(%xs: tensor<4x8xf32>) {
  %r = graph.repeat @step 5 times each(%xs : tensor<4x8xf32>) -> tensor<5x8xf32>
  func.return
}

// -----

// CHECK: error: 'graph.repeat' op the operands are not what '@step' takes
func.func private @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @main(%s: tensor<8xf32>) {
  %r = graph.repeat @step 5 times carry(%s : tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: error: 'graph.repeat' op the results are not what '@step' returns
func.func private @step(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %p = graph.slice %x offsets [0] sizes [4] strides [1] : (tensor<8xf32>) -> tensor<4xf32>
  func.return %x, %p : tensor<8xf32>, tensor<4xf32>
}
func.func @main(%s: tensor<8xf32>) {
  %r, %t = graph.repeat @step 5 times carry(%s : tensor<8xf32>) -> tensor<8xf32>, tensor<5x8xf32>
  func.return
}

// -----

// CHECK: error: 'graph.repeat' op the first argument of '@step' is not an integer of rank 0
func.func private @step(%s: tensor<8xf32>) -> tensor<8xf32> {
  func.return %s : tensor<8xf32>
}
func.func @main(%s: tensor<8xf32>) {
  %r = graph.repeat numbered @step 5 times carry(%s : tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: error: 'graph.repeat' op '@nothing' is not a function of the module
func.func @main(%s: tensor<8xf32>) {
  %r = graph.repeat @nothing 5 times carry(%s : tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: error: 'graph.repeat' op 2 directions for 1 values
func.func private @step(%x: tensor<8xf32>) -> tensor<8xf32> {
  func.return %x : tensor<8xf32>
}
func.func @main(%xs: tensor<5x8xf32>) {
  %r = graph.repeat @step 5 times each(%xs : tensor<5x8xf32>) backwards_each [0, 1] -> tensor<5x8xf32>
  func.return
}
