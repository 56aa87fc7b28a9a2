// The IR around passes, on standard error or in a tree of files.

// RUN: npu-opt %s -o /dev/null --canonicalize --cse --mlir-print-ir-before=cse 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: npu-opt %s -o /dev/null --canonicalize --cse --mlir-print-ir-after=dce,canonicalize 2>&1 \
// RUN:   | filecheck %s --check-prefix=AFTER
// RUN: npu-opt %s -o /dev/null --canonicalize --cse --dce --mlir-print-ir-after-change 2>&1 \
// RUN:   | filecheck %s --check-prefix=CHANGE
// RUN: npu-opt %s -o /dev/null --canonicalize --cse --mlir-print-ir-after=cse --mlir-print-ir-after-change 2>&1 \
// RUN:   | filecheck %s --check-prefix=NOTHING --allow-empty
// RUN: npu-opt %s -o /dev/null --pass-pipeline='builtin.module(func.func(cse))' --mlir-print-ir-before-all \
// RUN:   --mlir-print-ir-module-scope 2>&1 | filecheck %s --check-prefix=SCOPE
// RUN: npu-opt %s -o /dev/null --pass-pipeline='builtin.module(func.func(cse))' --mlir-print-ir-after-all \
// RUN:   --mlir-print-op-generic 2>&1 | filecheck %s --check-prefix=NESTED
// RUN: not npu-opt %s -o /dev/null --load-pass-plugin %inputs/test_passes.py --cse --test-break-type \
// RUN:   --mlir-print-ir-after-failure 2>&1 | filecheck %s --check-prefix=FAILURE
// RUN: rm -rf %t && npu-opt %s -o /dev/null --pass-pipeline='builtin.module(cse,func.func(canonicalize,cse),cse)' \
// RUN:   --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t/tree
// RUN: find %t/tree -type f | sort | filecheck %s --check-prefix=TREE
// RUN: filecheck %s --check-prefix=FILE < %t/tree/builtin_module_no-symbol-name/func_func_f/0_0_canonicalize.mlir

// RUN: not npu-opt %s --mlir-print-ir-before=csee 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not npu-opt %s --cse --mlir-print-ir-after= 2>&1 | filecheck %s --check-prefix=EMPTY
// RUN: not npu-opt %s --mlir-print-ir-after-all=2 2>&1 | filecheck %s --check-prefix=BOOL
// RUN: not npu-opt %s --cse --mlir-print-ir-tree-dir=%t 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not npu-opt %s --cse --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%s 2>&1 | filecheck %s --check-prefix=DIRECTORY

// UNKNOWN: error: --mlir-print-ir-before: unknown pass 'csee'; did you mean 'cse'?
// EMPTY: error: --mlir-print-ir-after: unknown pass ''
// BOOL: error: --mlir-print-ir-after-all: expected true or false, got '2'
// ALONE: error: --mlir-print-ir-tree-dir needs another --mlir-print-ir-... option
// DIRECTORY: error: --mlir-print-ir-tree-dir: '{{.*}}print_ir.mlir' is not a directory

func.func @f(%a: i32, %b: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %c = arith.addi %a, %zero : i32
  %d = arith.muli %c, %b : i32
  func.return %d : i32
}
func.func private @g(i32)

// BEFORE-NOT:  canonicalize
// BEFORE:      // -----// IR Dump Before CommonSubexpressionElimination (cse) //----- //
// BEFORE-NEXT: builtin.module {
// BEFORE-NEXT:   func.func @f(%a: i32, %b: i32) -> i32 {
// BEFORE-NEXT:     %d = arith.muli %a, %b : i32
// BEFORE-NOT:  // -----//

// AFTER:       // -----// IR Dump After Canonicalize (canonicalize) //----- //
// AFTER-NEXT:  builtin.module {
// AFTER-NOT:   // -----//

// CHANGE:      // -----// IR Dump After Canonicalize (canonicalize) //----- //
// CHANGE-NOT:  // -----//

// NOTHING-NOT: IR Dump

// SCOPE:       // -----// IR Dump Before CommonSubexpressionElimination (cse) ('func.func' operation: @f) //----- //
// SCOPE-NEXT:  builtin.module {
// SCOPE:       // -----// IR Dump Before CommonSubexpressionElimination (cse) ('func.func' operation: @g) //----- //
// SCOPE-NEXT:  builtin.module {

// One free line behind an op, as mlir-opt has it.
// NESTED:      // -----// IR Dump After CommonSubexpressionElimination (cse) //----- //
// NESTED-NEXT: "func.func"()
// NESTED:      }) : () -> ()
// NESTED-EMPTY:
// NESTED-NEXT: // -----// IR Dump After CommonSubexpressionElimination (cse) //----- //

// FAILURE:     // -----// IR Dump After BreakType Failed (test-break-type) //----- //
// FAILURE-NOT: // -----//
// FAILURE:     error: 'arith.muli' op

// TREE:      tree/builtin_module_no-symbol-name/0_cse.mlir
// TREE-NEXT: tree/builtin_module_no-symbol-name/1_cse.mlir
// TREE-NEXT: tree/builtin_module_no-symbol-name/func_func_f/0_0_canonicalize.mlir
// TREE-NEXT: tree/builtin_module_no-symbol-name/func_func_f/0_1_cse.mlir
// TREE-NEXT: tree/builtin_module_no-symbol-name/func_func_g/0_0_canonicalize.mlir
// TREE-NEXT: tree/builtin_module_no-symbol-name/func_func_g/0_1_cse.mlir

// FILE:      // -----// IR Dump After Canonicalize (canonicalize) //----- //
// FILE-NEXT: func.func @f(

// IR that a pass has left broken is shown as far as possible.
// RUN: not npu-opt %s --load-pass-plugin %inputs/test_passes.py --test-erase-used --mlir-print-ir-after-failure \
// RUN:   --mlir-print-ir-diff 2>&1 | filecheck %s --check-prefix=BROKEN
// BROKEN: // -----// IR Dump After EraseUsed Failed (test-erase-used) //----- //
// BROKEN: -    %d = arith.muli
// BROKEN: note: broken by pass 'test-erase-used'
// BROKEN-NOT: Traceback
