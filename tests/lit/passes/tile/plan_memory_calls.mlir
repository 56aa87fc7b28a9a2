// RUN: npu-opt %s --tile-plan-memory --verify-diagnostics

// Results in GM are planned for one function: those of a function that is called would lie where those of its caller do.
builtin.module attributes {npu.target = "toy"} {
  func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = tile.launch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
    func.return %0 : tensor<8xf32>
  }
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    // expected-error @+1 {{the function that is called launches kernels: run inline-calls first}}
    %0 = func.call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
    func.return %0 : tensor<8xf32>
  }
  tile.kernel @k(%x: memref<8xf32, #tile.space<gm>>, %y: memref<8xf32, #tile.space<gm>>) {
    tile.return
  }
}
