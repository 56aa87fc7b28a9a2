"""my.vaddrelu: an instruction that the machine might have, and a pass that uses it.

    npu_isa.vbinary add %d<1>, %a<1>, %b<1> over [2048] : f32
    npu_isa.vunary relu %d<1>, %d<1> over [2048] : f32
  becomes
    my.vaddrelu %d<1>, %a<1>, %b<1> over [2048] : f32

Is it worth its transistors? The plugin says what the instruction means and what it costs; compiling and simulating a
model with it gives the answer. The pass stands before npu-isa-insert-sync, where program order says everything.

Does not handle: a sum that goes elsewhere than the relu's result, or that is not next to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect, Operation
from xdsl.irdl import irdl_op_definition
from xdsl.passes import ModulePass

from npu_mlir.dialects.npu_isa import VBinaryOp, VectorInstruction, VectorWork, VUnaryOp
from npu_mlir.dialects.npu_isa.base import ints
from npu_mlir.interpreters import Interpreter, Results, impl
from npu_mlir.interpreters.npu_isa import vector_operands, widened
from npu_mlir.targets.cost import Cost, cost, vector_repeats
from npu_mlir.targets.target import Target


@dataclass(frozen=True)
class AddReluWork(VectorWork):
    """What the cost of the instruction depends on: the rows that it goes through."""


@irdl_op_definition
class VAddReluOp(VectorInstruction):
    """`dest = max(a + b, 0)`, one of the sources an immediate if need be.

    Example:

    ```mlir
    my.vaddrelu %d<64, 1>, %a<64, 1>, %b<0, 1> over [16, 50] : f32
    ```
    """

    name = "my.vaddrelu"
    INPUTS: ClassVar[int] = 2
    KINDS: ClassVar[frozenset[str]] = frozenset({"addrelu"})

    def work(self) -> AddReluWork:
        rows = super().work()
        return AddReluWork("addrelu", rows.rows, rows.row_bytes)


My = Dialect("my", [VAddReluOp])


@impl("my.vaddrelu")
def vaddrelu(interp: Interpreter, op: VAddReluOp, args: Results) -> Results:
    """What the instruction does to memory."""
    dest, sources = vector_operands(interp, op, args)
    a, b = widened(sources)
    dest[...] = np.maximum(a + b, 0).astype(dest.dtype)
    return ()


@cost(AddReluWork)
def addrelu_cost(work: AddReluWork, target: Target) -> Cost:
    """Cycles of an addition and one more at its end: assumed, the comparison stands behind the adder."""
    head, slope, tail = target.vector["add"]
    return Cost(occupancy=slope * vector_repeats(work, target), latency=tail + 1, head=head)


class FuseAddRelu(ModulePass):
    """Fold a relu into the sum that it reads and overwrites."""

    name = "fuse-add-relu"
    runs_after: ClassVar[str] = "convert-tile-to-npu-isa"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for addition in [o for o in op.walk() if isinstance(o, VBinaryOp) and o.kind.data == "add"]:
            relu = addition.next_op
            if is_relu_of(relu, addition):
                fuse(addition, relu)


def is_relu_of(op: Operation | None, addition: VBinaryOp) -> bool:
    """Whether an instruction is the relu of a sum, in its place."""
    if not isinstance(op, VUnaryOp) or op.kind.data != "relu":
        return False
    place = addition.operand_strides[0]
    in_place = op.dest is op.sources[0] is addition.dest and op.operand_strides == [place, place]
    return in_place and op.shape == addition.shape and op.types.data[0] == addition.types.data[0]


def fuse(addition: VBinaryOp, relu: VUnaryOp) -> None:
    """Put one instruction in place of both."""
    position = addition.imm_position
    fused = VAddReluOp(
        "addrelu",
        addition.dest,
        addition.sources,
        ints(addition.shape),
        addition.operand_strides,
        list(addition.types.data),
        addition.imm,
        None if position is None else position.value.data,
    )
    fused.attributes.update(relu.attributes)
    fused.location = relu.location
    block = relu.parent
    assert block is not None
    block.insert_op_before(fused, relu)
    block.erase_op(relu)
    block.erase_op(addition)
