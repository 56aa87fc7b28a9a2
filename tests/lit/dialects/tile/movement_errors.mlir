// RUN: not npu-opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: error: 'tile.load' op tile.load: the map must take 1 loop indices and 1 tile dimensions, it takes 1
tile.kernel @dims(%x: memref<8xf32, #tile.space<gm>>) {
  %i = arith.constant 0 : index
  %t = tile.load %x[%i] map affine_map<(d0) -> (d0)> : memref<8xf32, #tile.space<gm>> -> tensor<4xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: 'tile.load' op tile.load: the map gives 2 coordinates, the memory has rank 1
tile.kernel @coordinates(%x: memref<8xf32, #tile.space<gm>>) {
  %t = tile.load %x[] map affine_map<(d0) -> (d0, d0)> : memref<8xf32, #tile.space<gm>> -> tensor<4xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: 'tile.load' op tile.load keeps the element type, got memref<8xf32, #tile.space<gm>> and tensor<4xf16, #tile.space<ub>>
tile.kernel @element(%x: memref<8xf32, #tile.space<gm>>) {
  %t = tile.load %x[] map affine_map<(d0) -> (d0)> : memref<8xf32, #tile.space<gm>> -> tensor<4xf16, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: 'tile.load' op there is no path from gm to l0a
tile.kernel @path(%x: memref<8xf32, #tile.space<gm>>) {
  %t = tile.load %x[] map affine_map<(d0) -> (d0)> : memref<8xf32, #tile.space<gm>> -> tensor<4xf32, #tile.space<l0a>>
  tile.return
}

// -----

// CHECK: error: 'tile.load' op only a load from L0C has an epilogue
tile.kernel @relu(%x: memref<8xf32, #tile.space<gm>>) {
  %t = tile.load %x[] map affine_map<(d0) -> (d0)> epilogue <relu> : memref<8xf32, #tile.space<gm>> -> tensor<4xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: expected an affine map
tile.kernel @map(%x: memref<8xf32, #tile.space<gm>>) {
  %t = tile.load %x[] map "x" : memref<8xf32, #tile.space<gm>> -> tensor<4xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: 'tile.store' op tile.store writes to GM, got memref<8xf32, #tile.space<ub>>
tile.kernel @to_gm(%x: memref<8xf32, #tile.space<gm>>) {
  %a = tile.alloc : memref<8xf32, #tile.space<ub>>
  %b = tile.alloc : memref<8xf32, #tile.space<ub>>
  tile.store %a, %b[] map affine_map<(d0) -> (d0)> : memref<8xf32, #tile.space<ub>>, memref<8xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: 'tile.store' op there is no path from l1 to gm
tile.kernel @from_l1(%x: memref<8xf32, #tile.space<gm>>) {
  %a = tile.alloc : memref<8xf32, #tile.space<l1>>
  tile.store %a, %x[] map affine_map<(d0) -> (d0)> : memref<8xf32, #tile.space<l1>>, memref<8xf32, #tile.space<gm>>
  tile.return
}

// -----

// CHECK: error: 'tile.store' op tile.store keeps the element type, got memref<8xf16, #tile.space<ub>> and memref<8xf32, #tile.space<gm>>
tile.kernel @stored_element(%x: memref<8xf32, #tile.space<gm>>) {
  %a = tile.alloc : memref<8xf16, #tile.space<ub>>
  tile.store %a, %x[] map affine_map<(d0) -> (d0)> : memref<8xf16, #tile.space<ub>>, memref<8xf32, #tile.space<gm>>
  tile.return
}

// -----

// CHECK: error: 'tile.alloc' op tile.alloc makes on-chip buffers, got memref<8xf32, #tile.space<gm>>
tile.kernel @alloc(%x: memref<8xf32, #tile.space<gm>>) {
  %a = tile.alloc : memref<8xf32, #tile.space<gm>>
  tile.return
}

// -----

// CHECK: error: 'tile.alloc' op a buffer has at least one slot
tile.kernel @slots(%x: memref<8xf32, #tile.space<gm>>) {
  %a = tile.alloc {slots = 0} : memref<8xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: 'tile.slot' op result 'result' at position 0 does not verify
tile.kernel @slot(%x: memref<8xf32, #tile.space<gm>>) {
  %a = tile.alloc {slots = 2} : memref<8xf32, #tile.space<ub>>
  %i = arith.constant 0 : index
  %s = "tile.slot"(%a, %i) : (memref<8xf32, #tile.space<ub>>, index) -> memref<4xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: the fixpipe has no step 'gelu', expected scale, scales, relu, offset
tile.kernel @step(%c: memref<8xf32, #tile.space<l0c>>) {
  %t = tile.load %c[] map affine_map<(d0) -> (d0)> epilogue <gelu> : memref<8xf32, #tile.space<l0c>> -> tensor<8xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: an epilogue has each step at most once, and at least one, in the order scale, scales, relu, offset
tile.kernel @steps(%c: memref<8xf32, #tile.space<l0c>>) {
  %t = tile.load %c[] map affine_map<(d0) -> (d0)> epilogue <relu, relu> : memref<8xf32, #tile.space<l0c>> -> tensor<8xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: an epilogue has each step at most once, and at least one, in the order scale, scales, relu, offset
tile.kernel @order(%c: memref<8xf32, #tile.space<l0c>>) {
  %t = tile.load %c[] map affine_map<(d0) -> (d0)> epilogue <relu, scale 2.0> : memref<8xf32, #tile.space<l0c>> -> tensor<8xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: a scale is finite in f32, and not zero
tile.kernel @large(%c: memref<8xf32, #tile.space<l0c>>) {
  %t = tile.load %c[] map affine_map<(d0) -> (d0)> epilogue <scale 1.0e39> : memref<8xf32, #tile.space<l0c>> -> tensor<8xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: a scale is finite in f32, and not zero
tile.kernel @zero(%c: memref<8xf32, #tile.space<l0c>>) {
  %t = tile.load %c[] map affine_map<(d0) -> (d0)> epilogue <scale 0.0> : memref<8xf32, #tile.space<l0c>> -> tensor<8xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: 'tile.load' op the fixpipe scales i32 or f32 to f16, bf16, f32 or i8, got i32 to i16
tile.kernel @narrow(%y: memref<8xf16, #tile.space<gm>>) {
  %c = tile.alloc {rows = 0} : memref<8xi32, #tile.space<l0c>>
  %t = tile.load %c[] map affine_map<(d0) -> (d0)> epilogue <scale 0.5> : memref<8xi32, #tile.space<l0c>> -> tensor<8xi16, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: 'tile.load' op only a scale to i8 has an offset, got i32 to f16
tile.kernel @offset(%y: memref<8xf16, #tile.space<gm>>) {
  %c = tile.alloc {rows = 0} : memref<8xi32, #tile.space<l0c>>
  %t = tile.load %c[] map affine_map<(d0) -> (d0)> epilogue <scale 0.5, offset 3> : memref<8xi32, #tile.space<l0c>> -> tensor<8xf16, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: an offset has 9 bits, got 256
tile.kernel @large(%y: memref<8xf16, #tile.space<gm>>) {
  %c = tile.alloc {rows = 0} : memref<8xi32, #tile.space<l0c>>
  %t = tile.load %c[] map affine_map<(d0) -> (d0)> epilogue <scale 0.5, offset 256> : memref<8xi32, #tile.space<l0c>> -> tensor<8xi8, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: 'tile.load' op an epilogue has scales if there is a row of them, and only then
tile.kernel @no_row(%y: memref<8xf16, #tile.space<gm>>) {
  %c = tile.alloc {rows = 0} : memref<8xi32, #tile.space<l0c>>
  %t = tile.load %c[] map affine_map<(d0) -> (d0)> epilogue <scales> : memref<8xi32, #tile.space<l0c>> -> tensor<8xi8, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: 'tile.load' op scales of type memref<4xf32, #tile.space<l1>> along dims [0] of a tile of [8]
tile.kernel @short_row(%y: memref<8xf16, #tile.space<gm>>) {
  %c = tile.alloc {rows = 0} : memref<8xi32, #tile.space<l0c>>
  %r = tile.alloc : memref<4xf32, #tile.space<l1>>
  %t = tile.load %c[] map affine_map<(d0) -> (d0)> epilogue <scales> scales %r : memref<4xf32, #tile.space<l1>> along [0]
    : memref<8xi32, #tile.space<l0c>> -> tensor<8xi8, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: 'tile.load' op the fixpipe makes f16 of i32 by a scale only
tile.kernel @unscaled(%y: memref<8xf16, #tile.space<gm>>) {
  %c = tile.alloc {rows = 0} : memref<8xi32, #tile.space<l0c>>
  %t = tile.load %c[] map affine_map<(d0) -> (d0)> : memref<8xi32, #tile.space<l0c>> -> tensor<8xf16, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: 'tile.store' op the fixpipe makes f16 of i32 by a scale only
tile.kernel @stored(%y: memref<8xf16, #tile.space<gm>>) {
  %c = tile.alloc {rows = 0} : memref<8xi32, #tile.space<l0c>>
  tile.store %c, %y[] map affine_map<(d0) -> (d0)> epilogue <relu> : memref<8xi32, #tile.space<l0c>>, memref<8xf16, #tile.space<gm>>
  tile.return
}

// -----

// CHECK: error: 'tile.store' op only a store from L0C has an epilogue
tile.kernel @from_ub(%y: memref<8xf32, #tile.space<gm>>) {
  %u = tile.alloc : memref<8xf32, #tile.space<ub>>
  tile.store %u, %y[] map affine_map<(d0) -> (d0)> epilogue <relu> : memref<8xf32, #tile.space<ub>>, memref<8xf32, #tile.space<gm>>
  tile.return
}

// -----

// CHECK: error: 'tile.insert' op tile.insert takes a tile from ub to l1, got memref<8xf16, #tile.space<l1>> and memref<8xf16, #tile.space<l1>>
tile.kernel @spaces_of_parts(%y: memref<8xf16, #tile.space<gm>>) {
  %a = tile.alloc : memref<8xf16, #tile.space<l1>>
  tile.insert %a, %a[] map affine_map<(d0) -> (d0)> : memref<8xf16, #tile.space<l1>>, memref<8xf16, #tile.space<l1>>
  tile.return
}

// -----

// CHECK: error: 'tile.insert' op tile.insert keeps the element type
tile.kernel @types_of_parts(%y: memref<8xf16, #tile.space<gm>>) {
  %u = tile.alloc : memref<8xf32, #tile.space<ub>>
  %a = tile.alloc : memref<8xf16, #tile.space<l1>>
  tile.insert %u, %a[] map affine_map<(d0) -> (d0)> : memref<8xf32, #tile.space<ub>>, memref<8xf16, #tile.space<l1>>
  tile.return
}

// -----

// CHECK: error: 'tile.insert' op tile.insert: the map gives 2 coordinates, the memory has rank 1
tile.kernel @places_of_parts(%y: memref<8xf16, #tile.space<gm>>) {
  %u = tile.alloc : memref<8xf16, #tile.space<ub>>
  %a = tile.alloc : memref<8xf16, #tile.space<l1>>
  tile.insert %u, %a[] map affine_map<(d0) -> (d0, d0)> : memref<8xf16, #tile.space<ub>>, memref<8xf16, #tile.space<l1>>
  tile.return
}

// -----

// CHECK: error: 'tile.insert' op tile.insert into a tensor has that tensor's type as its result, others have none
tile.kernel @result_of_parts(%y: memref<8xf16, #tile.space<gm>>) {
  %u = tensor.empty() : tensor<8xf16, #tile.space<ub>>
  %a = tensor.empty() : tensor<8xf16, #tile.space<l1>>
  tile.insert %u, %a[] map affine_map<(d0) -> (d0)> : tensor<8xf16, #tile.space<ub>>, tensor<8xf16, #tile.space<l1>>
  tile.return
}
