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

// CHECK: error: 'l1': a size can't be negative, got -8
tile.kernel @entry0(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<l1 = [4, -8]> {
  tile.return
}

// -----

// CHECK: error: 'order': the number of a class can't be negative, got -1
tile.kernel @entry1(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<order = [-1]> {
  tile.return
}

// -----

// CHECK: error: 'order' names a class twice: [1, 1]
tile.kernel @entry2(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<order = [1, 1]> {
  tile.return
}

// -----

// CHECK: error: 'l1' is a list of integers
tile.kernel @entry3(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<l1 = 4> {
  tile.return
}

// -----

// CHECK: error: 'l1' is given twice
tile.kernel @entry4(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<l1 = [4], l1 = [2]> {
  tile.return
}

// -----

// CHECK: error: unknown entry of a schedule 'ordre'; did you mean 'order'?
tile.kernel @entry5(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<ordre = [1]> {
  tile.return
}

// -----

// CHECK: error: unknown entry of a schedule 'tile'; expected one of l1, l0, ub, order, slots, keep, bypass_ub, ops
tile.kernel @entry6(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<tile = [4]> {
  tile.return
}

// -----

// CHECK: error: 'slots' gives a number for memories: {l1 = 2, ub = 2}
tile.kernel @entry7(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<slots = 2> {
  tile.return
}

// -----

// CHECK: error: unknown memory 'l2'; expected one of l1, l0a, l0b, l0c, ub
tile.kernel @entry8(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<slots = {l2 = 2}> {
  tile.return
}

// -----

// CHECK: error: unknown memory 'gm'; expected one of l1, l0a, l0b, l0c, ub
tile.kernel @entry9(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<slots = {gm = 2}> {
  tile.return
}

// -----

// CHECK: error: 'ub' needs at least one slot
tile.kernel @entry10(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<slots = {ub = 0}> {
  tile.return
}

// -----

// CHECK: error: 'ub': unknown role 'inn'; did you mean 'in'?
tile.kernel @entry11(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<slots = {ub = {inn = 2}}> {
  tile.return
}

// -----

// CHECK: error: 'l1.a' needs at least one slot
tile.kernel @entry12(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<slots = {l1 = {a = 0}}> {
  tile.return
}

// -----

// CHECK: error: the buffers of 'l0a' have no roles: give one number of slots
tile.kernel @entry13(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<slots = {l0a = {a = 2}}> {
  tile.return
}

// -----

// CHECK: error: 'ub' is given twice
tile.kernel @entry14(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<slots = {ub = 1, ub = 2}> {
  tile.return
}

// -----

// CHECK: error: 'bypass_ub' takes no value
tile.kernel @entry15(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<bypass_ub = 1> {
  tile.return
}

// -----

// CHECK: error: 'ops' gives sizes for operations by their position: {1 = {l0 = [0, 0, 32]}}
tile.kernel @entry16(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<ops = {first = {ub = [1]}}> {
  tile.return
}

// -----

// CHECK: error: unknown entry of a schedule 'order'; expected one of l1, l0, ub
tile.kernel @entry17(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<ops = {0 = {order = [1]}}> {
  tile.return
}

// -----

// CHECK: error: 'ub': a size can't be negative, got -1
tile.kernel @entry18(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<ops = {0 = {ub = [-1]}}> {
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

// -----

// CHECK: error: 'tile.kernel' op 2 results reuse operands, but the kernel has 1
tile.kernel @k(%x: memref<8xf32, #tile.space<gm>>, %y: memref<8xf32, #tile.space<gm>>) reuses [0, -1] {
  tile.return
}

// -----

// CHECK: error: 'tile.kernel' op a result of type memref<8xf32, #tile.space<gm>> can't reuse operand 0
tile.kernel @k(%x: memref<4xf32, #tile.space<gm>>, %y: memref<8xf32, #tile.space<gm>>) reuses [0] {
  tile.return
}

// -----

// CHECK: error: 'tile.kernel' op two results reuse one operand
tile.kernel @k(%x: memref<8xf32, #tile.space<gm>>, %y: memref<8xf32, #tile.space<gm>>, %z: memref<8xf32, #tile.space<gm>>)
    outputs 2 reuses [0, 0] {
  tile.return
}

// -----

// CHECK: error: 'keep' is a list of operands: [a, b]
tile.kernel @keep1(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<keep = [0, 1]> {
  tile.return
}

// -----

// CHECK: error: 'keep': unknown operand 'c'; expected one of a, b
tile.kernel @keep2(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<keep = [c]> {
  tile.return
}

// -----

// CHECK: error: 'keep' names an operand twice: a, a
tile.kernel @keep3(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<keep = [a, a]> {
  tile.return
}

// -----

// CHECK: error: a list has either numbers or names
tile.kernel @keep4(%y: memref<8xf32, #tile.space<gm>>) schedule #tile.schedule<keep = [a, 1]> {
  tile.return
}
