// What the core can't do is left to the host, and the report names it: these are no rows of a table, as an index of -1 is
// not that of the last one.
// RUN: npu-compile %s --target toy -o %t.mlir
// RUN: npu-opt %t.mlir | filecheck %s --check-prefix=IR
// RUN: %python -c "import numpy as np, sys; np.save(sys.argv[1], np.array([7, 0, 3, 1], np.int32))" %t.npy
// RUN: npu-run %t.mlir --input i=%t.npy --attribution --report %t.json | filecheck %s
// RUN: %python -c "import json, sys; print(json.load(open(sys.argv[1]))['host_calls'])" %t.json | filecheck %s --check-prefix=JSON
// RUN: npu-opt %s --lower-to=isa --check-equivalence | filecheck %s --check-prefix=IR

// IR:     tile.launch @k0
// IR:     tile.host -> tensor<4xf32> attributes {npu.node = "pick"}
// IR:     tile.launch @k1

// CHECK:  target toy, f32, 1 core
// CHECK:  1 of 3 steps are left to the host

// JSON:   ['pick']

#i = affine_map<(m) -> (m)>
func.func @main(%x: tensor<8xf32>, %i: tensor<4xi32>) -> tensor<4xf32> attributes {input_names = ["x", "i"], output_names = ["y"]} {
  %e = tensor.empty() : tensor<8xf32>
  %h = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %f = tensor.empty() : tensor<4xf32>
  %g = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%i : tensor<4xi32>) outs(%f : tensor<4xf32>) attrs = {npu.node = "pick"} {
  ^bb0(%c: i32, %o: f32):
    %k = arith.index_cast %c : i32 to index
    %0 = tensor.extract %h[%k] : tensor<8xf32>
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %l = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
      ins(%g : tensor<4xf32>) outs(%l : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
