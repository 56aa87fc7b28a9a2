"""Check IR, with messages that name the op: xDSL's verifiers plus our check of SSA dominance.

Two things are kept while a module is verified, which else take more time than all the rest. What the definition of an
op says about types and attributes is checked once for each combination that occurs; traits and the op's own verifier
look at each op. And symbols are looked up in a table instead of the module.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from math import prod

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    IntegerType,
    MemRefType,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr
from xdsl.irdl import OpDef
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.symbols import symbols_kept
from npu_mlir.ir.dominance import find_violation
from npu_mlir.ir.structural_keys import AttributeNumbers
from npu_mlir.ir.tensor_rules import broken_rule
from npu_mlir.support.diagnostics import Note, UserError


def verify(op: Operation) -> None:
    """Verify `op` and all in it; the first op that is wrong is reported as a located `UserError`."""
    sound: set[int] = set()
    with symbols_kept(), _definitions_checked_once():
        for nested in op.walk():
            check_sizes(nested, sound)
            _verify_one(nested)
            for region in nested.regions:
                for block in region.blocks:
                    _verify_block(block, nested)
    check_dominance(op)


LARGEST = 1 << 36
"""Bytes that no tensor or buffer has more of: the memory of a large machine."""


def check_sizes(op: Operation, sound: set[int]) -> None:
    """Raise a located `UserError` for types that fit into no memory, and for maps that divide by 0.

    `sound` has the attributes that are known to be right, by identity: comparing them takes longer.
    """
    attributes = [value.type for value in op.results]
    attributes += op.properties.values()
    for attribute in attributes:
        if id(attribute) in sound:
            continue
        sound.add(id(attribute))
        if isinstance(attribute, TensorType | MemRefType):
            # Extents count even where there is a 0 among them: their positions are arrays of their own.
            elements = prod(extent for extent in attribute.get_shape() if extent > 0)
            if elements * _bytes(attribute.element_type) > LARGEST:
                message = f"{attribute} spans {elements} elements: no memory holds as many"
                raise UserError(message, loc=op)
        inside = attribute.data if isinstance(attribute, ArrayAttr) else (attribute,)
        for map_ in inside:
            if isinstance(map_, AffineMapAttr) and any(map(_divides_by_zero, map_.data.results)):
                raise UserError(f"the map {map_.data} divides by 0", loc=op)


def _bytes(element: Attribute) -> int:
    return max(1, element.bitwidth // 8) if isinstance(element, AnyFloat | IntegerType) else 8


def _divides_by_zero(expr: AffineExpr) -> bool:
    if not isinstance(expr, AffineBinaryOpExpr):
        return False
    divides = expr.kind in (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.CeilDiv, AffineBinaryOpKind.Mod)
    if divides and isinstance(expr.rhs, AffineConstantExpr) and expr.rhs.value == 0:
        return True
    return _divides_by_zero(expr.lhs) or _divides_by_zero(expr.rhs)


@contextmanager
def _definitions_checked_once() -> Generator[None]:
    """Within, xDSL's check of an op against its definition is skipped for what equals an op that has passed it."""
    check, number = OpDef.verify, AttributeNumbers().number
    passed: set[Hashable] = set()

    def check_once(self: OpDef, op: Operation) -> None:
        key = (
            self.name,
            tuple([number(operand.type) for operand in op.operands]),
            tuple([number(result.type) for result in op.results]),
            tuple([(name, number(attr)) for name, attr in op.properties.items()]),
            tuple([(name, number(op.attributes[name])) for name in self.attributes if name in op.attributes]),
            tuple([_shape(region, number) for region in op.regions]),
            len(op.successors),
        )
        if key not in passed:
            check(self, op)
            passed.add(key)
            return
        for trait in self.traits:
            trait.verify(op)

    OpDef.verify = check_once  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        OpDef.verify = check


def _shape(region: Region, number: Callable[[Attribute], int]) -> Hashable:
    """What a definition says something about: the number of blocks and the arguments of the first."""
    first = region.first_block
    arguments = None if first is None else tuple([number(arg.type) for arg in first.args])
    return len(region.blocks), arguments


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
    if (wrong := broken_rule(op)) is not None:
        raise UserError(f"'{op.name}' op {wrong}", loc=op)


def _verify_block(block: Block, parent: Operation) -> None:
    only_block = block.next_block is None and block.prev_block is None
    if block.last_op is None and only_block and not parent.has_trait(NoTerminator):
        raise UserError(f"'{parent.name}' op has an empty block where a terminator is needed", loc=parent)
