// What passes make knows where it comes from: a load from the operation that needs the tile, a loop from the product,
// a flag from the instruction that waits for it. Names of nodes stay in locations when kernels lose the attribute, and
// text with locations is taken on as if it had never been printed.

// RUN: npu-opt %s --lower-to=tile --mlir-print-debuginfo -o %t.tile.mlir && filecheck %s --check-prefix=TILE < %t.tile.mlir
// RUN: npu-opt %t.tile.mlir --lower-to=tile-memref --mlir-print-debuginfo -o %t.memref.mlir
// RUN: filecheck %s --check-prefix=MEMREF < %t.memref.mlir
// RUN: npu-opt %t.memref.mlir --lower-to=isa --mlir-print-debuginfo -o %t.isa.mlir && filecheck %s --check-prefix=ISA < %t.isa.mlir
// RUN: npu-opt %s --lower-to=isa --mlir-print-debuginfo | diff - %t.isa.mlir

// A race is found between instructions of nodes, at lines of the input.
// RUN: grep -v npu_isa.set_flag %t.isa.mlir | grep -v npu_isa.wait_flag > %t.racy.mlir
// RUN: not npu-run %t.racy.mlir 2>&1 | filecheck %s --check-prefix=RACE

// TILE:      tile.kernel @k0_dense(%0: memref<16x64xf32, #tile.space<gm>> loc("dense"("{{.*}}locations.mlir":51:5)),
// TILE:      tile.load %{{.*}} -> tensor<16xf32, #tile.space<l1>> loc("bias"("{{.*}}locations.mlir":59:7))
// TILE:      scf.for
// TILE:        tile.load %{{.*}} #tile.space<l1>> loc("dense"("{{.*}}locations.mlir":51:5))
// TILE:        tile.load %{{.*}} #tile.space<l0a>> loc("dense"(
// TILE:        } -> tensor<16x16xf32, #tile.space<l0c>> loc("dense"(
// TILE:        scf.yield {{.*}} loc("dense"(
// TILE:      } loc("dense"(
// TILE:      tile.load %{{.*}} epilogue <relu> {{.*}} loc(fused["dense"("{{.*}}":51:5), "relu"("{{.*}}":65:7)])
// TILE:      tile.store {{.*}} loc("bias+relu"("{{.*}}":63:5))
// TILE:      tile.return loc("dense"(
// TILE:    } loc("dense"(

// MEMREF:    tile.alloc {slots = 2 : i64, {{.*}} #tile.space<l1>> loc("dense"(
// MEMREF:    tile.slot {{.*}} loc("dense"(
// MEMREF:    tile.load {{.*}} loc("dense"(

// ISA:       npu_isa.buffer {{.*}} loc("dense"(
// ISA:       npu_isa.set_flag [MTE2, MTE1, {{.*}}] loc("dense"(
// ISA:       npu_isa.wait_flag [M, FIX, {{.*}}] loc("dense"(
// ISA:       npu_isa.fixpipe_ub {{.*}} epilogue <relu> {{.*}} loc(fused["dense"({{.*}}), "relu"(
// ISA:       npu_isa.store_ub {{.*}} loc("bias+relu"(

// RACE:      locations.mlir:51:5: error: race between {{.*}} (of 'dense')
// RACE-NEXT: locations.mlir:[[#]]:5: note: written by

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
builtin.module attributes {npu.target = "toy"} {
  func.func @main(%x: tensor<16x64xf32>, %w: tensor<64x16xf32>, %v: tensor<16xf32>) -> tensor<16x16xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x16xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
    %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<16x64xf32>, tensor<64x16xf32>) outs(%f : tensor<16x16xf32>) attrs = {npu.node = "dense"} {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %m = arith.mulf %p, %q : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<16x16xf32>
    %1 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %v : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) attrs = {npu.node = "bias"} {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<16x16xf32>
    %e1 = tensor.empty() : tensor<16x16xf32>
    %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<16x16xf32>) outs(%e1 : tensor<16x16xf32>) attrs = {npu.node = "relu"} {
    ^bb0(%p: f32, %o: f32):
      %s = arith.maximumf %p, %zero : f32
      linalg.yield %s : f32
    } -> tensor<16x16xf32>
    func.return %2 : tensor<16x16xf32>
  }
}
