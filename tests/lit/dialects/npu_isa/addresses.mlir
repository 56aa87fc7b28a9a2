// RUN: npu-opt %s | filecheck %s
// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

func.func @f(%i: index) {
  // CHECK: %u = npu_isa.buffer 2 x 1024 at 4096 : !npu_isa.addr<ub>
  %u = npu_isa.buffer 2 x 1024 at 4096 : !npu_isa.addr<ub>
  // CHECK-NEXT: %l = npu_isa.buffer 1 x 64 at 0 {npu.node = "conv1"} : !npu_isa.addr<l1>
  %l = npu_isa.buffer 1 x 64 at 0 {"npu.node" = "conv1"} : !npu_isa.addr<l1>
  // CHECK-NEXT: %s = npu_isa.slot %u[%i] : !npu_isa.addr<ub>
  %s = npu_isa.slot %u[%i] : !npu_isa.addr<ub>
  // CHECK-NEXT: %p = npu_isa.at %s + 64 : !npu_isa.addr<ub>
  %p = npu_isa.at %s + 64 : !npu_isa.addr<ub>
  // CHECK-NEXT: %q = npu_isa.at %p + %i : !npu_isa.addr<ub>
  %q = npu_isa.at %p + %i : !npu_isa.addr<ub>
  // CHECK-NEXT: %r = npu_isa.at %l + %i + 32 : !npu_isa.addr<l1>
  %r = npu_isa.at %l + %i + 32 : !npu_isa.addr<l1>
  func.return
}
