// RUN: not npu-opt --split-input-file %s 2>&1 | filecheck %s

// What the verifiers of quantization and of products of integers reject.

// CHECK: :{{[0-9]+}}:3: error: 'graph.quantize' op input and scale are f16 and f32
func.func @f(%x: tensor<4xf16>, %s: tensor<f32>, %z: tensor<i8>) {
  %0 = graph.quantize %x, %s, %z : (tensor<4xf16>, tensor<f32>, tensor<i8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.quantize' op shapes 4 and 3 do not broadcast
func.func @f(%x: tensor<4xf32>, %s: tensor<3xf32>, %z: tensor<i8>) {
  %0 = graph.quantize %x, %s, %z : (tensor<4xf32>, tensor<3xf32>, tensor<i8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.dequantize' op input and zero point are ui8 and i8
func.func @f(%x: tensor<4xui8>, %s: tensor<f32>, %z: tensor<i8>) {
  %0 = graph.dequantize %x, %s, %z : (tensor<4xui8>, tensor<f32>, tensor<i8>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.matmul' op element type must be a number, got i1
func.func @f(%x: tensor<4x4xi1>) {
  %0 = graph.matmul %x, %x : (tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x4xi32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.requantize' op input and scale are i32 and f32, got i32 and f16
func.func @f(%x: tensor<4xi32>, %s: tensor<f16>, %z: tensor<i8>) {
  %0 = graph.requantize %x, %s, %z : (tensor<4xi32>, tensor<f16>, tensor<i8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.quantized_add' op operands are i8, got i8 and i16
func.func @f(%x: tensor<4xi8>, %y: tensor<4xi16>) {
  %0 = graph.quantized_add %x, %y scales [0.5, 1.25] offset 3.0 : (tensor<4xi8>, tensor<4xi16>) -> tensor<4xi8>
  func.return
}
