// How long parser, passes, verifier and printer take.

// RUN: npu-opt %s -o /dev/null --pass-pipeline='builtin.module(cse,func.func(canonicalize,cse),cse)' --mlir-timing 2>&1 \
// RUN:   | filecheck %s
// RUN: npu-opt %s -o /dev/null --cse --canonicalize --cse --mlir-timing --mlir-timing-display=list 2>&1 \
// RUN:   | filecheck %s --check-prefix=LIST
// RUN: not npu-opt %s -o /dev/null --cse --mlir-timing --mlir-timing-display=graph 2>&1 | filecheck %s --check-prefix=BAD
// RUN: npu-opt %s -o /dev/null --cse --mlir-timing --mlir-output-format=json --mlir-disable-threading 2> %t.json
// RUN: %python -m json.tool %t.json > /dev/null
// RUN: filecheck %s --check-prefix=JSON < %t.json
// RUN: npu-opt %s -o /dev/null --cse --mlir-timing --mlir-timing-display=list --mlir-output-format=json 2>&1 \
// RUN:   | filecheck %s --check-prefix=JSONLIST
// RUN: not npu-opt %s --cse --mlir-output-format=xml 2>&1 | filecheck %s --check-prefix=XML
// A failure is timed as well.
// RUN: not npu-opt %s --load-pass-plugin %inputs/test_passes.py --test-break-type --mlir-timing 2>&1 \
// RUN:   | filecheck %s --check-prefix=FAILED

// BAD: error: --mlir-timing-display: expected one of 'list', 'tree', got 'graph'

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

// JSON:      {{^}}[
// JSON-NEXT: {"wall": {"duration": {{[0-9.]+}}, "percentage": {{[0-9.]+}}}, "name": "Parser", "passes": []},
// JSON:      "name": "cse", "passes": [{"wall": {{.*}}, "name": "(V) Verifier", "passes": []}]},
// JSON:      {"wall": {"duration": {{[0-9.]+}}, "percentage": 100.0}, "name": "Total"}
// JSON-NEXT: ]
// JSONLIST:     {"wall": {{.*}}, "name": "Parser"},
// JSONLIST:     "name": "Total"}
// XML: error: --mlir-output-format: expected one of 'text', 'json', got 'xml'

// FAILED:     test-break-type
// FAILED:     Total

func.func @f(%a: i32, %b: i32) -> i32 {
  %d = arith.muli %a, %b : i32
  func.return %d : i32
}
func.func @g() {
  func.return
}
