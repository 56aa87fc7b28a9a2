// RUN: npu-opt %s --split-input-file --verify-diagnostics

tile.kernel @twice(%t: memref<8x4xf32, #tile.space<gm>>, %y: memref<2x4xf32, #tile.space<gm>>) {
  %r = tile.alloc : memref<2xi32, #tile.space<ub>>
  %g = tile.alloc : memref<2x4xf32, #tile.space<ub>>
  // expected-error @below {{tile.gather has either a result (on tensors) or a destination (on memrefs)}}
  %x = tile.gather %t[] rows %r into %g axis 0 map affine_map<(a, b) -> (a, b)>
    : memref<8x4xf32, #tile.space<gm>>, memref<2xi32, #tile.space<ub>>, memref<2x4xf32, #tile.space<ub>> -> tensor<2x4xf32>
  tile.return
}

// -----

tile.kernel @from(%y: memref<2x4xf32, #tile.space<gm>>) {
  %t = tile.alloc : memref<8x4xf32, #tile.space<l1>>
  %r = tile.alloc : memref<2xi32, #tile.space<ub>>
  // expected-error @below {{tile.gather reads from GM, got memref<8x4xf32, #tile.space<l1>>}}
  %x = tile.gather %t[] rows %r axis 0 map affine_map<(a, b) -> (a, b)>
    : memref<8x4xf32, #tile.space<l1>>, memref<2xi32, #tile.space<ub>> -> tensor<2x4xf32, #tile.space<ub>>
  tile.return
}

// -----

tile.kernel @to(%t: memref<8x4xf32, #tile.space<gm>>, %y: memref<2x4xf32, #tile.space<gm>>) {
  %r = tile.alloc : memref<2xi32, #tile.space<ub>>
  // expected-error @below {{tile.gather brings rows to ub, not to l1}}
  %x = tile.gather %t[] rows %r axis 0 map affine_map<(a, b) -> (a, b)>
    : memref<8x4xf32, #tile.space<gm>>, memref<2xi32, #tile.space<ub>> -> tensor<2x4xf32, #tile.space<l1>>
  tile.return
}

// -----

tile.kernel @element(%t: memref<8x4xf32, #tile.space<gm>>, %y: memref<2x4xf32, #tile.space<gm>>) {
  %r = tile.alloc : memref<2xi32, #tile.space<ub>>
  // expected-error @below {{tile.gather keeps the element type}}
  %x = tile.gather %t[] rows %r axis 0 map affine_map<(a, b) -> (a, b)>
    : memref<8x4xf32, #tile.space<gm>>, memref<2xi32, #tile.space<ub>> -> tensor<2x4xf16, #tile.space<ub>>
  tile.return
}

// -----

tile.kernel @padding(%t: memref<8x4xf32, #tile.space<gm>>, %y: memref<2x4xf32, #tile.space<gm>>) {
  %r = tile.alloc : memref<2xi32, #tile.space<ub>>
  // expected-error @below {{the padding is 0.000000e+00 : f16, but the elements are f32}}
  %x = tile.gather %t[] rows %r axis 0 map affine_map<(a, b) -> (a, b)> pad 0.0 : f16
    : memref<8x4xf32, #tile.space<gm>>, memref<2xi32, #tile.space<ub>> -> tensor<2x4xf32, #tile.space<ub>>
  tile.return
}

// -----

tile.kernel @coordinates(%t: memref<8x4xf32, #tile.space<gm>>, %y: memref<2x4xf32, #tile.space<gm>>) {
  %r = tile.alloc : memref<2xi32, #tile.space<ub>>
  // expected-error @below {{tile.gather: the map gives 1 coordinates, the memory has rank 2}}
  %x = tile.gather %t[] rows %r axis 0 map affine_map<(a, b) -> (a)>
    : memref<8x4xf32, #tile.space<gm>>, memref<2xi32, #tile.space<ub>> -> tensor<2x4xf32, #tile.space<ub>>
  tile.return
}

// -----

tile.kernel @axis(%t: memref<8x4xf32, #tile.space<gm>>, %y: memref<2x4xf32, #tile.space<gm>>) {
  %r = tile.alloc : memref<2xi32, #tile.space<ub>>
  // expected-error @below {{coordinate 2 of the map has to be a dim of the tile}}
  %x = tile.gather %t[] rows %r axis 2 map affine_map<(a, b) -> (a, b)>
    : memref<8x4xf32, #tile.space<gm>>, memref<2xi32, #tile.space<ub>> -> tensor<2x4xf32, #tile.space<ub>>
  tile.return
}

// -----

tile.kernel @shared(%t: memref<8x4xf32, #tile.space<gm>>, %y: memref<2xf32, #tile.space<gm>>) {
  %r = tile.alloc : memref<2xi32, #tile.space<ub>>
  // expected-error @below {{coordinate 0 of the map has to be a dim of the tile, that no other coordinate depends on}}
  %x = tile.gather %t[] rows %r axis 0 map affine_map<(a) -> (a, a)>
    : memref<8x4xf32, #tile.space<gm>>, memref<2xi32, #tile.space<ub>> -> tensor<2xf32, #tile.space<ub>>
  tile.return
}

// -----

tile.kernel @strided(%t: memref<8x4xf32, #tile.space<gm>>, %y: memref<2x4xf32, #tile.space<gm>>) {
  %r = tile.alloc : memref<4xi32, #tile.space<ub>>
  // expected-error @below {{coordinate 0 of the map has to be a dim of the tile}}
  %x = tile.gather %t[] rows %r axis 0 map affine_map<(a, b) -> (a * 2, b)>
    : memref<8x4xf32, #tile.space<gm>>, memref<4xi32, #tile.space<ub>> -> tensor<2x4xf32, #tile.space<ub>>
  tile.return
}

// -----

tile.kernel @few(%t: memref<8x4xf32, #tile.space<gm>>, %y: memref<2x4xf32, #tile.space<gm>>) {
  %r = tile.alloc : memref<1xi32, #tile.space<ub>>
  // expected-error @below {{dim 0 of the tile has 2 positions, the indices are memref<1xi32, #tile.space<ub>>}}
  %x = tile.gather %t[] rows %r axis 0 map affine_map<(a, b) -> (a, b)>
    : memref<8x4xf32, #tile.space<gm>>, memref<1xi32, #tile.space<ub>> -> tensor<2x4xf32, #tile.space<ub>>
  tile.return
}

// -----

tile.kernel @fractions(%t: memref<8x4xf32, #tile.space<gm>>, %y: memref<2x4xf32, #tile.space<gm>>) {
  %r = tile.alloc : memref<2xf32, #tile.space<ub>>
  // expected-error @below {{indices are integers, got f32}}
  %x = tile.gather %t[] rows %r axis 0 map affine_map<(a, b) -> (a, b)>
    : memref<8x4xf32, #tile.space<gm>>, memref<2xf32, #tile.space<ub>> -> tensor<2x4xf32, #tile.space<ub>>
  tile.return
}

// -----

tile.kernel @far(%t: memref<8x4xf32, #tile.space<gm>>, %y: memref<2x4xf32, #tile.space<gm>>) {
  %r = tile.alloc : memref<2xi32, #tile.space<l1>>
  // expected-error @below {{the scalar unit reads indices from ub, not from l1}}
  %x = tile.gather %t[] rows %r axis 0 map affine_map<(a, b) -> (a, b)>
    : memref<8x4xf32, #tile.space<gm>>, memref<2xi32, #tile.space<l1>> -> tensor<2x4xf32, #tile.space<ub>>
  tile.return
}

// -----

tile.kernel @into(%y: memref<8x4xf32, #tile.space<gm>>) {
  %t = tile.alloc : memref<8x4xf32, #tile.space<l1>>
  %r = tile.alloc : memref<2xi32, #tile.space<ub>>
  %u = tile.alloc : memref<2x4xf32, #tile.space<ub>>
  // expected-error @below {{tile.scatter writes to GM, got memref<8x4xf32, #tile.space<l1>>}}
  tile.scatter %u, %t[] rows %r axis 0 map affine_map<(a, b) -> (a, b)>
    : memref<2x4xf32, #tile.space<ub>>, memref<8x4xf32, #tile.space<l1>>, memref<2xi32, #tile.space<ub>>
  tile.return
}

// -----

tile.kernel @out_of(%y: memref<8x4xf32, #tile.space<gm>>) {
  %r = tile.alloc : memref<2xi32, #tile.space<ub>>
  %u = tile.alloc : memref<2x4xf32, #tile.space<l1>>
  // expected-error @below {{tile.scatter takes rows from ub, not from l1}}
  tile.scatter %u, %y[] rows %r axis 0 map affine_map<(a, b) -> (a, b)>
    : memref<2x4xf32, #tile.space<l1>>, memref<8x4xf32, #tile.space<gm>>, memref<2xi32, #tile.space<ub>>
  tile.return
}

// -----

tile.kernel @elements(%y: memref<8x4xf32, #tile.space<gm>>) {
  %r = tile.alloc : memref<2xi32, #tile.space<ub>>
  %u = tile.alloc : memref<2x4xf16, #tile.space<ub>>
  // expected-error @below {{tile.scatter keeps the element type}}
  tile.scatter %u, %y[] rows %r axis 0 map affine_map<(a, b) -> (a, b)>
    : memref<2x4xf16, #tile.space<ub>>, memref<8x4xf32, #tile.space<gm>>, memref<2xi32, #tile.space<ub>>
  tile.return
}

// -----

func.func @whole(%x: tensor<8x4xf32>, %n: tensor<2xi64>, %u: tensor<2x4xf32>) {
  // expected-error @below {{the result is tensor<9x4xf32>, but rows of tensor<8x4xf32> are replaced}}
  %z = tile.scatter %u, %x[] rows %n axis 0 map affine_map<(a, b) -> (a, b)>
    : tensor<2x4xf32>, tensor<8x4xf32>, tensor<2xi64> -> tensor<9x4xf32>
  func.return
}

// -----

func.func @few(%x: tensor<8x4xf32>, %n: tensor<1xi64>, %u: tensor<2x4xf32>) {
  // expected-error @below {{tile.scatter: dim 0 of the tile has 2 positions, the indices are tensor<1xi64>}}
  %z = tile.scatter %u, %x[] rows %n axis 0 map affine_map<(a, b) -> (a, b)>
    : tensor<2x4xf32>, tensor<8x4xf32>, tensor<1xi64> -> tensor<8x4xf32>
  func.return
}
