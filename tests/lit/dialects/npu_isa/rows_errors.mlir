// RUN: npu-opt %s --split-input-file --verify-diagnostics

func.func @memory() {
  %l = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l1>
  // expected-error @below {{the index must be an address in ub, got l1}}
  %r = "npu_isa.read_index"(%l) <{extent = 8 : i64, element = i32}> : (!npu_isa.addr<l1>) -> index
  func.return
}

// -----

func.func @width() {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  // expected-error @below {{an index is an integer of 8, 16, 32 or 64 bits, got i4}}
  %r = npu_isa.read_index %u of 8 : i4
  func.return
}

// -----

func.func @axis(%x: memref<8xf32, #tile.space<gm>>, %r: index) {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  // expected-error @below {{there is no coordinate 1 in (d0, d1) -> (d0)}}
  npu_isa.gather_ub %x[%r] -> %u<1> over [1] map affine_map<(r, a) -> (r)> axis 1 : memref<8xf32, #tile.space<gm>>
  func.return
}

// -----

func.func @computed(%x: memref<8xf32, #tile.space<gm>>, %r: index) {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  // expected-error @below {{coordinate 0 of the map has to be one of the indices, it is (d0 + 1)}}
  npu_isa.gather_ub %x[%r] -> %u<1> over [1] map affine_map<(r, a) -> (r + 1)> axis 0 : memref<8xf32, #tile.space<gm>>
  func.return
}

// -----

func.func @dim(%x: memref<8xf32, #tile.space<gm>>, %r: index) {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  // expected-error @below {{coordinate 0 of the map has to be one of the indices, it is d1}}
  npu_isa.gather_ub %x[%r] -> %u<1> over [8] map affine_map<(r, a) -> (a)> axis 0 : memref<8xf32, #tile.space<gm>>
  func.return
}

// -----

func.func @shared(%x: memref<8x8xf32, #tile.space<gm>>, %r: index) {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  // expected-error @below {{the index that coordinate 0 of the map is can't be part of another coordinate}}
  npu_isa.gather_ub %x[%r] -> %u<1> over [8] map affine_map<(r, a) -> (r, r + a)> axis 0 : memref<8x8xf32, #tile.space<gm>>
  func.return
}

// -----

func.func @space(%x: memref<8xf32>, %r: index) {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  // expected-error @below {{the memref must be in #tile.space<gm>, got memref<8xf32>}}
  npu_isa.gather_ub %x[%r] -> %u<1> over [1] map affine_map<(r, a) -> (r)> axis 0 : memref<8xf32>
  func.return
}

// -----

func.func @store(%x: memref<8xf32, #tile.space<gm>>, %r: index) {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  // expected-error @below {{coordinate 0 of the map has to be one of the indices, it is d1}}
  npu_isa.scatter_ub %u<1> -> %x[%r] over [8] map affine_map<(r, a) -> (a)> axis 0 : memref<8xf32, #tile.space<gm>>
  func.return
}
