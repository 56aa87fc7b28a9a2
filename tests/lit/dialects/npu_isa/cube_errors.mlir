// RUN: not npu-opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: 'npu_isa.mmad' op every extent must be at least 1, got [16, 0, 16]
%a = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0a>
%b = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0b>
%c = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0c>
npu_isa.mmad %a, %b -> %c over [16, 0, 16] : f16 -> f32

// -----

// CHECK: 'npu_isa.mmad' op the accumulator has 32 bits, got f16
%a = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0a>
%b = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0b>
%c = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0c>
npu_isa.mmad %a, %b -> %c over [16, 16, 16] : f16 -> f16

// -----

// CHECK: 'npu_isa.mmad' op npu_isa.mmad has either 'init' or 'zero'
%i = arith.constant true
%a = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0a>
%b = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0b>
%c = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0c>
npu_isa.mmad %a, %b -> %c over [16, 16, 16] init %i zero : f16 -> f32

// -----

// CHECK: error: expected the three extents m, k, n
%a = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0a>
%b = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0b>
%c = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0c>
npu_isa.mmad %a, %b -> %c over [16, 16] : f16 -> f32

// -----

// CHECK: error: expected [rows, columns]
%u = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<ub>
%c = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0c>
npu_isa.init_l0c %u -> %c over [16] : f32

// -----

// CHECK: 'npu_isa.init_l0c' op a matrix of 0 x 16 elements
%u = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<ub>
%c = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0c>
npu_isa.init_l0c %u -> %c over [0, 16] : f32
