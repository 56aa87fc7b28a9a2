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

// CHECK: a bias is only read by an npu_isa.mmad with 'init' or 'zero'
%a = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0a>
%b = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0b>
%c = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0c>
%r = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l1>
npu_isa.mmad %a, %b -> %c over [16, 16, 16] bias %r : f16, f32 -> f32

// -----

// CHECK: 'npu_isa.mmad' op {{.*}}bias
%a = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0a>
%b = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0b>
%c = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0c>
%i = arith.constant true
"npu_isa.mmad"(%c, %a, %b, %i, %a) <{m = 16 : i64, k = 16 : i64, n = 16 : i64, element = f16, accumulator = f32, bias_element = f32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}> : (!npu_isa.addr<l0c>, !npu_isa.addr<l0a>, !npu_isa.addr<l0b>, i1, !npu_isa.addr<l0a>) -> ()
