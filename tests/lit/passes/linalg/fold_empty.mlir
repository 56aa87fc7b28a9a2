// RUN: npu-opt %s --linalg-fold-empty | filecheck %s

// No elements, no computation.
// CHECK-LABEL: @nothing
// CHECK-NEXT:    %[[E:.*]] = tensor.empty() : tensor<0x4xf32>
// CHECK-NEXT:    func.return %[[E]]
func.func @nothing(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %0 = arith.addf %x, %x : tensor<0x4xf32>
  func.return %0 : tensor<0x4xf32>
}

// A sum of nothing is what it starts from.
// CHECK-LABEL: @sum
// CHECK-NEXT:    func.return %start
func.func @sum(%x: tensor<0x4xf32>, %start: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<0x4xf32>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.addf %a, %o : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL: @pad
// CHECK:         linalg.fill
// CHECK-NOT:     tensor.pad
func.func @pad(%x: tensor<0x4xf32>) -> tensor<2x4xf32> {
  %c = arith.constant 3.0 : f32
  %0 = tensor.pad %x low[2, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<0x4xf32> to tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// What has elements stays.
// CHECK-LABEL: @kept
// CHECK-NEXT:    arith.addf
func.func @kept(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = arith.addf %x, %x : tensor<1x4xf32>
  func.return %0 : tensor<1x4xf32>
}
