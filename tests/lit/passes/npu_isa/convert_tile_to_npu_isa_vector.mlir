// RUN: npu-opt %s --convert-tile-to-npu-isa | filecheck %s

#ub = #tile.space<ub>
#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0, d1) -> (d1)>
#col = affine_map<(d0, d1) -> (d0)>

// Rows without padding are one run; a broadcast is a stride of 0 and keeps the dims apart; the constant is an immediate.
// CHECK-LABEL: tile.kernel @elementwise(
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 8192 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %bias = npu_isa.buffer 1 x 256 at 8192 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.vunary exp %x<1>, %x<1> over [2048] {npu.node = "node"} : f32
// CHECK-NEXT:    npu_isa.vbinary add %x<64, 1>, %x<64, 1>, %bias<0, 1> over [32, 64] : f32
// CHECK-NEXT:    npu_isa.vbinary sub %x<1>, imm 1.000000e+00 : f32, %x<1> over [2048] : f32
// CHECK-NEXT:    npu_isa.vunary relu %x<1>, %x<1> over [2048] : f32
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @elementwise(%Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0} : memref<32x64xf32, #ub>
  %bias = tile.alloc {address = 8192} : memref<64xf32, #ub>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<32x64xf32, #ub>) outs(%x : memref<32x64xf32, #ub>) attrs = {npu.node = "node"} {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %bias : memref<32x64xf32, #ub>, memref<64xf32, #ub>) outs(%x : memref<32x64xf32, #ub>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<32x64xf32, #ub>) outs(%x : memref<32x64xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %k = arith.constant 1.0 : f32
    %r = arith.subf %k, %a : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<32x64xf32, #ub>) outs(%x : memref<32x64xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %k = arith.constant 0.0 : f32
    %r = arith.maximumf %k, %a : f32
    linalg.yield %r : f32
  }
  tile.return
}

// Copies move strides; a fill covers the padding of the rows; what is yielded unchanged is no instruction.
// CHECK-LABEL: tile.kernel @copies(
// CHECK-NEXT:    %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 3072 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %y = npu_isa.buffer 1 x 1280 at 4096 : !npu_isa.addr<ub>
// CHECK-NEXT:    %z = npu_isa.buffer 1 x 2048 at 8192 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.vdup %x<1>, imm 0.000000e+00 : f32 over [768] : f32
// CHECK-NEXT:    npu_isa.vdup %z<1>, imm 0.000000e+00 : f16 over [1024] : f16
// CHECK-NEXT:    npu_isa.vtranspose %z<32, 1>, %y<1, 32> over [32, 20] : f16
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @copies(%Y: memref<64xf32, #tile.space<gm>>) {
  %zero = arith.constant 0.0 : f32
  %x = tile.alloc {address = 0} : memref<32x20xf32, #ub>
  %y = tile.alloc {address = 4096} : memref<20x32xf16, #ub>
  %z = tile.alloc {address = 8192} : memref<32x20xf16, #ub>
  linalg.fill ins(%zero : f32) outs(%x : memref<32x20xf32, #ub>)
  linalg.fill ins(%zero : f32) outs(%z : memref<32x20xf16, #ub>)
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]}
    ins(%y : memref<20x32xf16, #ub>) outs(%z : memref<32x20xf16, #ub>) {
  ^bb0(%a: f16, %o: f16):
    linalg.yield %a : f16
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<32x20xf32, #ub>) outs(%x : memref<32x20xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %o : f32
  }
  tile.return
}

// Masks, casts.
// CHECK-LABEL: tile.kernel @masks(
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %m = npu_isa.buffer 1 x 64 at 256 : !npu_isa.addr<ub>
// CHECK-NEXT:    %h = npu_isa.buffer 1 x 128 at 512 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.vcmp lt %m<1>, %x<1>, imm 5.000000e-01 : f32 over [64] : i1, f32
// CHECK-NEXT:    npu_isa.vselect %x<1>, %m<1>, imm 5.000000e-01 : f32, %x<1> over [64] : f32, i1, f32
// CHECK-NEXT:    npu_isa.vdup %x<1>, imm 2.000000e+00 : f32 over [64] : f32
// CHECK-NEXT:    npu_isa.vselect %x<1>, %m<1>, imm 1.000000e+00 : f32, %x<1> over [64] : f32, i1, f32
// CHECK-NEXT:    npu_isa.vcast cast %h<1>, %x<1> over [64] : f16, f32
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @masks(%Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0} : memref<64xf32, #ub>
  %m = tile.alloc {address = 256} : memref<64xi1, #ub>
  %h = tile.alloc {address = 512} : memref<64xf16, #ub>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%x : memref<64xf32, #ub>) outs(%m : memref<64xi1, #ub>) {
  ^bb0(%a: f32, %o: i1):
    %k = arith.constant 0.5 : f32
    %r = arith.cmpf olt, %a, %k : f32
    linalg.yield %r : i1
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%m, %x : memref<64xi1, #ub>, memref<64xf32, #ub>) outs(%x : memref<64xf32, #ub>) {
  ^bb0(%c: i1, %a: f32, %o: f32):
    %k = arith.constant 0.5 : f32
    %r = arith.select %c, %k, %a : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%m : memref<64xi1, #ub>) outs(%x : memref<64xf32, #ub>) {
  ^bb0(%c: i1, %o: f32):
    %k = arith.constant 1.0 : f32
    %j = arith.constant 2.0 : f32
    %r = arith.select %c, %k, %j : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%x : memref<64xf32, #ub>) outs(%h : memref<64xf16, #ub>) {
  ^bb0(%a: f32, %o: f16):
    %r = arith.truncf %a : f32 to f16
    linalg.yield %r : f16
  }
  tile.return
}

// Reductions: one instruction whatever is reduced. The lanes run along memory.
// CHECK-LABEL: tile.kernel @reductions(
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 8192 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %r = npu_isa.buffer 1 x 128 at 8192 : !npu_isa.addr<ub>
// CHECK-NEXT:    %c = npu_isa.buffer 1 x 256 at 8320 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.vreduce sum %r<1, 0>, %x<64, 1> over [32, 64] : f32
// CHECK-NEXT:    npu_isa.vreduce max %c<0, 1>, %x<64, 1> over [32, 64] : f32
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @reductions(%Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0} : memref<32x64xf32, #ub>
  %r = tile.alloc {address = 8192} : memref<32xf32, #ub>
  %c = tile.alloc {address = 8320} : memref<64xf32, #ub>
  linalg.generic {indexing_maps = [#id, #col], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<32x64xf32, #ub>) outs(%r : memref<32xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["reduction", "parallel"]}
    ins(%x : memref<32x64xf32, #ub>) outs(%c : memref<64xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.maximumf %a, %o : f32
    linalg.yield %s : f32
  }
  tile.return
}

// A max pool has five dims: the shortest loop is scalar code. The window's shape needs no memory. A depthwise
// convolution is one multiply-add.
// CHECK-LABEL: tile.kernel @windows(
// CHECK-NEXT:    %0 = arith.constant 384 : index
// CHECK-NEXT:    %1 = arith.constant 3 : index
// CHECK-NEXT:    %2 = arith.constant 4224 : index
// CHECK-NEXT:    %3 = arith.constant 1 : index
// CHECK-NEXT:    %4 = arith.constant 2 : index
// CHECK-NEXT:    %5 = arith.constant 0 : index
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 38016 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %p = npu_isa.buffer 1 x 7680 at 65536 : !npu_isa.addr<ub>
// CHECK-NEXT:    %k = npu_isa.buffer 1 x 1152 at 98304 : !npu_isa.addr<ub>
// CHECK-NEXT:    %d = npu_isa.buffer 1 x 15360 at 131072 : !npu_isa.addr<ub>
// CHECK-NEXT:    scf.for %6 = %5 to %4 step %3 {
// CHECK-NEXT:      %7 = arith.muli %6, %2 : index
// CHECK-NEXT:      %8 = npu_isa.at %x + %7 : !npu_isa.addr<ub>
// CHECK-NEXT:      npu_isa.vreduce max %p<960, 64, 0, 1>, %8<4224, 128, 64, 1> over [4, 15, 3, 64] : f16
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %9 = %5 to %1 step %3 {
// CHECK-NEXT:      %10 = arith.muli %9, %2 : index
// CHECK-NEXT:      %11 = npu_isa.at %x + %10 : !npu_isa.addr<ub>
// CHECK-NEXT:      %12 = arith.muli %9, %0 : index
// CHECK-NEXT:      %13 = npu_isa.at %k + %12 : !npu_isa.addr<ub>
// CHECK-NEXT:      npu_isa.vmadd %d<960, 64, 0, 1>, %11<4224, 128, 64, 1>, %13<0, 0, 64, 1> over [4, 15, 3, 64] : f32, f16, f16
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @windows(%Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0} : memref<9x33x64xf16, #ub>
  %p = tile.alloc {address = 65536} : memref<4x15x64xf16, #ub>
  %k = tile.alloc {address = 98304} : memref<3x3x64xf16, #ub>
  %d = tile.alloc {address = 131072} : memref<4x15x64xf32, #ub>
  %window = memref.alloc() : memref<2x3xf16>
  linalg.generic {
    indexing_maps = [affine_map<(h, w, c, i, j) -> (2 * h + i, 2 * w + j, c)>, affine_map<(h, w, c, i, j) -> (i, j)>,
                     affine_map<(h, w, c, i, j) -> (h, w, c)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
    ins(%x, %window : memref<9x33x64xf16, #ub>, memref<2x3xf16>) outs(%p : memref<4x15x64xf16, #ub>) {
  ^bb0(%a: f16, %w: f16, %o: f16):
    %s = arith.maximumf %o, %a : f16
    linalg.yield %s : f16
  }
  linalg.generic {
    indexing_maps = [affine_map<(h, w, c, i, j) -> (2 * h + i, 2 * w + j, c)>, affine_map<(h, w, c, i, j) -> (i, j, c)>,
                     affine_map<(h, w, c, i, j) -> (h, w, c)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
    ins(%x, %k : memref<9x33x64xf16, #ub>, memref<3x3x64xf16, #ub>) outs(%d : memref<4x15x64xf32, #ub>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %a1 = arith.extf %a : f16 to f32
    %b1 = arith.extf %b : f16 to f32
    %m = arith.mulf %a1, %b1 : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  tile.return
}

// Elementwise instructions run over the padding at the end of the rows where that makes one run of them; reductions and
// instructions with an operand that has no such padding do not.
// CHECK-LABEL: tile.kernel @padding(
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 3072 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %bias = npu_isa.buffer 1 x 96 at 4096 : !npu_isa.addr<ub>
// CHECK-NEXT:    %sum = npu_isa.buffer 1 x 96 at 4224 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.vunary exp %x<1>, %x<1> over [768] : f32
// CHECK-NEXT:    npu_isa.vbinary add %x<24, 1>, %x<24, 1>, %bias<0, 1> over [32, 20] : f32
// CHECK-NEXT:    npu_isa.vreduce sum %sum<0, 1>, %x<24, 1> over [32, 20] : f32
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @padding(%Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0} : memref<32x20xf32, #ub>
  %bias = tile.alloc {address = 4096} : memref<20xf32, #ub>
  %sum = tile.alloc {address = 4224} : memref<20xf32, #ub>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<32x20xf32, #ub>) outs(%x : memref<32x20xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %bias : memref<32x20xf32, #ub>, memref<20xf32, #ub>) outs(%x : memref<32x20xf32, #ub>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["reduction", "parallel"]}
    ins(%x : memref<32x20xf32, #ub>) outs(%sum : memref<20xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  tile.return
}

// A copy whose rows become columns takes blocks, in both directions where only another loop stands outside. One of
// few columns goes element by element, as blocks would be empty for the most part, and so do bytes.
// CHECK-LABEL: tile.kernel @transposes(
// CHECK:         npu_isa.vtranspose %{{.*}}<64, 1>, %{{.*}}<1, 64> over [50, 64] : f16
// CHECK:         npu_isa.vunary copy %{{.*}}<1, 16>, %{{.*}}<64, 1> over [2, 50] : f16
// CHECK:         npu_isa.vunary copy %{{.*}}<64, 1>, %{{.*}}<1, 64> over [50, 64] : i8
tile.kernel @transposes(%Y: memref<64xf32, #tile.space<gm>>) {
  %a = tile.alloc {address = 0} : memref<64x50xf16, #ub>
  %b = tile.alloc {address = 8192} : memref<50x64xf16, #ub>
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a : memref<64x50xf16, #ub>) outs(%b : memref<50x64xf16, #ub>) {
  ^bb0(%x: f16, %o: f16):
    linalg.yield %x : f16
  }
  %c = tile.alloc {address = 16384} : memref<2x50xf16, #ub>
  %d = tile.alloc {address = 20480} : memref<50x2xf16, #ub>
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]}
    ins(%c : memref<2x50xf16, #ub>) outs(%d : memref<50x2xf16, #ub>) {
  ^bb0(%x: f16, %o: f16):
    linalg.yield %x : f16
  }
  %e = tile.alloc {address = 32768} : memref<64x50xi8, #ub>
  %f = tile.alloc {address = 40960} : memref<50x64xi8, #ub>
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]}
    ins(%e : memref<64x50xi8, #ub>) outs(%f : memref<50x64xi8, #ub>) {
  ^bb0(%x: i8, %o: i8):
    linalg.yield %x : i8
  }
  tile.return
}
