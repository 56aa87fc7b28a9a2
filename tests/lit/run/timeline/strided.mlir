// Short runs waste bandwidth: every run is rounded up to 32 bytes. A column of 8 elements is 8 runs, 256 bytes, 36
// cycles; a row of 8 is one run, 32 bytes, 4 + 4 = 8 cycles.
//
//   column   arrives 1     1 .. 37, complete 57
//   row      arrives 2    37 .. 45, complete 65
//
// With the launch 165.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 165 cycles
// CHECK-NEXT: MTE2{{ +}}1{{ +}}37  load_ub
// CHECK-NEXT: MTE2{{ +}}37{{ +}}45  load_ub
// CHECK-NOT: {{^  [A-Z]}}

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %y = tile.launch @k(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    func.return %y : tensor<8x8xf32>
  }
  tile.kernel @k(%X: memref<8x8xf32, #tile.space<gm>>, %Y: memref<8x8xf32, #tile.space<gm>>) {
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    %w = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
    npu_isa.load_ub %X[] -> %u<1> over [8] map affine_map<(a) -> (a, 0)> : memref<8x8xf32, #tile.space<gm>>
    npu_isa.load_ub %X[] -> %w<1> over [8] map affine_map<(a) -> (0, a)> : memref<8x8xf32, #tile.space<gm>>
    tile.return
  }
}
