// Weights are brought to L2 ahead of their launches, each once; a definition that comes too late moves up.

// RUN: npu-opt %s --tile-prefetch-weights | filecheck %s
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %0 = graph.weight @w0
// CHECK-NEXT:    tile.prefetch %0 : tensor<64xf32>
// CHECK-NEXT:    %1 = graph.weight @w1
// CHECK-NEXT:    tile.prefetch %1 : tensor<64xf32>
// CHECK-NEXT:    %y = tile.launch @k(%x, %0)
// CHECK-NEXT:    %z = tile.launch @k(%y, %1)
// CHECK-NEXT:    %v = tile.launch @k(%z, %0)

// With a window for one of them, the second waits for the first to be used.
// RUN: npu-opt %s --tile-prefetch-weights='window=256B' | filecheck %s --check-prefix=SHORT
// SHORT:       tile.prefetch %0
// SHORT-NEXT:  %y = tile.launch
// SHORT-NEXT:  %1 = graph.weight
// SHORT-NEXT:  tile.prefetch %1
// SHORT-NEXT:  %z = tile.launch

// Nothing for a window that no weight fits, for none, on a machine without L2, or where prefetches stand already.
// RUN: npu-opt %s --tile-prefetch-weights='window=255' | filecheck %s --check-prefix=NONE
// RUN: npu-opt %s --tile-prefetch-weights='window=0' | filecheck %s --check-prefix=NONE
// RUN: sed 's/ascend-910/toy/' %s | npu-opt --tile-prefetch-weights | filecheck %s --check-prefix=NONE
// NONE-NOT: tile.prefetch
// RUN: sed 's/%y = tile.launch/tile.prefetch %x : tensor<64xf32> %y = tile.launch/' %s | npu-opt --tile-prefetch-weights | filecheck %s --check-prefix=OWN
// OWN-NOT: tile.prefetch %0
// OWN:     tile.prefetch %x
// OWN-NOT: tile.prefetch

// RUN: npu-opt %s --tile-prefetch-weights --remarks-filter=tile-prefetch-weights -o /dev/null 2>&1 | filecheck %s --check-prefix=DONE
// DONE: remark: [Passed] prefetch | Category:tile-prefetch-weights | Function=main | Asked=16777216, Remark="2 weights prefetched", Window=16777216
// RUN: npu-opt %s --tile-prefetch-weights='window=255' --remarks-filter=tile-prefetch-weights -o /dev/null 2>&1 | filecheck %s --check-prefix=LEFT
// LEFT: remark: [Missed] prefetch | Category:tile-prefetch-weights | Function=main | Reason="every weight is in L2, larger than the window, or would push out what is there", Remark="nothing prefetched"

// RUN: not npu-opt %s --tile-prefetch-weights='window=much' 2>&1 | filecheck %s --check-prefix=BAD
// BAD: error: the window can't be 'much': it is a number of bytes, like 8MiB, or 0

// At the level of instructions it is one of them.
// RUN: npu-opt %s --pass-pipeline='builtin.module(tile-prefetch-weights,convert-tile-to-npu-isa)' | filecheck %s --check-prefix=ISA
// ISA:     npu_isa.prefetch %0 : tensor<64xf32>
// ISA-NOT: tile.prefetch

builtin.module attributes {npu.target = "ascend-910"} {
  tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %W: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %x = tile.alloc {address = 0 : i64} : memref<64xf32, #tile.space<ub>>
    %w = tile.alloc {address = 256 : i64} : memref<64xf32, #tile.space<ub>>
    tile.load %X[] into %x map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<gm>>, memref<64xf32, #tile.space<ub>>
    tile.load %W[] into %w map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<gm>>, memref<64xf32, #tile.space<ub>>
    tile.store %x, %Y[] map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<ub>>, memref<64xf32, #tile.space<gm>>
    tile.return
  }
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %0 = graph.weight @w0 : tensor<64xf32>
    %y = tile.launch @k(%x, %0) {result_offsets = array<i64: 0>} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %1 = graph.weight @w1 : tensor<64xf32>
    %z = tile.launch @k(%y, %1) {result_offsets = array<i64: 512>} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %v = tile.launch @k(%z, %0) {result_offsets = array<i64: 0>} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    func.return %v : tensor<64xf32>
  }
}
