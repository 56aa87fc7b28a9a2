// Elements of 4 bits share bytes: sizes, strides, bytes that move and steps of the cube are theirs. Only what
// takes the address of one element refuses them.

// RUN: npu-opt %s --lower-to=tile-memref | filecheck %s
// RUN: not npu-opt %s --lower-to=isa 2>&1 | filecheck %s --check-prefix=ISA
// RUN: npu-run %s 2>&1 | filecheck %s --check-prefix=VALUES

// 8x64 and 64x8 elements are 512 bytes, and the result 256. Eight steps of 4x32x4 cover the product; an mmad takes 2 more.
// CHECK: M = 10 : i64,
// CHECK-SAME: bytes = 768 : i64
// In L1 each row, of 4 or 32 bytes, is padded to 32: 4 of them in two slots are 256 bytes.
// CHECK: slots = 2 : i64, address = 0 : i64} : memref<64x8xi4, #tile.space<l0b>>
// CHECK: slots = 2 : i64, address = 0 : i64} : memref<4x64xi4, #tile.space<l1>>
// CHECK: {address = 256 : i64} : memref<64x8xi4, #tile.space<l1>>

// ISA: packed_elements.mlir:{{[0-9]+}}:5: error: an i4 takes 4 bits: it has no address of its own
// ISA: note: in pass 'convert-tile-to-npu-isa'
// VALUES: output0{{.*}}8x8 int32

builtin.module attributes {npu.target = "toy"} {
  func.func @main(%x: tensor<8x64xi4>, %w: tensor<64x8xi4>) -> tensor<8x8xi32> {
    %zero = arith.constant 0 : i32
    %e = tensor.empty() : tensor<8x8xi32>
    %f = linalg.fill ins(%zero : i32) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                          affine_map<(m, n, k) -> (m, n)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<8x64xi4>, tensor<64x8xi4>) outs(%f : tensor<8x8xi32>) {
    ^bb0(%a: i4, %b: i4, %c: i32):
      %0 = arith.extsi %a : i4 to i32
      %1 = arith.extsi %b : i4 to i32
      %2 = arith.muli %0, %1 : i32
      %3 = arith.addi %c, %2 : i32
      linalg.yield %3 : i32
    } -> tensor<8x8xi32>
    func.return %y : tensor<8x8xi32>
  }
}
