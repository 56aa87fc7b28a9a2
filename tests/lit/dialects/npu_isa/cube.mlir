// RUN: npu-opt %s | filecheck %s
// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

func.func @f(%first: i1) {
  %a = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0a>
  %b = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0b>
  %c = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0c>
  %r = npu_isa.buffer 1 x 128 at 0 : !npu_isa.addr<l1>
  // CHECK: npu_isa.mmad %a, %b -> %c over [16, 32, 20] init %first : f16 -> f32
  npu_isa.mmad %a, %b -> %c over [16, 32, 20] init %first : f16 -> f32
  // CHECK-NEXT: npu_isa.mmad %a, %b -> %c over [16, 32, 20] zero : i8 -> i32
  npu_isa.mmad %a, %b -> %c over [16, 32, 20] zero : i8 -> i32
  // CHECK-NEXT: npu_isa.mmad %a, %b -> %c over [16, 32, 20] {npu.node = "fc"} : f32 -> f32
  npu_isa.mmad %a, %b -> %c over [16, 32, 20] {"npu.node" = "fc"} : f32 -> f32
  // CHECK-NEXT: npu_isa.mmad %a, %b -> %c over [16, 32, 20] init %first bias %r : f16, f32 -> f32
  npu_isa.mmad %a, %b -> %c over [16, 32, 20] init %first bias %r : f16, f32 -> f32
  func.return
}
