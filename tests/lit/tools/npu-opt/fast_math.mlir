// RUN: npu-opt %s --fast-math --convert-graph-to-linalg | filecheck %s --check-prefix=FAST
// RUN: npu-opt %s --convert-graph-to-linalg | filecheck %s --check-prefix=FULL
// RUN: npu-compile %s --fast-math -o %t.mlir
// RUN: npu-run %t.mlir | filecheck %s --check-prefix=REPORT
// RUN: not npu-opt %t.mlir --fast-math 2>&1 | filecheck %s --check-prefix=LATE
// RUN: sed 's/= "full"/= "rough"/' %s > %t.rough.mlir
// RUN: not npu-opt %t.rough.mlir --lower-to=linalg 2>&1 | filecheck %s --check-prefix=ROUGH

// What is marked keeps full accuracy: in f32, and only f16 in fast formulas.
// FAST:       builtin.module attributes {npu.accuracy = "fast", npu.formulas = ["sigmoid in f16 within 2 ulp"]}
// FAST:       minimumf %{{.*}} : f16
// FAST-NEXT:  math.exp %{{.*}} : f16
// FAST:       math.exp %{{.*}} : f32
// FULL:       builtin.module {
// FULL-NOT:   math.exp %{{.*}} : f16
// REPORT:     Fast formulas: sigmoid in f16 within 2 ulp
// LATE:       error: --fast-math is for models, graph and linalg; formulas are chosen at the level isa
// ROUGH:      error: npu.accuracy is "fast" or "full", not "rough"
func.func @main(%x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf16>) {
  %0 = graph.sigmoid %x : (tensor<4xf16>) -> tensor<4xf16>
  %1 = graph.sigmoid %x {npu.accuracy = "full"} : (tensor<4xf16>) -> tensor<4xf16>
  func.return %0, %1 : tensor<4xf16>, tensor<4xf16>
}
