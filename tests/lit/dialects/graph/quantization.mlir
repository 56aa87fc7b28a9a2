// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

// Between numbers and integers that stand for them; sums of bytes are i32.

// CHECK-LABEL: func.func @quantize
// CHECK-NEXT: {{.*}} = graph.quantize %x, %s, %z : (tensor<2x3xf32>, tensor<f32>, tensor<3xui8>) -> tensor<2x3xui8>
func.func @quantize(%x: tensor<2x3xf32>, %s: tensor<f32>, %z: tensor<3xui8>) {
  %r = graph.quantize %x, %s, %z : (tensor<2x3xf32>, tensor<f32>, tensor<3xui8>) -> tensor<2x3xui8>
  func.return
}

// CHECK-LABEL: func.func @dequantize
// CHECK-NEXT: {{.*}} = graph.dequantize %x, %s, %z : (tensor<2x3xi4>, tensor<3xf16>, tensor<i4>) -> tensor<2x3xf16>
func.func @dequantize(%x: tensor<2x3xi4>, %s: tensor<3xf16>, %z: tensor<i4>) {
  %r = graph.dequantize %x, %s, %z : (tensor<2x3xi4>, tensor<3xf16>, tensor<i4>) -> tensor<2x3xf16>
  func.return
}

// CHECK-LABEL: func.func @requantize
// CHECK-NEXT: {{.*}} = graph.requantize %x, %s, %z : (tensor<2x3xi32>, tensor<3xf32>, tensor<i8>) -> tensor<2x3xi8>
// CHECK-NEXT: {{.*}} = graph.requantize %x, %s, %z from -3 : (tensor<2x3xi32>, tensor<3xf32>, tensor<i8>) -> tensor<2x3xi8>
func.func @requantize(%x: tensor<2x3xi32>, %s: tensor<3xf32>, %z: tensor<i8>) {
  %r = graph.requantize %x, %s, %z : (tensor<2x3xi32>, tensor<3xf32>, tensor<i8>) -> tensor<2x3xi8>
  %q = graph.requantize %x, %s, %z from -3 : (tensor<2x3xi32>, tensor<3xf32>, tensor<i8>) -> tensor<2x3xi8>
  func.return
}

// CHECK-LABEL: func.func @matmul
// CHECK-NEXT: {{.*}} = graph.matmul %x, %w : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi32>
func.func @matmul(%x: tensor<2x3xi8>, %w: tensor<3x4xi8>) {
  %r = graph.matmul %x, %w : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi32>
  func.return
}

// CHECK-LABEL: func.func @quantized_add
// CHECK-NEXT: {{.*}} = graph.quantized_add %x, %y scales [5.000000e-01, 1.250000e+00] offset 3.000000e+00 from -128 : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
func.func @quantized_add(%x: tensor<4xi8>, %y: tensor<4xi8>) {
  %r = graph.quantized_add %x, %y scales [0.5, 1.25] offset 3.0 from -128 : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}
