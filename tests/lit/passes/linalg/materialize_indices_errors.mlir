// RUN: npu-opt %s --linalg-materialize-indices --verify-diagnostics

func.func @unknown(%x: tensor<4xi32>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xi32>) outs(%e : tensor<4xi32>) {
  ^bb0(%a: i32, %o: i32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %a : i32 to index
    // expected-error @+1 {{'math.ipowi' in a body cannot read positions}}
    %r = math.ipowi %n, %i : index
    %s = arith.index_cast %r : index to i32
    %t = arith.addi %s, %a : i32
    linalg.yield %t : i32
  } -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}
