// A load. 256 bytes at 8 per cycle take 32, and the transfer itself 4: 36. It is issued in cycle 0, arrives at 1,
// and occupies MTE2 until 37. GM answers 20 cycles later, 57, and the launch costs 100: 157.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 157 cycles
// CHECK-NEXT: MTE2{{ +}}1{{ +}}37  load_ub
// CHECK-NOT: {{^  [A-Z]}}

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %y : tensor<64xf32>
  }
  tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    npu_isa.load_ub %X[] -> %u<1> over [64] map affine_map<(a) -> (a)> : memref<64xf32, #tile.space<gm>>
    tile.return
  }
}
