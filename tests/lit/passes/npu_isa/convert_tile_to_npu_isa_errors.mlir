// RUN: not npu-opt %s --convert-tile-to-npu-isa --split-input-file 2>&1 | filecheck %s

#ub = #tile.space<ub>
// CHECK: error: the vector unit has no instruction for 'math.tanh'
// CHECK-NEXT: linalg.generic
tile.kernel @no_instruction(%Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0} : memref<64xf32, #ub>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%x : memref<64xf32, #ub>) outs(%x : memref<64xf32, #ub>) attrs = {npu.node = "node"} {
  ^bb0(%a: f32, %o: f32):
    %r = math.tanh %a : f32
    linalg.yield %r : f32
  }
  tile.return
}

// -----

#ub = #tile.space<ub>
// CHECK: error: the body is more than one vector instruction: run tile-split-compute first
tile.kernel @two_instructions(%Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0} : memref<64xf32, #ub>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%x : memref<64xf32, #ub>) outs(%x : memref<64xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    %s = arith.addf %r, %a : f32
    linalg.yield %s : f32
  }
  tile.return
}

// -----

#ub = #tile.space<ub>
// CHECK: error: the vector unit has no reduction by 'arith.subf'
tile.kernel @no_reduction(%Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0} : memref<64xf32, #ub>
  %y = tile.alloc {address = 256} : memref<f32, #ub>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
    ins(%x : memref<64xf32, #ub>) outs(%y : memref<f32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.subf %o, %a : f32
    linalg.yield %s : f32
  }
  tile.return
}

// -----

#ub = #tile.space<ub>
// CHECK: error: the vector unit has no instruction for 'arith.cmpf' with predicate 6
tile.kernel @no_predicate(%Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0} : memref<64xf32, #ub>
  %m = tile.alloc {address = 256} : memref<64xi1, #ub>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%x : memref<64xf32, #ub>) outs(%m : memref<64xi1, #ub>) {
  ^bb0(%a: f32, %o: i1):
    %r = arith.cmpf one, %a, %a : f32
    linalg.yield %r : i1
  }
  tile.return
}

// -----

#ub = #tile.space<ub>
// CHECK: error: the result has no coordinate for dimension 1
tile.kernel @written_twice(%Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0} : memref<8x64xf32, #ub>
  %y = tile.alloc {address = 2048} : memref<8xf32, #ub>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<8x64xf32, #ub>) outs(%y : memref<8xf32, #ub>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  tile.return
}

// -----

#l1 = #tile.space<l1>
// CHECK: error: 'tile.kernel' op linalg.generic takes operands in l1, l1: the vector unit works on ub
tile.kernel @other_memory(%Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0} : memref<64xf32, #l1>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%x : memref<64xf32, #l1>) outs(%x : memref<64xf32, #l1>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  }
  tile.return
}

// -----

// CHECK: error: the buffer has no address: run tile-plan-memory first
// CHECK-NEXT: tile.alloc
tile.kernel @no_address(%Y: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc : memref<64xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: 'tile.load' works on tensors here: run tile-bufferize first
tile.kernel @on_tensors(%A: memref<64xf32, #tile.space<gm>>) {
  %x = tile.load %A[] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>> -> tensor<64xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: a window over global memory, '(d0 + d1)': load the slab, then take windows
tile.kernel @window_over_gm(%A: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0} : memref<8x3xf32, #tile.space<ub>>
  tile.load %A[] into %x map affine_map<(d0, d1) -> (d0 + d1)> : memref<64xf32, #tile.space<gm>>, memref<8x3xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: the tile's dimensions enter '(d0 floordiv 2)' other than linearly
tile.kernel @not_linear(%A: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0} : memref<8xf32, #tile.space<ub>>
  tile.load %A[] into %x map affine_map<(d0) -> (d0 floordiv 2)> : memref<64xf32, #tile.space<gm>>, memref<8xf32, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: ascend-910b has no path from ub to l1
// CHECK: note: --set rates.ub_l1=128 is a machine that has
builtin.module attributes {npu.target = "ascend-910b"} {
  tile.kernel @no_path(%A: memref<64xf32, #tile.space<gm>>) {
    %x = tile.alloc {address = 0} : memref<8xf32, #tile.space<ub>>
    %y = tile.alloc {address = 0} : memref<8xf32, #tile.space<l1>>
    tile.load %x[] into %y map affine_map<(d0) -> (d0)> : memref<8xf32, #tile.space<ub>>, memref<8xf32, #tile.space<l1>>
    tile.return
  }
}

// -----

// CHECK: error: ascend-910b has no path from L0C to UB: cube results reach the vector unit through GM
builtin.module attributes {npu.target = "ascend-910b"} {
  tile.kernel @split_cores(%A: memref<64xf32, #tile.space<gm>>) {
    %x = tile.alloc {address = 0, rows = 1} : memref<16x16xf32, #tile.space<l0c>>
    %y = tile.alloc {address = 0} : memref<16x16xf32, #tile.space<ub>>
    tile.load %x[] into %y map affine_map<(d0, d1) -> (d0, d1)> : memref<16x16xf32, #tile.space<l0c>>, memref<16x16xf32, #tile.space<ub>>
    tile.return
  }
}

// -----

// CHECK: error: an accumulator in L0C can only start from the constant zero
tile.kernel @starts_from_one(%A: memref<64xf32, #tile.space<gm>>) {
  %one = arith.constant 1.0 : f32
  %x = tile.alloc {address = 0, rows = 1} : memref<16x16xf32, #tile.space<l0c>>
  %a = tile.alloc {address = 0, rows = 1} : memref<16x16xf16, #tile.space<l0a>>
  %b = tile.alloc {address = 0, rows = 1} : memref<16x16xf16, #tile.space<l0b>>
  linalg.fill ins(%one : f32) outs(%x : memref<16x16xf32, #tile.space<l0c>>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<16x16xf16, #tile.space<l0a>>, memref<16x16xf16, #tile.space<l0b>>) outs(%x : memref<16x16xf32, #tile.space<l0c>>) {
  ^bb0(%p: f16, %q: f16, %z: f32):
    %p1 = arith.extf %p : f16 to f32
    %q1 = arith.extf %q : f16 to f32
    %r = arith.mulf %p1, %q1 : f32
    %s = arith.addf %z, %r : f32
    linalg.yield %s : f32
  }
  tile.return
}

// -----

// CHECK: error: a filled accumulator that no contraction adds to
tile.kernel @useless_fill(%A: memref<64xf32, #tile.space<gm>>) {
  %zero = arith.constant 0.0 : f32
  %x = tile.alloc {address = 0, rows = 1} : memref<16x16xf32, #tile.space<l0c>>
  linalg.fill ins(%zero : f32) outs(%x : memref<16x16xf32, #tile.space<l0c>>)
  tile.return
}

// -----

// CHECK: error: the cube needs (m k) x (k n) -> (m n), got (0, 2) x (1, 2) -> (0, 1)
tile.kernel @wrong_order(%A: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0, rows = 1} : memref<16x16xf32, #tile.space<l0c>>
  %a = tile.alloc {address = 0, rows = 1} : memref<16x16xf32, #tile.space<l0a>>
  %b = tile.alloc {address = 0, rows = 1} : memref<16x16xf32, #tile.space<l0b>>
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<16x16xf32, #tile.space<l0a>>, memref<16x16xf32, #tile.space<l0b>>) outs(%x : memref<16x16xf32, #tile.space<l0c>>) {
  ^bb0(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q : f32
    %s = arith.addf %z, %r : f32
    linalg.yield %s : f32
  }
  tile.return
}

// -----

// CHECK: error: the cube computes out + a * b only; this body is something else
tile.kernel @not_a_product(%A: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0, rows = 1} : memref<16x16xf32, #tile.space<l0c>>
  %a = tile.alloc {address = 0, rows = 1} : memref<16x16xf32, #tile.space<l0a>>
  %b = tile.alloc {address = 0, rows = 1} : memref<16x16xf32, #tile.space<l0b>>
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<16x16xf32, #tile.space<l0a>>, memref<16x16xf32, #tile.space<l0b>>) outs(%x : memref<16x16xf32, #tile.space<l0c>>) {
  ^bb0(%p: f32, %q: f32, %z: f32):
    %r = arith.addf %p, %q : f32
    %s = arith.addf %z, %r : f32
    linalg.yield %s : f32
  }
  tile.return
}

// -----

// CHECK: error: the cube multiplies factors of one type, not f16 by f32
tile.kernel @two_types(%A: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0, rows = 1} : memref<16x16xf32, #tile.space<l0c>>
  %a = tile.alloc {address = 0, rows = 1} : memref<16x16xf16, #tile.space<l0a>>
  %b = tile.alloc {address = 0, rows = 1} : memref<16x16xf32, #tile.space<l0b>>
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<16x16xf16, #tile.space<l0a>>, memref<16x16xf32, #tile.space<l0b>>) outs(%x : memref<16x16xf32, #tile.space<l0c>>) {
  ^bb0(%p: f16, %q: f32, %z: f32):
    %w = arith.extf %p : f16 to f32
    %r = arith.mulf %w, %q : f32
    %s = arith.addf %z, %r : f32
    linalg.yield %s : f32
  }
  tile.return
}

// -----

// Unsigned factors are no work for the cube, which reads signed numbers.
// CHECK: error: the cube computes out + a * b only; this body is something else
tile.kernel @unsigned(%A: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0, rows = 1} : memref<16x16xi32, #tile.space<l0c>>
  %a = tile.alloc {address = 0, rows = 1} : memref<16x16xi8, #tile.space<l0a>>
  %b = tile.alloc {address = 0, rows = 1} : memref<16x16xi8, #tile.space<l0b>>
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<16x16xi8, #tile.space<l0a>>, memref<16x16xi8, #tile.space<l0b>>) outs(%x : memref<16x16xi32, #tile.space<l0c>>) {
  ^bb0(%p: i8, %q: i8, %z: i32):
    %u = arith.extui %p : i8 to i32
    %v = arith.extui %q : i8 to i32
    %r = arith.muli %u, %v : i32
    %s = arith.addi %z, %r : i32
    linalg.yield %s : i32
  }
  tile.return
}

// -----

// Whatever the verifier accepts, the machine has to have the scale.
// CHECK: error: the fixpipe of 'ascend-910' does not scale f32 to f16
// CHECK: note: --set fixpipe_scales.f32_f16=true is a machine that does
tile.kernel @scale(%A: memref<64xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0, rows = 1} : memref<16x16xf32, #tile.space<l0c>>
  %u = tile.alloc {address = 0} : memref<16x16xf16, #tile.space<ub>>
  tile.load %x[] into %u map affine_map<(d0, d1) -> (d0, d1)> epilogue <scale 0.5> : memref<16x16xf32, #tile.space<l0c>>, memref<16x16xf16, #tile.space<ub>>
  tile.return
}

// -----

// CHECK: error: the fixpipe reads its scales from L1, not ub
tile.kernel @scales_in_ub(%A: memref<16x16xi8, #tile.space<gm>>) {
  %x = tile.alloc {address = 0, rows = 1} : memref<16x16xi32, #tile.space<l0c>>
  %r = tile.alloc {address = 0} : memref<16xf32, #tile.space<ub>>
  tile.store %x, %A[] map affine_map<(d0, d1) -> (d0, d1)> epilogue <scales> scales %r : memref<16xf32, #tile.space<ub>> along [1] : memref<16x16xi32, #tile.space<l0c>>, memref<16x16xi8, #tile.space<gm>>
  tile.return
}

// -----

// CHECK: error: the fixpipe of 'ascend-910' does not scale i32 to f32
tile.kernel @store(%A: memref<16x16xf32, #tile.space<gm>>) {
  %x = tile.alloc {address = 0, rows = 1} : memref<16x16xi32, #tile.space<l0c>>
  tile.store %x, %A[] map affine_map<(d0, d1) -> (d0, d1)> epilogue <scale 0.5> : memref<16x16xi32, #tile.space<l0c>>, memref<16x16xf32, #tile.space<gm>>
  tile.return
}
