// RUN: npu-opt %s | filecheck %s
// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

func.func @f(%i: index) {
  // CHECK: npu_isa.set_flag [MTE2, MTE1, 0]
  npu_isa.set_flag [MTE2, MTE1, 0]
  // CHECK-NEXT: npu_isa.wait_flag [MTE2, MTE1, 0]
  npu_isa.wait_flag [MTE2, MTE1, 0]
  // CHECK-NEXT: npu_isa.set_flag [V, MTE3, 2 + %i mod 2]
  npu_isa.set_flag [V, MTE3, 2 + %i mod 2]
  // CHECK-NEXT: npu_isa.wait_flag [V, MTE3, 2 + %i mod 2]
  npu_isa.wait_flag [V, MTE3, 2 + %i mod 2]
  // CHECK-NEXT: npu_isa.barrier
  npu_isa.barrier
  func.return
}
