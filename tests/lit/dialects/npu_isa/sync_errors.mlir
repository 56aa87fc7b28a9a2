// RUN: not npu-opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: error: unknown pipe 'MTE9', expected one of S, V, M, MTE1, MTE2, MTE3, FIX
npu_isa.set_flag [MTE2, MTE9, 0]

// -----

// CHECK: 'npu_isa.set_flag' op a flag from V to itself: a pipe is in order already
npu_isa.set_flag [V, V, 0]

// -----

// CHECK: 'npu_isa.set_flag' op the scalar unit sets no flags: it issues nothing before it is through with a read
npu_isa.set_flag [S, V, 0]

// -----

// CHECK: 'npu_isa.wait_flag' op a flag has an index if and only if it has several slots
%i = arith.constant 0 : index
npu_isa.wait_flag [V, M, 0 + %i mod 1]
