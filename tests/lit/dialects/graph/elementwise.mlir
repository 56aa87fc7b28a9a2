// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --mlir-print-op-generic | npu-opt | filecheck %s

// Elementwise graph ops survive a round trip in their own and in the generic form.

// CHECK-LABEL: func.func @abs
// CHECK-NEXT: {{.*}} = graph.abs %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @abs(%x: tensor<2x3xf32>) {
  %r = graph.abs %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @add
// CHECK-NEXT: {{.*}} = graph.add %x, %bias : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
func.func @add(%x: tensor<1x8x4x4xf32>, %bias: tensor<8x1x1xf32>) {
  %r = graph.add %x, %bias : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
  func.return
}

// CHECK-LABEL: func.func @cast
// CHECK-NEXT: {{.*}} = graph.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf16>
func.func @cast(%x: tensor<2x3xf32>) {
  %r = graph.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf16>
  func.return
}

// CHECK-LABEL: func.func @ceil
// CHECK-NEXT: {{.*}} = graph.ceil %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @ceil(%x: tensor<2x3xf32>) {
  %r = graph.ceil %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @clip
// CHECK-NEXT: {{.*}} = graph.clip %x min 0.000000e+00 max 6.000000e+00 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @clip(%x: tensor<2x3xf32>) {
  %r = graph.clip %x min 0.000000e+00 max 6.000000e+00 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @div
// CHECK-NEXT: {{.*}} = graph.div %x, %y : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
func.func @div(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) {
  %r = graph.div %x, %y : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @equal
// CHECK-NEXT: {{.*}} = graph.equal %x, %y : (tensor<2x1xi32>, tensor<257xi32>) -> tensor<2x257xi1>
func.func @equal(%x: tensor<2x1xi32>, %y: tensor<257xi32>) {
  %r = graph.equal %x, %y : (tensor<2x1xi32>, tensor<257xi32>) -> tensor<2x257xi1>
  func.return
}

// CHECK-LABEL: func.func @erf
// CHECK-NEXT: {{.*}} = graph.erf %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @erf(%x: tensor<2x3xf32>) {
  %r = graph.erf %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @exp
// CHECK-NEXT: {{.*}} = graph.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @exp(%x: tensor<2x3xf32>) {
  %r = graph.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @floor
// CHECK-NEXT: {{.*}} = graph.floor %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @floor(%x: tensor<2x3xf32>) {
  %r = graph.floor %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @greater
// CHECK-NEXT: {{.*}} = graph.greater %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
func.func @greater(%x: tensor<4xf32>, %y: tensor<f32>) {
  %r = graph.greater %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  func.return
}

// CHECK-LABEL: func.func @greater_or_equal
// CHECK-NEXT: {{.*}} = graph.greater_or_equal %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
func.func @greater_or_equal(%x: tensor<4xf32>, %y: tensor<f32>) {
  %r = graph.greater_or_equal %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  func.return
}

// CHECK-LABEL: func.func @hard_sigmoid
// CHECK-NEXT: {{.*}} = graph.hard_sigmoid %x alpha 2.000000e-01 beta 5.000000e-01 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @hard_sigmoid(%x: tensor<2x3xf32>) {
  %r = graph.hard_sigmoid %x alpha 2.000000e-01 beta 5.000000e-01 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @leaky_relu
// CHECK-NEXT: {{.*}} = graph.leaky_relu %x alpha 1.000000e-01 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @leaky_relu(%x: tensor<2x3xf32>) {
  %r = graph.leaky_relu %x alpha 1.000000e-01 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @less
// CHECK-NEXT: {{.*}} = graph.less %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
func.func @less(%x: tensor<4xf32>, %y: tensor<f32>) {
  %r = graph.less %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  func.return
}

// CHECK-LABEL: func.func @less_or_equal
// CHECK-NEXT: {{.*}} = graph.less_or_equal %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
func.func @less_or_equal(%x: tensor<4xf32>, %y: tensor<f32>) {
  %r = graph.less_or_equal %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  func.return
}

// CHECK-LABEL: func.func @log
// CHECK-NEXT: {{.*}} = graph.log %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @log(%x: tensor<2x3xf32>) {
  %r = graph.log %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @logical_and
// CHECK-NEXT: {{.*}} = graph.logical_and %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
func.func @logical_and(%x: tensor<4xi1>, %y: tensor<4xi1>) {
  %r = graph.logical_and %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  func.return
}

// CHECK-LABEL: func.func @logical_not
// CHECK-NEXT: {{.*}} = graph.logical_not %x : (tensor<4xi1>) -> tensor<4xi1>
func.func @logical_not(%x: tensor<4xi1>) {
  %r = graph.logical_not %x : (tensor<4xi1>) -> tensor<4xi1>
  func.return
}

// CHECK-LABEL: func.func @logical_or
// CHECK-NEXT: {{.*}} = graph.logical_or %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
func.func @logical_or(%x: tensor<4xi1>, %y: tensor<4xi1>) {
  %r = graph.logical_or %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  func.return
}

// CHECK-LABEL: func.func @logical_xor
// CHECK-NEXT: {{.*}} = graph.logical_xor %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
func.func @logical_xor(%x: tensor<4xi1>, %y: tensor<4xi1>) {
  %r = graph.logical_xor %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  func.return
}

// CHECK-LABEL: func.func @maximum
// CHECK-NEXT: {{.*}} = graph.maximum %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
func.func @maximum(%x: tensor<2x3xf32>, %y: tensor<f32>) {
  %r = graph.maximum %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @minimum
// CHECK-NEXT: {{.*}} = graph.minimum %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
func.func @minimum(%x: tensor<2x3xf32>, %y: tensor<f32>) {
  %r = graph.minimum %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @mul
// CHECK-NEXT: {{.*}} = graph.mul %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
func.func @mul(%x: tensor<2x3xf32>, %y: tensor<f32>) {
  %r = graph.mul %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @neg
// CHECK-NEXT: {{.*}} = graph.neg %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @neg(%x: tensor<2x3xf32>) {
  %r = graph.neg %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @pow
// CHECK-NEXT: {{.*}} = graph.pow %x, %exponent : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
func.func @pow(%x: tensor<2x3xf32>, %exponent: tensor<f32>) {
  %r = graph.pow %x, %exponent : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @prelu
// CHECK-NEXT: {{.*}} = graph.prelu %x, %slope : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
func.func @prelu(%x: tensor<1x8x4x4xf32>, %slope: tensor<8x1x1xf32>) {
  %r = graph.prelu %x, %slope : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
  func.return
}

// CHECK-LABEL: func.func @reciprocal
// CHECK-NEXT: {{.*}} = graph.reciprocal %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @reciprocal(%x: tensor<2x3xf32>) {
  %r = graph.reciprocal %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @relu
// CHECK-NEXT: {{.*}} = graph.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @relu(%x: tensor<2x3xf32>) {
  %r = graph.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @sigmoid
// CHECK-NEXT: {{.*}} = graph.sigmoid %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @sigmoid(%x: tensor<2x3xf32>) {
  %r = graph.sigmoid %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @sqrt
// CHECK-NEXT: {{.*}} = graph.sqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @sqrt(%x: tensor<2x3xf32>) {
  %r = graph.sqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @sub
// CHECK-NEXT: {{.*}} = graph.sub %x, %y : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
func.func @sub(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) {
  %r = graph.sub %x, %y : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @tanh
// CHECK-NEXT: {{.*}} = graph.tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @tanh(%x: tensor<2x3xf32>) {
  %r = graph.tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @where
// CHECK-NEXT: {{.*}} = graph.where %c, %x, %y : (tensor<4xi1>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
func.func @where(%c: tensor<4xi1>, %x: tensor<2x4xf32>, %y: tensor<f32>) {
  %r = graph.where %c, %x, %y : (tensor<4xi1>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  func.return
}

// CHECK-LABEL: func.func @sin
// CHECK-NEXT: {{.*}} = graph.sin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @sin(%x: tensor<2x3xf32>) {
  %r = graph.sin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @cos
// CHECK-NEXT: {{.*}} = graph.cos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @cos(%x: tensor<2x3xf32>) {
  %r = graph.cos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @tan
// CHECK-NEXT: {{.*}} = graph.tan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @tan(%x: tensor<2x3xf32>) {
  %r = graph.tan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @asin
// CHECK-NEXT: {{.*}} = graph.asin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @asin(%x: tensor<2x3xf32>) {
  %r = graph.asin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @acos
// CHECK-NEXT: {{.*}} = graph.acos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @acos(%x: tensor<2x3xf32>) {
  %r = graph.acos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @atan
// CHECK-NEXT: {{.*}} = graph.atan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @atan(%x: tensor<2x3xf32>) {
  %r = graph.atan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @sinh
// CHECK-NEXT: {{.*}} = graph.sinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @sinh(%x: tensor<2x3xf32>) {
  %r = graph.sinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @cosh
// CHECK-NEXT: {{.*}} = graph.cosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @cosh(%x: tensor<2x3xf32>) {
  %r = graph.cosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @asinh
// CHECK-NEXT: {{.*}} = graph.asinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @asinh(%x: tensor<2x3xf32>) {
  %r = graph.asinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @acosh
// CHECK-NEXT: {{.*}} = graph.acosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @acosh(%x: tensor<2x3xf32>) {
  %r = graph.acosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @atanh
// CHECK-NEXT: {{.*}} = graph.atanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @atanh(%x: tensor<2x3xf32>) {
  %r = graph.atanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @round
// CHECK-NEXT: {{.*}} = graph.round %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @round(%x: tensor<2x3xf32>) {
  %r = graph.round %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @bitwise_and
// CHECK-NEXT: {{.*}} = graph.bitwise_and %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
func.func @bitwise_and(%x: tensor<2x3xi32>, %y: tensor<3xi32>) {
  %r = graph.bitwise_and %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  func.return
}

// CHECK-LABEL: func.func @bitwise_or
// CHECK-NEXT: {{.*}} = graph.bitwise_or %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
func.func @bitwise_or(%x: tensor<2x3xi32>, %y: tensor<3xi32>) {
  %r = graph.bitwise_or %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  func.return
}

// CHECK-LABEL: func.func @bitwise_xor
// CHECK-NEXT: {{.*}} = graph.bitwise_xor %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
func.func @bitwise_xor(%x: tensor<2x3xi32>, %y: tensor<3xi32>) {
  %r = graph.bitwise_xor %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  func.return
}

// CHECK-LABEL: func.func @bitcast
// CHECK-NEXT: {{.*}} = graph.bitcast %x : (tensor<2x3xf32>) -> tensor<2x3xi32>
func.func @bitcast(%x: tensor<2x3xf32>) {
  %r = graph.bitcast %x : (tensor<2x3xf32>) -> tensor<2x3xi32>
  func.return
}

// CHECK-LABEL: func.func @gated
// CHECK-NEXT: {{.*}} = graph.gelu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: {{.*}} = graph.gelu tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: {{.*}} = graph.swish %x alpha 1.702000e+00 : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: {{.*}} = graph.hard_swish %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @gated(%x: tensor<2x3xf32>) {
  %0 = graph.gelu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = graph.gelu tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = graph.swish %x alpha 1.702000e+00 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = graph.hard_swish %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
