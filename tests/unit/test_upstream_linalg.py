"""Text that upstream tools write means what NumPy says, from linalg down to instructions."""

from __future__ import annotations

from itertools import product

import numpy as np
from xdsl.dialects.builtin import StringAttr

from npu_mlir.dialects.context import make_context
from npu_mlir.dialects.npu_isa import MmadOp
from npu_mlir.ir.module_io import parse_with_weights
from npu_mlir.pass_infra.pass_manager import PassManager
from npu_mlir.pipeline import make_pipeline
from npu_mlir.simulator import simulate

MAPS = """
#id = affine_map<(d0, d1) -> (d0, d1)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#k = affine_map<(d0, d1, d2) -> (d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#none = affine_map<(d0, d1) -> ()>
"""


def run(function: str, *inputs: np.ndarray, products: int = 0) -> list[np.ndarray]:
    """Execute the instructions that a function becomes; `products` of them multiply matrices."""
    ctx = make_context()
    module = parse_with_weights(ctx, f"{MAPS} func.func @main{function}", "test.mlir")
    module.attributes["npu.target"] = StringAttr("toy")
    PassManager(make_pipeline("linalg", "isa")).run(ctx, module)
    assert sum(isinstance(op, MmadOp) for op in module.walk()) == products
    return simulate(module, list(inputs)).outputs


def draw(*shape: int, dtype: str = "f") -> np.ndarray:
    """Small multiples of a quarter, whose sums are exact."""
    return (np.random.default_rng(sum(shape)).integers(-8, 8, shape) / 4).astype(dtype)


def test_fused_product() -> None:
    x, v, w, z = draw(6, 16), draw(16), draw(16, 8), draw(6, 8)
    (found,) = run(
        """(%x: tensor<6x16xf32>, %v: tensor<16xf32>, %w: tensor<16x8xf32>, %z: tensor<6x8xf32>) -> tensor<6x8xf32> {
          %0 = linalg.generic {indexing_maps = [#a, #k, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
            ins(%x, %v, %w : tensor<6x16xf32>, tensor<16xf32>, tensor<16x8xf32>) outs(%z : tensor<6x8xf32>) {
          ^bb0(%p: f32, %q: f32, %r: f32, %o: f32):
            %zero = arith.constant 0.0 : f32
            %s = arith.addf %p, %q : f32
            %m = arith.maximumf %s, %zero : f32
            %n = arith.negf %r : f32
            %t = arith.mulf %n, %m : f32
            %u = arith.addf %t, %o : f32
            linalg.yield %u : f32
          } -> tensor<6x8xf32>
          func.return %0 : tensor<6x8xf32>
        }""",
        *(x, v, w, z),
        products=1,
    )
    np.testing.assert_array_equal(found, z - np.maximum(x + v, 0) @ w)


def test_positions() -> None:
    x, lengths = draw(5, 40), np.array([0, 3, 39, 40, 17], np.int32)
    (found,) = run(
        """(%x: tensor<5x40xf32>, %n: tensor<5xi32>) -> tensor<5x40xf32> {
          %zero = arith.constant 0.0 : f32
          %c7 = arith.constant 7 : index
          %e = tensor.empty() : tensor<5x40xf32>
          %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
            ins(%x, %n : tensor<5x40xf32>, tensor<5xi32>) outs(%e : tensor<5x40xf32>) {
          ^bb0(%a: f32, %l: i32, %o: f32):
            %i = linalg.index 0 : index
            %j = linalg.index 1 : index
            %p = arith.muli %i, %c7 : index
            %q = arith.addi %p, %j : index
            %r = arith.remui %q, %c7 : index
            %ri = arith.index_cast %r : index to i32
            %f = arith.sitofp %ri : i32 to f32
            %length = arith.index_cast %l : i32 to index
            %inside = arith.cmpi slt, %j, %length : index
            %m = arith.mulf %a, %f : f32
            %s = arith.select %inside, %m, %zero : f32
            linalg.yield %s : f32
          } -> tensor<5x40xf32>
          func.return %0 : tensor<5x40xf32>
        }""",
        *(x, lengths),
    )
    i, j = np.indices((5, 40))
    np.testing.assert_array_equal(found, np.where(j < lengths[:, None], x * ((7 * i + j) % 7), 0))


def test_tiles() -> None:
    x = draw(20, 5, 30)
    packed, back = run(
        """(%x: tensor<20x5x30xf32>) -> (tensor<2x3x5x16x8xf32>, tensor<20x5x30xf32>) {
          %p = arith.constant -2.0 : f32
          %e = tensor.empty() : tensor<2x3x5x16x8xf32>
          %0 = linalg.pack %x padding_value(%p : f32)
            outer_dims_perm = [2, 0, 1] inner_dims_pos = [2, 0] inner_tiles = [16, 8]
            into %e : tensor<20x5x30xf32> -> tensor<2x3x5x16x8xf32>
          %d = tensor.empty() : tensor<20x5x30xf32>
          %1 = linalg.unpack %0
            outer_dims_perm = [2, 0, 1] inner_dims_pos = [2, 0] inner_tiles = [16, 8]
            into %d : tensor<2x3x5x16x8xf32> -> tensor<20x5x30xf32>
          func.return %0, %1 : tensor<2x3x5x16x8xf32>, tensor<20x5x30xf32>
        }""",
        x,
    )
    expected = np.full((2, 3, 5, 16, 8), -2, "f")
    for a, b, c in product(*map(range, x.shape)):
        expected[c // 16, a // 8, b, c % 16, a % 8] = x[a, b, c]
    np.testing.assert_array_equal(packed, expected)
    np.testing.assert_array_equal(back, x)


def test_scalars() -> None:
    x, t, s = draw(4, 8), draw(3), np.float32(1.5)
    filled, scaled = run(
        """(%x: tensor<4x8xf32>, %t: tensor<3xf32>, %s: f32) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
          %c2 = arith.constant 2 : index
          %e = tensor.empty() : tensor<4x8xf32>
          %v = tensor.extract %t[%c2] : tensor<3xf32>
          %h = arith.mulf %v, %s : f32
          %f = linalg.fill ins(%v : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
          %0 = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]}
            ins(%x, %h : tensor<4x8xf32>, f32) outs(%e : tensor<4x8xf32>) {
          ^bb0(%a: f32, %b: f32, %o: f32):
            %m = arith.mulf %a, %b : f32
            %n = arith.addf %m, %s : f32
            linalg.yield %n : f32
          } -> tensor<4x8xf32>
          func.return %f, %0 : tensor<4x8xf32>, tensor<4x8xf32>
        }""",
        *(x, t, np.asarray(s)),
    )
    np.testing.assert_array_equal(filled, np.full((4, 8), t[2]))
    np.testing.assert_array_equal(scaled, x * (t[2] * s) + s)
