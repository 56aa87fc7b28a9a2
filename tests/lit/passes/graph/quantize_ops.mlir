// RUN: npu-opt %s --graph-quantize-ops --split-input-file --check-equivalence | filecheck %s
// RUN: npu-opt %s --pass-pipeline="builtin.module(graph-quantize-ops{precision=f16})" --split-input-file --check-equivalence | filecheck %s --check-prefix=F16

// A product with bias, relu and quantization is one of integers; the bias has what the zero point adds.
// CHECK-LABEL: func.func @dense
// CHECK:       %[[W:.*]] = arith.constant dense<{{.*}}[1, 2, 3], [4, 5, -6]]> : tensor<2x3xi8>
// CHECK:       %[[P:.*]] = graph.matmul %x, %[[W]] {npu.node = "gemm"} : (tensor<4x2xi8>, tensor<2x3xi8>) -> tensor<4x3xi32>
// CHECK-NEXT:  %[[B:.*]] = arith.constant dense<[35, 55, 15]> : tensor<3xi32>
// CHECK-NEXT:  %[[S:.*]] = graph.add %[[P]], %[[B]]
// CHECK:       %[[M:.*]] = arith.constant dense<[1.250000e-01, 2.500000e-01, 5.000000e-01]> : tensor<3xf32>
// CHECK:       %[[R:.*]] = graph.requantize %[[S]], %[[M]], %{{.*}} from -3 {npu.node = "gemm+relu+q"}
// CHECK-NEXT:  func.return %[[R]] : tensor<4x3xi8>
func.func @dense(%x: tensor<4x2xi8>) -> tensor<4x3xi8> {
  %sx = arith.constant dense<0.5> : tensor<f32>
  %zx = arith.constant dense<-5> : tensor<i8>
  %0 = graph.dequantize %x, %sx, %zx : (tensor<4x2xi8>, tensor<f32>, tensor<i8>) -> tensor<4x2xf32>
  %w = arith.constant dense<[[1, 2, 3], [4, 5, -6]]> : tensor<2x3xi8>
  %sw = arith.constant dense<[0.5, 1.0, 2.0]> : tensor<3xf32>
  %zw = arith.constant dense<0> : tensor<i8>
  %1 = graph.dequantize %w, %sw, %zw : (tensor<2x3xi8>, tensor<3xf32>, tensor<i8>) -> tensor<2x3xf32>
  %b = arith.constant dense<[10, 20, 30]> : tensor<3xi32>
  %sb = arith.constant dense<[0.25, 0.5, 1.0]> : tensor<3xf32>
  %zb = arith.constant dense<0> : tensor<i32>
  %2 = graph.dequantize %b, %sb, %zb : (tensor<3xi32>, tensor<3xf32>, tensor<i32>) -> tensor<3xf32>
  %3 = graph.gemm %0, %1, %2 alpha 1.0 beta 1.0 {npu.node = "gemm"} : (tensor<4x2xf32>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %4 = graph.relu %3 {npu.node = "relu"} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %sy = arith.constant dense<2.0> : tensor<f32>
  %zy = arith.constant dense<-3> : tensor<i8>
  %5 = graph.quantize %4, %sy, %zy {npu.node = "q"} : (tensor<4x3xf32>, tensor<f32>, tensor<i8>) -> tensor<4x3xi8>
  func.return %5 : tensor<4x3xi8>
}

// -----

// Unsigned integers are signed ones less 128, and padding is the zero point. What reads numbers gets them from sums.
// CHECK-LABEL: func.func @unsigned
// CHECK:       %[[Q:.*]] = graph.quantize %x, %{{.*}}, %{{.*}} : (tensor<1x1x3x3xf32>, tensor<f32>, tensor<i8>) -> tensor<1x1x3x3xi8>
// CHECK:       %[[D:.*]] = graph.pad %[[Q]] low [0, 0, 1, 1] high [0, 0, 1, 1] value 2 : i8
// CHECK-NEXT:  %[[C:.*]] = graph.conv %[[D]], %{{.*}} strides [1, 1] pads [0, 0, 0, 0] {{.*}} tensor<1x2x3x3xi32>
// CHECK:       %[[S:.*]] = graph.add %[[C]]
// CHECK:       %[[N:.*]] = graph.dequantize %[[S]]
// CHECK-NEXT:  func.return %[[N]] : tensor<1x2x3x3xf32>
func.func @unsigned(%x: tensor<1x1x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %sx = arith.constant dense<0.5> : tensor<f32>
  %zx = arith.constant dense<130> : tensor<ui8>
  %q = graph.quantize %x, %sx, %zx : (tensor<1x1x3x3xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x1x3x3xui8>
  %0 = graph.dequantize %q, %sx, %zx : (tensor<1x1x3x3xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x1x3x3xf32>
  %w = arith.constant dense<[[[[129, 2, 128], [130, 131, 132], [1, 1, 1]]], [[[129, 128, 128], [130, 131, 132], [5, 1, 1]]]]> : tensor<2x1x3x3xui8>
  %sw = arith.constant dense<[[[[0.5]]], [[[1.0]]]]> : tensor<2x1x1x1xf32>
  %zw = arith.constant dense<128> : tensor<ui8>
  %1 = graph.dequantize %w, %sw, %zw : (tensor<2x1x3x3xui8>, tensor<2x1x1x1xf32>, tensor<ui8>) -> tensor<2x1x3x3xf32>
  %2 = graph.conv %0, %1 strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x1x3x3xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return %2 : tensor<1x2x3x3xf32>
}

// -----

// Integers move instead of numbers, and are no numbers in between.
// CHECK-LABEL: func.func @pool
// CHECK-NEXT:  %[[T:.*]] = graph.transpose %x perm [0, 3, 1, 2] : (tensor<1x4x4x2xi8>) -> tensor<1x2x4x4xi8>
// CHECK-NEXT:  %[[P:.*]] = graph.max_pool %[[T]] {{.*}} : (tensor<1x2x4x4xi8>) -> tensor<1x2x2x2xi8>
// CHECK-NEXT:  func.return %[[P]]
func.func @pool(%x: tensor<1x4x4x2xi8>) -> tensor<1x2x2x2xi8> {
  %s = arith.constant dense<0.3> : tensor<f32>
  %z = arith.constant dense<7> : tensor<i8>
  %0 = graph.dequantize %x, %s, %z : (tensor<1x4x4x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4x4x2xf32>
  %1 = graph.transpose %0 perm [0, 3, 1, 2] : (tensor<1x4x4x2xf32>) -> tensor<1x2x4x4xf32>
  %2 = graph.max_pool %1 kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %3 = graph.quantize %2, %s, %z : (tensor<1x2x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x2x2xi8>
  func.return %3 : tensor<1x2x2x2xi8>
}

// -----

// Left alone: two tensors of the run with a zero point, a weight whose zero point leaves no room.
// CHECK-LABEL: func.func @alone
// CHECK:       graph.matmul %{{.*}} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK:       graph.matmul %{{.*}} : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
func.func @alone(%x: tensor<4x4xi8>) -> (tensor<4x4xf32>, tensor<4x2xf32>) {
  %s = arith.constant dense<0.3> : tensor<f32>
  %z = arith.constant dense<7> : tensor<i8>
  %0 = graph.dequantize %x, %s, %z : (tensor<4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<4x4xf32>
  %1 = graph.matmul %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %w = arith.constant dense<[[-100, 2], [1, 2], [3, 4], [5, 6]]> : tensor<4x2xi8>
  %zw = arith.constant dense<60> : tensor<i8>
  %2 = graph.dequantize %w, %s, %zw : (tensor<4x2xi8>, tensor<f32>, tensor<i8>) -> tensor<4x2xf32>
  %3 = graph.matmul %0, %2 : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  func.return %1, %3 : tensor<4x4xf32>, tensor<4x2xf32>
}

// -----

// In f32, shortcuts stay what the model says.
// CHECK-LABEL: func.func @shortcut
// CHECK:       graph.add %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// F16-LABEL:   func.func @shortcut
// F16-NEXT:    %[[R:.*]] = graph.quantized_add %x, %y scales [5.000000e-01, 1.000000e+00] offset -4.000000e+00 from -2 {npu.node = "s+r+q"}
// F16-NEXT:    func.return %[[R]]
func.func @shortcut(%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8> {
  %s = arith.constant dense<0.5> : tensor<f32>
  %t = arith.constant dense<1.0> : tensor<f32>
  %z = arith.constant dense<2> : tensor<i8>
  %n = arith.constant dense<1> : tensor<i8>
  %0 = graph.dequantize %x, %s, %z : (tensor<4xi8>, tensor<f32>, tensor<i8>) -> tensor<4xf32>
  %1 = graph.dequantize %y, %t, %n : (tensor<4xi8>, tensor<f32>, tensor<i8>) -> tensor<4xf32>
  %2 = graph.add %0, %1 {npu.node = "s"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.relu %2 {npu.node = "r"} : (tensor<4xf32>) -> tensor<4xf32>
  %zy = arith.constant dense<-2> : tensor<i8>
  %4 = graph.quantize %3, %t, %zy {npu.node = "q"} : (tensor<4xf32>, tensor<f32>, tensor<i8>) -> tensor<4xi8>
  func.return %4 : tensor<4xi8>
}

// -----

// Where fast formulas are allowed, the summand that the last product makes is its sums in these units.
// F16-LABEL:   func.func @fast
// F16:         %[[P:.*]] = graph.matmul %x, %{{.*}} : (tensor<4x2xi8>, tensor<2x3xi8>) -> tensor<4x3xi32>
// F16:         %[[B:.*]] = arith.constant dense<16> : tensor<i32>
// F16:         %[[S:.*]] = graph.add %[[P]], %[[B]]
// F16:         %[[D:.*]] = graph.dequantize %[[S]]
// F16:         %[[C:.*]] = graph.cast %[[D]] : (tensor<4x3xf32>) -> tensor<4x3xf16>
// F16:         %[[R:.*]] = graph.quantized_add %[[C]], %y scales [1.000000e+00, 5.000000e-01] offset 0.000000e+00
// F16:         func.return %[[R]] : tensor<4x3xi8>
builtin.module attributes {npu.accuracy = "fast"} {
  func.func @fast(%x: tensor<4x2xi8>, %y: tensor<4x3xi8>) -> tensor<4x3xi8> {
    %s = arith.constant dense<0.5> : tensor<f32>
    %one = arith.constant dense<1.0> : tensor<f32>
    %z = arith.constant dense<0> : tensor<i8>
    %zy = arith.constant dense<8> : tensor<i8>
    %0 = graph.dequantize %x, %s, %z : (tensor<4x2xi8>, tensor<f32>, tensor<i8>) -> tensor<4x2xf32>
    %w = arith.constant dense<[[1, 2, 3], [4, 5, -6]]> : tensor<2x3xi8>
    %1 = graph.dequantize %w, %one, %z : (tensor<2x3xi8>, tensor<f32>, tensor<i8>) -> tensor<2x3xf32>
    %2 = graph.matmul %0, %1 : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %3 = graph.quantize %2, %one, %z : (tensor<4x3xf32>, tensor<f32>, tensor<i8>) -> tensor<4x3xi8>
    %4 = graph.dequantize %3, %one, %z : (tensor<4x3xi8>, tensor<f32>, tensor<i8>) -> tensor<4x3xf32>
    %5 = graph.dequantize %y, %s, %z : (tensor<4x3xi8>, tensor<f32>, tensor<i8>) -> tensor<4x3xf32>
    %6 = graph.add %4, %5 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %7 = graph.quantize %6, %one, %zy : (tensor<4x3xf32>, tensor<f32>, tensor<i8>) -> tensor<4x3xi8>
    func.return %7 : tensor<4x3xi8>
  }
}
