// Dialects defined in IRDL.

// RUN: npu-opt %s --irdl-file=%inputs/cmath.irdl.mlir --cse --split-input-file --verify-diagnostics | filecheck %s
// RUN: not npu-opt %s --irdl-file=%t.missing 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not npu-opt %s --irdl-file=%inputs/two_functions.mlir 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: sed 's/@cmath/@arith/' %inputs/cmath.irdl.mlir > %t.arith.mlir
// RUN: not npu-opt %s --irdl-file=%t.arith.mlir 2>&1 | filecheck %s --check-prefix=TWICE
// MISSING: error: cannot read '{{.*}}.missing': no such file or directory
// OTHER: two_functions.mlir:1:1: error: unknown dialect 'func' of operation 'func.func'
// TWICE: error: --irdl-file: the dialect 'arith' of '{{.*}}.arith.mlir' exists already

// CHECK: "cmath.mul"(%a, %a) : (f32, f32) -> f32
func.func @f(%a: f32) -> f32 {
  %0 = "cmath.mul"(%a, %a) : (f32, f32) -> f32
  func.return %0 : f32
}

// -----

func.func @g(%a: f32) -> f64 {
  // expected-error @+1 {{attribute f32 expected}}
  %0 = "cmath.mul"(%a, %a) : (f32, f32) -> f64
  func.return %0 : f64
}
