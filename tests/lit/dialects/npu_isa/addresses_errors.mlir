// RUN: not npu-opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: 'npu_isa.buffer' op npu_isa.buffer is in an on-chip memory, not in gm
%u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<gm>

// -----

// CHECK: 'npu_isa.buffer' op a buffer has an address, at least one byte and at least one slot
%u = npu_isa.buffer 0 x 64 at 0 : !npu_isa.addr<ub>

// -----

// CHECK: error: unknown memory space 'l3', expected one of gm, l1, l0a, l0b, l0c, ub
%u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l3>

// -----

// CHECK: 'npu_isa.slot' op npu_isa.slot takes the result of an npu_isa.buffer
%i = arith.constant 0 : index
%u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
%s = npu_isa.slot %u[%i] : !npu_isa.addr<ub>
%t = npu_isa.slot %s[%i] : !npu_isa.addr<ub>

// -----

// CHECK: error: expected an address type, got f32
%u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
%t = npu_isa.at %u + 32 : f32
