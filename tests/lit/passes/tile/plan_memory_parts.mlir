// RUN: npu-opt %s --split-input-file --verify-diagnostics --tile-plan-memory | filecheck %s

// Results that are joined in place lie in what is reserved for the whole, with its strides.
#gm = #tile.space<gm>
tile.kernel @k(%a: memref<8x2x16xf16, #gm>, %b: memref<8x2x16xf16, strided<[64, 16, 1]>, #gm>) {
  tile.return
}
tile.kernel @next(%a: memref<8x2x16xf16, strided<[64, 16, 1]>, #gm>, %b: memref<8x2x16xf16, strided<[64, 16, 1]>, #gm>) {
  tile.return
}
// CHECK:      %[[D:.*]] = tile.reserve at 0 : tensor<8x64xf16>
// CHECK-NEXT: tile.launch @k(%x) {result_offsets = array<i64: 0>, result_strides = [array<i64: 64, 16, 1>]}
// CHECK:      %[[D1:.*]] = tensor.insert_slice %{{.*}} into %[[D]]
// CHECK:      tile.launch @next({{.*}}) {result_offsets = array<i64: 64>, result_strides = [array<i64: 64, 16, 1>]}
// CHECK:      tensor.insert_slice %{{.*}} into %[[D1]]
func.func @main(%x: tensor<8x2x16xf16>) -> tensor<8x64xf16> {
  %0 = tile.launch @k(%x) : (tensor<8x2x16xf16>) -> tensor<8x2x16xf16>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<8x2x16xf16> into tensor<8x32xf16>
  %d = tensor.empty() : tensor<8x64xf16>
  %2 = tensor.insert_slice %1 into %d[0, 0] [8, 32] [1, 1] {npu.in_place} : tensor<8x32xf16> into tensor<8x64xf16>
  %3 = tile.launch @next(%0) : (tensor<8x2x16xf16>) -> tensor<8x2x16xf16>
  %4 = tensor.collapse_shape %3 [[0], [1, 2]] : tensor<8x2x16xf16> into tensor<8x32xf16>
  %5 = tensor.insert_slice %4 into %2[0, 32] [8, 32] [1, 1] {npu.in_place} : tensor<8x32xf16> into tensor<8x64xf16>
  func.return %5 : tensor<8x64xf16>
}

// -----

// What a program hands on lies where the launch in it puts it.
#gm = #tile.space<gm>
tile.kernel @k(%a: memref<8x32xf16, #gm>, %b: memref<8x32xf16, strided<[64, 1]>, #gm>) {
  tile.boundary
  tile.return
}
// CHECK-LABEL: func.func @handed
// CHECK:      %[[D:.*]] = tile.reserve at 0 : tensor<8x64xf16>
// CHECK:      tile.launch @k(%x) {result_offsets = array<i64: 0>, result_strides = [array<i64: 64, 1>]}
// CHECK:      tile.launch @k(%{{.*}}) {result_offsets = array<i64: 64>, result_strides = [array<i64: 64, 1>]}
func.func @handed(%x: tensor<8x32xf16>, %y: tensor<8x32xf16>) -> tensor<8x64xf16> {
  %d = tensor.empty() : tensor<8x64xf16>
  %0, %1 = tile.program -> tensor<8x32xf16>, tensor<8x32xf16> {
    %2 = tile.launch @k(%x) : (tensor<8x32xf16>) -> tensor<8x32xf16>
    %3 = tile.launch @k(%y) : (tensor<8x32xf16>) -> tensor<8x32xf16>
    tile.yield %2, %3 : tensor<8x32xf16>, tensor<8x32xf16>
  }
  %4 = tensor.insert_slice %0 into %d[0, 0] [8, 32] [1, 1] {npu.in_place} : tensor<8x32xf16> into tensor<8x64xf16>
  %5 = tensor.insert_slice %1 into %4[0, 32] [8, 32] [1, 1] {npu.in_place} : tensor<8x32xf16> into tensor<8x64xf16>
  func.return %5 : tensor<8x64xf16>
}

// -----

// A result has one place.
#gm = #tile.space<gm>
tile.kernel @k(%a: memref<8x32xf16, #gm>, %b: memref<8x32xf16, strided<[64, 1]>, #gm>) {
  tile.return
}
func.func @main(%x: tensor<8x32xf16>) -> tensor<8x64xf16> {
  %0 = tile.launch @k(%x) : (tensor<8x32xf16>) -> tensor<8x32xf16>
  %d = tensor.empty() : tensor<8x64xf16>
  %1 = tensor.insert_slice %0 into %d[0, 0] [8, 32] [1, 1] {npu.in_place} : tensor<8x32xf16> into tensor<8x64xf16>
  // expected-error @+1 {{a result can be part of one tensor only: copy it}}
  %2 = tensor.insert_slice %0 into %1[0, 32] [8, 32] [1, 1] {npu.in_place} : tensor<8x32xf16> into tensor<8x64xf16>
  func.return %2 : tensor<8x64xf16>
}

// -----

// What is no result of a launch can't be made elsewhere.
func.func @main(%x: tensor<8x32xf16>) -> tensor<8x64xf16> {
  %d = tensor.empty() : tensor<8x64xf16>
  // expected-error @+1 {{what is joined in place is a tensor without contents, of results of launches that have no other place, whole but for one axis, outside of loops: run linalg-place-pieces}}
  %1 = tensor.insert_slice %x into %d[0, 0] [8, 32] [1, 1] {npu.in_place} : tensor<8x32xf16> into tensor<8x64xf16>
  func.return %1 : tensor<8x64xf16>
}

// -----

// A kernel knows the gaps in what it reads and writes.
#gm = #tile.space<gm>
tile.kernel @k(%a: memref<8x32xf16, #gm>, %b: memref<8x32xf16, #gm>) {
  tile.return
}
func.func @main(%x: tensor<8x32xf16>) -> tensor<8x64xf16> {
  // expected-error @+1 {{argument 1 of '@k' has the strides [32, 1], and the tensor lies in place with [64, 1]}}
  %0 = tile.launch @k(%x) : (tensor<8x32xf16>) -> tensor<8x32xf16>
  %d = tensor.empty() : tensor<8x64xf16>
  %1 = tensor.insert_slice %0 into %d[0, 0] [8, 32] [1, 1] {npu.in_place} : tensor<8x32xf16> into tensor<8x64xf16>
  func.return %1 : tensor<8x64xf16>
}
