// RUN: not npu-opt --split-input-file %s 2>&1 | filecheck %s

// What the verifier of a call of the host rejects: a model that is none, or another one than the op says.

// CHECK: :{{[0-9]+}}:3: error: 'graph.host_call' op model is not an ONNX model in base64
func.func @f(%x: tensor<2x2xf32>) {
  %0 = graph.host_call ["Det"] opset 17 model "no base64!"(%x) : (tensor<2x2xf32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.host_call' op model computes ['Det'], not ['Inverse']
func.func @f(%x: tensor<2x2xf32>) {
  %0 = graph.host_call ["Inverse"] opset 17 model "CAoSADo1CgsKAWESAWIiA0RldBIEaG9zdFoTCgFhEg4KDAgBEggKAggCCgIIAmILCgFiEgYKBAgBEgBCBAoAEBE="(%x) : (tensor<2x2xf32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.host_call' op model is of opset 17, not 11
func.func @f(%x: tensor<2x2xf32>) {
  %0 = graph.host_call ["Det"] opset 11 model "CAoSADo1CgsKAWESAWIiA0RldBIEaG9zdFoTCgFhEg4KDAgBEggKAggCCgIIAmILCgFiEgYKBAgBEgBCBAoAEBE="(%x) : (tensor<2x2xf32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.host_call' op model has 1 operands, the call 2
func.func @f(%x: tensor<2x2xf32>) {
  %0 = graph.host_call ["Det"] opset 17 model "CAoSADo1CgsKAWESAWIiA0RldBIEaG9zdFoTCgFhEg4KDAgBEggKAggCCgIIAmILCgFiEgYKBAgBEgBCBAoAEBE="(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: :{{[0-9]+}}:3: error: 'graph.host_call' op operand has an open extent: tensor<?x2xf32>
func.func @f(%x: tensor<?x2xf32>) {
  %0 = graph.host_call ["Det"] opset 17 model "CAoSADo1CgsKAWESAWIiA0RldBIEaG9zdFoTCgFhEg4KDAgBEggKAggCCgIIAmILCgFiEgYKBAgBEgBCBAoAEBE="(%x) : (tensor<?x2xf32>) -> tensor<f32>
  func.return
}
