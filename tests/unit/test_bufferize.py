"""Buffers of kernels written by hand: what may share one, and what is carried around loops."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import scf

from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters.framework import run_function
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.verification import verify
from npu_mlir.passes.tile.bufferize import Bufferize

T, U, GM = "tensor<4x4xf32>", "tensor<4x4xf32, #tile.space<ub>>", "memref<4x4xf32, #tile.space<gm>>"
ID, SWAPPED = "affine_map<(m, n) -> (m, n)>", "affine_map<(m, n) -> (n, m)>"


def load(name: str) -> str:
    """The argument as %a, transposed as others."""
    return f"%{name} = tile.load %X[] map {ID if name == 'a' else SWAPPED} : {GM} -> {U}\n"


def store(name: str) -> str:
    return f"tile.store %{name}, %Y[] map {ID} : {U}, {GM}\n"


def subtract(
    result: str, one: str, other: str, maps: tuple[str, str] = (ID, ID), out: str | None = None
) -> str:
    start = f"%e{result} = tensor.empty() : {U}\n" if out is None else ""
    return (
        start
        + f"""%{result} = linalg.generic {{indexing_maps = [{", ".join(maps)}, {ID}],
      iterator_types = ["parallel", "parallel"]}}
      ins(%{one}, %{other} : {U}, {U}) outs(%{out or f"e{result}"} : {U}) {{
    ^bb0(%0: f32, %1: f32, %2: f32):
      %3 = arith.subf %0, %1 : f32
      linalg.yield %3 : f32
    }} -> {U}
"""
    )


def bufferized(body: str) -> tile.KernelOp:
    """The kernel with buffers, which computes what it did before."""
    text = f"""
func.func @main(%x: {T}) -> {T} {{
  %y = tile.launch @k(%x) : ({T}) -> {T}
  func.return %y : {T}
}}
tile.kernel @k(%X: {GM}, %Y: {GM}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  {body}
  tile.return
}}"""
    module = parse_module(make_context(), text, "buffers.mlir")
    verify(module)
    inputs = [np.arange(16, dtype=np.float32).reshape(4, 4) ** 2]
    (expected,) = run_function(module, "main", inputs)
    Bufferize().apply(make_context(), module)
    verify(module)
    (got,) = run_function(module, "main", inputs)
    np.testing.assert_array_equal(got, expected)
    (kernel,) = (op for op in module.ops if isinstance(op, tile.KernelOp))
    return kernel


def buffers(body: str) -> int:
    return sum(isinstance(op, tile.AllocOp) for op in bufferized(body).walk())


def test_the_buffer_of_an_operand_that_dies_is_used_again():
    assert buffers(load("a") + load("b") + subtract("r", "a", "b") + store("r")) == 2
    assert buffers(load("a") + subtract("r", "a", "a") + store("r")) == 1


def test_an_operand_that_is_read_later_keeps_its_buffer():
    later = (
        load("a") + load("b") + subtract("r", "a", "b") + subtract("s", "r", "a") + subtract("t", "s", "b")
    )
    assert buffers(later + store("t")) == 3


def test_what_is_read_in_another_order_is_not_overwritten():
    for maps in ((ID, SWAPPED), (SWAPPED, ID), (SWAPPED, SWAPPED)):
        assert buffers(load("a") + subtract("r", "a", "a", maps) + store("r")) == 2
    # The other operand is free to be.
    assert buffers(load("a") + load("b") + subtract("r", "a", "b", (SWAPPED, ID)) + store("r")) == 2


def test_contents_that_are_read_later_are_copied():
    assert buffers(load("a") + load("b") + subtract("r", "a", "a", out="b") + store("r")) == 2
    again = load("a") + load("b") + subtract("r", "a", "a", out="b") + subtract("s", "r", "b") + store("s")
    assert buffers(again) == 3


def loop(body: str, yielded: str) -> str:
    return f"""%p, %q = scf.for %i = %c0 to %c3 step %c1 iter_args(%u = %a, %v = %b) -> ({U}, {U}) {{
    {body}
    scf.yield {yielded} : {U}, {U}
  }}
"""


def test_two_values_are_carried_in_their_buffers():
    body = loop(subtract("r", "u", "v", out="u") + subtract("s", "v", "r", out="v"), "%r, %s")
    kernel = bufferized(load("a") + load("b") + body + subtract("t", "p", "q") + store("t"))
    assert sum(isinstance(op, tile.AllocOp) for op in kernel.walk()) == 2
    (around,) = (op for op in kernel.walk() if isinstance(op, scf.ForOp))
    assert not around.iter_args and len(around.body.block.args) == 1


def test_a_carried_value_that_ends_elsewhere_is_copied_back():
    first = loop(subtract("r", "u", "v") + subtract("s", "r", "u", out="v"), "%r, %s")
    second = loop(subtract("r", "u", "v", out="u") + subtract("s", "v", "r"), "%r, %s")
    exchanged = loop("", "%v, %u")
    for body in (first, second, exchanged):
        bufferized(load("a") + load("b") + body + subtract("t", "p", "q") + store("t"))
