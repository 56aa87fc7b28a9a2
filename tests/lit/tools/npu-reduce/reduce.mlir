// RUN: %python %inputs/planted.py "upper bound of a clip missing" npu_reduce %s --lower-to=isa --check-equivalence -o %t.mlir \
// RUN:   2> %t.err
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=ERR < %t.err
// RUN: %python %inputs/planted.py "upper bound of a clip missing" npu_reduce %s --check-equivalence \
// RUN:   --pass-pipeline='builtin.module(cse,convert-graph-to-linalg)' 2>/dev/null | filecheck %s

// A script that exits with status 1 where the problem shows, as for mlir-reduce.
// RUN: npu-reduce %s --test "%python %inputs/exit_if.py softmax" 2>/dev/null | filecheck %s --check-prefix=SCRIPT

// CHECK:      func.func @main(%0: tensor<1x1xf32>) -> tensor<1x1xf32> {
// CHECK-NEXT:   %1 = graph.clip %0 min {{.*}} max {{.*}} : (tensor<1x1xf32>) -> tensor<1x1xf32>
// CHECK-NEXT:   func.return %1
// CHECK-NOT:  graph.

// ERR: reducing for: pass 'convert-graph-to-linalg' changed result
// ERR: reduced {{[0-9]+}} operations to 4 in {{[0-9]+}} tests

// SCRIPT:      func.func @main(%0: tensor<1x1xf32>) -> tensor<1x1xf32> {
// SCRIPT-NEXT:   %1 = graph.softmax %0 axis 1
// SCRIPT-NEXT:   func.return %1

func.func private @other(tensor<5x7xf32>)
func.func @main(%x: tensor<5x7xf32>, %unused: tensor<3xf32>) -> (tensor<5x7xf32>, tensor<5x7xf32>) {
  %0 = graph.neg %x {npu.node = "negate"} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %1 = graph.exp %0 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = graph.softmax %1 axis 1 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %3 = graph.clip %0 min -0.5 max 0.5 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %4 = graph.sub %2, %3 : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %5 = graph.tanh %4 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return %2, %5 : tensor<5x7xf32>, tensor<5x7xf32>
}
