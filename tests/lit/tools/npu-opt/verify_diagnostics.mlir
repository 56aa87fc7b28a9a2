// Messages are compared with the comments that expect them.

// RUN: npu-opt %s --verify-diagnostics --split-input-file --load-pass-plugin %inputs/test_passes.py --test-report \
// RUN:   | filecheck %s --check-prefix=OUT
// RUN: npu-opt %s -verify-diagnostics=all -split-input-file --load-pass-plugin %inputs/test_passes.py --test-report -o %t
// RUN: filecheck %s --check-prefix=OUT < %t
// RUN: not npu-opt %s --verify-diagnostics=some 2>&1 | filecheck %s --check-prefix=BAD
// BAD: error: --verify-diagnostics: expected one of 'all', 'only-expected', got 'some'

// The note without a place of its own ("in pass ...") need not be expected.
// expected-note @+1 {{in this function}}
func.func @report(%a: i32) -> i32 {
  // expected-remark @below {{a sum is fine}}
  %0 = arith.addi %a, %a : i32
  %1 = arith.muli %0, %a : i32 // expected-warning {{products are slow}}
  func.return %1 : i32
}
// OUT: func.func @report

// -----

// expected-note @below {{in this function}}
func.func @square(%a: i32) -> i32 {
  // expected-warning-re @+3 {{products are {{s[a-z]+}}}}
  // expected-error @+2 {{a square is too slow}}
  // expected-note @+1 {{in pass 'test-report'}}
  %1 = arith.muli %a, %a : i32
  func.return %1 : i32
}

// -----

func.func @type(%a: i32) -> i64 {
  func.return %a : i64
  // expected-error @above {{operand is used with type i64}}
}

// -----

func.func @unknown(%a: i32) {
  // expected-error @+1 {{unknown operation 'arith.mull'}}
  %0 = arith.mull %a, %a : i32
  func.return
}
