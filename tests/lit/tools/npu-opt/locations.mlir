// Where ops come from: what a pattern inserts has the location and the provenance of the op that it matched, with
// whatever walker; kernels and instructions keep the line of the input.

// RUN: npu-opt %s --load-pass-plugin %inputs/test_passes.py --test-double --mlir-print-debuginfo \
// RUN:   | filecheck %s --check-prefix=PATTERN
// RUN: npu-opt %inputs/softmax.mlir --lower-to isa --mlir-print-debuginfo | filecheck %s --check-prefix=ISA
// RUN: echo 'func.func @f(%a: i32) -> i64 { func.return %a : i32 loc(callsite("x"("m.py":3:4) at fused["b.py":1:1])) }' \
// RUN:   | not npu-opt 2>&1 | filecheck %s --check-prefix=NESTED

// PATTERN:      func.func @f(%a: i32 loc("{{.*}}locations.mlir":29:14),
// PATTERN-NEXT:   arith.muli %a, %b {npu.node = "Add_1"} : i32 loc("Add_1"("{{.*}}locations.mlir":30:3))
// PATTERN-NEXT:   arith.addi {{.*}} {npu.node = "Add_1"} : i32 loc("Add_1"("{{.*}}locations.mlir":30:3))

// ISA:     tile.kernel @k0
// ISA:     npu_isa.vreduce {{.*}} loc("probabilities"("{{.*}}softmax.mlir":2:3))

// NESTED: m.py:3:4: error: 'func.return' op

// mlir-opt says what aliases of locations stand for behind the module.
// RUN: sed -n 's|^// TEXT: ||p' %s | not npu-opt 2>&1 | filecheck %s --check-prefix=ALIAS
// TEXT: func.func @f(%a: i32) -> i64 { func.return %a : i32 loc(#loc7) }
// TEXT: #loc1 = loc("b.py":3:4)
// TEXT: #loc7 = loc(fused<"CSE">[#loc1, "x"])
// RUN: echo 'func.func @f() { func.return loc(#loc1) }' | not npu-opt 2>&1 | filecheck %s --check-prefix=UNDEFINED

// ALIAS: b.py:3:4: error: 'func.return' op
// UNDEFINED: <stdin>:1:34: error: undefined location alias '#loc1'

func.func @f(%a: i32, %b: i32) -> i32 {
  %s = arith.addi %a, %b {npu.node = "Add_1"} : i32
  func.return %s : i32
}
