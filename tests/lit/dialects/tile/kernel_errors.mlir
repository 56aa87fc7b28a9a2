// RUN: not npu-opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: error: 'tile.kernel' op argument 1 of a kernel must be a memref in #tile.space<gm>, got memref<8xf32>
tile.kernel @argument(%x: memref<8xf32, #tile.space<gm>>, %y: memref<8xf32>) {
  tile.return
}

// -----

// CHECK: error: 'tile.kernel' op 3 outputs, but the kernel has 2 arguments
tile.kernel @outputs(%x: memref<8xf32, #tile.space<gm>>, %y: memref<8xf32, #tile.space<gm>>) outputs 3 {
  tile.return
}

// -----

// CHECK: error: 'tile.kernel' op a kernel must end with tile.return
tile.kernel @terminator(%y: memref<8xf32, #tile.space<gm>>) {
  %0 = arith.constant 0 : index
}

// -----

// CHECK: error: expected a #tile.schedule attribute
tile.kernel @schedule(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.space<gm> {
  tile.return
}

// -----

// CHECK: error: unknown memory space 'l2', expected one of gm, l1, l0a, l0b, l0c, ub
tile.kernel @space(%y: memref<8xf32, #tile.space<l2>>) {
  tile.return
}

// -----

// CHECK: error: 'tile.kernel' op linalg.generic takes operands in l1, ub: the vector unit works on ub, the cube on l0a and l0b into l0c
tile.kernel @mixed(%y: memref<8xf32, #tile.space<gm>>) {
  %a = tile.alloc : memref<8xf32, #tile.space<l1>>
  %b = tile.alloc : memref<8xf32, #tile.space<ub>>
  linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>], iterator_types = ["parallel"]}
      ins(%a : memref<8xf32, #tile.space<l1>>) outs(%b : memref<8xf32, #tile.space<ub>>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  }
  tile.return
}

// -----

// CHECK: error: 'tile.kernel' op linalg.generic takes operands in l0b, l0a, l0c: the vector unit works on ub, the cube on l0a and l0b into l0c
tile.kernel @exchanged(%y: memref<8xf32, #tile.space<gm>>) {
  %a = tile.alloc {rows = 1} : memref<4x4xf32, #tile.space<l0a>>
  %b = tile.alloc {rows = 1} : memref<4x4xf32, #tile.space<l0b>>
  %c = tile.alloc {rows = 1} : memref<4x4xf32, #tile.space<l0c>>
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                   affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%b, %a : memref<4x4xf32, #tile.space<l0b>>, memref<4x4xf32, #tile.space<l0a>>)
      outs(%c : memref<4x4xf32, #tile.space<l0c>>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %p = arith.mulf %i, %j : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  tile.return
}

// -----

// CHECK: error: 'tile.kernel' op linalg.fill takes operands in gm: the vector unit works on ub, the cube on l0a and l0b into l0c
tile.kernel @fill(%y: memref<8xf32, #tile.space<gm>>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<8xf32, #tile.space<gm>>)
  tile.return
}

// -----

// CHECK: error: 'tile.launch' op operands and results are not those of the kernel '@k'
func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
  %y = tile.launch @k(%x) : (tensor<4xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}
tile.kernel @k(%x: memref<8xf32, #tile.space<gm>>, %y: memref<8xf32, #tile.space<gm>>) {
  tile.return
}

// -----

// CHECK: error: 'tile.launch' op '@main' is not a kernel
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = tile.launch @main(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}
