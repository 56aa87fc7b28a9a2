// RUN: not npu-reduce %s 2>&1 | filecheck %s --check-prefix=NONE
// NONE: error: give either --test, or --pass-pipeline or --lower-to

// RUN: not npu-reduce %s --test true --lower-to=isa 2>&1 | filecheck %s --check-prefix=NONE

// RUN: not npu-reduce %s --lower-to=isb 2>&1 | filecheck %s --check-prefix=LEVEL
// LEVEL: error: --lower-to: expected one of graph, linalg, tile, tile-memref, isa, got 'isb'; did you mean 'isa'?

// RUN: not npu-reduce %s --lower-to=isa --check-equivalence 2>&1 | filecheck %s --check-prefix=FINE
// FINE: error: the passes do not fail on the module: there is nothing to reduce

// RUN: not npu-reduce %s --test true 2>&1 | filecheck %s --check-prefix=SHOWS
// SHOWS: error: the module does not show the problem: there is nothing to reduce

// RUN: not npu-reduce %s --test %t.missing 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: error: cannot run '{{.*}}.missing': no such file or directory

// RUN: not npu-reduce %s --test "" 2>&1 | filecheck %s --check-prefix=EMPTY
// EMPTY: error: --test: the command is empty

// RUN: not npu-reduce %s --test false --check-equivalence 2>&1 | filecheck %s --check-prefix=BOTH
// BOTH: error: --check-equivalence needs passes; --test has none

// RUN: not npu-reduce %s --lower-to=isa --max-tests=few 2>&1 | filecheck %s --check-prefix=NUMBER
// NUMBER: error: --max-tests: expected an integer, got 'few'

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
