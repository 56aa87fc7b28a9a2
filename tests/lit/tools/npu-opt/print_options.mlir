// How the IR is printed.

// RUN: npu-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: npu-opt %s --mlir-print-debuginfo --mlir-print-local-scope | filecheck %s --check-prefix=DEBUG
// RUN: npu-opt %s --mlir-print-debuginfo | npu-opt --mlir-print-debuginfo | filecheck %s --check-prefix=DEBUG
// RUN: npu-opt %s --mlir-elide-elementsattrs-if-larger=3 | filecheck %s --check-prefix=ELIDE
// RUN: npu-opt %s --mlir-elide-elementsattrs-if-larger=4 | filecheck %s --check-prefix=KEEP
// RUN: npu-opt %s --mlir-print-skip-regions | filecheck %s --check-prefix=SKIP
// RUN: npu-opt %s --mlir-print-skip-regions=false | filecheck %s --check-prefix=KEEP
// RUN: npu-opt %s --mlir-print-unique-ssa-ids | filecheck %s --check-prefix=UNIQUE
// RUN: npu-opt %s --mlir-print-value-users | filecheck %s --check-prefix=USERS
// RUN: npu-opt %s --mlir-use-nameloc-as-prefix | filecheck %s --check-prefix=NAMES

// RUN: not npu-opt %s --mlir-elide-elementsattrs-if-larger=many 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: not npu-opt %s --mlir-elide-resource-strings-if-larger=-1 2>&1 | filecheck %s --check-prefix=NEGATIVE
// RUN: not npu-opt %s --mlir-elide-elementsattrs-if-larger 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not npu-opt %s --mlir-print-debug-info 2>&1 | filecheck %s --check-prefix=SPELLING
// COUNT: error: --mlir-elide-elementsattrs-if-larger: expected a number that is not negative, got 'many'
// NEGATIVE: error: --mlir-elide-resource-strings-if-larger: expected a number that is not negative, got '-1'
// VALUE: error: --mlir-elide-elementsattrs-if-larger: expected a value
// SPELLING: error: unknown option '--mlir-print-debug-info'; did you mean '--mlir-print-debuginfo'?

func.func @f(%0: i32) -> (i32, tensor<2x2xi32>) {
  %1 = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %2 = arith.constant dense<5> : tensor<9xi32>
  %3 = arith.addi %0, %0 : i32 loc("the sum/1"("model.py":7:1))
  func.return %3, %1 : i32, tensor<2x2xi32>
}
func.func @g(%0: i32) -> i32 {
  func.return %0 : i32
}

// GENERIC:      "builtin.module"() ({
// GENERIC-NEXT:   "func.func"() <{sym_name = "f"
// GENERIC-NEXT:   ^bb0(%{{.*}}: i32):

// DEBUG:      func.func @f(%{{.*}}: i32 loc("{{.*}}print_options.mlir":23:14)) ->
// DEBUG-NEXT:   : tensor<2x2xi32> loc("{{.*}}print_options.mlir":24:3)
// DEBUG:        arith.addi %{{.*}} : i32 loc("the sum/1"("model.py":7:1))

// ELIDE:      arith.constant dense_resource<__elided__> : tensor<2x2xi32>
// ELIDE-NEXT: arith.constant dense<5> : tensor<9xi32>

// KEEP: arith.constant dense<{{.}}[1, 2], [3, 4]]> : tensor<2x2xi32>

// SKIP:      builtin.module {...}

// UNIQUE: func.func @f(%0: i32)
// UNIQUE: func.func @g(%4: i32)

// USERS:      // %0 is used by %3, %3
// USERS-NEXT: %1 = arith.constant {{.*}} // user: %[[ID:.*]]
// USERS-NEXT: %2 = arith.constant {{.*}} // unused
// USERS-NEXT: %3 = arith.addi {{.*}} // user: %[[ID]]
// USERS-NEXT: func.return {{.*}} // id: %[[ID]]

// NAMES: %the_sum_1_ = arith.addi %0, %0 : i32
