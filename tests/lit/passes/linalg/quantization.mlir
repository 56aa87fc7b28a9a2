// RUN: npu-opt %s --convert-graph-to-linalg --split-input-file | filecheck %s

// Limited to the range less the zero point, rounded, then moved to the zero point.
// CHECK-LABEL: func.func @known
// CHECK:       %[[Q:.*]] = arith.divf %{{.*}}, %{{.*}} : f32
// CHECK:       arith.constant -1.280000e+02 : f32
// CHECK:       arith.maximumf %[[Q]]
// CHECK:       arith.constant 1.270000e+02 : f32
// CHECK:       arith.minimumf
// CHECK-NEXT:  %[[R:.*]] = math.roundeven %{{.*}} : f32
// CHECK-NEXT:  %[[I:.*]] = arith.fptosi %[[R]] : f32 to i8
// CHECK-NEXT:  linalg.yield %[[I]] : i8
func.func @known(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xi8> {
  %z = arith.constant dense<0> : tensor<i8>
  %0 = graph.quantize %x, %s, %z : (tensor<4xf32>, tensor<4xf32>, tensor<i8>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// -----

// Integers of 4 bits are numbers of a byte; a zero point of 0 is not subtracted.
// CHECK-LABEL: func.func @four_bits(%x: tensor<4xi4>
// CHECK:       builtin.unrealized_conversion_cast %x : tensor<4xi4> to tensor<4xi8>
// CHECK:       ^bb0(%[[X:.*]]: i8,
// CHECK-NOT:   arith.subf
// CHECK:       arith.sitofp %[[X]] : i8 to f32
// CHECK-NEXT:  arith.mulf
func.func @four_bits(%x: tensor<4xi4>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %z = arith.constant dense<0> : tensor<i4>
  %0 = graph.dequantize %x, %s, %z : (tensor<4xi4>, tensor<4xf32>, tensor<i4>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// Products of bytes are summed in i32, as the cube does.
// CHECK-LABEL: func.func @bytes
// CHECK:       arith.extsi %{{.*}} : i8 to i32
// CHECK-NEXT:  arith.extsi %{{.*}} : i8 to i32
// CHECK-NEXT:  arith.muli
// CHECK-NEXT:  arith.addi
func.func @bytes(%x: tensor<4x8xi8>, %w: tensor<8x3xi8>) -> tensor<4x3xi32> {
  %0 = graph.matmul %x, %w : (tensor<4x8xi8>, tensor<8x3xi8>) -> tensor<4x3xi32>
  func.return %0 : tensor<4x3xi32>
}

// -----

// Sums in other units, in the order in which the fixpipe goes.
// CHECK-LABEL: func.func @requantize
// CHECK:       %[[F:.*]] = arith.sitofp %{{.*}} : i32 to f32
// CHECK-NEXT:  %[[M:.*]] = arith.mulf %[[F]], %{{.*}} : f32
// CHECK:       arith.maximumf %[[M]],
// CHECK:       %[[L:.*]] = arith.minimumf
// CHECK-NEXT:  %[[R:.*]] = math.roundeven %[[L]] : f32
// CHECK:       %[[A:.*]] = arith.addf %[[R]]
// CHECK-NEXT:  arith.fptosi %[[A]] : f32 to i8
func.func @requantize(%x: tensor<2x4xi32>, %s: tensor<4xf32>) -> tensor<2x4xi8> {
  %z = arith.constant dense<3> : tensor<i8>
  %0 = graph.requantize %x, %s, %z from 3 : (tensor<2x4xi32>, tensor<4xf32>, tensor<i8>) -> tensor<2x4xi8>
  func.return %0 : tensor<2x4xi8>
}
