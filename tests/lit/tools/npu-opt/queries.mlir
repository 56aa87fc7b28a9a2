// Questions to npu-opt: its help, passes, dialects and pipelines.

// RUN: npu-opt --help | filecheck %s --check-prefix=HELP
// RUN: npu-opt --list-passes | filecheck %s --check-prefix=LIST
// RUN: npu-opt --show-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: npu-opt %s -o /dev/null --dump-pass-pipeline \
// RUN:   --pass-pipeline='builtin.module(cse,func.func(canonicalize,cse),graph-set-precision{precision=f16})' 2>&1 \
// RUN:   | filecheck %s --check-prefix=DUMP
// RUN: not npu-opt --dump-pass-pipeline=maybe %s 2>&1 | filecheck %s --check-prefix=BAD
// RUN: not npu-opt --show-dialect 2>&1 | filecheck %s --check-prefix=SPELLING

// HELP:      usage: npu-opt [FILE] [-o FILE]
// HELP:      --verify-diagnostics
// HELP:      passes, run in the order of their flags:
// HELP-NEXT:   --canonicalize
// HELP-NEXT:       Fold, apply the canonicalization patterns of the ops, erase what is dead.
// HELP:        --graph-set-precision
// HELP-NEXT:       Compute in f16 what is f32.
// HELP-NEXT:         precision=<str> (default f32)

// LIST:      {{^}}graph-set-precision
// LIST-NEXT:     Compute in f16 what is f32.
// LIST-NEXT:       precision=<str> (default f32)

// DIALECTS: Available Dialects: affine,arith,builtin,func,graph,linalg,math,memref,npu_isa,scf,tensor,tile

// DUMP:      Pass Manager with 3 passes:
// DUMP-NEXT: builtin.module(
// DUMP-NEXT:   cse,
// DUMP-NEXT:   func.func(
// DUMP-NEXT:     canonicalize,
// DUMP-NEXT:     cse
// DUMP-NEXT:   ),
// DUMP-NEXT:   graph-set-precision{precision={{.*}}f16{{.*}}}
// DUMP-NEXT: )

// BAD: error: --dump-pass-pipeline: expected true or false, got 'maybe'
// SPELLING: error: unknown option '--show-dialect'; did you mean '--show-dialects'?

func.func private @f()
