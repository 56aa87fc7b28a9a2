// A pass that raises an exception is named with its op and leaves a reproducer; others leave one if asked for.

// RUN: rm -rf %t && mkdir %t
// RUN: not env TMPDIR=%t npu-opt %s --load-pass-plugin %inputs/test_passes.py --cse --test-crash="message=oops" \
// RUN:   2> %t/err
// RUN: filecheck %s --check-prefix=CRASH < %t/err
// RUN: cp %t/npu-opt-reproducer-*.mlir %t/crash.mlir
// RUN: filecheck %s --check-prefix=FILE < %t/crash.mlir
// RUN: not env TMPDIR=%t npu-opt --run-reproducer %t/crash.mlir --load-pass-plugin %inputs/test_passes.py 2>&1 \
// RUN:   | filecheck %s --check-prefix=AGAIN

// RUN: not npu-opt %s --load-pass-plugin %inputs/test_passes.py --test-crash-in-pattern \
// RUN:   --mlir-pass-pipeline-crash-reproducer=%t/pattern.mlir 2>&1 | filecheck %s --check-prefix=PATTERN
// RUN: not npu-opt %s --load-pass-plugin %inputs/test_passes.py --test-crash \
// RUN:   --mlir-pass-pipeline-crash-reproducer=%t/debug.mlir --debug 2>&1 | filecheck %s --check-prefix=TRACEBACK

// A pass that breaks the IR; only that pass, on the IR before it, with "local".
// RUN: not npu-opt %s --load-pass-plugin %inputs/test_passes.py --canonicalize --test-break-order --cse \
// RUN:   --mlir-pass-pipeline-crash-reproducer=%t/order.mlir --mlir-pass-pipeline-local-reproducer 2>&1 \
// RUN:   | filecheck %s --check-prefix=ORDER
// RUN: filecheck %s --check-prefix=LOCAL < %t/order.mlir
// RUN: npu-opt %s --cse --mlir-generate-reproducer=%t/good.mlir | filecheck %s --check-prefix=GOOD
// RUN: npu-opt --run-reproducer %t/good.mlir | filecheck %s --check-prefix=GOOD

// RUN: not npu-opt --run-reproducer %s 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not npu-opt --run-reproducer %t/good.mlir --cse 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: not npu-opt %s --cse --mlir-pass-pipeline-local-reproducer 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not npu-opt %s --cse --mlir-generate-reproducer=%t/none/x.mlir 2>&1 | filecheck %s --check-prefix=WRITE
// RUN: not npu-opt %s --cse --mlir-pass-pipeline-crash-reproducer=%t 2>&1 | filecheck %s --check-prefix=FOLDER
// RUN: sed 's/(cse)/(csee)/' %t/good.mlir > %t/bad.mlir
// RUN: not npu-opt --run-reproducer %t/bad.mlir 2>&1 | filecheck %s --check-prefix=BAD
// NONE: error: --run-reproducer: '{{.*}}reproducers.mlir' has no 'mlir_reproducer' resource with a pipeline
// BOTH: error: --run-reproducer excludes other passes: the reproducer has its own
// ALONE: error: --mlir-pass-pipeline-local-reproducer needs --mlir-pass-pipeline-crash-reproducer=FILE
// WRITE: error: cannot write '{{.*}}none/x.mlir': the directory '{{.*}}none' does not exist
// FOLDER: error: cannot write '{{.*}}': it is a directory
// BAD:      error: unknown pass 'csee'; did you mean 'cse'?
// BAD-NEXT: builtin.module(csee)
// BAD-NEXT:                ^

func.func @f(%a: i32, %b: i32) -> i32 {
  %s = arith.addi %a, %b : i32
  %d = arith.muli %s, %b : i32
  %e = arith.addi %d, %b : i32
  func.return %e : i32
}

// CRASH:      reproducers.mlir:43:3: error: pass 'test-crash' failed with an unexpected KeyError: 'oops'
// CRASH-NEXT:   %d = arith.muli %s, %b : i32
// CRASH-NEXT:   ^
// CRASH-NEXT: note: while it looked at %d = "arith.muli"(%s, %b)
// CRASH-NEXT: test_passes.py:{{[0-9]+}}:17: note: raised here
// CRASH-NEXT:                 raise KeyError(self.message)
// CRASH-NEXT:                 ^
// CRASH-NEXT: note: npu-opt --run-reproducer {{.*}}/npu-opt-reproducer-{{.*}}.mlir --load-pass-plugin {{.*}} shows this again
// CRASH-NOT:  Traceback

// FILE:      func.func @f
// FILE:      {{^}}{-#
// FILE-NEXT:   external_resources: {
// FILE-NEXT:     mlir_reproducer: {
// FILE-NEXT:       pipeline: "builtin.module(cse,test-crash{message={{.*}}oops{{.*}}})",
// FILE-NEXT:       disable_threading: true,
// FILE-NEXT:       verify_each: true
// FILE-NEXT:     }
// FILE-NEXT:   }
// FILE-NEXT: #-}

// AGAIN: crash.mlir:4:5: error: pass 'test-crash' failed with an unexpected KeyError: 'oops'

// PATTERN:      reproducers.mlir:43:3: error: pass 'test-crash-in-pattern' failed with an unexpected IndexError: tuple index out of range
// PATTERN:      test_passes.py:{{[0-9]+}}:9: note: raised here
// PATTERN:      note: npu-opt --run-reproducer {{.*}}pattern.mlir --load-pass-plugin {{.*}} shows this again

// TRACEBACK: Traceback
// TRACEBACK: KeyError

// ORDER:      reproducers.mlir:44:3: error: operand #0 of 'arith.addi' does not dominate this use
// ORDER:      note: see current operation: %e = "arith.addi"(%d, %b)
// ORDER-NEXT: note: broken by pass 'test-break-order'
// ORDER-NEXT: note: npu-opt --run-reproducer {{.*}}order.mlir --load-pass-plugin {{.*}} shows this again

// LOCAL: pipeline: "builtin.module(test-break-order)"

// GOOD: func.func @f

// A verifier that fails in an unexpected way names the operation and the pass as well.
// RUN: not npu-opt %s --load-pass-plugin %inputs/test_passes.py --test-break-verifier 2>&1 \
// RUN:   | filecheck %s --check-prefix=VERIFIER
// VERIFIER: reproducers.mlir:{{[0-9]+}}:1: error: 'func.func' op is malformed: its verifier fails with AttributeError
// VERIFIER: note: broken by pass 'test-break-verifier'
// VERIFIER-NOT: Traceback
