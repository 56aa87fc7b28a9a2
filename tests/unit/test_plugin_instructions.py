"""Instructions of plugins are executed, timed and checked like those of npu_isa."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, operand_def
from xdsl.parser import Parser

from npu_mlir.dialects.context import make_context
from npu_mlir.dialects.npu_isa import Access, AddrType, Extent, Instruction, MoveWork, Pipe, VectorWork
from npu_mlir.dialects.tile import Cube
from npu_mlir.interpreters import Interpreter, Results, impl
from npu_mlir.interpreters.npu_isa import core_of
from npu_mlir.simulator import simulate
from npu_mlir.simulator.execution import values
from npu_mlir.support.diagnostics import UserError


@irdl_op_definition
class ScaleOp(Instruction):
    """An instruction of a plugin: doubles the 8 floats at an address of any memory."""

    name = "odd.scale"
    PIPE: ClassVar[Pipe] = Pipe.V
    at = operand_def(AddrType)
    assembly_format = "$at attr-dict `:` type($at)"

    def accesses(self, cube: Cube) -> tuple[Access, ...]:
        return Access(self.at, False, Extent((), 32)), Access(self.at, True, Extent((), 32))

    def work(self) -> VectorWork:
        return VectorWork("mul", 1, 32)


@irdl_op_definition
class GatherOp(Instruction):
    """An instruction that works on GM without being a GmLoad."""

    name = "odd.gather"
    PIPE: ClassVar[Pipe] = Pipe.MTE2
    gm = operand_def(MemRefType)
    assembly_format = "$gm attr-dict `:` type($gm)"

    def accesses(self, cube: Cube) -> tuple[Access, ...]:
        return (Access(self.gm, False, None),)

    def work(self) -> MoveWork:
        return MoveWork("gm_ub", 32)


Odd = Dialect("odd", [ScaleOp, GatherOp])


@impl("odd.scale")
def scale(interp: Interpreter, op: ScaleOp, args: Results) -> Results:
    view = core_of(interp).view(op.at.type.space.data, args[0], (8,), (1,), np.dtype(np.float32))
    view *= 2
    return ()


KERNEL = """
builtin.module attributes {{npu.target = "toy"}} {{
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = tile.launch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
    func.return %0 : tensor<8xf32>
  }}
  tile.kernel @k(%x: memref<8xf32, #tile.space<gm>>, %y: memref<8xf32, #tile.space<gm>>) {{
    %b = npu_isa.buffer 1 x 32 at 0 : !npu_isa.addr<ub>
    %l = npu_isa.buffer 1 x 32 at 0 : !npu_isa.addr<l0a>
    npu_isa.load_ub %x[] -> %b<1> over [8] map affine_map<(d0) -> (d0)> : memref<8xf32, #tile.space<gm>>
    npu_isa.barrier
    {instruction}
    npu_isa.barrier
    npu_isa.store_ub %b<1> -> %y[] over [8] map affine_map<(d0) -> (d0)> : memref<8xf32, #tile.space<gm>>
    tile.return
  }}
}}
"""


def run_kernel(instruction: str) -> list[np.ndarray]:
    """Simulate a kernel with an instruction of the dialect above."""
    ctx = make_context()
    ctx.register_dialect("odd", lambda: Odd)
    module = Parser(ctx, KERNEL.format(instruction=instruction)).parse_module()
    return simulate(module, [np.arange(8, dtype=np.float32)]).outputs


def test_an_instruction_is_executed_by_its_meaning():
    (output,) = run_kernel("odd.scale %b : !npu_isa.addr<ub>")
    assert (output == 2 * np.arange(8)).all()


def test_an_instruction_in_l0_needs_a_decoded_form():
    with pytest.raises(UserError, match="'odd.scale' works on l0a, which its meaning alone does not reach"):
        run_kernel("odd.scale %l : !npu_isa.addr<l0a>")


def test_an_instruction_with_a_decoded_form(monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []
    monkeypatch.setattr(values, "_DECODED", dict(values._DECODED))
    values.decoded(ScaleOp)(lambda core, l0, op: seen.append)
    run_kernel("odd.scale %b : !npu_isa.addr<ub>")
    assert seen == [0]


def test_an_instruction_on_gm_has_to_be_a_transfer():
    with pytest.raises(
        UserError, match="'odd.gather' works on GM; to be checked it has to be derived from GmLoad"
    ):
        run_kernel("odd.gather %x : memref<8xf32, #tile.space<gm>>")
