// RUN: npu-opt %s --split-input-file --lower-to=tile | filecheck %s

// Sums are requantized on their way out of L0C: a factor for each column from L1, relu, zero point. They start from the
// bias, and the vector unit has nothing to do.
// CHECK-LABEL: tile.kernel @k0
// CHECK:         %[[ROW:.*]] = tile.load %2[] map {{.*}} : memref<24xf32, #tile.space<gm>> -> tensor<24xf32, #tile.space<l1>>
// CHECK:         tile.load %{{.*}}[] map {{.*}} epilogue <scales, relu, offset -3> scales %[[ROW]] : tensor<24xf32, #tile.space<l1>> along [1] : tensor<8x24xi32, #tile.space<l0c>> -> tensor<8x24xi8, #tile.space<ub>>
// CHECK-NOT:     arith.mulf
// CHECK:         tile.store
builtin.module attributes {npu.target = "ascend-910"} {
  func.func @main(%x: tensor<8x40xi8>, %w: tensor<40x24xi8>, %m: tensor<24xf32>, %b: tensor<24xi32>) -> tensor<8x24xi8> {
    %0 = graph.matmul %x, %w : (tensor<8x40xi8>, tensor<40x24xi8>) -> tensor<8x24xi32>
    %1 = graph.add %0, %b : (tensor<8x24xi32>, tensor<24xi32>) -> tensor<8x24xi32>
    %z = arith.constant dense<-3> : tensor<i8>
    %2 = graph.requantize %1, %m, %z from -3 : (tensor<8x24xi32>, tensor<24xf32>, tensor<i8>) -> tensor<8x24xi8>
    func.return %2 : tensor<8x24xi8>
  }
}

// -----

// Where cores are separate, they go to GM that way. The relu of the least zero point is the range of the type.
// CHECK-LABEL: tile.kernel @k0
// CHECK:         tile.store %{{.*}} epilogue <scale 5.0e-01, offset -128> : tensor<8x24xi32, #tile.space<l0c>>, memref<8x24xi8, #tile.space<gm>>
builtin.module attributes {npu.target = "ascend-910b"} {
  func.func @main(%x: tensor<8x40xi8>, %w: tensor<40x24xi8>) -> tensor<8x24xi8> {
    %0 = graph.matmul %x, %w : (tensor<8x40xi8>, tensor<40x24xi8>) -> tensor<8x24xi32>
    %m = arith.constant dense<0.5> : tensor<f32>
    %z = arith.constant dense<-128> : tensor<i8>
    %1 = graph.requantize %0, %m, %z : (tensor<8x24xi32>, tensor<f32>, tensor<i8>) -> tensor<8x24xi8>
    func.return %1 : tensor<8x24xi8>
  }
}

// -----

// The vector unit multiplies what has a factor for each row of the accumulators, and all on a machine without that scale.
// CHECK-LABEL: tile.kernel @k0
// CHECK:         tile.load %{{.*}} : tensor<8x24xi32, #tile.space<l0c>> -> tensor<8x24xi32, #tile.space<ub>>
// CHECK:         arith.mulf
builtin.module attributes {npu.target = "ascend-910"} {
  func.func @main(%x: tensor<8x40xi8>, %w: tensor<40x24xi8>, %m: tensor<8x1xf32>) -> tensor<8x24xi8> {
    %0 = graph.matmul %x, %w : (tensor<8x40xi8>, tensor<40x24xi8>) -> tensor<8x24xi32>
    %z = arith.constant dense<0> : tensor<i8>
    %1 = graph.requantize %0, %m, %z : (tensor<8x24xi32>, tensor<8x1xf32>, tensor<i8>) -> tensor<8x24xi8>
    func.return %1 : tensor<8x24xi8>
  }
}

// -----

// CHECK-LABEL: tile.kernel @k0
// CHECK-NOT:     epilogue
// CHECK:         arith.mulf
builtin.module attributes {npu.target = "toy"} {
  func.func @main(%x: tensor<8x8xi8>, %w: tensor<8x8xi8>, %m: tensor<8xf32>) -> tensor<8x8xi8> {
    %0 = graph.matmul %x, %w : (tensor<8x8xi8>, tensor<8x8xi8>) -> tensor<8x8xi32>
    %z = arith.constant dense<0> : tensor<i8>
    %1 = graph.requantize %0, %m, %z : (tensor<8x8xi32>, tensor<8xf32>, tensor<i8>) -> tensor<8x8xi8>
    func.return %1 : tensor<8x8xi8>
  }
}
