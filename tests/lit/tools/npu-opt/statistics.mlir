// What passes count, and running only some of them or of their patterns.

// RUN: npu-opt %s -o /dev/null --pass-pipeline='builtin.module(func.func(cse,canonicalize),cse)' \
// RUN:   --mlir-pass-statistics 2>&1 | filecheck %s --check-prefix=PIPELINE
// RUN: npu-opt %s -o /dev/null --cse --canonicalize --cse --mlir-pass-statistics --mlir-pass-statistics-display=list \
// RUN:   2>&1 | filecheck %s --check-prefix=LIST
// RUN: not npu-opt %s --cse --mlir-pass-statistics-display=tree 2>&1 | filecheck %s --check-prefix=DISPLAY
// DISPLAY: error: --mlir-pass-statistics-display: expected one of 'list', 'pipeline', got 'tree'

// PIPELINE:      ... Pass statistics report ...
// PIPELINE:      {{^}}'func.func' Pipeline
// PIPELINE-NEXT: {{^}}  cse
// PIPELINE-NEXT: {{^}}    (S) 1 num-cse'd - Operations merged with an equal one
// PIPELINE-NEXT: {{^}}    (S) 0 ops-created - Operations that were not there before
// PIPELINE-NEXT: {{^}}    (S) 1 ops-erased - Operations that are not there any more
// PIPELINE-NEXT: {{^}}  canonicalize
// PIPELINE:      {{^}}cse

// LIST:      {{^}}canonicalize
// LIST:      {{^}}cse
// LIST-NEXT: {{^}}  (S) 1 num-cse'd
// LIST-NOT:  {{^}}cse

// Only the second of three passes; only the second attempt of a pattern.
// RUN: npu-opt %s --cse --canonicalize --cse --mlir-debug-counter=pass-execution-skip=1,pass-execution-count=1 \
// RUN:   --mlir-print-debug-counter --mlir-print-ir-after-all 2>&1 | filecheck %s --check-prefix=PASSES
// RUN: npu-opt %s --load-pass-plugin %inputs/test_passes.py --test-double --mlir-debug-counter=apply-pattern-skip=1 \
// RUN:   --mlir-debug-counter=apply-pattern-count=1 --mlir-print-debug-counter 2>&1 | filecheck %s --check-prefix=PATTERNS
// RUN: npu-opt %s --canonicalize --mlir-debug-counter=apply-pattern-count=0 | filecheck %s --check-prefix=NONE

// PASSES-NOT: IR Dump After Common
// PASSES:     IR Dump After Canonicalize
// PASSES-NOT: IR Dump After Common
// PASSES:     DebugCounter counters:
// PASSES:     pass-execution {{ *}}: {3,1,1}

// PATTERNS:      DebugCounter counters:
// PATTERNS-NEXT: apply-pattern {{ *}}: {7,1,1}
// PATTERNS:      %s = arith.muli %a, %b
// PATTERNS-NEXT: %s_1 = arith.addi %s, %s
// PATTERNS-NEXT: %t = arith.addi %a, %b

// NONE: arith.addi %d, %zero

// RUN: not npu-opt %s --cse --mlir-debug-counter=pass-execution=1 2>&1 | filecheck %s --check-prefix=FORM
// RUN: not npu-opt %s --cse --mlir-debug-counter=pass-skip=1 2>&1 | filecheck %s --check-prefix=COUNTER
// RUN: not npu-opt %s --cse --mlir-debug-counter=pass-execution-skip=one 2>&1 | filecheck %s --check-prefix=NUMBER
// FORM: error: --mlir-debug-counter: expected NAME-skip=N or NAME-count=N, got 'pass-execution=1'
// COUNTER: error: --mlir-debug-counter: no counter 'pass'; there are pass-execution, apply-pattern
// NUMBER: error: --mlir-debug-counter: expected a number after 'pass-execution-skip=', got 'one'

func.func @f(%a: i32, %b: i32) -> i32 {
  %s = arith.addi %a, %b : i32
  %t = arith.addi %a, %b : i32
  %d = arith.muli %s, %t : i32
  %zero = arith.constant 0 : i32
  %e = arith.addi %d, %zero : i32
  func.return %e : i32
}
