// RUN: not npu-opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: 'npu_isa.vunary' op unknown kind 'tanh', expected one of abs, copy, exp, log, neg, not, relu, rint, sqrt
%u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
npu_isa.vunary tanh %u<1>, %u<1> over [64] : f32

// -----

// CHECK: 'npu_isa.vunary' op expected a stride for each dim of [64], got [1, 2]
%u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
npu_isa.vunary exp %u<1>, %u<1, 2> over [64] : f32

// -----

// CHECK: 'npu_isa.vunary' op elements of the destination overlap: dims [4], strides [0]
%u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
npu_isa.vunary exp %u<0>, %u<1> over [4] : f32

// -----

// CHECK: 'npu_isa.vunary' op all operands must have the type f32, got f16
%u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
npu_isa.vunary exp %u<1>, %u<1> over [4] : f32, f16

// -----

// CHECK: 'npu_isa.vbinary' op expected 2 sources, got 1
%u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
npu_isa.vbinary add %u<1>, %u<1> over [4] : f32

// -----

// CHECK: 'npu_isa.vbinary' op all operands must have the type f32, got f32, f16
%u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
npu_isa.vbinary add %u<1>, %u<1>, imm 1.0 : f16 over [4] : f32

// -----

// CHECK: 'npu_isa.vmadd' op the destination f16 is narrower than a source
%u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
npu_isa.vmadd %u<1>, %u<1>, %u<1> over [4] : f16, f32, f32

// -----

// CHECK: 'npu_isa.vreduce' op the destination f16 is narrower than the source
%u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
npu_isa.vreduce sum %u<0>, %u<1> over [4] : f16, f32

// -----

// CHECK: 'npu_isa.vcmp' op npu_isa.vcmp compares two sources of one type into i1
%u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
npu_isa.vcmp lt %u<1>, %u<1>, %u<1> over [4] : f32

// -----

// CHECK: 'npu_isa.vselect' op the first source of npu_isa.vselect is a mask of i1
%u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
npu_isa.vselect %u<1>, %u<1>, %u<1>, %u<1> over [4] : f32

// -----

// CHECK: 'npu_isa.vcast' op npu_isa.vcast has no immediate
%u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
npu_isa.vcast cast %u<1>, imm 1.0 : f32 over [4] : f16

// -----

// CHECK: 'npu_isa.vdup' op every dim must have at least one element, got [0]
%u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
npu_isa.vdup %u<1>, imm 1.0 : f32 over [0] : f32

// -----

// CHECK: 'npu_isa.vdup' op the destination must be an address in ub, got l1
%l = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<l1>
"npu_isa.vdup"(%l) <{kind = "dup", shape = array<i64: 4>, strides = [array<i64: 1>], types = [f32], imm = 1.0 : f32, imm_position = 0 : i64}> : (!npu_isa.addr<l1>) -> ()

// -----

// CHECK: 'npu_isa.vtranspose' op elements of 16 or 32 bits are transposed, got i8
%u = npu_isa.buffer 1 x 1024 at 0 : !npu_isa.addr<ub>
npu_isa.vtranspose %u<32, 1>, %u<1, 32> over [8, 8] : i8

// -----

// CHECK: 'npu_isa.vtranspose' op the innermost loop has to be contiguous in the destination, and the one around it in the source
%u = npu_isa.buffer 1 x 1024 at 0 : !npu_isa.addr<ub>
npu_isa.vtranspose %u<16, 1>, %u<16, 1> over [8, 8] : f16

// -----

// CHECK: 'npu_isa.vtranspose' op the other strides have to be multiples of 32 bytes
%u = npu_isa.buffer 1 x 1024 at 0 : !npu_isa.addr<ub>
npu_isa.vtranspose %u<16, 1>, %u<1, 20> over [8, 8] : f16
