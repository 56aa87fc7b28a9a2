// npu-opt as a driver: the same dumps at the same places, the same pipeline, rows of times and reproducers as mlir-opt.
// REQUIRES: mlir-opt
// DEFINE: %{pipeline} = '--pass-pipeline=builtin.module(cse,func.func(canonicalize,cse),canonicalize,func.func(cse),cse)'
// DEFINE: %{banners} = sed -n -E "s/(IR Dump [A-Za-z]+) [A-Za-z]+/\1/p"

// RUN: rm -rf %t && mkdir %t
// RUN: %mlir-opt %s %{pipeline} --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t/theirs -o /dev/null
// RUN: npu-opt %s %{pipeline} --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t/ours -o /dev/null
// RUN: %python -c "import pathlib; print(sorted(str(p.relative_to('%t/theirs')) for p in pathlib.Path('%t/theirs').rglob('*.mlir')))" > %t/theirs.txt
// RUN: %python -c "import pathlib; print(sorted(str(p.relative_to('%t/ours')) for p in pathlib.Path('%t/ours').rglob('*.mlir')))" > %t/ours.txt
// RUN: diff %t/theirs.txt %t/ours.txt

// Banners, but for the names of the classes.
// RUN: %mlir-opt %s %{pipeline} --mlir-print-ir-before-all --mlir-print-ir-after-all --mlir-print-ir-module-scope --mlir-disable-threading -o /dev/null 2> %t/theirs.log
// RUN: npu-opt %s %{pipeline} --mlir-print-ir-before-all --mlir-print-ir-after-all --mlir-print-ir-module-scope --mlir-disable-threading -o /dev/null 2> %t/ours.log
// RUN: %{banners} %t/theirs.log > %t/theirs.banners
// RUN: %{banners} %t/ours.log > %t/ours.banners
// RUN: diff %t/theirs.banners %t/ours.banners
// RUN: %mlir-opt %s --pass-pipeline='builtin.module(func.func(cse,canonicalize))' --mlir-print-ir-before=cse --mlir-print-ir-after=canonicalize --mlir-print-ir-after-change -o /dev/null 2> %t/theirs.log
// RUN: npu-opt %s --pass-pipeline='builtin.module(func.func(cse,canonicalize))' --mlir-print-ir-before=cse --mlir-print-ir-after=canonicalize --mlir-print-ir-after-change -o /dev/null 2> %t/ours.log
// RUN: %{banners} %t/theirs.log > %t/theirs.banners
// RUN: %{banners} %t/ours.log > %t/ours.banners
// RUN: sort %t/theirs.banners -o %t/theirs.banners
// RUN: sort %t/ours.banners -o %t/ours.banners
// RUN: diff %t/theirs.banners %t/ours.banners

// Each runs what the other one left for a bug report.
// RUN: %mlir-opt %s --cse --mlir-generate-reproducer=%t/theirs.mlir -o /dev/null
// RUN: npu-opt --run-reproducer %t/theirs.mlir | filecheck %s
// RUN: npu-opt %s --cse --mlir-generate-reproducer=%t/ours.mlir -o /dev/null
// RUN: %mlir-opt --run-reproducer %t/ours.mlir | filecheck %s

// CHECK:     arith.muli
// CHECK-NOT: arith.muli
func.func @f(%a: i32, %b: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %0 = arith.addi %a, %c0 : i32
  %1 = arith.muli %0, %b : i32
  %2 = arith.muli %0, %b : i32
  %3 = arith.addi %1, %2 : i32
  func.return %3 : i32
}
func.func @g(%a: i32) -> i32 {
  func.return %a : i32
}
