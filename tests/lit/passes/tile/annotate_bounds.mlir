// What a kernel has to do at least, before it is tiled. On the toy machine, 64 f32 are 256 bytes: a load or store takes
// 4 + 256 / 8 = 36 cycles, the relu 8 groups at 1 cycle. The largest sum is that of the stores: launch 100, issue 1, the smallest
// load 4 + 4 + 20, a handover 1, 36, and 20 until GM has it.

// RUN: npu-opt %s --pass-pipeline='builtin.module(tile-form-kernels,tile-annotate-bounds)' | filecheck %s
// CHECK: tile.kernel @k0{{.*}}npu.bound = {cycles = 186 : i64, MTE2 = 36 : i64, V = 8 : i64, MTE3 = 36 : i64, bytes = 512 : i64}

// It stays as it is on kernels that have one, and tiled kernels have none.
// RUN: npu-opt %s --pass-pipeline='builtin.module(tile-form-kernels,tile-annotate-bounds,tile-annotate-bounds)' | filecheck %s
// RUN: npu-opt %s --pass-pipeline='builtin.module(tile-form-kernels,tile-choose-schedule,tile-apply-schedule,tile-annotate-bounds)' | filecheck %s --check-prefix=TILED
// RUN: npu-opt %s --pass-pipeline='builtin.module(tile-form-kernels,tile-choose-schedule,tile-apply-schedule,tile-bufferize,tile-annotate-bounds)' | filecheck %s --check-prefix=TILED
// TILED-NOT: npu.bound

#same = affine_map<(d0) -> (d0)>
builtin.module attributes {npu.target = "toy"} {
  func.func @main(%a: tensor<64xf32>) -> tensor<64xf32> {
    %e = tensor.empty() : tensor<64xf32>
    %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) {
    ^bb0(%x: f32, %o: f32):
      %c = arith.constant 0.0 : f32
      %v = arith.maximumf %x, %c : f32
      linalg.yield %v : f32
    } -> tensor<64xf32>
    func.return %r : tensor<64xf32>
  }
}
