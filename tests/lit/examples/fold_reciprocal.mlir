// RUN: npu-opt %s --load-pass-plugin %examples/passes/fold_reciprocal.py --fold-reciprocal --check-equivalence | filecheck %s
// In the pipeline it saves cycles.
// RUN: npu-opt %inputs/reciprocal.mlir --lower-to=isa -o %t.before.mlir
// RUN: npu-opt %inputs/reciprocal.mlir --load-pass-plugin %examples/passes/fold_reciprocal.py --lower-to=isa --fold-reciprocal --check-equivalence -o %t.after.mlir
// RUN: %python %inputs/fewer_cycles.py %t.before.mlir %t.after.mlir

// CHECK-LABEL: tile.kernel @folded
// CHECK:         npu_isa.load_ub
// CHECK:         npu_isa.load_ub
// CHECK-NEXT:    npu_isa.vbinary div %[[D:[0-9a-z]+]]<1>, %[[X:[0-9a-z]+]]<1>, %[[D]]<1> over [16] : f32
// CHECK-NEXT:    npu_isa.store_ub
tile.kernel @folded(%a: memref<16xf32, #tile.space<gm>>, %b: memref<16xf32, #tile.space<gm>>, %c: memref<16xf32, #tile.space<gm>>) {
  %d = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  %x = npu_isa.buffer 1 x 64 at 64 : !npu_isa.addr<ub>
  npu_isa.load_ub %a[] -> %d<1> over [16] map affine_map<(d0) -> (d0)> : memref<16xf32, #tile.space<gm>>
  npu_isa.load_ub %b[] -> %x<1> over [16] map affine_map<(d0) -> (d0)> : memref<16xf32, #tile.space<gm>>
  npu_isa.vbinary div %d<1>, imm 1.0 : f32, %d<1> over [16] : f32
  npu_isa.vbinary mul %d<1>, %d<1>, %x<1> over [16] : f32
  npu_isa.store_ub %d<1> -> %c[] over [16] map affine_map<(d0) -> (d0)> : memref<16xf32, #tile.space<gm>>
  tile.return
}

// The square of the reciprocal, and a reciprocal that stays.
// CHECK-LABEL: tile.kernel @kept
// CHECK:         npu_isa.vbinary div %{{.*}}, imm 1.000000e+00
// CHECK-NEXT:    npu_isa.vbinary mul
// CHECK-NEXT:    npu_isa.vbinary div %{{.*}}, imm 1.000000e+00
// CHECK-NEXT:    npu_isa.vbinary mul
tile.kernel @kept(%a: memref<16xf32, #tile.space<gm>>, %c: memref<16xf32, #tile.space<gm>>) {
  %d = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  %x = npu_isa.buffer 1 x 64 at 64 : !npu_isa.addr<ub>
  npu_isa.load_ub %a[] -> %d<1> over [16] map affine_map<(d0) -> (d0)> : memref<16xf32, #tile.space<gm>>
  npu_isa.vbinary div %d<1>, imm 1.0 : f32, %d<1> over [16] : f32
  npu_isa.vbinary mul %d<1>, %d<1>, %d<1> over [16] : f32
  npu_isa.vbinary div %d<1>, imm 1.0 : f32, %d<1> over [16] : f32
  npu_isa.vbinary mul %x<1>, %d<1>, %d<1> over [16] : f32
  npu_isa.store_ub %x<1> -> %c[] over [16] map affine_map<(d0) -> (d0)> : memref<16xf32, #tile.space<gm>>
  tile.return
}
