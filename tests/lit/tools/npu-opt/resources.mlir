// Weights that no file has are part of the text on standard output, and of reproducers.

// RUN: npu-opt %s | filecheck %s --check-prefix=FULL
// RUN: npu-opt %s --mlir-elide-resource-strings-if-larger=1000 | filecheck %s --check-prefix=FULL
// RUN: npu-opt %s --mlir-elide-resource-strings-if-larger=8 | filecheck %s --check-prefix=ELIDED
// RUN: npu-opt %s --cse --mlir-generate-reproducer=%t.mlir | npu-opt | filecheck %s --check-prefix=FULL
// RUN: npu-opt --run-reproducer %t.mlir | filecheck %s --check-prefix=FULL
// RUN: filecheck %s --check-prefix=REPRODUCER < %t.mlir

func.func @f() -> tensor<4xf32> {
  %w = graph.weight @w : tensor<4xf32>
  func.return %w : tensor<4xf32>
}

// FULL:     graph.weight @w
// FULL:     "w": "0x0000803F0000004000004040000080{{40}}"

// ELIDED:     graph.weight @w
// ELIDED-NOT: 0x0000

// REPRODUCER: mlir_reproducer: {
// REPRODUCER: pipeline: "builtin.module(cse)"
// REPRODUCER: "w": "0x0000803F

{-#
  external_resources: {
    npu_weights: {
      "w": "0x0000803F000000400000404000008040"
    }
  }
#-}
