// RUN: npu-opt %s | filecheck %s
// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

func.func @f(%x: memref<60x50xf16, #tile.space<gm>>, %i: index) {
  %u = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<ub>
  // CHECK: npu_isa.wait_flag [MTE2, S, 1 + %i mod 2]
  npu_isa.wait_flag [MTE2, S, 1 + %i mod 2]
  // CHECK-NEXT: %r = npu_isa.read_index %u of 60 : i64
  %r = npu_isa.read_index %u of 60 : i64
  // CHECK-NEXT: %q = npu_isa.read_index %u of 50 {npu.node = "pick"} : i8
  %q = npu_isa.read_index %u of 50 {"npu.node" = "pick"} : i8
  // CHECK-NEXT: npu_isa.gather_ub %x[%r] -> %u<1> over [50] map affine_map<(d0, d1) -> (d0, d1)> axis 0 : memref<60x50xf16, #tile.space<gm>>
  npu_isa.gather_ub %x[%r] -> %u<1> over [50] map affine_map<(r, a) -> (r, a)> axis 0 : memref<60x50xf16, #tile.space<gm>>
  // CHECK-NEXT: npu_isa.gather_ub %x[%i, %q] -> %u<1> over [8] map affine_map<(d0, d1, d2) -> ((d0 + d2), d1)> axis 1 pad 1.000000e+00 : f16 : memref<60x50xf16, #tile.space<gm>>
  npu_isa.gather_ub %x[%i, %q] -> %u<1> over [8] map affine_map<(i, q, a) -> (i + a, q)> axis 1 pad 1.0 : f16
    : memref<60x50xf16, #tile.space<gm>>
  // CHECK-NEXT: npu_isa.scatter_ub %u<1> -> %x[%r] over [50] map affine_map<(d0, d1) -> (d0, d1)> axis 0 {npu.node = "append"} : memref<60x50xf16, #tile.space<gm>>
  npu_isa.scatter_ub %u<1> -> %x[%r] over [50] map affine_map<(r, a) -> (r, a)> axis 0 {"npu.node" = "append"}
    : memref<60x50xf16, #tile.space<gm>>
  func.return
}
