// Mistakes on the command line: what is wrong, the closest name, exit status 1, no traceback.

// RUN: not npu-opt %s --pass-pipeline='builtin.module(func.func(canonicalise))' 2>&1 | filecheck %s --check-prefix=PASS
// PASS:      --pass-pipeline:1:26: error: unknown pass 'canonicalise'; did you mean 'canonicalize'?
// PASS-NEXT: builtin.module(func.func(canonicalise))
// PASS-NEXT: {{^}}                         ^

// RUN: not npu-opt %s --pass-pipeline='builtin.module(cse{speed=1})' 2>&1 | filecheck %s --check-prefix=OPTION
// OPTION: --pass-pipeline:1:20: error: pass 'cse' has no option 'speed'; it has no options

// RUN: not npu-opt %s --cse="speed=1" 2>&1 | filecheck %s --check-prefix=FLAG-OPTION
// FLAG-OPTION: --cse:1:1: error: pass 'cse' has no option 'speed'; it has no options

// RUN: not npu-opt %s --pass-pipeline='builtin.module(cse' 2>&1 | filecheck %s --check-prefix=OPEN
// OPEN: --pass-pipeline:1:19: error: expected ')' after the passes of 'builtin.module'

// RUN: not npu-opt %s --pass-pipeline='cse' 2>&1 | filecheck %s --check-prefix=ANCHOR
// ANCHOR: --pass-pipeline:1:1: error: expected 'builtin.module(...)' around the pipeline

// RUN: not npu-opt %s --pass-pipeline='builtin.module(cse,func.fun(cse))' 2>&1 | filecheck %s --check-prefix=OP
// OP:      --pass-pipeline:1:20: error: unknown op 'func.fun'; did you mean 'func.func'?
// OP-NEXT: builtin.module(cse,func.fun(cse))
// OP-NEXT: {{^}}                   ^

// RUN: not npu-opt %s --pass-pipeline='builtin.module(cse(dce))' 2>&1 | filecheck %s --check-prefix=NEST
// NEST: --pass-pipeline:1:16: error: 'cse' is a pass, which others cannot be nested in

// RUN: not npu-opt %s --pass-pipeline='builtin.module(function(dce))' 2>&1 | filecheck %s --check-prefix=NAME
// NAME: --pass-pipeline:1:16: error: expected the name of an op before '(', as in 'func.func(...)', not 'function'

// RUN: npu-opt %inputs/two_functions.mlir --pass-pipeline='builtin.module(fun.func(dce))' 2>&1 | filecheck %s --check-prefix=DIALECT
// DIALECT: --pass-pipeline:1:16: warning: the dialect 'fun' is not known; did you mean 'func'?

// RUN: not npu-opt %s --lower-to=isa --pass-pipeline='builtin.module(cse)' 2>&1 | filecheck %s --check-prefix=LOWER
// LOWER: error: --lower-to {{.*}}--pass-pipeline

// RUN: not npu-opt %s --canonicalise 2>&1 | filecheck %s --check-prefix=FLAG
// FLAG: error: unknown option '--canonicalise'; did you mean '--canonicalize'?

// RUN: not npu-opt %s --pass-pipeline='builtin.module(cse)' --cse 2>&1 | filecheck %s --check-prefix=BOTH
// BOTH: error: --pass-pipeline and --cse exclude each other

// RUN: not npu-opt %t.missing.mlir 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: error: cannot read '{{.*}}.missing.mlir': no such file or directory

// RUN: not npu-opt %s -o %t.missing/out.mlir 2>&1 | filecheck %s --check-prefix=OUTPUT
// OUTPUT: error: cannot write '{{.*}}out.mlir': the directory '{{.*}}.missing' does not exist

// RUN: npu-opt --verify-each=maybe %s 2>&1 | filecheck %s --check-prefix=BOOL || true
// BOOL: error: --verify-each: expected true or false, got 'maybe'

"builtin.module"() ({}) : () -> ()
