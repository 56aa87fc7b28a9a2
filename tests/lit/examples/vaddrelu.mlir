// An instruction with its meaning and its cost, and the pass that uses it.
// RUN: npu-opt %s --load-pass-plugin %examples/instructions/vaddrelu.py --fuse-add-relu --check-equivalence | filecheck %s
// RUN: npu-opt %s --load-pass-plugin %examples/instructions/vaddrelu.py --fuse-add-relu --mlir-print-op-generic \
// RUN:   | npu-opt --load-pass-plugin %examples/instructions/vaddrelu.py | filecheck %s

// It saves cycles, races are found around it, and reports, traces and pages know it.
// RUN: rm -rf %t && mkdir %t && npu-opt %inputs/add_relu.mlir --lower-to=isa -o %t/before.mlir
// RUN: npu-compile %inputs/add_relu.mlir --load-pass-plugin %examples/instructions/vaddrelu.py --fuse-add-relu \
// RUN:   --check-equivalence -o %t/after.mlir
// RUN: npu-run %t/before.mlir --timing-only --report %t/before.json
// RUN: npu-run %t/after.mlir --load-pass-plugin %examples/instructions/vaddrelu.py --timing-only --timeline --attribution \
// RUN:   --report %t/after.json --trace %t/trace.json --html %t/page.html | filecheck %s --check-prefix=TIMES
// RUN: npu-run --diff %t/before.json %t/after.json | filecheck %s --check-prefix=DIFF
// RUN: npu-run %t/after.mlir --load-pass-plugin %examples/instructions/vaddrelu.py | filecheck %s --check-prefix=VALUES
// RUN: grep -v 'wait_flag .MTE2, V' %t/after.mlir > %t/race.mlir
// RUN: not npu-run %t/race.mlir --load-pass-plugin %examples/instructions/vaddrelu.py 2>&1 | filecheck %s --check-prefix=RACE
// RUN: not npu-run %t/after.mlir 2>&1 | filecheck %s --check-prefix=UNKNOWN

// TIMES: k0: 2,071 cycles
// 64 cycles for 64 groups, 10 + 1 behind the wait for its operands.
// TIMES: V{{ +}}506{{ +}}570  my.vaddrelu
// DIFF: {{k0.*}}2,101{{.*}}2,071{{.*}}busy V -32, latency V +2
// VALUES: 2,071
// RACE: error: race between MTE2 and V{{.*}}my.vaddrelu
// UNKNOWN: error: unknown dialect 'my' of operation 'my.vaddrelu'

// CHECK-LABEL: tile.kernel @fused
// CHECK:         npu_isa.load_ub
// CHECK-NEXT:    my.vaddrelu %[[D:[0-9a-z]+]]<1>, %[[D]]<1>, imm 5.000000e-01 : f32 over [16] : f32
// CHECK-NEXT:    npu_isa.store_ub
tile.kernel @fused(%a: memref<16xf32, #tile.space<gm>>, %c: memref<16xf32, #tile.space<gm>>) {
  %d = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  npu_isa.load_ub %a[] -> %d<1> over [16] map affine_map<(d0) -> (d0)> : memref<16xf32, #tile.space<gm>>
  npu_isa.vbinary add %d<1>, %d<1>, imm 0.5 : f32 over [16] : f32
  npu_isa.vunary relu %d<1>, %d<1> over [16] : f32
  npu_isa.store_ub %d<1> -> %c[] over [16] map affine_map<(d0) -> (d0)> : memref<16xf32, #tile.space<gm>>
  tile.return
}

// The sum is needed too.
// CHECK-LABEL: tile.kernel @kept
// CHECK-NOT:     vaddrelu
tile.kernel @kept(%a: memref<16xf32, #tile.space<gm>>, %c: memref<16xf32, #tile.space<gm>>) {
  %d = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  %r = npu_isa.buffer 1 x 64 at 64 : !npu_isa.addr<ub>
  npu_isa.load_ub %a[] -> %d<1> over [16] map affine_map<(d0) -> (d0)> : memref<16xf32, #tile.space<gm>>
  npu_isa.vbinary add %d<1>, %d<1>, %d<1> over [16] : f32
  npu_isa.vunary relu %r<1>, %d<1> over [16] : f32
  npu_isa.vbinary add %d<1>, %d<1>, %r<1> over [16] : f32
  npu_isa.store_ub %d<1> -> %c[] over [16] map affine_map<(d0) -> (d0)> : memref<16xf32, #tile.space<gm>>
  tile.return
}
