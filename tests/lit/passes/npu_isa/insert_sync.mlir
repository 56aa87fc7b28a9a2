// RUN: npu-opt %s --npu-isa-insert-sync | filecheck %s

#gm = #tile.space<gm>

// A product with two slots everywhere: six pairs, two for each hop. The ids of a pair are set once for each slot before
// the outermost loop, and waited for after it.
// CHECK-LABEL: tile.kernel @gemm(
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    %la = npu_isa.buffer 2 x 65536 at 0 : !npu_isa.addr<l1>
// CHECK-NEXT:    %lb = npu_isa.buffer 2 x 131072 at 131072 : !npu_isa.addr<l1>
// CHECK-NEXT:    %a0s = npu_isa.buffer 2 x 16384 at 0 : !npu_isa.addr<l0a>
// CHECK-NEXT:    %b0s = npu_isa.buffer 2 x 32768 at 0 : !npu_isa.addr<l0b>
// CHECK-NEXT:    %accs = npu_isa.buffer 2 x 131072 at 0 : !npu_isa.addr<l0c>
// CHECK-NEXT:    npu_isa.set_flag [FIX, M, 0]
// CHECK-NEXT:    npu_isa.set_flag [FIX, M, 1]
// CHECK-NEXT:    npu_isa.set_flag [MTE1, MTE2, 0]
// CHECK-NEXT:    npu_isa.set_flag [MTE1, MTE2, 1]
// CHECK-NEXT:    npu_isa.set_flag [M, MTE1, 0]
// CHECK-NEXT:    npu_isa.set_flag [M, MTE1, 1]
// CHECK-NEXT:    scf.for %m = %c0 to %c2 step %c1 {
// CHECK-NEXT:      %acc = npu_isa.slot %accs[%m] : !npu_isa.addr<l0c>
// CHECK-NEXT:      npu_isa.wait_flag [FIX, M, 0 + %m mod 2]
// CHECK-NEXT:      scf.for %k = %c0 to %c2 step %c1 {
// CHECK-NEXT:        %m2 = arith.muli %m, %c2 : index
// CHECK-NEXT:        %count = arith.addi %m2, %k : index
// CHECK-NEXT:        %a = npu_isa.slot %la[%count] : !npu_isa.addr<l1>
// CHECK-NEXT:        npu_isa.wait_flag [MTE1, MTE2, 0 + %count mod 2]
// CHECK-NEXT:        npu_isa.load_l1 %A[%m, %k] -> %a<256, 1> over [128, 256] map affine_map<(d0, d1, d2, d3) -> (((d0 * 128) + d2), ((d1 * 256) + d3))> : memref<256x512xf16, #tile.space<gm>>
// CHECK-NEXT:        %b = npu_isa.slot %lb[%count] : !npu_isa.addr<l1>
// CHECK-NEXT:        npu_isa.load_l1 %B[%k] -> %b<256, 1> over [256, 256] map affine_map<(d0, d1, d2) -> (((d0 * 256) + d1), d2)> : memref<512x256xf16, #tile.space<gm>>
// CHECK-NEXT:        npu_isa.set_flag [MTE2, MTE1, 0 + %count mod 2]
// CHECK-NEXT:        npu_isa.wait_flag [MTE2, MTE1, 0 + %count mod 2]
// CHECK-NEXT:        scf.for %k0 = %c0 to %c4 step %c1 {
// CHECK-NEXT:          %a0 = npu_isa.slot %a0s[%k0] : !npu_isa.addr<l0a>
// CHECK-NEXT:          %o = arith.muli %k0, %c2 : index
// CHECK-NEXT:          %p = npu_isa.at %a + %o : !npu_isa.addr<l1>
// CHECK-NEXT:          npu_isa.wait_flag [M, MTE1, 0 + %k0 mod 2]
// CHECK-NEXT:          npu_isa.load_l0a %p<256, 1> -> %a0 over [128, 64] rows 1 : f16
// CHECK-NEXT:          %b0 = npu_isa.slot %b0s[%k0] : !npu_isa.addr<l0b>
// CHECK-NEXT:          npu_isa.load_l0b %b<256, 1> -> %b0 over [64, 256] rows 1 : f16
// CHECK-NEXT:          npu_isa.set_flag [MTE1, M, 0 + %k0 mod 2]
// CHECK-NEXT:          npu_isa.wait_flag [MTE1, M, 0 + %k0 mod 2]
// CHECK-NEXT:          npu_isa.mmad %a0, %b0 -> %acc over [128, 64, 256] : f16 -> f32
// CHECK-NEXT:          npu_isa.set_flag [M, MTE1, 0 + %k0 mod 2]
// CHECK-NEXT:        }
// CHECK-NEXT:        npu_isa.set_flag [MTE1, MTE2, 0 + %count mod 2]
// CHECK-NEXT:      }
// CHECK-NEXT:      npu_isa.set_flag [M, FIX, 0 + %m mod 2]
// CHECK-NEXT:      npu_isa.wait_flag [M, FIX, 0 + %m mod 2]
// CHECK-NEXT:      npu_isa.fixpipe_gm %acc<256, 1> -> %Y[%m] over [128, 256] map affine_map<(d0, d1, d2) -> (((d0 * 128) + d1), d2)> : memref<256x256xf16, #tile.space<gm>>
// CHECK-NEXT:      npu_isa.set_flag [FIX, M, 0 + %m mod 2]
// CHECK-NEXT:    }
// CHECK-NEXT:    npu_isa.wait_flag [M, MTE1, 0]
// CHECK-NEXT:    npu_isa.wait_flag [M, MTE1, 1]
// CHECK-NEXT:    npu_isa.wait_flag [MTE1, MTE2, 0]
// CHECK-NEXT:    npu_isa.wait_flag [MTE1, MTE2, 1]
// CHECK-NEXT:    npu_isa.wait_flag [FIX, M, 0]
// CHECK-NEXT:    npu_isa.wait_flag [FIX, M, 1]
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @gemm(%A: memref<256x512xf16, #gm>, %B: memref<512x256xf16, #gm>, %Y: memref<256x256xf16, #gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %la = npu_isa.buffer 2 x 65536 at 0 : !npu_isa.addr<l1>
  %lb = npu_isa.buffer 2 x 131072 at 131072 : !npu_isa.addr<l1>
  %a0s = npu_isa.buffer 2 x 16384 at 0 : !npu_isa.addr<l0a>
  %b0s = npu_isa.buffer 2 x 32768 at 0 : !npu_isa.addr<l0b>
  %accs = npu_isa.buffer 2 x 131072 at 0 : !npu_isa.addr<l0c>
  scf.for %m = %c0 to %c2 step %c1 {
    %acc = npu_isa.slot %accs[%m] : !npu_isa.addr<l0c>
    scf.for %k = %c0 to %c2 step %c1 {
      %m2 = arith.muli %m, %c2 : index
      %count = arith.addi %m2, %k : index
      %a = npu_isa.slot %la[%count] : !npu_isa.addr<l1>
      npu_isa.load_l1 %A[%m, %k] -> %a<256, 1> over [128, 256] map affine_map<(m, k, x, y) -> (m * 128 + x, k * 256 + y)> : memref<256x512xf16, #gm>
      %b = npu_isa.slot %lb[%count] : !npu_isa.addr<l1>
      npu_isa.load_l1 %B[%k] -> %b<256, 1> over [256, 256] map affine_map<(k, x, y) -> (k * 256 + x, y)> : memref<512x256xf16, #gm>
      scf.for %k0 = %c0 to %c4 step %c1 {
        %a0 = npu_isa.slot %a0s[%k0] : !npu_isa.addr<l0a>
        %o = arith.muli %k0, %c2 : index
        %p = npu_isa.at %a + %o : !npu_isa.addr<l1>
        npu_isa.load_l0a %p<256, 1> -> %a0 over [128, 64] rows 1 : f16
        %b0 = npu_isa.slot %b0s[%k0] : !npu_isa.addr<l0b>
        npu_isa.load_l0b %b<256, 1> -> %b0 over [64, 256] rows 1 : f16
        npu_isa.mmad %a0, %b0 -> %acc over [128, 64, 256] : f16 -> f32
      }
    }
    npu_isa.fixpipe_gm %acc<256, 1> -> %Y[%m] over [128, 256] map affine_map<(m, x, y) -> (m * 128 + x, y)> : memref<256x256xf16, #gm>
  }
  tile.return
}

// One id for what shares no slot value: the temporary lies where the input's second slot is. The load in front of the
// loop needs no flag of its own: the addition waits for a later load anyway.
// CHECK-LABEL: tile.kernel @overlap(
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %xs = npu_isa.buffer 2 x 256 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %t = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
// CHECK-NEXT:    %bias = npu_isa.buffer 1 x 256 at 512 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.load_ub %A[] -> %bias<1> over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:    npu_isa.set_flag [V, MTE2, 0]
// CHECK-NEXT:    scf.for %i = %c0 to %c8 step %c1 {
// CHECK-NEXT:      %x = npu_isa.slot %xs[%i] : !npu_isa.addr<ub>
// CHECK-NEXT:      npu_isa.wait_flag [V, MTE2, 0]
// CHECK-NEXT:      npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:      npu_isa.set_flag [MTE2, V, 0]
// CHECK-NEXT:      npu_isa.wait_flag [MTE2, V, 0]
// CHECK-NEXT:      npu_isa.vbinary add %t<1>, %x<1>, %bias<1> over [64] : f32
// CHECK-NEXT:      npu_isa.set_flag [V, MTE2, 0]
// CHECK-NEXT:    }
// CHECK-NEXT:    npu_isa.wait_flag [V, MTE2, 0]
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @overlap(%A: memref<64xf32, #gm>, %Y: memref<64xf32, #gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %xs = npu_isa.buffer 2 x 256 at 0 : !npu_isa.addr<ub>
  %t = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
  %bias = npu_isa.buffer 1 x 256 at 512 : !npu_isa.addr<ub>
  npu_isa.load_ub %A[] -> %bias<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
  scf.for %i = %c0 to %c8 step %c1 {
    %x = npu_isa.slot %xs[%i] : !npu_isa.addr<ub>
    npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
    npu_isa.vbinary add %t<1>, %x<1>, %bias<1> over [64] : f32
  }
  tile.return
}

// The slot value that a flag needs is computed where the flag stands.
// CHECK-LABEL: tile.kernel @slot_value_inside(
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %xs = npu_isa.buffer 2 x 256 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.set_flag [MTE3, MTE2, 0]
// CHECK-NEXT:    npu_isa.set_flag [MTE3, MTE2, 1]
// CHECK-NEXT:    scf.for %i = %c0 to %c8 step %c1 {
// CHECK-NEXT:      %n = arith.addi %i, %c1 : index
// CHECK-NEXT:      npu_isa.wait_flag [MTE3, MTE2, 0 + %n mod 2]
// CHECK-NEXT:      scf.for %j = %c0 to %c8 step %c1 {
// CHECK-NEXT:        %n_1 = arith.addi %i, %c1 : index
// CHECK-NEXT:        %x = npu_isa.slot %xs[%n_1] : !npu_isa.addr<ub>
// CHECK-NEXT:        npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:      }
// CHECK-NEXT:      %n_2 = arith.addi %i, %c1 : index
// CHECK-NEXT:      npu_isa.set_flag [MTE2, MTE3, 0 + %n_2 mod 2]
// CHECK-NEXT:      %n_3 = arith.addi %i, %c1 : index
// CHECK-NEXT:      npu_isa.wait_flag [MTE2, MTE3, 0 + %n_3 mod 2]
// CHECK-NEXT:      scf.for %j_1 = %c0 to %c8 step %c1 {
// CHECK-NEXT:        %n_4 = arith.addi %i, %c1 : index
// CHECK-NEXT:        %x_1 = npu_isa.slot %xs[%n_4] : !npu_isa.addr<ub>
// CHECK-NEXT:        npu_isa.store_ub %x_1<1> -> %Y[] over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:      }
// CHECK-NEXT:      %n_5 = arith.addi %i, %c1 : index
// CHECK-NEXT:      npu_isa.set_flag [MTE3, MTE2, 0 + %n_5 mod 2]
// CHECK-NEXT:    }
// CHECK-NEXT:    npu_isa.wait_flag [MTE3, MTE2, 0]
// CHECK-NEXT:    npu_isa.wait_flag [MTE3, MTE2, 1]
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @slot_value_inside(%A: memref<64xf32, #gm>, %Y: memref<64xf32, #gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %xs = npu_isa.buffer 2 x 256 at 0 : !npu_isa.addr<ub>
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %n = arith.addi %i, %c1 : index
      %x = npu_isa.slot %xs[%n] : !npu_isa.addr<ub>
      npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
    }
    scf.for %j = %c0 to %c8 step %c1 {
      %n = arith.addi %i, %c1 : index
      %x = npu_isa.slot %xs[%n] : !npu_isa.addr<ub>
      npu_isa.store_ub %x<1> -> %Y[] over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
    }
  }
  tile.return
}

// Loops that are known to run need no flags around them for what those inside order, and nothing is needed behind the
// outermost loop for what its last waits order.
// CHECK-LABEL: tile.kernel @known_loops(
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %y = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.set_flag [V, MTE2, 0]
// CHECK-NEXT:    npu_isa.set_flag [V, MTE2, 1]
// CHECK-NEXT:    scf.for %i = %c0 to %c8 step %c1 {
// CHECK-NEXT:      npu_isa.wait_flag [V, MTE2, 0]
// CHECK-NEXT:      npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:      scf.for %j = %c0 to %c8 step %c1 {
// CHECK-NEXT:        npu_isa.wait_flag [V, MTE2, 1]
// CHECK-NEXT:        npu_isa.load_ub %A[] -> %y<1> over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:        npu_isa.set_flag [MTE2, V, 0]
// CHECK-NEXT:        npu_isa.wait_flag [MTE2, V, 0]
// CHECK-NEXT:        npu_isa.vbinary add %y<1>, %y<1>, %x<1> over [64] : f32
// CHECK-NEXT:        npu_isa.set_flag [V, MTE2, 1]
// CHECK-NEXT:      }
// CHECK-NEXT:      npu_isa.set_flag [V, MTE2, 0]
// CHECK-NEXT:    }
// CHECK-NEXT:    npu_isa.wait_flag [V, MTE2, 1]
// CHECK-NEXT:    npu_isa.wait_flag [V, MTE2, 0]
// CHECK-NEXT:    npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @known_loops(%A: memref<64xf32, #gm>, %Y: memref<64xf32, #gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
  %y = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
  scf.for %i = %c0 to %c8 step %c1 {
    npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
    scf.for %j = %c0 to %c8 step %c1 {
      npu_isa.load_ub %A[] -> %y<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
      npu_isa.vbinary add %y<1>, %y<1>, %x<1> over [64] : f32
    }
  }
  npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
  tile.return
}

// The inner loop may not run.
// CHECK-LABEL: tile.kernel @unknown_loops(
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %y = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.set_flag [V, MTE2, 0]
// CHECK-NEXT:    npu_isa.set_flag [V, MTE2, 1]
// CHECK-NEXT:    scf.for %i = %c0 to %c8 step %c1 {
// CHECK-NEXT:      npu_isa.wait_flag [V, MTE2, 0]
// CHECK-NEXT:      npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:      npu_isa.set_flag [MTE2, V, 0]
// CHECK-NEXT:      npu_isa.wait_flag [MTE2, V, 0]
// CHECK-NEXT:      scf.for %j = %c0 to %i step %c1 {
// CHECK-NEXT:        npu_isa.wait_flag [V, MTE2, 1]
// CHECK-NEXT:        npu_isa.load_ub %A[] -> %y<1> over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:        npu_isa.set_flag [MTE2, V, 1]
// CHECK-NEXT:        npu_isa.wait_flag [MTE2, V, 1]
// CHECK-NEXT:        npu_isa.vbinary add %y<1>, %y<1>, %x<1> over [64] : f32
// CHECK-NEXT:        npu_isa.set_flag [V, MTE2, 1]
// CHECK-NEXT:      }
// CHECK-NEXT:      npu_isa.set_flag [V, MTE2, 0]
// CHECK-NEXT:    }
// CHECK-NEXT:    npu_isa.wait_flag [V, MTE2, 1]
// CHECK-NEXT:    npu_isa.wait_flag [V, MTE2, 0]
// CHECK-NEXT:    npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @unknown_loops(%A: memref<64xf32, #gm>, %Y: memref<64xf32, #gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
  %y = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
  scf.for %i = %c0 to %c8 step %c1 {
    npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
    scf.for %j = %c0 to %i step %c1 {
      npu_isa.load_ub %A[] -> %y<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
      npu_isa.vbinary add %y<1>, %y<1>, %x<1> over [64] : f32
    }
  }
  npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
  tile.return
}

// Nothing to order: one pipe alone; two pipes that only read, or touch different bytes. Flags by hand are left alone.
// CHECK-LABEL: tile.kernel @one_pipe(
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.vdup %x<1>, imm 0.000000e+00 : f32 over [64] : f32
// CHECK-NEXT:    npu_isa.vunary exp %x<1>, %x<1> over [64] : f32
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @one_pipe(%A: memref<64xf32, #gm>, %Y: memref<64xf32, #gm>) {
  %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
  npu_isa.vdup %x<1>, imm 0.0 : f32 over [64] : f32
  npu_isa.vunary exp %x<1>, %x<1> over [64] : f32
  tile.return
}

// CHECK-LABEL: tile.kernel @apart(
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %y = npu_isa.at %x + 128 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.load_ub %A[] -> %x<1> over [32] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:    npu_isa.vdup %y<1>, imm 0.000000e+00 : f32 over [32] : f32
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @apart(%A: memref<64xf32, #gm>, %Y: memref<64xf32, #gm>) {
  %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
  %y = npu_isa.at %x + 128 : !npu_isa.addr<ub>
  npu_isa.load_ub %A[] -> %x<1> over [32] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
  npu_isa.vdup %y<1>, imm 0.0 : f32 over [32] : f32
  tile.return
}

// CHECK-LABEL: tile.kernel @by_hand(
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:    npu_isa.barrier
// CHECK-NEXT:    npu_isa.store_ub %x<1> -> %Y[] over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @by_hand(%A: memref<64xf32, #gm>, %Y: memref<64xf32, #gm>) {
  %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
  npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
  npu_isa.barrier
  npu_isa.store_ub %x<1> -> %Y[] over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
  tile.return
}

// A result that is written and read again, and branches that exclude each other.
// CHECK-LABEL: tile.kernel @gm_and_branches(
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
// CHECK-NEXT:    %y = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
// CHECK-NEXT:    npu_isa.store_ub %x<1> -> %Y[] over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:    npu_isa.set_flag [MTE3, V, 0]
// CHECK-NEXT:    npu_isa.set_flag [MTE3, MTE2, 0]
// CHECK-NEXT:    npu_isa.wait_flag [MTE3, MTE2, 0]
// CHECK-NEXT:    npu_isa.load_ub %Y[] -> %y<1> over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:    npu_isa.wait_flag [MTE3, V, 0]
// CHECK-NEXT:    scf.for %i = %c0 to %c8 step %c1 {
// CHECK-NEXT:      %first = arith.cmpi eq, %i, %c0 : index
// CHECK-NEXT:      npu_isa.barrier
// CHECK-NEXT:      scf.if %first {
// CHECK-NEXT:        npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>>
// CHECK-NEXT:      } else {
// CHECK-NEXT:        npu_isa.vdup %x<1>, imm 0.000000e+00 : f32 over [64] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.return
// CHECK-NEXT:  }
tile.kernel @gm_and_branches(%A: memref<64xf32, #gm>, %Y: memref<64xf32, #gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
  %y = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
  npu_isa.store_ub %x<1> -> %Y[] over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
  npu_isa.load_ub %Y[] -> %y<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
  scf.for %i = %c0 to %c8 step %c1 {
    %first = arith.cmpi eq, %i, %c0 : index
    scf.if %first {
      npu_isa.load_ub %A[] -> %x<1> over [64] map affine_map<(x) -> (x)> : memref<64xf32, #gm>
    } else {
      npu_isa.vdup %x<1>, imm 0.0 : f32 over [64] : f32
    }
  }
  tile.return
}

// The scalar unit waits for the indices before it reads them; what is issued behind a read is behind it in any case, so
// that no flag leads from it to the next load of indices.
// CHECK-LABEL: tile.kernel @rows(
// CHECK:         npu_isa.set_flag [MTE3, MTE2, 0]
// CHECK-NEXT:    npu_isa.set_flag [MTE3, MTE2, 1]
// CHECK-NEXT:    scf.for %i =
// CHECK-NEXT:      %r = npu_isa.slot %rs[%i]
// CHECK-NEXT:      %g = npu_isa.slot %gs[%i]
// CHECK-NEXT:      npu_isa.load_ub %I[%i] -> %r<1>
// CHECK-NEXT:      npu_isa.set_flag [MTE2, S, 0 + %i mod 2]
// CHECK-NEXT:      npu_isa.wait_flag [MTE2, S, 0 + %i mod 2]
// CHECK-NEXT:      npu_isa.wait_flag [MTE3, MTE2, 0 + %i mod 2]
// CHECK-NEXT:      scf.for %k =
// CHECK-NOT:       flag
// CHECK:             npu_isa.gather_ub
// CHECK-NEXT:      }
// CHECK-NEXT:      npu_isa.set_flag [MTE2, MTE3, 0 + %i mod 2]
// CHECK-NEXT:      npu_isa.wait_flag [MTE2, MTE3, 0 + %i mod 2]
// CHECK-NEXT:      npu_isa.store_ub
// CHECK-NEXT:      npu_isa.set_flag [MTE3, MTE2, 0 + %i mod 2]
// CHECK-NEXT:    }
// CHECK-NEXT:    npu_isa.wait_flag [MTE3, MTE2, 0]
// CHECK-NEXT:    npu_isa.wait_flag [MTE3, MTE2, 1]
// CHECK-NEXT:    tile.return
tile.kernel @rows(%T: memref<50x8xf32, #gm>, %I: memref<8x4xi32, #gm>, %Y: memref<8x4x8xf32, #gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %rs = npu_isa.buffer 2 x 32 at 0 : !npu_isa.addr<ub>
  %gs = npu_isa.buffer 2 x 128 at 64 : !npu_isa.addr<ub>
  scf.for %i = %c0 to %c8 step %c1 {
    %r = npu_isa.slot %rs[%i] : !npu_isa.addr<ub>
    %g = npu_isa.slot %gs[%i] : !npu_isa.addr<ub>
    npu_isa.load_ub %I[%i] -> %r<1> over [4] map affine_map<(i, a) -> (i, a)> : memref<8x4xi32, #gm>
    scf.for %k = %c0 to %c4 step %c1 {
      %a = arith.muli %k, %c4 : index
      %p = npu_isa.at %r + %a : !npu_isa.addr<ub>
      %n = npu_isa.read_index %p of 50 : i32
      %b = arith.muli %k, %c32 : index
      %q = npu_isa.at %g + %b : !npu_isa.addr<ub>
      npu_isa.gather_ub %T[%n] -> %q<1> over [8] map affine_map<(n, a) -> (n, a)> axis 0 : memref<50x8xf32, #gm>
    }
    npu_isa.store_ub %g<8, 1> -> %Y[%i] over [4, 8] map affine_map<(i, a, b) -> (i, a, b)> : memref<8x4x8xf32, #gm>
  }
  tile.return
}
