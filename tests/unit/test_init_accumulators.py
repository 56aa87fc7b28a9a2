"""Which additions to a product become what its accumulators start from, and that the values stay the same."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg import ops as linalg

from npu_mlir.analysis.structured.bodies import is_multiply_add
from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters.framework import run_function
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.verification import verify
from npu_mlir.passes.tile.form_kernels import FormKernels
from npu_mlir.passes.tile.init_accumulators import InitAccumulators

ADD = "%s = arith.addf %x, %y : f32; linalg.yield %s : f32"


def program(
    body: str = ADD,
    *,
    sizes: tuple[int, int] = (8, 4),
    bias: str = "tensor<4xf32>",
    bias_map: str = "(n)",
    order: str = "(m, n)",
    operands: str = "%p, %bias",
    out: str = "%e1",
    results: str = "%q",
) -> str:
    """A product `%p` of `sizes`, to which `%bias` is added by `body` (of %x, %y and the accumulator %o)."""
    m, n = sizes
    t = f"tensor<{m}x{n}xf32>"
    shape = t if order == "(m, n)" else f"tensor<{n}x{m}xf32>"
    element = bias.removesuffix(">").split("x")[-1]
    types = ", ".join(t if name == "%p" else bias for name in operands.split(", "))
    names = operands.split(", ")
    args = ", ".join(f"%{a}: {'f32' if v == '%p' else element}" for a, v in zip("xy", names, strict=False))
    maps = ", ".join(f"affine_map<(m, n) -> {'(m, n)' if v == '%p' else bias_map}>" for v in names)
    returned = ", ".join(t if r == "%p" else shape for r in results.split(", "))
    return f"""
func.func @main(%a: tensor<{m}x6xf32>, %w: tensor<6x{n}xf32>, %bias: {bias}, %c: {shape}) -> ({returned}) {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {t}
  %f = linalg.fill ins(%zero : f32) outs(%e : {t}) -> {t}
  %p = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %w : tensor<{m}x6xf32>, tensor<6x{n}xf32>) outs(%f : {t}) {{
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %0 = arith.mulf %l, %r : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  }} -> {t}
  %e1 = tensor.empty() : {shape}
  %q = linalg.generic {{indexing_maps = [{maps}, affine_map<(m, n) -> {order}>],
      iterator_types = ["parallel", "parallel"]}}
      ins({operands} : {types}) outs({out} : {shape}) {{
  ^bb0({args}, %o: f32):
    {body.replace("; ", chr(10) + "    ")}
  }} -> {shape}
  func.return {results} : {returned}
}}"""


def inputs_of(module: ModuleOp) -> list[np.ndarray]:
    """Small multiples of a quarter, so that sums are exact in any order."""
    function = next(iter(module.ops))
    generator = np.random.default_rng(0)
    arrays: list[np.ndarray] = []
    for arg in function.body.block.args:  # type: ignore[attr-defined]
        kind = {"f32": np.float32, "f16": np.float16, "i32": np.int32}[str(arg.type.element_type)]  # type: ignore[attr-defined]
        numbers = generator.integers(-8, 9, arg.type.get_shape())  # type: ignore[attr-defined]
        arrays.append((numbers / 4 if kind is not np.int32 else numbers).astype(kind))
    return arrays


def rewritten(text: str) -> list[linalg.GenericOp]:
    """The operations of the product's kernel after the pass, which keeps all values."""
    module = parse_module(make_context(), text, "bias.mlir")
    verify(module)
    inputs = inputs_of(module)
    expected = run_function(module, "main", inputs)
    FormKernels().apply(make_context(), module)
    InitAccumulators().apply(make_context(), module)
    verify(module)
    for got, wanted in zip(run_function(module, "main", inputs), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    kernels = [
        [g for g in k.walk() if isinstance(g, linalg.GenericOp)]
        for k in module.ops
        if isinstance(k, tile.KernelOp)
    ]
    for kernel in (k for k in module.ops if isinstance(k, tile.KernelOp)):
        unread = [o for o in kernel.body.block.ops if o.results and not any(any(r.uses) for r in o.results)]
        assert not unread, "nothing is left that nobody reads"
    return next(k for k in kernels if any(is_multiply_add(g) for g in k))


@pytest.mark.parametrize(
    ("text", "operations"),
    [
        # The broadcast and the product.
        pytest.param(program(), 2, id="nothing else"),
        pytest.param(program("%s = arith.addf %y, %x : f32; linalg.yield %s : f32"), 2, id="other order"),
        pytest.param(
            program(operands="%bias, %p", body="%s = arith.addf %x, %y : f32; linalg.yield %s : f32"),
            2,
            id="other operands",
        ),
        pytest.param(program(sizes=(1, 4)), 2, id="one row"),
        pytest.param(program(sizes=(8, 2), bias="tensor<2xf32>"), 2, id="two columns"),
        pytest.param(program(sizes=(2, 2), bias="tensor<2xf32>"), 2, id="two rows and columns"),
        # The operands are exchanged, so that the column is a row.
        pytest.param(program(sizes=(4, 1), bias_map="(m)"), 2, id="one column"),
        pytest.param(
            program(sizes=(1, 4), bias="tensor<1x4xf32>", bias_map="(m, n)"), 2, id="a bias with a dim of one"
        ),
        pytest.param(
            program(
                "%w16 = arith.extf %y : f16 to f32; %s = arith.addf %x, %w16 : f32; linalg.yield %s : f32",
                bias="tensor<4xf16>",
            ),
            2,
            id="a narrow bias",
        ),
        # What follows stays.
        pytest.param(
            program("%s = arith.addf %x, %y : f32; %t = arith.mulf %s, %s : f32; linalg.yield %t : f32"),
            3,
            id="a square",
        ),
        pytest.param(program(order="(n, m)"), 3, id="a transposition"),
    ],
)
def test_biases_are_started_from(text: str, operations: int):
    generics = rewritten(text)
    assert len(generics) == operations
    product = next(g for g in generics if is_multiply_add(g))
    start = product.outputs[0].owner
    assert isinstance(start, linalg.GenericOp) and len(start.inputs) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(program("%s = arith.subf %x, %y : f32; linalg.yield %s : f32"), id="a difference"),
        pytest.param(program("%s = arith.mulf %x, %y : f32; linalg.yield %s : f32"), id="a multiplication"),
        pytest.param(
            program("%s = arith.addf %x, %y : f32; %t = arith.mulf %s, %y : f32; linalg.yield %t : f32"),
            id="bias read twice",
        ),
        pytest.param(
            program("%s = arith.addf %x, %y : f32; %t = arith.mulf %s, %x : f32; linalg.yield %t : f32"),
            id="product read twice",
        ),
        pytest.param(
            program("%s = arith.addf %x, %x : f32; %t = arith.addf %s, %y : f32; linalg.yield %t : f32"),
            id="doubled product",
        ),
        pytest.param(
            program("%h = math.exp %y : f32; %s = arith.addf %x, %h : f32; linalg.yield %s : f32"),
            id="a computed bias",
        ),
        pytest.param(
            program(
                "%h = arith.constant 1.0 : f32; %s = arith.addf %x, %h : f32; linalg.yield %s : f32",
                operands="%p",
            ),
            id="a constant",
        ),
        pytest.param(program(bias="tensor<8x4xf32>", bias_map="(m, n)"), id="a matrix"),
        pytest.param(program(bias="tensor<8xf32>", bias_map="(m)"), id="a bias of rows"),
        pytest.param(
            program(
                "%h = arith.extf %y : f16 to f32; %s = arith.addf %x, %h : f32; "
                "%t = arith.mulf %s, %h : f32; linalg.yield %t : f32",
                bias="tensor<4xf16>",
            ),
            id="a narrow bias read twice",
        ),
        pytest.param(
            program(
                "%h = arith.sitofp %y : i32 to f32; %s = arith.addf %x, %h : f32; linalg.yield %s : f32",
                bias="tensor<4xi32>",
            ),
            id="an integer bias",
        ),
        pytest.param(program(results="%p, %q"), id="the product is a result, too"),
        pytest.param(program(operands="%p, %p", body=ADD), id="the product added to itself"),
        pytest.param(
            program("%s = arith.addf %x, %o : f32; linalg.yield %s : f32", out="%c"),
            id="added to what is there",
        ),
        pytest.param(
            program("%s = arith.addf %x, %o : f32; linalg.yield %s : f32", operands="%bias", out="%p"),
            id="the product is what is there",
        ),
    ],
)
def test_others_are_added_behind(text: str):
    product = next(g for g in rewritten(text) if is_multiply_add(g))
    assert isinstance(product.outputs[0].owner, linalg.FillOp)


def test_attributes_of_what_is_left_stay():
    text = program("%s = arith.addf %x, %y : f32; %t = arith.mulf %s, %s : f32; linalg.yield %t : f32")
    # The second operation is marked.
    head, tail = text.rsplit("outs(%e1 : tensor<8x4xf32>) {", 1)
    marked = f'{head}outs(%e1 : tensor<8x4xf32>) attrs = {{mark = "here"}} {{{tail}'
    assert ["mark" in op.attributes for op in rewritten(marked)] == [False, False, True]
