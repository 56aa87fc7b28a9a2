// RUN: npu-opt %s --convert-tile-to-npu-isa | filecheck %s

#l0a = #tile.space<l0a>
#l0b = #tile.space<l0b>
#l0c = #tile.space<l0c>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// The product starts from zero in the first iteration of the loops between the fill of its accumulator and itself;
// loops that run once don't count.
// CHECK-LABEL: tile.kernel @starts_from_zero(
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %a = npu_isa.buffer 1 x 2048 at 0 : !npu_isa.addr<l0a>
// CHECK-NEXT:    %b = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0b>
// CHECK-NEXT:    %acc = npu_isa.buffer 2 x 8192 at 0 : !npu_isa.addr<l0c>
// CHECK-NEXT:    scf.for %m = %c0 to %c4 step %c1 {
// CHECK-NEXT:      %c = npu_isa.slot %acc[%m] : !npu_isa.addr<l0c>
// CHECK-NEXT:      scf.for %k = %c0 to %c4 step %c1 {
// CHECK-NEXT:        scf.for %once = %c0 to %c1 step %c1 {
// CHECK-NEXT:          scf.for %k0 = %c1 to %c4 step %c1 {
// CHECK-NEXT:            %0 = arith.cmpi eq, %k, %c0 : index
// CHECK-NEXT:            %1 = arith.cmpi eq, %k0, %c1 : index
// CHECK-NEXT:            %2 = arith.andi %0, %1 : i1
// CHECK-NEXT:            npu_isa.mmad %a, %b -> %c over [32, 20, 64] init %2 : f16 -> f32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @starts_from_zero(%Y: memref<64xf32, #tile.space<gm>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc {address = 0, rows = 1} : memref<32x20xf16, #l0a>
  %b = tile.alloc {address = 0, rows = 1} : memref<20x64xf16, #l0b>
  %acc = tile.alloc {address = 0, rows = 1, slots = 2} : memref<32x64xf32, #l0c>
  scf.for %m = %c0 to %c4 step %c1 {
    %c = tile.slot %acc[%m] : memref<32x64xf32, #l0c>
    linalg.fill ins(%zero : f32) outs(%c : memref<32x64xf32, #l0c>)
    scf.for %k = %c0 to %c4 step %c1 {
      scf.for %once = %c0 to %c1 step %c1 {
        scf.for %k0 = %c1 to %c4 step %c1 {
          linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
            ins(%a, %b : memref<32x20xf16, #l0a>, memref<20x64xf16, #l0b>) outs(%c : memref<32x64xf32, #l0c>) {
          ^bb0(%x: f16, %y: f16, %z: f32):
            %x1 = arith.extf %x : f16 to f32
            %y1 = arith.extf %y : f16 to f32
            %p = arith.mulf %x1, %y1 : f32
            %s = arith.addf %z, %p : f32
            linalg.yield %s : f32
          }
        }
      }
    }
  }
  tile.return
}

// Without a loop it always starts from zero; a second product on the same accumulator adds to the first. Several dims
// make one side of a matrix. Operands may stand in any order in the body.
// CHECK-LABEL: tile.kernel @always(
// CHECK-NEXT:    %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %a = npu_isa.buffer 1 x 4096 at 0 : !npu_isa.addr<l0a>
// CHECK-NEXT:    %b = npu_isa.buffer 1 x 2048 at 0 : !npu_isa.addr<l0b>
// CHECK-NEXT:    %acc = npu_isa.buffer 1 x 2048 at 0 : !npu_isa.addr<l0c>
// CHECK-NEXT:    npu_isa.mmad %a, %b -> %acc over [32, 30, 16] zero : f32 -> f32
// CHECK-NEXT:    npu_isa.mmad %a, %b -> %acc over [32, 30, 16] : f32 -> f32
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @always(%Y: memref<64xf32, #tile.space<gm>>) {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc {address = 0, rows = 2} : memref<4x8x2x3x5xf32, #l0a>
  %b = tile.alloc {address = 0, rows = 3} : memref<2x3x5x16xf32, #l0b>
  %acc = tile.alloc {address = 0, rows = 2} : memref<4x8x16xf32, #l0c>
  linalg.fill ins(%zero : f32) outs(%acc : memref<4x8x16xf32, #l0c>)
  linalg.generic {
    indexing_maps = [affine_map<(h, w, c, n, i, j) -> (h, w, i, j, c)>, affine_map<(h, w, c, n, i, j) -> (i, j, c, n)>,
                     affine_map<(h, w, c, n, i, j) -> (h, w, n)>],
    iterator_types = ["parallel", "parallel", "reduction", "parallel", "reduction", "reduction"]}
    ins(%a, %b : memref<4x8x2x3x5xf32, #l0a>, memref<2x3x5x16xf32, #l0b>) outs(%acc : memref<4x8x16xf32, #l0c>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %y, %x : f32
    %s = arith.addf %p, %z : f32
    linalg.yield %s : f32
  }
  linalg.generic {
    indexing_maps = [affine_map<(h, w, c, n, i, j) -> (h, w, i, j, c)>, affine_map<(h, w, c, n, i, j) -> (i, j, c, n)>,
                     affine_map<(h, w, c, n, i, j) -> (h, w, n)>],
    iterator_types = ["parallel", "parallel", "reduction", "parallel", "reduction", "reduction"]}
    ins(%a, %b : memref<4x8x2x3x5xf32, #l0a>, memref<2x3x5x16xf32, #l0b>) outs(%acc : memref<4x8x16xf32, #l0c>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %y, %x : f32
    %s = arith.addf %p, %z : f32
    linalg.yield %s : f32
  }
  tile.return
}
