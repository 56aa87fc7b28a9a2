// Launches that follow each other become a program, with views and loops of launches between them. Weights and constants
// are defined before it. The kernels get a boundary, once.

// RUN: npu-opt %s --tile-link-kernels | filecheck %s
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    %0 = graph.weight @w : tensor<8x8xf32>
// CHECK-NEXT:    %v = tile.program -> tensor<64xf32> {
// CHECK-NEXT:      %y = tile.launch @k(%x)
// CHECK-NEXT:      %w = tensor.collapse_shape %0
// CHECK-NEXT:      %z = tile.launch @add(%y, %w)
// CHECK-NEXT:      %1 = tile.launch @k(%z)
// CHECK-NEXT:      tile.yield %1 : tensor<64xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %v
// CHECK-LABEL: func.func @loop
// CHECK:         %a = tile.program -> tensor<64xf32> {
// CHECK-NEXT:      %0 = scf.for
// CHECK-NEXT:        %y = tile.launch @k
// CHECK:           tile.yield %0

// What the host computes ends a program; a single launch is none.
// CHECK-LABEL: func.func @host
// CHECK-NEXT:    %y = tile.launch @k(%x)
// CHECK-NEXT:    %z = tile.host
// CHECK:         %u, %v = tile.program -> tensor<64xf32>, tensor<64xf32> {
// CHECK-NEXT:      %1 = tile.launch @k(%z)
// CHECK-NEXT:      %2 = tile.launch @k(%1)
// CHECK-NEXT:      tile.yield %1, %2
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %u, %v
// CHECK-LABEL: tile.kernel @k
// CHECK-NEXT:    %x = tile.alloc
// CHECK-NEXT:    tile.boundary
// CHECK-NOT:     tile.boundary
// CHECK-LABEL: tile.kernel @add

// Programs that are there stay.
// RUN: npu-opt %s --tile-link-kernels | npu-opt --tile-link-kernels | filecheck %s
// RUN: npu-opt %s --tile-link-kernels=enable=false | filecheck %s --check-prefix=NONE
// NONE-NOT: tile.program
// NONE-NOT: tile.boundary

// Results have the places that they had without programs.
// RUN: npu-opt %s --pass-pipeline='builtin.module(tile-link-kernels,tile-plan-memory)' | filecheck %s --check-prefix=PLAN
// PLAN: tile.launch @k(%x) {result_offsets = array<i64: 0>}
// PLAN: tile.launch @add(%y, %w) {result_offsets = array<i64: 512>}
// PLAN: tile.launch @k(%z) {result_offsets = array<i64: 0>}

// Kernels of instructions are ordered already.
// RUN: not npu-opt %s --pass-pipeline='builtin.module(tile-plan-memory,convert-tile-to-npu-isa,tile-link-kernels)' 2>&1 | filecheck %s --check-prefix=LATE
// LATE: error: '@k' consists of instructions: kernels are linked before convert-tile-to-npu-isa

builtin.module attributes {npu.target = "toy"} {
  func.func @chain(%x: tensor<64xf32>) -> tensor<64xf32> {
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %0 = graph.weight @w : tensor<8x8xf32>
    %w = tensor.collapse_shape %0 [[0 : i64, 1 : i64]] : tensor<8x8xf32> into tensor<64xf32>
    %z = tile.launch @add(%y, %w) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %v = tile.launch @k(%z) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %v : tensor<64xf32>
  }
  func.func @loop(%x: tensor<64xf32>) -> tensor<64xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %a = scf.for %i = %c0 to %c9 step %c1 iter_args(%s = %x) -> (tensor<64xf32>) {
      %y = tile.launch @k(%s) : (tensor<64xf32>) -> tensor<64xf32>
      scf.yield %y : tensor<64xf32>
    }
    func.return %a : tensor<64xf32>
  }
  func.func @host(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %z = tile.host -> tensor<64xf32> {
      %0 = arith.negf %y : tensor<64xf32>
      tile.yield %0 : tensor<64xf32>
    }
    %u = tile.launch @k(%z) : (tensor<64xf32>) -> tensor<64xf32>
    %v = tile.launch @k(%u) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %u, %v : tensor<64xf32>, tensor<64xf32>
  }
  tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %x = tile.alloc : memref<64xf32, #tile.space<ub>>
    tile.load %X[] into %x map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<gm>>, memref<64xf32, #tile.space<ub>>
    tile.store %x, %Y[] map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<ub>>, memref<64xf32, #tile.space<gm>>
    tile.return
  }
  tile.kernel @add(%X: memref<64xf32, #tile.space<gm>>, %W: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {
    %x = tile.alloc : memref<64xf32, #tile.space<ub>>
    tile.load %W[] into %x map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<gm>>, memref<64xf32, #tile.space<ub>>
    tile.store %x, %Y[] map affine_map<(d) -> (d)> : memref<64xf32, #tile.space<ub>>, memref<64xf32, #tile.space<gm>>
    tile.return
  }
}
