// RUN: npu-opt %s --convert-tile-to-npu-isa | filecheck %s

#gm = #tile.space<gm>
#l1 = #tile.space<l1>
#l0a = #tile.space<l0a>
#l0b = #tile.space<l0b>
#l0c = #tile.space<l0c>
#ub = #tile.space<ub>

// Unit dims and constant indices go out of the map; rows are padded to 32 bytes on chip; `npu.node` stays.
// CHECK-LABEL: tile.kernel @gm(
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %c60 = arith.constant 60 : index
// CHECK-NEXT:    %x = npu_isa.buffer 2 x 2048 at 64 : !npu_isa.addr<ub>
// CHECK-NEXT:    scf.for %i = %c0 to %c60 step %c16 {
// CHECK-NEXT:      %s = npu_isa.slot %x[%i] : !npu_isa.addr<ub>
// CHECK-NEXT:      npu_isa.load_ub %A[%i] -> %s<64, 1> over [16, 50] map affine_map<(d0, d1, d2) -> (0, (d0 + d1), d2)> pad 0.000000e+00 : f16 {npu.node = "node"} : memref<1x60x50xf16, #tile.space<gm>>
// CHECK-NEXT:      npu_isa.store_ub %s<64, 1> -> %Y[%i] over [16, 50] map affine_map<(d0, d1, d2) -> ((d0 + d1), d2)> : memref<60x50xf16, #tile.space<gm>>
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @gm(%A: memref<1x60x50xf16, #gm>, %Y: memref<60x50xf16, #gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c60 = arith.constant 60 : index
  %x = tile.alloc {address = 64, slots = 2} : memref<1x16x50xf16, #ub>
  scf.for %i = %c0 to %c60 step %c16 {
    %s = tile.slot %x[%i] : memref<1x16x50xf16, #ub>
    tile.load %A[%c0, %i] into %s map affine_map<(i0, i1, d0, d1, d2) -> (i0 + d0, i1 + d1, d2)> pad 0.0 : f16 {npu.node = "node"}
      : memref<1x60x50xf16, #gm>, memref<1x16x50xf16, #ub>
    tile.store %s, %Y[%i] map affine_map<(i0, d0, d1, d2) -> (i0 + d0 + d1, d2)>
      : memref<1x16x50xf16, #ub>, memref<60x50xf16, #gm>
  }
  tile.return
}

// More dims than an instruction has: the shortest become scalar loops.
// CHECK-LABEL: tile.kernel @six_dims(
// CHECK-NEXT:    %0 = arith.constant 3840 : index
// CHECK-NEXT:    %1 = arith.constant 11520 : index
// CHECK-NEXT:    %2 = arith.constant 3 : index
// CHECK-NEXT:    %3 = arith.constant 1 : index
// CHECK-NEXT:    %4 = arith.constant 2 : index
// CHECK-NEXT:    %5 = arith.constant 0 : index
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 23040 at 0 : !npu_isa.addr<l1>
// CHECK-NEXT:    scf.for %6 = %5 to %4 step %3 {
// CHECK-NEXT:      scf.for %7 = %5 to %2 step %3 {
// CHECK-NEXT:        %8 = arith.muli %6, %1 : index
// CHECK-NEXT:        %9 = arith.muli %7, %0 : index
// CHECK-NEXT:        %10 = arith.addi %8, %9 : index
// CHECK-NEXT:        %11 = npu_isa.at %x + %10 : !npu_isa.addr<l1>
// CHECK-NEXT:        npu_isa.load_l1 %A[%6, %7] -> %11<240, 48, 8, 1> over [4, 5, 6, 7] map affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)> : memref<2x3x4x5x6x7xf32, #tile.space<gm>>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @six_dims(%A: memref<2x3x4x5x6x7xf32, #gm>, %Y: memref<2x3x4x5x6x7xf32, #gm>) {
  %x = tile.alloc {address = 0} : memref<2x3x4x5x6x7xf32, #l1>
  tile.load %A[] into %x map affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)>
    : memref<2x3x4x5x6x7xf32, #gm>, memref<2x3x4x5x6x7xf32, #l1>
  tile.return
}

// A convolution's windows: overlapping strides over the slab in L1. A transposed second matrix: strides again.
// CHECK-LABEL: tile.kernel @im2col(
// CHECK-NEXT:    %0 = arith.constant 1024 : index
// CHECK-NEXT:    %1 = arith.constant 4 : index
// CHECK-NEXT:    %2 = arith.constant 768 : index
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %slab = npu_isa.buffer 1 x 6912 at 0 : !npu_isa.addr<l1>
// CHECK-NEXT:    %w = npu_isa.buffer 1 x 4096 at 6912 : !npu_isa.addr<l1>
// CHECK-NEXT:    %a = npu_isa.buffer 1 x 9216 at 0 : !npu_isa.addr<l0a>
// CHECK-NEXT:    %b = npu_isa.buffer 1 x 2048 at 0 : !npu_isa.addr<l0b>
// CHECK-NEXT:    scf.for %i = %c0 to %c8 step %c2 {
// CHECK-NEXT:      %3 = arith.muli %i, %2 : index
// CHECK-NEXT:      %4 = npu_isa.at %slab + %3 + 32 : !npu_isa.addr<l1>
// CHECK-NEXT:      npu_isa.load_l0a %4<768, 32, 384, 1> -> %a over [4, 11, 2, 48] rows 2 : f16
// CHECK-NEXT:      %5 = arith.divui %i, %1 : index
// CHECK-NEXT:      %6 = arith.muli %5, %0 : index
// CHECK-NEXT:      %7 = npu_isa.at %w + %6 : !npu_isa.addr<l1>
// CHECK-NEXT:      npu_isa.load_l0b %7<1, 64> -> %b over [64, 16] rows 1 : f16
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @im2col(%A: memref<60x50xf16, #gm>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %slab = tile.alloc {address = 0} : memref<9x24x16xf16, #l1>
  %w = tile.alloc {address = 6912} : memref<32x64xf16, #l1>
  %a = tile.alloc {address = 0, rows = 2} : memref<4x11x2x3x16xf16, #l0a>
  %b = tile.alloc {address = 0, rows = 1} : memref<64x16xf16, #l0b>
  scf.for %i = %c0 to %c8 step %c2 {
    tile.load %slab[%i] into %a map affine_map<(i0, d0, d1, d2, d3, d4) -> (i0 + 2 * d0 + d2, 2 * d1 + d3 + 1, d4)>
      : memref<9x24x16xf16, #l1>, memref<4x11x2x3x16xf16, #l0a>
    tile.load %w[%i] into %b map affine_map<(i0, d0, d1) -> (d1 + 8 * (i0 floordiv 4), d0)>
      : memref<32x64xf16, #l1>, memref<64x16xf16, #l0b>
  }
  tile.return
}

// An accumulator is a matrix: the columns are padded to the side of the cube.
// CHECK-LABEL: tile.kernel @accumulator(
// CHECK-NEXT:    %0 = arith.constant 128 : index
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %acc = npu_isa.buffer 1 x 2048 at 0 : !npu_isa.addr<l0c>
// CHECK-NEXT:    %u = npu_isa.buffer 1 x 384 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %v = npu_isa.buffer 1 x 640 at 1024 : !npu_isa.addr<ub>
// CHECK-NEXT:    scf.for %i = %c0 to %c16 step %c4 {
// CHECK-NEXT:      %1 = arith.muli %i, %0 : index
// CHECK-NEXT:      %2 = npu_isa.at %acc + %1 : !npu_isa.addr<l0c>
// CHECK-NEXT:      npu_isa.fixpipe_ub %2<32, 1> -> %u<24, 1> over [4, 20] : f32
// CHECK-NEXT:      npu_isa.vunary copy %v<1, 8>, %u<24, 1> over [4, 20] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    npu_isa.fixpipe_gm %acc<32, 1> -> %Y[] over [16, 20] map affine_map<(d0, d1) -> ((d0 + 4), d1)> : memref<60x20xf16, #tile.space<gm>>
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @accumulator(%Y: memref<60x20xf16, #gm>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %acc = tile.alloc {address = 0, rows = 1} : memref<16x20xf32, #l0c>
  %u = tile.alloc {address = 0} : memref<4x20xf32, #ub>
  %v = tile.alloc {address = 1024} : memref<20x4xf32, #ub>
  scf.for %i = %c0 to %c16 step %c4 {
    tile.load %acc[%i] into %u map affine_map<(i0, d0, d1) -> (i0 + d0, d1)> : memref<16x20xf32, #l0c>, memref<4x20xf32, #ub>
    tile.load %u[] into %v map affine_map<(d0, d1) -> (d1, d0)> : memref<4x20xf32, #ub>, memref<20x4xf32, #ub>
  }
  tile.store %acc, %Y[%c4] map affine_map<(i0, d0, d1) -> (i0 + d0, d1)> : memref<16x20xf32, #l0c>, memref<60x20xf16, #gm>
  tile.return
}

// What the fixpipe does on the way goes with it, to UB and to GM.
// CHECK-LABEL: tile.kernel @scaled(
// CHECK:         npu_isa.fixpipe_ub %acc<32, 1> -> %u<32, 1> over [16, 20] epilogue <scale 5.0e-01> : i32 -> f16
// CHECK-NEXT:    npu_isa.fixpipe_gm %acc<32, 1> -> %Y[] over [16, 20] map affine_map<(d0, d1) -> (d0, d1)> epilogue <scale 5.0e-01, relu> of i32 : memref<16x20xf16, #tile.space<gm>>
tile.kernel @scaled(%Y: memref<16x20xf16, #gm>) {
  %acc = tile.alloc {address = 0, rows = 1} : memref<16x20xi32, #l0c>
  %u = tile.alloc {address = 0} : memref<16x20xf16, #ub>
  tile.load %acc[] into %u map affine_map<(d0, d1) -> (d0, d1)> epilogue <scale 0.5> : memref<16x20xi32, #l0c>, memref<16x20xf16, #ub>
  tile.store %acc, %Y[] map affine_map<(d0, d1) -> (d0, d1)> epilogue <scale 0.5, relu> : memref<16x20xi32, #l0c>, memref<16x20xf16, #gm>
  tile.return
}

// Rank 0.
// CHECK-LABEL: tile.kernel @scalar(
// CHECK-NEXT:    %c3 = arith.constant 3 : index
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 32 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.load_ub %A[] -> %x<1> over [1] map affine_map<(d0) -> (3)> : memref<8xf32, #tile.space<gm>>
// CHECK-NEXT:    npu_isa.store_ub %x<1> -> %Y[] over [1] map affine_map<(d0) -> ()> : memref<f32, #tile.space<gm>>
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @scalar(%A: memref<8xf32, #gm>, %Y: memref<f32, #gm>) {
  %c3 = arith.constant 3 : index
  %x = tile.alloc {address = 0} : memref<f32, #ub>
  tile.load %A[%c3] into %x map affine_map<(i0) -> (i0)> : memref<8xf32, #gm>, memref<f32, #ub>
  tile.store %x, %Y[] map affine_map<() -> ()> : memref<f32, #ub>, memref<f32, #gm>
  tile.return
}

// A row for each index, which the scalar unit reads. Rows in the middle are strided transfers; a start among the indices
// is added to the address.
// CHECK-LABEL: tile.kernel @rows(
// CHECK:         %r = npu_isa.buffer 1 x 160 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %g = npu_isa.buffer 1 x 384 at 256 : !npu_isa.addr<ub>
// CHECK-NEXT:    scf.for %i = %c0 to %c20 step %c4 {
// CHECK-NEXT:      scf.for %[[K:.*]] = %c0 to %c4 step %{{.*}} {
// CHECK-NEXT:        %[[A:.*]] = arith.muli %i, %c8 : index
// CHECK-NEXT:        %[[B:.*]] = arith.muli %[[K]], %c8 : index
// CHECK-NEXT:        %[[S:.*]] = arith.addi %[[A]], %[[B]] : index
// CHECK-NEXT:        %[[P:.*]] = npu_isa.at %r + %[[S]] : !npu_isa.addr<ub>
// CHECK-NEXT:        %[[R:.*]] = npu_isa.read_index %[[P]] of 50 {npu.node = "pick"} : i64
// CHECK-NEXT:        %[[O:.*]] = arith.muli %[[K]], %c32 : index
// CHECK-NEXT:        %[[Q:.*]] = npu_isa.at %g + %[[O]] : !npu_isa.addr<ub>
// CHECK-NEXT:        npu_isa.gather_ub %T[%[[R]]] -> %[[Q]]<32, 1> over [3, 5] map affine_map<(d0, d1, d2) -> (d1, d0, d2)> axis 1 {npu.node = "pick"} : memref<3x50x5xf32, #tile.space<gm>>
tile.kernel @rows(%T: memref<3x50x5xf32, #gm>, %Y: memref<3x20x5xf32, #gm>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c20 = arith.constant 20 : index
  %c32 = arith.constant 32 : index
  %r = tile.alloc {address = 0} : memref<20xi64, #ub>
  %g = tile.alloc {address = 256} : memref<3x4x5xf32, #ub>
  scf.for %i = %c0 to %c20 step %c4 {
    tile.gather %T[%i] rows %r into %g axis 1 map affine_map<(i, a, b, c) -> (a, i + b, c)> {npu.node = "pick"}
      : memref<3x50x5xf32, #gm>, memref<20xi64, #ub>, memref<3x4x5xf32, #ub>
  }
  tile.return
}

// CHECK-LABEL: tile.kernel @put(
// CHECK:         scf.for %[[K:.*]] = %c0 to %{{.*}} step
// CHECK:           %[[R:.*]] = npu_isa.read_index %{{.*}} of 50 : i32
// CHECK:           npu_isa.scatter_ub %{{.*}}<1> -> %Y[%[[R]]] over [8] map affine_map<(d0, d1) -> (d0, d1)> axis 0 : memref<50x8xf16, #tile.space<gm>>
tile.kernel @put(%X: memref<50x8xf16, #gm>, %Y: memref<50x8xf16, #gm>) reuses [0] {
  %c0 = arith.constant 0 : index
  %r = tile.alloc {address = 0} : memref<4xi32, #ub>
  %u = tile.alloc {address = 64} : memref<4x8xf16, #ub>
  tile.scatter %u, %Y[] rows %r axis 0 map affine_map<(m, n) -> (m, n)>
    : memref<4x8xf16, #ub>, memref<50x8xf16, #gm>, memref<4xi32, #ub>
  tile.return
}

// Between UB and L1, both ways, whole or a part; runs that go on in both are one.
// CHECK-LABEL: tile.kernel @local(
// CHECK:         npu_isa.copy_l1 %x<1> -> %y<1> over [64] : f16
// CHECK-NEXT:    %{{.*}} = npu_isa.at %y + 32 : !npu_isa.addr<l1>
// CHECK:         npu_isa.copy_ub %{{.*}}<1, 16> -> %z<16, 1> over [16, 3] : f16
tile.kernel @local(%A: memref<4x16xf16, #gm>, %Y: memref<16x3xf16, #gm>) {
  %x = tile.alloc {address = 0} : memref<4x16xf16, #ub>
  %y = tile.alloc {address = 0} : memref<4x16xf16, #l1>
  %z = tile.alloc {address = 128} : memref<16x3xf16, #ub>
  tile.load %A[] into %x map affine_map<(d0, d1) -> (d0, d1)> : memref<4x16xf16, #gm>, memref<4x16xf16, #ub>
  tile.load %x[] into %y map affine_map<(d0, d1) -> (d0, d1)> : memref<4x16xf16, #ub>, memref<4x16xf16, #l1>
  tile.load %y[] into %z map affine_map<(d0, d1) -> (1 + d1, d0)> : memref<4x16xf16, #l1>, memref<16x3xf16, #ub>
  tile.store %z, %Y[] map affine_map<(d0, d1) -> (d0, d1)> : memref<16x3xf16, #ub>, memref<16x3xf16, #gm>
  tile.return
}

// A tile that becomes a part of a larger one in L1.
// CHECK-LABEL: tile.kernel @part(
// CHECK:         %[[AT:.*]] = npu_isa.at %y + %{{.*}} : !npu_isa.addr<l1>
// CHECK-NEXT:    npu_isa.copy_l1 %x<16, 1> -> %[[AT]]<64, 1> over [4, 16] : f16
tile.kernel @part(%A: memref<4x16xf16, #gm>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %x = tile.alloc {address = 0} : memref<4x16xf16, #ub>
  %y = tile.alloc {address = 0} : memref<4x64xf16, #l1>
  scf.for %i = %c0 to %c64 step %c16 {
    tile.insert %x, %y[%i] map affine_map<(i, m, n) -> (m, i + n)> : memref<4x16xf16, #ub>, memref<4x64xf16, #l1>
  }
  tile.return
}
