// RUN: npu-opt %s | filecheck %s
// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

func.func @f() {
  %d = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<ub>
  %a = npu_isa.buffer 1 x 4096 at 4096 : !npu_isa.addr<ub>
  %b = npu_isa.buffer 1 x 4096 at 8192 : !npu_isa.addr<ub>
  // CHECK: npu_isa.vunary exp %d<64, 1>, %a<64, 1> over [16, 50] : f32
  npu_isa.vunary exp %d<64, 1>, %a<64, 1> over [16, 50] : f32
  // CHECK-NEXT: npu_isa.vbinary add %d<64, 1>, %a<64, 1>, %b<0, 1> over [16, 50] {npu.node = "bias"} : f32
  npu_isa.vbinary add %d<64, 1>, %a<64, 1>, %b<0, 1> over [16, 50] {"npu.node" = "bias"} : f32, f32, f32
  // CHECK-NEXT: npu_isa.vbinary sub %d<1>, imm 1.000000e+00 : f32, %a<1> over [50] : f32
  npu_isa.vbinary sub %d<1>, imm 1.0 : f32, %a<1> over [50] : f32
  // CHECK-NEXT: npu_isa.vbinary max %d<1>, %a<1>, imm 3 : i32 over [50] : i32
  npu_isa.vbinary max %d<1>, %a<1>, imm 3 : i32 over [50] : i32
  // CHECK-NEXT: npu_isa.vmadd %d<64, 1>, %a<64, 1>, %b<0, 1> over [16, 50] : f32, f16, f16
  npu_isa.vmadd %d<64, 1>, %a<64, 1>, %b<0, 1> over [16, 50] : f32, f16, f16
  // CHECK-NEXT: npu_isa.vcmp lt %d<1>, %a<1>, imm 0.000000e+00 : f32 over [50] : i1, f32
  npu_isa.vcmp lt %d<1>, %a<1>, imm 0.0 : f32 over [50] : i1, f32
  // CHECK-NEXT: npu_isa.vselect %d<1>, %a<1>, %b<1>, imm 0.000000e+00 : f16 over [50] : f16, i1, f16
  npu_isa.vselect %d<1>, %a<1>, %b<1>, imm 0.0 : f16 over [50] : f16, i1, f16
  // CHECK-NEXT: npu_isa.vcast cast %d<1>, %a<1> over [50] : f16, f32
  npu_isa.vcast cast %d<1>, %a<1> over [50] : f16, f32
  // CHECK-NEXT: npu_isa.vreduce sum %d<1, 0>, %a<64, 1> over [16, 50] : f32
  npu_isa.vreduce sum %d<1, 0>, %a<64, 1> over [16, 50] : f32
  // CHECK-NEXT: npu_isa.vdup %d<1>, imm 0xff800000 : f32 over [50] : f32
  npu_isa.vdup %d<1>, imm 0xFF800000 : f32 over [50] : f32
  // CHECK-NEXT: npu_isa.vunary copy %d<>, %a<> over [] : i32
  npu_isa.vunary copy %d<>, %a<> over [] : i32
  func.return
}
