// RUN: npu-opt %s --linalg-fold-transposes --check-equivalence | filecheck %s
// RUN: npu-opt %s --linalg-fold-transposes -o %t.mlir && npu-opt %t.mlir --linalg-fold-transposes -o %t.twice.mlir && diff %t.mlir %t.twice.mlir

#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#last = affine_map<(d0, d1, d2) -> (d2, d0, d1)>
#first = affine_map<(d0, d1, d2) -> (d1, d2, d0)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
#image = affine_map<(h, w, o, y, x, i) -> (h + y, w + x, i)>
#window = affine_map<(h, w, o, y, x, i) -> (y, x, i, o)>
#out = affine_map<(h, w, o, y, x, i) -> (h, w, o)>

// A convolution on an image with its channels first, between transposes: both go, and the pad is that of the new order.
// CHECK-LABEL: func.func @between_transposes
// CHECK-NOT:     tensor<10x12x16xf16>
// CHECK:         %[[P:.*]] = tensor.pad %x low[0, 1, 1] high[0, 1, 1]
// CHECK:         %[[Z:.*]] = linalg.fill {{.*}} outs(%{{.*}} : tensor<32x10x12xf32>)
// CHECK:         %[[C:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d5, (d0 + d3), (d1 + d4))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4, d5, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d0, d1)>]
// CHECK-SAME:      ins(%[[P]], %w : {{.*}}) outs(%[[Z]] :
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK-SAME:      ins(%[[C]] : tensor<32x10x12xf32>)
func.func @between_transposes(%x: tensor<16x10x12xf16>, %w: tensor<3x3x16x32xf16>) -> tensor<32x10x12xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<10x12x16xf16>
  %t = linalg.generic {indexing_maps = [#last, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<16x10x12xf16>) outs(%e : tensor<10x12x16xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  } -> tensor<10x12x16xf16>
  %q = tensor.pad %t low[1, 1, 0] high[1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f16
  } : tensor<10x12x16xf16> to tensor<12x14x16xf16>
  %z = arith.constant 0.0 : f32
  %e2 = tensor.empty() : tensor<10x12x32xf32>
  %f = linalg.fill ins(%z : f32) outs(%e2 : tensor<10x12x32xf32>) -> tensor<10x12x32xf32>
  %c = linalg.generic {indexing_maps = [#image, #window, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%q, %w : tensor<12x14x16xf16>, tensor<3x3x16x32xf16>) outs(%f : tensor<10x12x32xf32>) {
  ^bb0(%p: f16, %r: f16, %o: f32):
    %pe = arith.extf %p : f16 to f32
    %re = arith.extf %r : f16 to f32
    %m = arith.mulf %pe, %re : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<10x12x32xf32>
  %e3 = tensor.empty() : tensor<32x10x12xf16>
  %r = linalg.generic {indexing_maps = [#first, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%c : tensor<10x12x32xf32>) outs(%e3 : tensor<32x10x12xf16>) {
  ^bb0(%p: f32, %o: f16):
    %n = arith.truncf %p : f32 to f16
    %m = arith.maximumf %n, %zero : f16
    linalg.yield %m : f16
  } -> tensor<32x10x12xf16>
  func.return %r : tensor<32x10x12xf16>
}

// What does more than reordering stays, in the order of its source. The sum is nested as the image lies: its window's
// columns are neighbours there.
// CHECK-LABEL: func.func @cast_of_image
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK-SAME:      ins(%x : tensor<3x35x35xf32>) outs(%{{.*}} : tensor<3x35x35xf16>)
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d0 * 2) + d4), ((d1 * 2) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d3, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>]
#image2 = affine_map<(h, w, o, y, x, i) -> (2 * h + y, 2 * w + x, i)>
func.func @cast_of_image(%x: tensor<3x35x35xf32>, %w: tensor<5x5x3x32xf16>) -> tensor<16x16x32xf32> {
  %e = tensor.empty() : tensor<35x35x3xf16>
  %t = linalg.generic {indexing_maps = [#last, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<3x35x35xf32>) outs(%e : tensor<35x35x3xf16>) {
  ^bb0(%p: f32, %o: f16):
    %n = arith.truncf %p : f32 to f16
    linalg.yield %n : f16
  } -> tensor<35x35x3xf16>
  %z = arith.constant 0.0 : f32
  %e2 = tensor.empty() : tensor<16x16x32xf32>
  %f = linalg.fill ins(%z : f32) outs(%e2 : tensor<16x16x32xf32>) -> tensor<16x16x32xf32>
  %c = linalg.generic {indexing_maps = [#image2, #window, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%t, %w : tensor<35x35x3xf16>, tensor<5x5x3x32xf16>) outs(%f : tensor<16x16x32xf32>) {
  ^bb0(%p: f16, %r: f16, %o: f32):
    %pe = arith.extf %p : f16 to f32
    %re = arith.extf %r : f16 to f32
    %m = arith.mulf %pe, %re : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<16x16x32xf32>
  func.return %c : tensor<16x16x32xf32>
}

// Two products read one transposed matrix: it goes if both can do without.
// CHECK-LABEL: func.func @two_readers
// CHECK-NOT:     iterator_types = ["parallel", "parallel"]}
// CHECK:         ins(%x, %w :
// CHECK:         ins(%x, %v :
func.func @two_readers(%x: tensor<16x64xf16>, %w: tensor<16x32xf16>, %v: tensor<16x48xf16>) -> (tensor<64x32xf32>, tensor<64x48xf32>) {
  %e = tensor.empty() : tensor<64x16xf16>
  %t = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x64xf16>) outs(%e : tensor<64x16xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  } -> tensor<64x16xf16>
  %z = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<64x32xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%t, %w : tensor<64x16xf16>, tensor<16x32xf16>) outs(%f1 : tensor<64x32xf32>) {
  ^bb0(%p: f16, %r: f16, %o: f32):
    %pe = arith.extf %p : f16 to f32
    %re = arith.extf %r : f16 to f32
    %m = arith.mulf %pe, %re : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x32xf32>
  %e2 = tensor.empty() : tensor<64x48xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<64x48xf32>) -> tensor<64x48xf32>
  %1 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%t, %v : tensor<64x16xf16>, tensor<16x48xf16>) outs(%f2 : tensor<64x48xf32>) {
  ^bb0(%p: f16, %r: f16, %o: f32):
    %pe = arith.extf %p : f16 to f32
    %re = arith.extf %r : f16 to f32
    %m = arith.mulf %pe, %re : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x48xf32>
  func.return %0, %1 : tensor<64x32xf32>, tensor<64x48xf32>
}

// The function returns what the product reads as well: it stays.
// CHECK-LABEL: func.func @other_reader
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%x : tensor<16x64xf16>) outs(%{{.*}} : tensor<64x16xf16>)
// CHECK:         ins(%[[T]], %w :
func.func @other_reader(%x: tensor<16x64xf16>, %w: tensor<16x32xf16>) -> (tensor<64x16xf16>, tensor<64x32xf32>) {
  %e = tensor.empty() : tensor<64x16xf16>
  %t = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x64xf16>) outs(%e : tensor<64x16xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  } -> tensor<64x16xf16>
  %z = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<64x32xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%t, %w : tensor<64x16xf16>, tensor<16x32xf16>) outs(%f1 : tensor<64x32xf32>) {
  ^bb0(%p: f16, %r: f16, %o: f32):
    %pe = arith.extf %p : f16 to f32
    %re = arith.extf %r : f16 to f32
    %m = arith.mulf %pe, %re : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x32xf32>
  func.return %t, %0 : tensor<64x16xf16>, tensor<64x32xf32>
}

// Many channels, and a window none of whose elements are neighbours: the channels have to lie side by side.
#dilated = affine_map<(h, w, o, y, x, i) -> (2 * h + 2 * y, 2 * w + 2 * x, i)>
// CHECK-LABEL: func.func @not_worth_it
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%x : tensor<64x33x33xf16>) outs(%{{.*}} : tensor<33x33x64xf16>)
// CHECK:         ins(%[[T]], %w :
func.func @not_worth_it(%x: tensor<64x33x33xf16>, %w: tensor<9x9x64x16xf16>) -> tensor<9x9x16xf32> {
  %e = tensor.empty() : tensor<33x33x64xf16>
  %t = linalg.generic {indexing_maps = [#last, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<64x33x33xf16>) outs(%e : tensor<33x33x64xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  } -> tensor<33x33x64xf16>
  %z = arith.constant 0.0 : f32
  %e2 = tensor.empty() : tensor<9x9x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e2 : tensor<9x9x16xf32>) -> tensor<9x9x16xf32>
  %c = linalg.generic {indexing_maps = [#dilated, #window, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%t, %w : tensor<33x33x64xf16>, tensor<9x9x64x16xf16>) outs(%f : tensor<9x9x16xf32>) {
  ^bb0(%p: f16, %r: f16, %o: f32):
    %pe = arith.extf %p : f16 to f32
    %re = arith.extf %r : f16 to f32
    %m = arith.mulf %pe, %re : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<9x9x16xf32>
  func.return %c : tensor<9x9x16xf32>
}

// A slice that is padded: the copy between the two stays, as no load does both.
// CHECK-LABEL: func.func @padded_slice
// CHECK:         %[[S:.*]] = tensor.extract_slice %x
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<16x60xf16>)
// CHECK:         %[[P:.*]] = tensor.pad %[[T]]
// CHECK:         ins(%[[P]], %w :
func.func @padded_slice(%x: tensor<16x64xf16>, %w: tensor<16x32xf16>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f16
  %s = tensor.extract_slice %x[0, 4] [16, 60] [1, 1] : tensor<16x64xf16> to tensor<16x60xf16>
  %e = tensor.empty() : tensor<60x16xf16>
  %t = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<16x60xf16>) outs(%e : tensor<60x16xf16>) {
  ^bb0(%p: f16, %o: f16):
    linalg.yield %p : f16
  } -> tensor<60x16xf16>
  %q = tensor.pad %t low[2, 0] high[2, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f16
  } : tensor<60x16xf16> to tensor<64x16xf16>
  %z = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<64x32xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%q, %w : tensor<64x16xf16>, tensor<16x32xf16>) outs(%f1 : tensor<64x32xf32>) {
  ^bb0(%p: f16, %r: f16, %o: f32):
    %pe = arith.extf %p : f16 to f32
    %re = arith.extf %r : f16 to f32
    %m = arith.mulf %pe, %re : f32
    %s1 = arith.addf %o, %m : f32
    linalg.yield %s1 : f32
  } -> tensor<64x32xf32>
  func.return %0 : tensor<64x32xf32>
}
