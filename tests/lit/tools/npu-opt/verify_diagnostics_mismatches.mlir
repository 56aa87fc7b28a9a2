// What --verify-diagnostics says when messages and expectations differ.

// RUN: not npu-opt %s --verify-diagnostics --split-input-file --load-pass-plugin %inputs/test_passes.py --test-report \
// RUN:   >/dev/null 2> %t
// RUN: filecheck %s < %t
// RUN: not npu-opt %s --verify-diagnostics=only-expected --split-input-file \
// RUN:   --load-pass-plugin %inputs/test_passes.py --test-report >/dev/null 2> %t
// RUN: filecheck %s --check-prefix=ONLY < %t
// ONLY-NOT: unexpected

// CHECK:      mismatches.mlir:[[# @LINE + 4]]:3: error: unexpected remark: a sum is fine
// CHECK-NEXT:   %0 = arith.addi
// CHECK-NEXT:   ^
func.func @unexpected(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  func.return %0 : i32
}

// -----

// Another kind, another line, another text.
// CHECK:      mismatches.mlir:[[# @LINE + 7]]:3: error: unexpected remark: a sum is fine
// CHECK:      mismatches.mlir:[[# @LINE + 5]]:6: error: expected warning "a sum is fine" was not produced
// CHECK-NEXT:   // expected-warning
// CHECK-NEXT:      ^
// ONLY:       error: expected warning "a sum is fine" was not produced
func.func @kind(%a: i32) -> i32 {
  // expected-warning @+1 {{a sum is fine}}
  %0 = arith.addi %a, %a : i32
  func.return %0 : i32
}

// -----

// CHECK:      error: unexpected remark: a sum is fine
// CHECK:      mismatches.mlir:[[# @LINE + 2]]:47: error: expected remark "a sum is fine" was not produced
func.func @line(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32             // expected-remark @+1 {{a sum is fine}}
  func.return %0 : i32
}

// -----

// CHECK:      error: unexpected remark: a sum is fine
// CHECK:      error: expected remark "{{.*}}a product{{.*}} is fine" was not produced
func.func @text(%a: i32) -> i32 {
  // expected-remark-re @+1 {{{{a product|a quotient}} is fine}}
  %0 = arith.addi %a, %a : i32
  func.return %0 : i32
}

// -----

// CHECK:      mismatches.mlir:[[# @LINE + 2]]:6: error: cannot read this expectation; write 'expected-error @+1
// ONLY:       error: cannot read this expectation
  // expected-error {{no end}
func.func private @malformed()

// -----

// CHECK:      mismatches.mlir:[[# @LINE + 1]]:6: error: this is not a regular expression: missing )
  // expected-error-re @+1 {{a {{(}} b}}
func.func private @pattern()

// -----

// An expected message about no line of the file.
// CHECK:      error: expected error "nowhere" was not produced
// expected-error @unknown {{nowhere}}
func.func private @unknown()
