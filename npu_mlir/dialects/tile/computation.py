"""Where computation may take place: the vector unit works on UB, the cube on L0A and L0B into L0C."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.tile.spaces import Space, space_of


def check_computation(kernel: Operation) -> None:
    """Raise unless the operands of every `linalg.generic` and `linalg.fill` lie where one unit can work on them.

    Before tiling nothing has a space; an operand that only gives a window's extents never has one.
    """
    for op in kernel.walk():
        if isinstance(op, GenericOp | FillOp) and (found := _misplaced(op)):
            raise VerifyException(
                f"{op.name} takes operands in {found}: the vector unit works on ub, the cube on l0a and l0b into l0c"
            )


def _misplaced(op: GenericOp | FillOp) -> str | None:
    """The spaces of an operation's operands if no unit can work on them."""
    spaces = [space_of(v.type) for v in op.operands if isinstance(v.type, TensorType | MemRefType)]
    inputs = tuple(space for space in spaces[: -len(op.outputs)] if space is not None)
    result = {space_of(v.type) for v in op.outputs}
    if result == {None}:
        valid = not inputs
    elif result == {Space.UB}:
        valid = set(inputs) <= result
    else:
        # Without matrices, an accumulator starts from zero or from a row.
        starts = ((), (Space.L0A, Space.L0B), (Space.L1,), (Space.UB,))
        valid = result == {Space.L0C} and inputs in starts
    return None if valid else ", ".join(space or "no memory" for space in spaces)
