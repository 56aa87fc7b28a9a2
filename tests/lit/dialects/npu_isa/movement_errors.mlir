// RUN: not npu-opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: 'npu_isa.load_ub' op the memref must be in #tile.space<gm>, got memref<8xf32>
func.func @f(%x: memref<8xf32>) {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  npu_isa.load_ub %x[] -> %u<1> over [8] map affine_map<(a) -> (a)> : memref<8xf32>
  func.return
}

// -----

// CHECK: 'npu_isa.load_ub' op npu_isa.load_ub: the map gives 2 coordinates, the memory has rank 1
func.func @f(%x: memref<8xf32, #tile.space<gm>>) {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  npu_isa.load_ub %x[] -> %u<1> over [8] map affine_map<(a) -> (a, a)> : memref<8xf32, #tile.space<gm>>
  func.return
}

// -----

// CHECK: 'npu_isa.load_ub' op coordinate 0 of the map depends on more than one iteration dim
func.func @f(%x: memref<8xf32, #tile.space<gm>>) {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  npu_isa.load_ub %x[] -> %u<2, 1> over [2, 2] map affine_map<(a, b) -> (a + b)> : memref<8xf32, #tile.space<gm>>
  func.return
}

// -----

// CHECK: 'npu_isa.load_ub' op elements of the destination overlap: dims [2, 4], strides [3, 1]
func.func @f(%x: memref<2x4xf32, #tile.space<gm>>) {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  npu_isa.load_ub %x[] -> %u<3, 1> over [2, 4] map affine_map<(a, b) -> (a, b)> : memref<2x4xf32, #tile.space<gm>>
  func.return
}

// -----

// CHECK: 'npu_isa.load_ub' op the padding is 0.000000e+00 : f16, but the elements are f32
func.func @f(%x: memref<8xf32, #tile.space<gm>>) {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  npu_isa.load_ub %x[] -> %u<1> over [8] map affine_map<(a) -> (a)> pad 0.0 : f16 : memref<8xf32, #tile.space<gm>>
  func.return
}

// -----

// CHECK: 'npu_isa.store_ub' op the instruction iterates over at most 4 dims, got [1, 1, 1, 1, 8]
func.func @f(%x: memref<8xf32, #tile.space<gm>>) {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  npu_isa.store_ub %u<8, 8, 8, 8, 1> -> %x[] over [1, 1, 1, 1, 8] map affine_map<(a, b, c, d, e) -> (e)>
    : memref<8xf32, #tile.space<gm>>
  func.return
}

// -----

// CHECK: error: operand is used with type !npu_isa.addr<l1>, but has been previously used or defined with type !npu_isa.addr<ub>
func.func @f(%x: memref<8xf32, #tile.space<gm>>) {
  %u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
  npu_isa.load_l1 %x[] -> %u<1> over [8] map affine_map<(a) -> (a)> : memref<8xf32, #tile.space<gm>>
  func.return
}

// -----

// CHECK: 'npu_isa.load_l0a' op the destination must be an address in l0a, got l0b
%l = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l1>
%b = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l0b>
"npu_isa.load_l0a"(%l, %b) <{shape = array<i64: 4, 4>, strides = array<i64: 4, 1>, rows = 1 : i64, element = f32}>
  : (!npu_isa.addr<l1>, !npu_isa.addr<l0b>) -> ()

// -----

// CHECK: 'npu_isa.load_l0a' op 3 row dims of 2 dims
%l = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l1>
%a = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l0a>
npu_isa.load_l0a %l<4, 1> -> %a over [4, 4] rows 3 : f32

// -----

// CHECK: 'npu_isa.fixpipe_ub' op expected a stride for each dim of [4, 4], got [1]
%c = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l0c>
%u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
npu_isa.fixpipe_ub %c<4, 1> -> %u<1> over [4, 4] : f32

// -----

// CHECK: 'npu_isa.fixpipe_ub' op the fixpipe makes f16 of i32 by a scale only
%c = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l0c>
%u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
npu_isa.fixpipe_ub %c<1> -> %u<1> over [4] epilogue <relu> : i32 -> f16

// -----

// CHECK: 'npu_isa.fixpipe_gm' op the fixpipe scales i32 or f32 to f16, bf16, f32 or i8, got i32 to i16
func.func @f(%y: memref<8xi16, #tile.space<gm>>) {
  %c = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l0c>
  npu_isa.fixpipe_gm %c<1> -> %y[] over [8] map affine_map<(a) -> (a)> epilogue <scale 0.5> : memref<8xi16, #tile.space<gm>>
  func.return
}

// -----

// CHECK: 'npu_isa.fixpipe_ub' op an epilogue has scales if there is a row of them, and only then
%c = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l0c>
%u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
npu_isa.fixpipe_ub %c<1> -> %u<1> over [4] epilogue <scales> : i32 -> i8

// -----

// CHECK: 'npu_isa.fixpipe_gm' op accumulators are f32 or i32, got i8
func.func @f(%y: memref<8xi8, #tile.space<gm>>) {
  %c = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l0c>
  npu_isa.fixpipe_gm %c<1> -> %y[] over [8] map affine_map<(a) -> (a)> of i8 : memref<8xi8, #tile.space<gm>>
  func.return
}

// -----

// CHECK: 'npu_isa.copy_l1' op expected a stride for each dim of [8], got [8, 1]
%l = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l1>
%u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
npu_isa.copy_l1 %u<1> -> %l<8, 1> over [8] : f32

// -----

// CHECK: 'npu_isa.copy_ub' op elements of the destination overlap: dims [2, 4], strides [3, 1]
%l = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l1>
%u = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
npu_isa.copy_ub %l<4, 1> -> %u<3, 1> over [2, 4] : f32
