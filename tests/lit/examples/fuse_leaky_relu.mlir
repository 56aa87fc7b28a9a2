// RUN: npu-opt %s --load-pass-plugin %examples/passes/fuse_leaky_relu.py --fuse-leaky-relu --check-equivalence | filecheck %s
// RUN: npu-opt %s --load-pass-plugin=%examples/passes/fuse_leaky_relu.py --pass-pipeline='builtin.module(func.func(fuse-leaky-relu))' | filecheck %s

// CHECK-LABEL: @fused
// CHECK-NEXT: graph.leaky_relu %x alpha 2.500000e-01 {npu.node = "scale+act"}
// CHECK-NEXT: func.return
func.func @fused(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = arith.constant dense<0.25> : tensor<f32>
  %0 = graph.mul %a, %x {npu.node = "scale"} : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = graph.maximum %0, %x {npu.node = "act"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// A slope above 1 is another function, and so is the maximum with another tensor.
// CHECK-LABEL: @others
// CHECK-NOT: leaky_relu
func.func @others(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %a = arith.constant dense<2.0> : tensor<f32>
  %b = arith.constant dense<0.5> : tensor<f32>
  %0 = graph.mul %x, %a : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = graph.maximum %x, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = graph.mul %x, %b : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %3 = graph.maximum %y, %2 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1, %3 : tensor<2x3xf32>, tensor<2x3xf32>
}
