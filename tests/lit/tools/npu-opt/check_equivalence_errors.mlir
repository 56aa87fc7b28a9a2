// What --check-equivalence says about modules that cannot run.

// RUN: not npu-opt --split-input-file --allow-unregistered-dialect %s --cse --check-equivalence 2>&1 >/dev/null \
// RUN:   | filecheck %s

// CHECK:      check_equivalence_errors.mlir:[[# @LINE + 4]]:3: error: the module cannot run before pass 'cse': 'test.op' cannot be run: it has no interpretation
// CHECK-NEXT:   %0 = "test.op"
// CHECK-NEXT:   ^
func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "test.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK: error: the module cannot run before pass 'cse': cannot make random inputs of '@other': it takes vector<4xf32>
func.func @other(%x: vector<4xf32>) {
  func.return
}

// -----

// CHECK: error: the module cannot run before pass 'cse': running it fails with IndexError
func.func @outside(%m: memref<4xf32>) -> f32 {
  %i = arith.constant 9 : index
  %0 = memref.load %m[%i] : memref<4xf32>
  func.return %0 : f32
}

// -----

// CHECK: error: --check-equivalence: the module has no function or kernel to run
func.func private @declared(f32)

// CHECK-NOT: Traceback
