// RUN: not npu-opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: error: 'tile.program' op the region must end with a tile.yield of the types of the results
func.func @types(%x: tensor<4xf32>) {
  %y = tile.program -> tensor<8xf32> {
    tile.yield %x : tensor<4xf32>
  }
  func.return
}

// -----

// CHECK: error: 'tile.program' op 'arith.negf' can't be part of a program, which consists of launches, loops of them and views: end the program before it
func.func @computes(%x: tensor<4xf32>) {
  %y = tile.program -> tensor<4xf32> {
    %n = arith.negf %x : tensor<4xf32>
    tile.yield %n : tensor<4xf32>
  }
  func.return
}

// -----

// CHECK: error: 'tile.launch' op as a section of a program, '@k' needs a tile.boundary: what stands behind it waits for the sections before
func.func @no_boundary(%x: tensor<64xf32>) {
  %y = tile.program -> tensor<64xf32> {
    %a = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    tile.yield %a : tensor<64xf32>
  }
  func.return
}
tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  tile.return
}

// -----

// What a section has made can't be loaded ahead of the boundary, not through a view either; what is from outside can.
// CHECK: error: 'tile.launch' op '@k' loads argument 0 ahead of its boundary, and a section of this program writes it: move the load behind the boundary
// CHECK-NEXT: %b = tile.launch @k(%v)
func.func @ahead(%x: tensor<64xf32>) {
  %y = tile.program -> tensor<64xf32> {
    %a = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %u = tensor.expand_shape %a [[0 : i64, 1 : i64]] output_shape [8, 8] : tensor<64xf32> into tensor<8x8xf32>
    %v = tensor.collapse_shape %u [[0 : i64, 1 : i64]] : tensor<8x8xf32> into tensor<64xf32>
    %b = tile.launch @k(%v) : (tensor<64xf32>) -> tensor<64xf32>
    tile.yield %b : tensor<64xf32>
  }
  func.return
}
tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc : memref<64xf32, #tile.space<ub>>
  tile.load %X[] into %x map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<gm>>, memref<64xf32, #tile.space<ub>>
  tile.boundary
  tile.store %x, %Y[] map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<ub>>, memref<64xf32, #tile.space<gm>>
  tile.return
}

// -----

// CHECK: error: 'tile.boundary' op 'tile.store' can't stand before it: only loads from GM run ahead
tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc : memref<64xf32, #tile.space<ub>>
  tile.store %x, %Y[] map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<ub>>, memref<64xf32, #tile.space<gm>>
  tile.boundary
  tile.return
}

// -----

// CHECK: error: 'tile.boundary' op a kernel has one boundary, and there is one before it
tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  tile.boundary
  tile.boundary
  tile.return
}

// -----

// CHECK: error: 'tile.boundary' op 'tile.boundary' expects parent op 'tile.kernel'
func.func @parent() {
  tile.boundary
  func.return
}

// -----

// CHECK: error: 'tile.launch' op '@k' waits for tile.stored, and is the first section of a program
func.func @first(%x: tensor<64xf32>) {
  %y = tile.program -> tensor<64xf32> {
    %a = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    tile.yield %a : tensor<64xf32>
  }
  func.return
}
tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  tile.await_stored from <ub>
  tile.boundary
  tile.return
}

// -----

// CHECK: error: 'tile.launch' op '@k' waits for tile.stored, and the section before, '@l', has none
// CHECK-NEXT: %b = tile.launch @k(%a)
func.func @unsaid(%x: tensor<64xf32>) {
  %y = tile.program -> tensor<64xf32> {
    %a = tile.launch @l(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %b = tile.launch @k(%a) : (tensor<64xf32>) -> tensor<64xf32>
    tile.yield %b : tensor<64xf32>
  }
  func.return
}
tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  tile.await_stored from <ub>
  tile.boundary
  tile.return
}
tile.kernel @l(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  tile.boundary
  tile.return
}

// -----

// CHECK: error: 'tile.launch' op '@k' loads argument 0 ahead of its boundary, and another section than the one directly before writes it: move the load behind the boundary
// CHECK-NEXT: %c = tile.launch @k(%a)
func.func @earlier(%x: tensor<64xf32>) {
  %y = tile.program -> tensor<64xf32> {
    %a = tile.launch @l(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %b = tile.launch @l(%a) : (tensor<64xf32>) -> tensor<64xf32>
    %c = tile.launch @k(%a) : (tensor<64xf32>) -> tensor<64xf32>
    tile.yield %c : tensor<64xf32>
  }
  func.return
}
tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc : memref<64xf32, #tile.space<ub>>
  tile.await_stored from <ub>
  tile.load %X[] into %x map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<gm>>, memref<64xf32, #tile.space<ub>>
  tile.boundary
  tile.return
}
tile.kernel @l(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  tile.boundary
  tile.stored
  tile.return
}

// -----

// CHECK: error: 'tile.await_stored' op it stands before the boundary of a kernel, which waits for everything
tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  tile.boundary
  tile.await_stored from <ub>
  tile.return
}

// -----

// CHECK: error: 'tile.await_stored' op nothing is stored from l1
tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
  tile.await_stored from <l1>
  tile.boundary
  tile.return
}
