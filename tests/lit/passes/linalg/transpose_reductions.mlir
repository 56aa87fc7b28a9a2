// RUN: npu-opt %s --convert-graph-to-linalg --linalg-fuse-elementwise -o %t.mlir
// RUN: npu-opt %t.mlir --linalg-transpose-reductions --check-equivalence | filecheck %s

// Scores are made, reduced and read with keys in front of queries; what is broadcast is one lane for each query.
// CHECK-LABEL: func.func @attention
// CHECK:         linalg.generic {{.*}}affine_map<(d0, d1, d2, d3) -> (d0, d2, d1)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} {{.*}} outs(%{{.*}} : tensor<2x128x64xf32>)
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%{{.*}} : tensor<2x128x64xf32>)
// CHECK:           arith.maximumf
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
// CHECK:           math.exp
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK:         linalg.generic {{.*}}affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>, {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%{{.*}} : tensor<2x128x64xf32>, tensor<2x128x16xf32>)
func.func @attention(%q: tensor<2x64x16xf32>, %k: tensor<2x16x128xf32>, %v: tensor<2x128x16xf32>) -> tensor<2x64x16xf32> {
  %0 = graph.matmul %q, %k : (tensor<2x64x16xf32>, tensor<2x16x128xf32>) -> tensor<2x64x128xf32>
  %1 = graph.softmax %0 axis 2 : (tensor<2x64x128xf32>) -> tensor<2x64x128xf32>
  %2 = graph.matmul %1, %v : (tensor<2x64x128xf32>, tensor<2x128x16xf32>) -> tensor<2x64x16xf32>
  func.return %2 : tensor<2x64x16xf32>
}

// A mask of the keys alone stays as it is.
// CHECK-LABEL: func.func @mask_of_keys
// CHECK:         linalg.generic {{.*}}affine_map<(d0, d1, d2) -> (d1, d0)>]{{.*}} outs(%{{.*}} : tensor<128x64xf32>)
// CHECK-NOT:     tensor<64x128x
// CHECK:         return
func.func @mask_of_keys(%q: tensor<64x16xf32>, %k: tensor<16x128xf32>, %m: tensor<128xf32>, %v: tensor<128x16xf32>) -> tensor<64x16xf32> {
  %0 = graph.matmul %q, %k : (tensor<64x16xf32>, tensor<16x128xf32>) -> tensor<64x128xf32>
  %1 = graph.add %0, %m : (tensor<64x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
  %2 = graph.softmax %1 axis 1 : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %3 = graph.matmul %2, %v : (tensor<64x128xf32>, tensor<128x16xf32>) -> tensor<64x16xf32>
  func.return %3 : tensor<64x16xf32>
}

// Left alone: one mask for each query and key, results that are returned, lanes that would not be full: few rows, or rows of
// which no part is cut, as for a prime number of them beside a long reduced dim.
// CHECK-LABEL: func.func @mask
// CHECK-NOT:     tensor<128x64x
// CHECK:         return
func.func @mask(%q: tensor<64x16xf32>, %k: tensor<16x128xf32>, %m: tensor<64x128xf32>, %v: tensor<128x16xf32>) -> tensor<64x16xf32> {
  %0 = graph.matmul %q, %k : (tensor<64x16xf32>, tensor<16x128xf32>) -> tensor<64x128xf32>
  %1 = graph.add %0, %m : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %2 = graph.softmax %1 axis 1 : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %3 = graph.matmul %2, %v : (tensor<64x128xf32>, tensor<128x16xf32>) -> tensor<64x16xf32>
  func.return %3 : tensor<64x16xf32>
}

// CHECK-LABEL: func.func @returned
// CHECK-NOT:     tensor<128x64x
// CHECK:         return
func.func @returned(%q: tensor<64x16xf32>, %k: tensor<16x128xf32>) -> tensor<64x128xf32> {
  %0 = graph.matmul %q, %k : (tensor<64x16xf32>, tensor<16x128xf32>) -> tensor<64x128xf32>
  %1 = graph.softmax %0 axis 1 : (tensor<64x128xf32>) -> tensor<64x128xf32>
  func.return %1 : tensor<64x128xf32>
}

// CHECK-LABEL: func.func @few
// CHECK-NOT:     tensor<128x8x
// CHECK:         return
func.func @few(%q: tensor<8x16xf32>, %k: tensor<16x128xf32>, %v: tensor<128x16xf32>) -> tensor<8x16xf32> {
  %0 = graph.matmul %q, %k : (tensor<8x16xf32>, tensor<16x128xf32>) -> tensor<8x128xf32>
  %1 = graph.softmax %0 axis 1 : (tensor<8x128xf32>) -> tensor<8x128xf32>
  %2 = graph.matmul %1, %v : (tensor<8x128xf32>, tensor<128x16xf32>) -> tensor<8x16xf32>
  func.return %2 : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @prime
// CHECK-NOT:     tensor<512x197x
// CHECK:         return
func.func @prime(%q: tensor<197x16xf32>, %k: tensor<16x512xf32>, %v: tensor<512x16xf32>) -> tensor<197x16xf32> {
  %0 = graph.matmul %q, %k : (tensor<197x16xf32>, tensor<16x512xf32>) -> tensor<197x512xf32>
  %1 = graph.softmax %0 axis 1 : (tensor<197x512xf32>) -> tensor<197x512xf32>
  %2 = graph.matmul %1, %v : (tensor<197x512xf32>, tensor<512x16xf32>) -> tensor<197x16xf32>
  func.return %2 : tensor<197x16xf32>
}
