// A loop that would never end, whether its step is a constant or not.

// RUN: not npu-run %s 2>&1 | filecheck %s
// RUN: not npu-run --timing-only %s 2>&1 | filecheck %s
// RUN: sed 's/step %c0/step %zero/' %s | not npu-run --timing-only - 2>&1 | filecheck %s
// CHECK: error: the step of a loop has to be positive, not 0
// CHECK-NEXT: scf.for

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> attributes {input_names = ["x"], output_names = ["y"]} {
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %y : tensor<64xf32>
  }
  tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %zero = arith.subi %c5, %c5 : index
    scf.for %i = %c0 to %c5 step %c0 {
      npu_isa.barrier
    }
    tile.return
  }
}
