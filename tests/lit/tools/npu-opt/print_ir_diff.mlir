// What each pass changed. Values keep their names: lines that a pass didn't touch are equal.

// RUN: npu-opt %s -o /dev/null --canonicalize --cse --dce --mlir-print-ir-diff 2>&1 | filecheck %s
// RUN: env NO_COLOR= FORCE_COLOR=1 npu-opt %s -o /dev/null --canonicalize --mlir-print-ir-diff 2>&1 \
// RUN:   | filecheck %s --check-prefix=COLOUR
// RUN: not npu-opt %s --mlir-print-ir-diff=x 2>&1 | filecheck %s --check-prefix=BAD

// BAD: error: --mlir-print-ir-diff: expected true or false, got 'x'

// CHECK:      {{^}}--- 'builtin.module' operation, before canonicalize
// CHECK-NEXT: {{^}}+++ 'builtin.module' operation, after canonicalize
// CHECK-NEXT: @@ -1,8 +1,6 @@
// CHECK-NEXT:  builtin.module {
// CHECK-NEXT:    func.func @f(%0: i32, %1: i32) -> i32 {
// CHECK-NEXT: {{^}}-    %2 = arith.constant 0 : i32
// CHECK-NEXT: {{^}}-    %3 = arith.addi %0, %2 : i32
// CHECK-NEXT: {{^}}-    %4 = arith.muli %3, %1 : i32
// CHECK-NEXT: {{^}}+    %4 = arith.muli %0, %1 : i32
// CHECK-NEXT:      %5 = arith.addi %4, %1 : i32
// CHECK-NEXT:      func.return %5 : i32
// CHECK-NEXT:    }
// CHECK-NOT:  ---

// COLOUR: [1m--- 'builtin.module'
// COLOUR: [36m@@
// COLOUR: [31m-    %2 = arith.constant 0 : i32
// COLOUR: [32m+    %4 = arith.muli

func.func @f(%0: i32, %1: i32) -> i32 {
  %2 = arith.constant 0 : i32
  %3 = arith.addi %0, %2 : i32
  %4 = arith.muli %3, %1 : i32
  %5 = arith.addi %4, %1 : i32
  func.return %5 : i32
}
