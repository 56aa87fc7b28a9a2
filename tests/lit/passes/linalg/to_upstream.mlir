// RUN: npu-opt %s --linalg-to-upstream -o %t.mlir && filecheck %s < %t.mlir
// The way back makes weights of resources.
// RUN: npu-opt %t.mlir --linalg-normalize | filecheck %s --check-prefix=BACK
// RUN: npu-opt %s --linalg-to-upstream --linalg-normalize --check-equivalence -o %t.back.mlir

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @main
// CHECK-NEXT:     arith.constant dense_resource<"conv/w:0"> : tensor<2x2xf32>
// CHECK-NEXT:     linalg.add ins(%x, %{{.*}}) outs(%x : tensor<2x2xf32>) -> tensor<2x2xf32>
// CHECK:      dialect_resources: {
// CHECK-NEXT:   builtin: {
// CHECK-NEXT:     "conv/w:0": "0x040000000000803F000000400000404000008040"

// BACK: graph.weight @"conv/w:0" : tensor<2x2xf32>
// BACK: npu_weights: {
// BACK-NEXT: "conv/w:0": "0x0000803F000000400000404000008040"
builtin.module attributes {npu.target = "toy"} {
  func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %w = graph.weight @"conv/w:0" {npu.node = "w"} : tensor<2x2xf32>
    %0 = linalg.add {npu.node = "add"} ins(%x, %w : tensor<2x2xf32>, tensor<2x2xf32>) outs(%x : tensor<2x2xf32>) -> tensor<2x2xf32>
    func.return %0 : tensor<2x2xf32>
  }
}
{-#
  external_resources: {
    npu_weights: {
      "conv/w:0": "0x0000803F000000400000404000008040"
    }
  }
#-}
