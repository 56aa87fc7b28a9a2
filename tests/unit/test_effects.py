"""Effects of ops: what may be erased and what may be merged."""

from __future__ import annotations

import pytest

from npu_mlir.analysis.effects import has_only_local_effects, is_dead, is_pure
from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module

BODY = "{ ^bb0(%p: f32): linalg.yield %p : f32 }"
GENERIC = 'linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}'

CASES = {
    # text of one op                                                        local  pure
    "arith.addi %i, %i : index": (True, True),
    "arith.remui %i, %i : index": (True, True),
    "tensor.empty() : tensor<4xf32>": (True, True),
    "memref.alloc() : memref<4xf32>": (True, False),
    "memref.load %m[%i] : memref<4xf32>": (True, False),
    "memref.store %x, %m[%i] : memref<4xf32>": (False, False),
    "linalg.fill ins(%x : f32) outs(%t : tensor<4xf32>) -> tensor<4xf32>": (True, True),
    "linalg.fill ins(%x : f32) outs(%m : memref<4xf32>)": (False, False),
    f"{GENERIC} outs(%t : tensor<4xf32>) {BODY} -> tensor<4xf32>": (True, True),
    f"{GENERIC} outs(%m : memref<4xf32>) {BODY}": (False, False),
    "scf.for %j = %i to %i step %i { %k = arith.addi %j, %j : index }": (True, True),
    "scf.for %j = %i to %i step %i { %k = memref.load %m[%j] : memref<4xf32> }": (True, False),
    "scf.for %j = %i to %i step %i { memref.store %x, %m[%j] : memref<4xf32> }": (False, False),
    "func.call @f(%i, %x, %t, %m) : (index, f32, tensor<4xf32>, memref<4xf32>) -> ()": (False, False),
}


@pytest.mark.parametrize("text", CASES)
def test_effects(text: str):
    source = (
        f"func.func @f(%i: index, %x: f32, %t: tensor<4xf32>, %m: memref<4xf32>) {{ {text} func.return }}"
    )
    module = parse_module(make_context(), source, "test")
    op = module.body.block.first_op.body.block.first_op
    local, pure = CASES[text]
    assert has_only_local_effects(op) is local
    assert is_pure(op) is pure
    assert is_dead(op) is local


def test_symbols_and_terminators_are_never_dead():
    module = parse_module(make_context(), "func.func @f() { func.return }", "test")
    assert not any(is_dead(op) for op in module.walk())
