// The scalar unit waits for an index, reads it, and issues nothing meanwhile.
//
//   load    arrives 1, 32 bytes at 8               1 ..   9, complete 29
//   set     arrives 2, behind the load             9 ..  10, raised when the load is complete, 29
//   wait    issued at 3; the scalar unit goes on at 30
//   read                                          30 ..  35
//   gather  arrives 36, 32 bytes at 8             36 ..  44, complete 64
//   set     arrives 37                            44 ..  45, raised 64
//   wait    arrives 38, holds MTE3 until 64, and takes 1: 65
//   store   arrives 39, 32 bytes at 8             65 ..  73, complete 93
//
// With the launch 193.

// RUN: npu-run %s --timing-only --timeline | filecheck %s
// CHECK: k: 193 cycles
// CHECK-NEXT: MTE2{{ +}}1{{ +}}9  load_ub
// CHECK-NEXT: MTE2{{ +}}9{{ +}}10  set_flag
// CHECK-NEXT: S{{ +}}3{{ +}}30  wait_flag
// CHECK-NEXT: S{{ +}}30{{ +}}35  {{.*}}read_index
// CHECK-NEXT: MTE2{{ +}}36{{ +}}44  gather_ub
// CHECK-NEXT: MTE2{{ +}}44{{ +}}45  set_flag
// CHECK-NEXT: MTE3{{ +}}38{{ +}}65  wait_flag
// CHECK-NEXT: MTE3{{ +}}65{{ +}}73  store_ub
// CHECK-NOT: {{^  [A-Z]}}

builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%t: tensor<50x8xf32>, %i: tensor<8xi32>) -> tensor<8xf32> {
    %y = tile.launch @k(%t, %i) : (tensor<50x8xf32>, tensor<8xi32>) -> tensor<8xf32>
    func.return %y : tensor<8xf32>
  }
  tile.kernel @k(%T: memref<50x8xf32, #tile.space<gm>>, %I: memref<8xi32, #tile.space<gm>>,
                 %Y: memref<8xf32, #tile.space<gm>>) {
    %r = npu_isa.buffer 1 x 32 at 0 : !npu_isa.addr<ub>
    %g = npu_isa.buffer 1 x 32 at 32 : !npu_isa.addr<ub>
    npu_isa.load_ub %I[] -> %r<1> over [8] map affine_map<(a) -> (a)> : memref<8xi32, #tile.space<gm>>
    npu_isa.set_flag [MTE2, S, 0]
    npu_isa.wait_flag [MTE2, S, 0]
    %n = npu_isa.read_index %r of 50 : i32
    npu_isa.gather_ub %T[%n] -> %g<1> over [8] map affine_map<(n, a) -> (n, a)> axis 0 : memref<50x8xf32, #tile.space<gm>>
    npu_isa.set_flag [MTE2, MTE3, 0]
    npu_isa.wait_flag [MTE2, MTE3, 0]
    npu_isa.store_ub %g<1> -> %Y[] over [8] map affine_map<(a) -> (a)> : memref<8xf32, #tile.space<gm>>
    tile.return
  }
}
