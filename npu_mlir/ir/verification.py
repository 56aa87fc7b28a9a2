"""Check IR, with messages that name the op: xDSL's verifiers plus our check of SSA dominance."""

from __future__ import annotations

from xdsl.ir import Block, Operation
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from npu_mlir.ir.dominance import find_violation
from npu_mlir.support.diagnostics import Note, UserError


def verify(op: Operation) -> None:
    """Verify `op` and all in it; the first op that is wrong is reported as a located `UserError`."""
    for nested in op.walk():
        _verify_one(nested)
        for region in nested.regions:
            for block in region.blocks:
                _verify_block(block, nested)
    check_dominance(op)


def check_dominance(op: Operation) -> None:
    """Check that every operand within `op` is defined before its use."""
    violation = find_violation(op)
    if violation is None:
        return
    owner = violation.op.operands[violation.index].owner
    definition = owner if isinstance(owner, Operation) else owner.parent_op()
    kind = "operand" if isinstance(owner, Operation) else "block argument"
    notes = [Note(f"the {kind} is defined here", definition)] if definition is not None else []
    raise UserError(str(violation), loc=violation.op, notes=notes)


def _verify_one(op: Operation) -> None:
    try:
        op.verify(verify_nested_ops=False)
    except (VerifyException, ValueError) as error:
        # xDSL prints the whole module into a note of the exception; the message alone is what we want.
        message = " ".join(str(error).split())
        message = message.removeprefix("Operation does not verify: ")
        raise UserError(f"'{op.name}' op {message}", loc=op) from error
    except Exception as error:
        # A verifier that looks at what is missing; which op it is matters more than why.
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise UserError(f"'{op.name}' op is malformed: its verifier fails with {what}", loc=op) from error


def _verify_block(block: Block, parent: Operation) -> None:
    only_block = block.next_block is None and block.prev_block is None
    if block.last_op is None and only_block and not parent.has_trait(NoTerminator):
        raise UserError(f"'{parent.name}' op has an empty block where a terminator is needed", loc=parent)
