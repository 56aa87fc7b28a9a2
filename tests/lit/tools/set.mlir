// Numbers of a machine on the command line: all tools take --set, and the module keeps what it was compiled for.

// RUN: npu-opt %s --set ub=8KiB --set gm_ub=16 --lower-to=isa -o %t.mlir && filecheck %s < %t.mlir
// CHECK: builtin.module attributes {npu.target = "toy", npu.machine = {name = "toy", cores = 2 : i64,
// CHECK-SAME: ub = 8192 : i64,
// CHECK-SAME: rates = {gm_l1 = 8 : i64, gm_ub = 16 : i64,
// CHECK-SAME: cube_steps = {f16 = array<i64: 8, 1>,
// RUN: npu-opt %t.mlir | diff %t.mlir -
// RUN: npu-run %t.mlir --timing-only | filecheck %s --check-prefix=TIME
// RUN: npu-compile %s --set ub=8KiB --set rates.gm_ub=16 | npu-run - --timing-only | filecheck %s --check-prefix=TIME
// RUN: npu-run %s --emit isa --set ub=8192B --set gm_ub=16 --timing-only | filecheck %s --check-prefix=TIME
// RUN: npu-run %t.mlir --set ub=8KiB --timing-only | filecheck %s --check-prefix=TIME
// RUN: npu-reduce %s --set ub=16 --lower-to=isa -o - 2>&1 | filecheck %s --check-prefix=REDUCE
// RUN: npu-reduce %s --set ub=16 --lower-to=isa -o - 2>/dev/null | filecheck %s --check-prefix=REDUCED
// RUN: npu-opt %s --set ub=2KiB | filecheck %s --check-prefix=SAME
// RUN: npu-opt %s --set ub=8KiB --set gm_ub=16 | filecheck %s --check-prefix=EARLY
// RUN: not npu-run %t.mlir --set ub=4KiB 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: not npu-run %t.mlir --target toy 2>&1 | filecheck %s --check-prefix=BASE
// RUN: not npu-opt %s --set gm_u=3 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not npu-compile %s --set ub=8KB 2>&1 | filecheck %s --check-prefix=UNIT
// RUN: not npu-reduce %s --set ub --lower-to=isa 2>&1 | filecheck %s --check-prefix=PAIR

// TIME: target toy (ub = 8192, rates.gm_ub = 16), f32, 1 core
// TIME: 2,675

// REDUCE: reducing for: kernel '@k0' needs {{[0-9]+}} bytes of ub, 'toy' has 16
// REDUCED: npu.machine = {name = "toy"
// REDUCED-SAME: ub = 16 : i64

// SAME: builtin.module attributes {npu.target = "toy"} {
// EARLY: builtin.module attributes {npu.target = "toy", npu.machine = {name = "toy",
// OTHER: set.mlir.tmp.mlir:1:1: error: the module was compiled for the target 'toy' and can't be used with other numbers
// OTHER: note: it has ub = 8192; asked for: ub = 4096
// OTHER: note: compile the model again for that target
// BASE: note: it has ub = 8192, rates.gm_ub = 16; asked for: ub = 2048, rates.gm_ub = 8
// NAME: error: a target has no number 'gm_u'; did you mean 'gm_ub'?
// UNIT: error: 'ub' can't be '8KB': it is a number of bytes, like 65536, 64KiB or 1MiB
// PAIR: error: --set ub: expected NAME=VALUE

builtin.module attributes {npu.target = "toy"} {
  func.func @main(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
    %0 = graph.softmax %x axis 1 : (tensor<64x32xf32>) -> tensor<64x32xf32>
    func.return %0 : tensor<64x32xf32>
  }
}
