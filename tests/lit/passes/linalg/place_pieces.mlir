// RUN: npu-opt %s --linalg-place-pieces | filecheck %s
// RUN: npu-opt %s --linalg-place-pieces --linalg-normalize | filecheck %s --check-prefix=AFTER

#id = affine_map<(m, n) -> (m, n)>

// Pieces are inserted as soon as they are there. What the last operation reads is a part of the whole.
// CHECK-LABEL: func.func @grows(
// CHECK:         %[[A:.*]] = linalg.generic
// CHECK:         %[[D:.*]] = tensor.empty() : tensor<256x160xf16>
// CHECK-NEXT:    %[[D1:.*]] = tensor.insert_slice %[[A]] into %[[D]][0, 0] [256, 64] [1, 1] {npu.in_place}
// CHECK:         %[[B:.*]] = linalg.generic
// CHECK:         %[[D2:.*]] = tensor.insert_slice %[[B]] into %[[D1]][0, 64] [256, 32] [1, 1] {npu.in_place}
// CHECK-NEXT:    %[[P:.*]] = tensor.extract_slice %[[D2]][0, 0] [256, 96] [1, 1] {npu.in_place}
// CHECK:         %[[C:.*]] = linalg.generic {{.*}} ins(%[[P]] :
// CHECK:         %[[D3:.*]] = tensor.insert_slice %[[C]] into %[[D2]][0, 96] [256, 64] [1, 1] {npu.in_place}
// CHECK:         func.return %[[D3]]
// AFTER-LABEL: func.func @grows(
// AFTER-NOT:     tensor.pad
// AFTER:         func.return
func.func @grows(%x: tensor<256x64xf16>, %y: tensor<256x32xf16>) -> tensor<256x160xf16> {
  %e = tensor.empty() : tensor<256x64xf16>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<256x64xf16>) outs(%e : tensor<256x64xf16>) {
  ^bb0(%l: f16, %o: f16):
    %0 = arith.addf %l, %l : f16
    linalg.yield %0 : f16
  } -> tensor<256x64xf16>
  %e1 = tensor.empty() : tensor<256x32xf16>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%y : tensor<256x32xf16>) outs(%e1 : tensor<256x32xf16>) {
  ^bb0(%l: f16, %o: f16):
    %0 = arith.mulf %l, %l : f16
    linalg.yield %0 : f16
  } -> tensor<256x32xf16>
  %ab = tensor.concat dim(1) %a, %b : (tensor<256x64xf16>, tensor<256x32xf16>) -> tensor<256x96xf16>
  %e2 = tensor.empty() : tensor<256x64xf16>
  %c = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n + 32)>, #id], iterator_types = ["parallel", "parallel"]}
    ins(%ab : tensor<256x96xf16>) outs(%e2 : tensor<256x64xf16>) {
  ^bb0(%l: f16, %o: f16):
    %0 = arith.addf %l, %l : f16
    linalg.yield %0 : f16
  } -> tensor<256x64xf16>
  %abc = tensor.concat dim(1) %ab, %c : (tensor<256x96xf16>, tensor<256x64xf16>) -> tensor<256x160xf16>
  func.return %abc : tensor<256x160xf16>
}

// What no operation makes is copied, in a tensor that is large enough for it to pay.
// CHECK-LABEL: func.func @copied(
// CHECK:         linalg.generic {{.*}} ins(%x : tensor<2048x512xf16>)
// CHECK:         npu.in_place
// CHECK:         npu.in_place
func.func @copied(%x: tensor<2048x512xf16>) -> tensor<2048x1024xf16> {
  %e = tensor.empty() : tensor<2048x512xf16>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<2048x512xf16>) outs(%e : tensor<2048x512xf16>) {
  ^bb0(%l: f16, %o: f16):
    %0 = arith.addf %l, %l : f16
    linalg.yield %0 : f16
  } -> tensor<2048x512xf16>
  %d = tensor.empty() : tensor<2048x1024xf16>
  %1 = tensor.insert_slice %a into %d[0, 512] [2048, 512] [1, 1] : tensor<2048x512xf16> into tensor<2048x1024xf16>
  %2 = tensor.insert_slice %x into %1[0, 0] [2048, 512] [1, 1] : tensor<2048x512xf16> into tensor<2048x1024xf16>
  func.return %2 : tensor<2048x1024xf16>
}

// Left alone: arguments that are too small to be copied, and a piece that leaves a gap.
// CHECK-LABEL: func.func @alone(
// CHECK:         tensor.concat
// CHECK:         tensor.insert_slice
// CHECK-NOT:     npu.in_place
func.func @alone(%x: tensor<4x8xf16>, %y: tensor<4x8xf16>) -> (tensor<8x8xf16>, tensor<8x8xf16>) {
  %c = tensor.concat dim(0) %x, %y : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<8x8xf16>
  %d = tensor.empty() : tensor<8x8xf16>
  %1 = tensor.insert_slice %x into %d[0, 0] [4, 8] [1, 1] : tensor<4x8xf16> into tensor<8x8xf16>
  func.return %c, %1 : tensor<8x8xf16>, tensor<8x8xf16>
}
