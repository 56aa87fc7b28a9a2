// RUN: npu-opt %s | filecheck %s --check-prefix=PLAIN
// RUN: npu-opt < %s | filecheck %s --check-prefix=PLAIN
// RUN: cat %s | npu-opt - | filecheck %s --check-prefix=PLAIN
// RUN: npu-opt %s --canonicalize --cse | filecheck %s --check-prefix=BOTH
// RUN: npu-opt --cse --canonicalize %s | filecheck %s --check-prefix=BOTH
// RUN: npu-opt %s --pass-pipeline='builtin.module(func.func(canonicalize, cse), dce)' | filecheck %s --check-prefix=BOTH
// RUN: npu-opt %s --pass-pipeline="builtin.module()" | filecheck %s --check-prefix=PLAIN
// RUN: npu-opt %s --cse --mlir-print-ir-before-all --mlir-print-ir-after-all 2>&1 | filecheck %s --check-prefix=DUMP
// RUN: npu-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: npu-opt %s --canonicalize --cse -o %t.mlir && filecheck %s --check-prefix=BOTH < %t.mlir
// RUN: npu-opt --list-passes | filecheck %s --check-prefix=LIST

func.func @f(%a: i32, %b: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %c = arith.addi %a, %zero : i32
  %d = arith.muli %a, %b : i32
  %e = arith.muli %a, %b : i32
  %g = arith.addi %d, %e : i32
  func.return %g : i32
}

// PLAIN:      func.func @f(%a: i32, %b: i32) -> i32 {
// PLAIN-NEXT:   %zero = arith.constant 0 : i32
// PLAIN-NEXT:   %c = arith.addi %a, %zero : i32
// PLAIN-NEXT:   %d = arith.muli
// PLAIN-NEXT:   %e = arith.muli

// BOTH:      func.func @f(%a: i32, %b: i32) -> i32 {
// BOTH-NEXT:   %d = arith.muli %a, %b : i32
// BOTH-NEXT:   %g = arith.addi %d, %d : i32
// BOTH-NEXT:   func.return %g : i32

// DUMP: // -----// IR Dump Before CommonSubexpressionElimination (cse) //----- //
// DUMP: arith.constant 0
// DUMP: // -----// IR Dump After CommonSubexpressionElimination (cse) //----- //
// DUMP: %d = arith.muli
// DUMP-NEXT: %g = arith.addi %d, %d

// GENERIC: "func.func"()

// LIST: canonicalize
// LIST-NEXT: Fold, apply the canonicalization patterns
