"""Folded rows: the plan, and values at the level of instructions for rows of many lengths and types."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_mlir.analysis.folding import FoldCosts, best_fold
from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters import run_function
from npu_mlir.ir.parsing import parse_module
from npu_mlir.pass_infra.pass_manager import PassManager
from npu_mlir.pipeline import make_pipeline

COSTS = st.builds(
    FoldCosts,
    width=st.sampled_from([32, 128, 256]),
    start=st.integers(1, 9),
    started=st.integers(0, 2),
    combine=st.integers(1, 9),
    reduce=st.integers(1, 9),
    whole=st.integers(1, 9),
    may_rest=st.booleans(),
)


@given(st.integers(1, 1000), st.sampled_from([1, 2, 4, 8]), COSTS)
def test_a_fold_covers_the_row_and_pays(extent: int, size: int, costs: FoldCosts) -> None:
    fold = best_fold(extent, size, costs)
    if fold is None:
        return
    assert fold.lanes * fold.chunks + fold.rest == extent
    assert fold.lanes * size <= max(costs.width, size) and fold.chunks >= max(2, costs.started)
    assert costs.may_rest or not fold.rest
    assert fold.cycles < costs.whole * -(-extent * size // costs.width)


@pytest.mark.parametrize("extent", [1, 63, 64, 96, 128, 197, 768, 1000])
@pytest.mark.parametrize(
    ("kind", "element", "squared"),
    [
        ("sum", "f32", False),
        ("sum", "f16", True),
        ("sum", "f32", True),
        ("max", "f16", False),
        ("sum", "i32", True),
    ],
)
def test_folded_rows_have_the_values_of_rows(extent: int, kind: str, element: str, squared: bool) -> None:
    """Small whole numbers, whose sums are exact in any order."""
    type_, result = f"tensor<3x{extent}x{element}>", f"tensor<3x{element}>"
    square = f"%s = graph.mul %x, %x : ({type_}, {type_}) -> {type_}" if squared else ""
    text = f"""
    func.func @main(%x: {type_}) -> {result} {{
      {square}
      %r = graph.reduce {kind} {"%s" if squared else "%x"} axes [1] : ({type_}) -> {result}
      func.return %r : {result}
    }}"""
    module = parse_module(make_context(), text, "rows.mlir")
    dtype = {"f32": np.float32, "f16": np.float16, "i32": np.int32}[element]
    x = np.random.default_rng(extent).integers(-1, 2, (3, extent)).astype(dtype)
    (before,) = run_function(module, "main", [x])
    PassManager(make_pipeline("graph", "isa")).run(make_context(), module)
    (after,) = run_function(module, "main", [x])
    np.testing.assert_array_equal(after, before)
