// One operation without a module around it, unknown dialects, and markers between parts.

// RUN: npu-opt %s --split-input-file --no-implicit-module --pass-pipeline='func.func(cse)' | filecheck %s
// RUN: npu-opt %s --split-input-file --no-implicit-module --cse | filecheck %s
// RUN: not npu-opt %inputs/two_functions.mlir --no-implicit-module 2>&1 | filecheck %s --check-prefix=TWO
// RUN: npu-opt %inputs/two_functions.mlir | filecheck %s --check-prefix=MODULE
// RUN: npu-opt %s --split-input-file --output-split-marker="// ====" | filecheck %s --check-prefix=MARKER
// RUN: sed 's/-----/+++++/' %s | npu-opt --split-input-file="// +++++" | filecheck %s --check-prefix=PARTS
// RUN: echo '"my.op"() : () -> ()' | npu-opt --allow-unregistered-dialect | filecheck %s --check-prefix=UNREGISTERED
// RUN: echo '"my.op"() : () -> ()' | not npu-opt 2>&1 | filecheck %s --check-prefix=REGISTERED
// RUN: echo '"my.op"() : () -> ()' | not npu-opt --allow-unregistered-dialect=false 2>&1 \
// RUN:   | filecheck %s --check-prefix=REGISTERED
// RUN: sed "s/^.. -----/\/\/ ----/" %s | npu-opt --split-input-file 2>&1 | filecheck %s --check-prefix=NEAR
// RUN: not npu-opt %s --no-implicit-module=no 2>&1 | filecheck %s --check-prefix=BAD
// RUN: not npu-opt %s -o 2>&1 | filecheck %s --check-prefix=OUTPUT

// CHECK-NOT:  builtin.module
// CHECK:      func.func @f() {
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
// CHECK-NEXT: // -----
// CHECK-NEXT: func.func private @g()
func.func @f() {
  func.return
}
// -----
func.func private @g()

// MARKER: // ====
// PARTS: // -----
// NEAR: <stdin>:{{[0-9]+}}:1: warning: this looks like the marker between parts

// TWO:      two_functions.mlir:2:1: error: --no-implicit-module: expected one operation at the top, found another
// TWO-NEXT: func.func private @g()
// TWO-NEXT: ^

// MODULE:      builtin.module {
// MODULE-NEXT:   func.func private @f()
// MODULE-NEXT:   func.func private @g()

// UNREGISTERED: "my.op"() : () -> ()
// REGISTERED: <stdin>:1:2: error: unknown dialect 'my' of operation 'my.op'
// BAD: error: --no-implicit-module: expected true or false, got 'no'
// OUTPUT: error: -o: expected a value
