// RUN: npu-opt %s --linalg-expand-math | filecheck %s

// A polynomial near 0, which keeps small results exact; the exponential elsewhere. The square decides.
// CHECK-LABEL: func.func @tanh
// CHECK-NEXT:    %[[Z:.*]] = arith.mulf %x, %x : f32
// CHECK:         %[[NEAR:.*]] = arith.mulf %{{.*}}, %x : f32
// CHECK-NEXT:    arith.constant 2.000000e+00
// CHECK:         %[[FAR:.*]] = arith.subf
// CHECK-NEXT:    %[[BOUND:.*]] = arith.constant 3.300000e-01 : f32
// CHECK-NEXT:    %[[SMALL:.*]] = arith.cmpf olt, %[[Z]], %[[BOUND]] : f32
// CHECK-NEXT:    %[[Y:.*]] = arith.select %[[SMALL]], %[[NEAR]], %[[FAR]] : f32
// CHECK-NEXT:    func.return %[[Y]] : f32
func.func @tanh(%x: f32) -> f32 {
  %y = math.tanh %x : f32
  func.return %y : f32
}

// What need not be exact there is shorter.
// CHECK-LABEL: func.func @fast_tanh
// CHECK-NEXT:    %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:    %[[D:.*]] = arith.mulf %x, %[[TWO]] : f32
// CHECK-NEXT:    %[[E:.*]] = math.exp %[[D]] : f32
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:    %[[S:.*]] = arith.addf %[[E]], %[[ONE]] : f32
// CHECK-NEXT:    %[[Q:.*]] = arith.divf %[[TWO]], %[[S]] : f32
// CHECK-NEXT:    %[[Y:.*]] = arith.subf %[[ONE]], %[[Q]] : f32
// CHECK-NEXT:    func.return %[[Y]] : f32
func.func @fast_tanh(%x: f32) -> f32 {
  %y = math.tanh %x fastmath<afn> : f32
  func.return %y : f32
}


// For 16 bits the operand itself is near enough below 0.02; what can be is done in 16 bits.
// CHECK-LABEL: func.func @narrow_tanh
// CHECK:         %[[D:.*]] = arith.mulf %x, %{{.*}} : f16
// CHECK-NEXT:    %[[W:.*]] = arith.extf %[[D]] : f16 to f32
// CHECK-NEXT:    %[[E:.*]] = math.exp %[[W]] : f32
// CHECK:         %[[Q:.*]] = arith.divf
// CHECK-NEXT:    %[[T:.*]] = arith.subf %{{.*}}, %[[Q]] : f32
// CHECK-NEXT:    %[[A:.*]] = math.absf %x : f16
// CHECK:         %[[FAR:.*]] = arith.truncf %[[T]] : f32 to f16
// CHECK-NEXT:    %[[SMALL:.*]] = arith.cmpf olt, %[[A]], %{{.*}} : f16
// CHECK-NEXT:    %[[Y:.*]] = arith.select %[[SMALL]], %x, %[[FAR]] : f16
// CHECK-NEXT:    func.return %[[Y]] : f16
func.func @narrow_tanh(%x: f16) -> f16 {
  %y = math.tanh %x : f16
  func.return %y : f16
}

// A fraction of which p(z) = z^2 + ... takes no product for the highest power; cut off before it is widened.
// CHECK-LABEL: func.func @narrow_erf
// CHECK:         %[[CUT:.*]] = arith.maximumf %{{.*}}, %{{.*}} : f16
// CHECK-NEXT:    %[[W:.*]] = arith.extf %[[CUT]] : f16 to f32
// CHECK-NEXT:    %[[Z:.*]] = arith.mulf %[[W]], %[[W]] : f32
// CHECK-NEXT:    %[[C:.*]] = arith.constant {{.*}} : f32
// CHECK-NEXT:    %[[P:.*]] = arith.addf %[[Z]], %[[C]] : f32
// CHECK:         %[[Q:.*]] = arith.divf
// CHECK-NEXT:    %[[Y:.*]] = arith.truncf %[[Q]] : f32 to f16
// CHECK-NEXT:    func.return %[[Y]] : f16
func.func @narrow_erf(%x: f16) -> f16 {
  %y = math.erf %x : f16
  func.return %y : f16
}

// The error function: the sign is the operand cut off at 1, no select.
// CHECK-LABEL: func.func @erf
// CHECK:         %[[Z:.*]] = arith.mulf %x, %x : f32
// CHECK:         %[[E:.*]] = math.exp
// CHECK:         %[[SIGN:.*]] = arith.maximumf
// CHECK-NEXT:    %[[D:.*]] = arith.subf %{{.*}}, %[[E]] : f32
// CHECK-NEXT:    %[[FAR:.*]] = arith.mulf %[[D]], %[[SIGN]] : f32
// CHECK:         %[[SMALL:.*]] = arith.cmpf olt, %[[Z]], %{{.*}} : f32
// CHECK-NEXT:    arith.select %[[SMALL]]
// CHECK-NOT:     arith.select
// CHECK:         func.return
func.func @erf(%x: f32) -> f32 {
  %y = math.erf %x : f32
  func.return %y : f32
}

// Narrow floats are computed in f32.
// CHECK-LABEL: func.func @rsqrt
// CHECK-NEXT:    %[[W:.*]] = arith.extf %x : f16 to f32
// CHECK-NEXT:    %[[R:.*]] = math.sqrt %[[W]] : f32
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:    %[[Q:.*]] = arith.divf %[[ONE]], %[[R]] : f32
// CHECK-NEXT:    %[[Y:.*]] = arith.truncf %[[Q]] : f32 to f16
// CHECK-NEXT:    func.return %[[Y]] : f16
func.func @rsqrt(%x: f16) -> f16 {
  %y = math.rsqrt %x : f16
  func.return %y : f16
}

// CHECK-LABEL: func.func @cube
// CHECK:         %[[S:.*]] = arith.mulf %x, %x : f32
// CHECK-NEXT:    %[[Y:.*]] = arith.mulf %x, %[[S]] : f32
// CHECK-NEXT:    func.return %[[Y]] : f32
func.func @cube(%x: f32) -> f32 {
  %c = arith.constant 3.0 : f32
  %y = math.powf %x, %c : f32
  func.return %y : f32
}

// What the vector unit has stays.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT:    %a = math.exp %x : f32
// CHECK-NEXT:    %b = math.sqrt %a : f32
// CHECK-NEXT:    func.return %b : f32
func.func @kept(%x: f32) -> f32 {
  %a = math.exp %x : f32
  %b = math.sqrt %a : f32
  func.return %b : f32
}

// The arc tangent: of the inverse above 1, by half the angle.
// CHECK-LABEL: func.func @atan
// CHECK-NEXT:    %[[SIZE:.*]] = math.absf %x : f32
// CHECK:         %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[SIZE]] : f32
// CHECK:         %[[T:.*]] = arith.select %{{.*}}, %[[INVERSE]], %[[SIZE]] : f32
// CHECK:         %[[ROOT:.*]] = math.sqrt
// CHECK-NOT:     math.
func.func @atan(%x: f32) -> f32 {
  %y = math.atan %x : f32
  func.return %y : f32
}

// The hyperbolic ones are made of what is expanded itself.
// CHECK-LABEL: func.func @atanh
// CHECK:         math.log
// CHECK-NOT:     math.{{log1p|atanh}}
func.func @atanh(%x: f16) -> f16 {
  %y = math.atanh %x : f16
  func.return %y : f16
}
