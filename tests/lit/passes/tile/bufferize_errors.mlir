// RUN: not npu-opt %s --tile-bufferize --split-input-file 2>&1 | filecheck %s

#gm = #tile.space<gm>

// CHECK: error: a tile of type tensor<4xf32> has no memory space
tile.kernel @no_space(%X: memref<4xf32, #gm>, %Y: memref<4xf32, #gm>) {
  %x = tile.load %X[] map affine_map<(m) -> (m)> : memref<4xf32, #gm> -> tensor<4xf32>
  tile.store %x, %Y[] map affine_map<(m) -> (m)> : tensor<4xf32>, memref<4xf32, #gm>
  tile.return
}

// -----

#gm = #tile.space<gm>
#l1 = #tile.space<l1>
#l0a = #tile.space<l0a>

// CHECK: error: a tile in a matrix memory is not used by a matrix product
tile.kernel @no_product(%X: memref<4x4xf32, #gm>) {
  %x = tile.load %X[] map affine_map<(m, k) -> (m, k)> : memref<4x4xf32, #gm> -> tensor<4x4xf32, #l1>
  %a = tile.load %x[] map affine_map<(m, k) -> (m, k)> : tensor<4x4xf32, #l1> -> tensor<4x4xf32, #l0a>
  tile.return
}
