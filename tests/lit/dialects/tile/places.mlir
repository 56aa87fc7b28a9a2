// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

#gm = #tile.space<gm>
// CHECK-LABEL: func.func @main(
func.func @main(%x: tensor<8xf32>, %i: index) -> tensor<8xf32> {
  // CHECK-NEXT:    %y = tile.launch @copy(%x) slots(%i) {result_offsets = array<i64: 512>, result_slots = array<i64: 2>} : (tensor<8xf32>) -> tensor<8xf32>
  %y = tile.launch @copy(%x) slots(%i) {result_offsets = array<i64: 512>, result_slots = array<i64: 2>} : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK-NEXT:    %a = tile.reserve at 1024 : tensor<9x8xf32>
  %a = tile.reserve at 1024 : tensor<9x8xf32>
  // CHECK-NEXT:    %b = tile.reserve at 4096 slot %i of 2 {npu.node = "b"} : tensor<9x8xf32>
  %b = tile.reserve at 4096 slot %i of 2 {npu.node = "b"} : tensor<9x8xf32>
  func.return %y : tensor<8xf32>
}
tile.kernel @copy(%a: memref<8xf32, #gm>, %b: memref<8xf32, #gm>) {
  %t = tile.load %a[] map affine_map<(d0) -> (d0)> : memref<8xf32, #gm> -> tensor<8xf32, #tile.space<ub>>
  tile.store %t, %b[] map affine_map<(d0) -> (d0)> : tensor<8xf32, #tile.space<ub>>, memref<8xf32, #gm>
  tile.return
}
