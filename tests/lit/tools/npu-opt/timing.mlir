// How long parser, passes, verifier and printer take.

// RUN: npu-opt %s -o /dev/null --pass-pipeline='builtin.module(cse,func.func(canonicalize,cse),cse)' --mlir-timing 2>&1 \
// RUN:   | filecheck %s
// RUN: npu-opt %s -o /dev/null --cse --canonicalize --cse --mlir-timing --mlir-timing-display=list 2>&1 \
// RUN:   | filecheck %s --check-prefix=LIST
// RUN: not npu-opt %s -o /dev/null --cse --mlir-timing --mlir-timing-display=graph 2>&1 | filecheck %s --check-prefix=BAD
// A failure is timed as well.
// RUN: not npu-opt %s --load-pass-plugin %inputs/test_passes.py --test-break-type --mlir-timing 2>&1 \
// RUN:   | filecheck %s --check-prefix=FAILED

// BAD: error: argument --mlir-timing-display: invalid choice: 'graph' (choose from 'list', 'tree')

// CHECK:      ===-------------------------------------------------------------------------===
// CHECK-NEXT:   ... Execution time report ...
// CHECK-NEXT: ===-------------------------------------------------------------------------===
// CHECK-NEXT:   Total Execution Time: {{[0-9.]+}} seconds
// CHECK:        ----Wall Time----  ----Name----
// CHECK-NEXT:   {{[0-9.]+ \( *[0-9.]+%\)}}  Parser
// CHECK-NEXT:   {{[0-9.]+ \( *[0-9.]+%\)}}  (V) Verifier
// CHECK-NEXT:   {{[0-9.]+ \( *[0-9.]+%\)}}  cse
// CHECK-NEXT:   {{[0-9.]+ \( *[0-9.]+%\)}}    (V) Verifier
// CHECK-NEXT:   {{[0-9.]+ \( *[0-9.]+%\)}}  'func.func' Pipeline
// CHECK-NEXT:   {{[0-9.]+ \( *[0-9.]+%\)}}    canonicalize
// CHECK-NEXT:   {{[0-9.]+ \( *[0-9.]+%\)}}      (V) Verifier
// CHECK-NEXT:   {{[0-9.]+ \( *[0-9.]+%\)}}    cse
// CHECK-NEXT:   {{[0-9.]+ \( *[0-9.]+%\)}}      (V) Verifier
// CHECK-NEXT:   {{[0-9.]+ \( *[0-9.]+%\)}}  cse
// CHECK-NEXT:   {{[0-9.]+ \( *[0-9.]+%\)}}    (V) Verifier
// CHECK-NEXT:   {{[0-9.]+ \( *[0-9.]+%\)}}  Output
// CHECK-NEXT:   {{[0-9.]+ \( *[0-9.]+%\)}}  Rest
// CHECK-NEXT:   {{[0-9.]+ \( *100.0%\)}}  Total

// LIST:       Total Execution Time
// LIST-DAG:   {{[0-9.]+ \( *[0-9.]+%\)}}  cse
// LIST-DAG:   {{[0-9.]+ \( *[0-9.]+%\)}}  canonicalize
// LIST-DAG:   {{[0-9.]+ \( *[0-9.]+%\)}}  Parser
// LIST:       Total

// FAILED:     test-break-type
// FAILED:     Total

func.func @f(%a: i32, %b: i32) -> i32 {
  %d = arith.muli %a, %b : i32
  func.return %d : i32
}
func.func @g() {
  func.return
}
