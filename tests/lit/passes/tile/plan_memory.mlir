// RUN: npu-opt %s --tile-plan-memory --split-input-file | filecheck %s

#gm = #tile.space<gm>
#ub = #tile.space<ub>
builtin.module attributes {npu.target = "toy"} {
// All fit side by side: no address is used twice, which would order what is independent.
// CHECK-LABEL: tile.kernel @beside(
// CHECK-NEXT:    tile.alloc {address = 0 : i64} : memref<4xf32, #tile.space<ub>>
// CHECK-NEXT:    tile.alloc {slots = 2 : i64, address = 32 : i64} : memref<8xf32, #tile.space<ub>>
tile.kernel @beside(%X: memref<8xf32, #gm>, %Y: memref<4xf32, #gm>) {
  %a = tile.alloc : memref<4xf32, #ub>
  %b = tile.alloc {slots = 2} : memref<8xf32, #ub>
  %c0 = arith.constant 0 : index
  %s = tile.slot %b[%c0] : memref<8xf32, #ub>
  tile.load %X[] into %s map affine_map<(d) -> (d)> : memref<8xf32, #gm>, memref<8xf32, #ub>
  tile.load %X[] into %a map affine_map<(d) -> (d)> : memref<8xf32, #gm>, memref<4xf32, #ub>
  tile.store %a, %Y[] map affine_map<(d) -> (d)> : memref<4xf32, #ub>, memref<4xf32, #gm>
  tile.return
}

// 1280 + 1280 + 512 bytes in 2048: the third buffer begins where the first has ended.
// CHECK-LABEL: tile.kernel @reuse(
// CHECK-NEXT:    tile.alloc {address = 0 : i64} : memref<320xf32, #tile.space<ub>>
// CHECK-NEXT:    tile.alloc {address = 1280 : i64} : memref<128xf32, #tile.space<ub>>
// CHECK-NEXT:    tile.alloc {address = 0 : i64} : memref<320xf32, #tile.space<ub>>
tile.kernel @reuse(%X: memref<320xf32, #gm>, %Y: memref<320xf32, #gm>) {
  %a = tile.alloc : memref<320xf32, #ub>
  %b = tile.alloc : memref<128xf32, #ub>
  %c = tile.alloc : memref<320xf32, #ub>
  tile.load %X[] into %a map affine_map<(d) -> (d)> : memref<320xf32, #gm>, memref<320xf32, #ub>
  tile.load %X[] into %b map affine_map<(d) -> (d)> : memref<320xf32, #gm>, memref<128xf32, #ub>
  tile.store %a, %Y[] map affine_map<(d) -> (d)> : memref<320xf32, #ub>, memref<320xf32, #gm>
  tile.load %X[] into %c map affine_map<(d) -> (d)> : memref<320xf32, #gm>, memref<320xf32, #ub>
  tile.store %b, %Y[] map affine_map<(d) -> (d)> : memref<128xf32, #ub>, memref<320xf32, #gm>
  tile.store %c, %Y[] map affine_map<(d) -> (d)> : memref<320xf32, #ub>, memref<320xf32, #gm>
  tile.return
}
}

// -----

// Results in the GM arena: the first is read by the second launch through a view, the third takes its place. A function
// that is only declared has none.
// CHECK:       func.func private @declared(tensor<8xf32>) -> tensor<8xf32>
// CHECK:         %[[A:.*]] = tile.launch @k(%x) {result_offsets = array<i64: 0>}
// CHECK:         %[[B:.*]] = tile.launch @k(%{{.*}}) {result_offsets = array<i64: 512>}
// CHECK:         %[[C:.*]] = tile.launch @k(%[[B]]) {result_offsets = array<i64: 0>}
func.func private @declared(tensor<8xf32>) -> tensor<8xf32>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tile.launch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %v = tensor.expand_shape %a [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %w = tensor.collapse_shape %v [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %b = tile.launch @k(%w) : (tensor<8xf32>) -> tensor<8xf32>
  %c = tile.launch @k(%b) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %c : tensor<8xf32>
}
tile.kernel @k(%X: memref<8xf32, #tile.space<gm>>, %Y: memref<8xf32, #tile.space<gm>>) {
  tile.return
}

// -----

// A result that lies where an operand does, through a view, keeps its place until it is read for the last time.
// CHECK:         %[[A:.*]] = tile.launch @k(%x) {result_offsets = array<i64: 0>}
// CHECK:         %[[B:.*]] = tile.launch @put(%{{.*}}) {result_offsets = array<i64: 0>}
// CHECK:         %[[C:.*]] = tile.launch @k(%x) {result_offsets = array<i64: 512>}
// CHECK:         %[[D:.*]] = tile.launch @sum(%{{.*}}, %{{.*}}) {result_offsets = array<i64: 1024>}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tile.launch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %v = tensor.expand_shape %a [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %b = tile.launch @put(%v) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %c = tile.launch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %w = tensor.collapse_shape %b [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %d = tile.launch @sum(%c, %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %d : tensor<8xf32>
}
tile.kernel @k(%X: memref<8xf32, #tile.space<gm>>, %Y: memref<8xf32, #tile.space<gm>>) {
  tile.return
}
tile.kernel @put(%X: memref<2x4xf32, #tile.space<gm>>, %Y: memref<2x4xf32, #tile.space<gm>>) reuses [0] {
  tile.return
}
tile.kernel @sum(%X: memref<8xf32, #tile.space<gm>>, %Z: memref<8xf32, #tile.space<gm>>, %Y: memref<8xf32, #tile.space<gm>>) {
  tile.return
}
