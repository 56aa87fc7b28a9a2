// Passes that change results are named, with the function, the worst element and both values.

// RUN: not %python %inputs/planted.py "merges what has other attributes" npu_opt %s --canonicalize --cse --check-equivalence \
// RUN:   2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not %python %inputs/planted.py "merges what has other attributes" npu_opt %s --cse --check-equivalence=3 \
// RUN:   2>&1 | filecheck %s --check-prefix=SEED
// RUN: not %python %inputs/planted.py "upper bound of a clip missing" npu_opt %s --lower-to=isa --check-equivalence \
// RUN:   2>&1 | filecheck %s --check-prefix=LOWER
// RUN: not %python %inputs/planted.py "a flag missing" npu_opt %s --lower-to=isa --check-equivalence \
// RUN:   2>&1 | filecheck %s --check-prefix=HAZARD
// RUN: npu-opt %s --lower-to=isa --check-equivalence -o %t.mlir

// VALUE:      check_equivalence_bugs.mlir:[[# @LINE + 9]]:1: error: pass 'cse' changed result 0 of '@main' at [0, 0]: 0.5 before, 0.0 after
// VALUE-NEXT: func.func @main
// VALUE-NEXT: ^
// VALUE-NEXT: note: {{[0-9]+}} of 35 elements differ by more than 0.0001 * |before| + 1e-05 * 0.5
// VALUE-NEXT: note: the inputs are sample 0 of seed 0
// SEED:       note: the inputs are sample 0 of seed 3
// LOWER:      error: pass 'convert-graph-to-linalg' changed result 0 of '@main' at
// HAZARD:     error: pass 'npu-isa-insert-sync' changed '@main': it has a hazard now: race between
// HAZARD:     note: fix: npu_isa.set_flag
func.func @main(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = graph.clip %x min -1.0 max 1.0 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %1 = graph.clip %x min -0.5 max 0.5 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = graph.sub %0, %1 : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return %2 : tensor<5x7xf32>
}
