// RUN: not npu-opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: error: 'tile.host' op the region must end with a tile.yield of the types of the results
func.func @types(%x: tensor<4xf32>) {
  %y = tile.host -> tensor<8xf32> {
    tile.yield %x : tensor<4xf32>
  }
  func.return
}

// -----

// CHECK: error: 'tile.yield' op 'tile.yield' expects parent op to be one of 'tile.host', 'tile.program'
func.func @parent(%x: tensor<4xf32>) {
  tile.yield %x : tensor<4xf32>
}
