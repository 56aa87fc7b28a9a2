"""Every formula is as exact as it declares: in f16 at all 65,536 numbers, in f32 on dense samples, against double
precision."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import f16, f32
from xdsl.ir import SSAValue

from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters import run_function
from npu_mlir.ir.parsing import parse_module
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.convert_graph_to_linalg import ConvertGraphToLinalg
from npu_mlir.passes.linalg.expand_math import ExpandMath
from npu_mlir.passes.linalg.formulas import Error, Formula, choose, formula, formulas, registry
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.scalar_code import Code
from npu_mlir.support.accuracy import FAST, FULL, formulas_in
from npu_mlir.targets.target import get_target

_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def _sigmoid(x: np.ndarray) -> np.ndarray:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)


def _tanh_gelu(x: np.ndarray) -> np.ndarray:
    return x * _sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


EXACT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh": np.tanh,
    "erf": _erf,
    "sigmoid": _sigmoid,
    "swish": lambda x: x * _sigmoid(x),
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "gelu": lambda x: x * _erfc(-x * math.sqrt(0.5)) / 2,
    "gelu_tanh": _tanh_gelu,
}
PARAMETERS = {"swish": {"alpha": 1.0}}

DENSE = np.concatenate(
    [
        np.linspace(-12, 12, 40001),
        np.random.default_rng(0).uniform(-6, 6, 100_000),
        np.random.default_rng(1).uniform(-110, 110, 50_000),
        np.logspace(-30, 4, 2001),
        -np.logspace(-30, 4, 2001),
        [0.0],
    ]
).astype(np.float32)
HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)

CHECKED = [f for f in formulas() if f.element in (f16, f32) and not f.rows]


def computed(found: Formula, x: np.ndarray) -> np.ndarray:
    """The values that a formula computes."""
    element = found.element
    type_ = f"tensor<{x.size}x{element}>"
    text = f"func.func @main(%x: {type_}) -> {type_} {{ func.return %x : {type_} }}"
    module = parse_module(make_context(), text, "formula.mlir")
    function = next(iter(module.ops))
    b, block = Builder(), function.regions[0].block

    def build(body: Body, value: SSAValue) -> SSAValue:
        code = Code({})
        result = found.build(code, value, **PARAMETERS.get(found.function, {}))
        for op in code.ops:
            body.append(op)
        return result

    result = b.map([block.args[0]], [[0]], (x.size,), element, build)
    last = block.last_op
    assert last is not None
    block.insert_ops_before(b.ops, last)
    last.operands[0] = result
    ExpandMath().apply(Context(), module)
    module.verify()
    (values,) = run_function(module, "main", [x])
    return values


def excess(values: np.ndarray, exact: np.ndarray, x: np.ndarray, error: Error) -> np.ndarray:
    """Errors over what is allowed."""
    unit = np.abs(np.spacing(exact.astype(values.dtype))).astype(np.float64)
    allowed = np.maximum(error.ulp * unit, np.maximum(error.absolute, error.operand * np.abs(x)))
    return np.abs(values.astype(np.float64) - exact) / allowed


@pytest.mark.parametrize("found", CHECKED, ids=lambda f: f"{f.function}-{f.element}-{f.accuracy}")
def test_formulas_are_as_exact_as_they_declare(found: Formula) -> None:
    x = HALVES[np.isfinite(HALVES)] if found.element == f16 else DENSE
    with np.errstate(all="ignore"):
        exact = EXACT[found.function](x.astype(np.float64))
        values = computed(found, x)
        normal = np.abs(exact) <= float(np.finfo(values.dtype).max)
        worst = excess(values, exact, x.astype(np.float64), found.error)[normal]
    assert not np.isnan(values).any()
    place = x[normal][worst.argmax()]
    assert worst.max() <= 1, f"{worst.max():.3f} of what is declared at {place}"
    # The declaration is not far from what is so.
    assert worst.max() > 0.3


@pytest.mark.parametrize("found", [f for f in CHECKED if f.accuracy == FULL], ids=lambda f: f.name)
def test_full_accuracy_is_that_of_the_type(found: Formula) -> None:
    """1 ulp of f16, 2.5 with the three roundings of hard swish; 4 ulp of f32, a product behind it not counted, and but
    for GELU, whose terms cancel."""
    most = 1 if found.element == f16 else 4
    assert found.error.ulp <= {"hard_swish": 2.5, "swish": most if most == 1 else 4.5}.get(
        found.function, most
    )
    assert found.error.absolute <= 1e-43
    assert found.error.operand <= (
        2.0**-23 if found.function.startswith("gelu") and found.element == f32 else 0
    )


def test_fast_formulas_are_faster() -> None:
    target = get_target("ascend-910")
    for found in CHECKED:
        if found.accuracy == FAST:
            parameters = PARAMETERS.get(found.function, {})
            full = choose(found.function, found.element, False, target, **parameters)
            assert full is not None
            assert found.cost(target, **parameters) < full.cost(target, **parameters)
            assert choose(found.function, found.element, True, target, **parameters) == found


def test_instructions_have_the_prices_of_the_target() -> None:
    target = get_target("ascend-910")
    (gelu,) = [f for f in formulas("gelu") if f.element == f16 and f.accuracy == FAST]
    assert gelu.cost(target) == 13
    assert gelu.cost(target.replace({"vector.div": [11, 8, 19]})) == 17


def test_the_cheapest_formula_that_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a file of a researcher would add."""
    monkeypatch.setattr(registry, "_formulas", list(formulas()))
    target = get_target("ascend-910")

    @formula("gelu", element=f16, accuracy=FAST, error=Error(ulp=2, absolute=0.05))
    def by_relu(code: Code, x: SSAValue) -> SSAValue:  # pyright: ignore[reportUnusedFunction]
        return code.apply("max", x, 0)

    fast, full = (choose("gelu", f16, allowed, target) for allowed in (True, False))
    assert fast is not None and fast.build is by_relu
    assert fast.name == "gelu in f16 within 2 ulp or 0.05"
    assert full is not None and full.accuracy == FULL
    assert choose("bessel", f32, True, target) is None


ROWS = [
    (rows, extent, spread) for rows, extent in ((64, 128), (16, 768), (40, 7)) for spread in (0.05, 1.0, 9.0)
]


def rows_of(kind: str, spread: float, shape: tuple[int, int]) -> np.ndarray:
    """Rows of f16; of a layer norm, with a mean of up to four deviations."""
    random = np.random.default_rng(shape[1])
    x = random.standard_normal(shape) * spread
    if kind == "layer_norm":
        x += random.uniform(-4, 4, (shape[0], 1)) * spread
    return x.astype(np.float16)


def exact_rows(kind: str, x: np.ndarray) -> np.ndarray:
    """In double precision."""
    if kind == "softmax":
        power = np.exp(x - x.max(1, keepdims=True))
        return power / power.sum(1, keepdims=True)
    centered = x - x.mean(1, keepdims=True) if kind == "layer_norm" else x
    return centered / np.sqrt((centered**2).mean(1, keepdims=True) + 1e-5)


@pytest.mark.parametrize(
    "found", [f for f in formulas() if f.rows and f.element == f16], ids=lambda f: f.name
)
def test_rows_are_as_exact_as_they_declare(found: Formula) -> None:
    worst = 0.0
    for rows, extent, spread in ROWS:
        type_ = f"tensor<{rows}x{extent}xf16>"
        op = f"graph.softmax %x axis 1 : ({type_}) -> {type_}"
        if found.function != "softmax":
            scale = f"tensor<{extent}xf16>"
            op = f"graph.{found.function} %x, %g axis 1 epsilon 1.0e-5 : ({type_}, {scale}) -> {type_}"
        text = f"""
        builtin.module attributes {{npu.accuracy = "{found.accuracy}"}} {{
          func.func @main(%x: {type_}) -> {type_} {{
            %g = arith.constant dense<1.0> : tensor<{extent}xf16>
            %y = {op}
            func.return %y : {type_}
          }}
        }}"""
        module = parse_module(make_context(), text, "rows.mlir")
        ConvertGraphToLinalg().apply(make_context(), module)
        assert formulas_in(module) == ([found.name] if found.accuracy == FAST else [])
        x = rows_of(found.function, spread, (rows, extent))
        (values,) = run_function(module, "main", [x])
        exact = exact_rows(found.function, x.astype(np.float64))
        worst = max(worst, excess(values, exact, np.zeros_like(exact), found.error).max())
    assert 0.3 < worst <= 1, worst
