"""What may be one kernel, and should be: rules, each of which gives the reason when it is broken.

A rule is a function from a candidate, operations whose loop dims unite into classes (see `analysis.dims`), to the
reason why it can't be one kernel, or None. `why_not` asks them in order, so a rule may rely on those before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from xdsl.dialects.linalg import ops as linalg

from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.analysis.dims import DimClasses, DimKind, LoopNestOp, unite_dims
from npu_mlir.analysis.structured.epilogues import prefix_of
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.analysis.tiling import ACCUMULATOR
from npu_mlir.dialects import tile
from npu_mlir.support.arithmetic import round_up
from npu_mlir.targets.target import Target

SMALL = 4096
"""Elements up to which a group without a parallel class is accepted."""

LARGEST = 256
"""Operations that a kernel has at most, each of which may be as many as fusion puts into one. What it costs to judge a
candidate grows with its size; a launch takes as long as about a hundred of the shortest operations."""


@dataclass(frozen=True)
class Objection:
    """The rule that a candidate breaks, by its name, and the reason."""

    rule: str
    reason: str


def is_legal(group: Sequence[LoopNestOp], target: Target) -> bool:
    """Whether no rule speaks against one kernel of these operations."""
    return why_not(group, target) is None


def why_not(group: Sequence[LoopNestOp], target: Target) -> Objection | None:
    """The first rule that speaks against one kernel of these operations (in topological order), None if none does."""
    if len(group) > LARGEST:
        return Objection("size", f"a kernel has at most {LARGEST} operations")
    classes = unite_dims(group)
    if isinstance(classes, str):
        return Objection("one-loop-nest", classes)
    candidate = GroupCandidate(group, classes, target)
    for name, rule in RULES.items():
        reason = rule(candidate)
        if reason is not None:
            return Objection(name, reason)
    return None


@dataclass(frozen=True)
class GroupCandidate:
    """Operations that might become one kernel, and the classes of their dims."""

    group: Sequence[LoopNestOp]
    classes: DimClasses
    target: Target

    @cached_property
    def contractions(self) -> list[LoopNestOp]:
        """The operations for the cube."""
        return [op for op in self.group if op.contraction]

    @cached_property
    def whole(self) -> set[int]:
        """The classes that have to be whole on chip: reduced by one operation, and used again by another."""
        return {c.id for c in self.classes.classes if c.kind is DimKind.MIXED}

    @cached_property
    def inside(self) -> set[Hashable]:
        """The values that the operations make."""
        return {op.key for op in self.group}


# ---- rules ----------------------------------------------------------------------------------------------------------


def _one_contraction(candidate: GroupCandidate) -> str | None:
    """The cube computes one contraction in a kernel, or a chain of two."""
    match candidate.contractions:
        case [] | [_]:
            return None
        case [first, second]:
            return _why_no_chain(candidate, first, second)
        case contractions:
            return f"they hold {len(contractions)} contractions, and a kernel has one, or two in a chain"


def _why_no_chain(candidate: GroupCandidate, first: LoopNestOp, second: LoopNestOp) -> str | None:
    """Why a contraction can't sum what another one has become, if it can't."""
    above = above_of(candidate.group, second)
    made = [key for key in second.operands[:2] if key in candidate.inside]
    if first.key not in above or len(made) != 1:
        return "they hold 2 contractions, of which none reads, as one operand, what the other has become"
    target = candidate.target
    if target.split_cores or "ub_l1" not in target.rates:
        return f"'{target.name}' has no path from ub to l1, on which the one could read what the other has become"
    readers = {op.key for op in candidate.group for key in op.operands if key in above} - above
    if readers != {second.key}:
        return (
            "what the first contraction has become is read by others than the second, so it has to be in gm"
        )
    linked = {c for c, reduced in _class_kinds(candidate, second) if reduced}
    free = {c for op in (first, second) for c, reduced in _class_kinds(candidate, op) if not reduced}
    if (free - linked) & candidate.whole:
        return "rows of the second contraction would have to be whole, and those of the first with them"
    roles = contraction_roles(first)
    assert roles is not None
    if linked & {candidate.classes.class_of[first.key][d] for d in roles.batch}:
        return "the second contraction sums over the batch of the first, and L0 holds one product at a time"
    return None


def above_of(group: Sequence[LoopNestOp], op: LoopNestOp) -> set[Hashable]:
    """The operations of a group that an operation depends on, by their keys."""
    by_key = {o.key: o for o in group}
    pending, seen = list(op.operands), set[Hashable]()
    while pending:
        key = pending.pop()
        if key in by_key and key not in seen:
            seen.add(key)
            pending += by_key[key].operands
    return seen


def _class_kinds(candidate: GroupCandidate, op: LoopNestOp) -> list[tuple[int, bool]]:
    """The classes of an operation's loops, and whether it reduces them."""
    return list(zip(candidate.classes.class_of[op.key], op.reduction, strict=True))


def _contraction_first(candidate: GroupCandidate) -> str | None:
    """A contraction has no producer in the kernel but another contraction: its operands come from GM."""
    first = candidate.contractions[:1]
    if any(key in candidate.inside for op in first for key in op.operands):
        return "a contraction reads its operands from GM, and one would be computed in the kernel"
    return None


def _depends_on_contraction(candidate: GroupCandidate) -> str | None:
    """What does not depend on the contraction would be computed once per tile beside it, for nothing."""
    for op in candidate.group if candidate.contractions else ():
        if not op.contraction and not any(key in candidate.inside for key in op.operands):
            return "an operation that does not depend on the contraction would be repeated for its tiles"
    return None


def _one_core(candidate: GroupCandidate) -> str | None:
    """Where cube and vector unit are cores of their own, only the fixpipe stands behind a contraction."""
    for contraction in candidate.contractions if candidate.target.split_cores else ():
        if not all(
            _fixpipe_does(op, contraction, candidate.target)
            for op in candidate.group
            if op is not contraction
        ):
            return (
                f"the cores of '{candidate.target.name}' are separate: behind a contraction, a kernel can only do what "
                "the fixpipe does"
            )
    return None


def _fixpipe_does(op: LoopNestOp, contraction: LoopNestOp, target: Target) -> bool:
    """Whether the cube starts from what the operation adds, if anything, and the fixpipe does the rest on the way out:
    on the elements of the result, in place."""
    product, user = cast("linalg.GenericOp", contraction.key), cast("linalg.GenericOp", op.key)
    prefix = prefix_of(product, user, target)
    return prefix is not None and prefix.is_whole(user)


def _parallel_class(candidate: GroupCandidate) -> str | None:
    """A group keeps a parallel class, so that it can be tiled, unless it is small."""
    classes = candidate.classes.classes
    parallel = math.prod(c.extent for c in classes if c.kind is DimKind.PAR)
    elements = math.prod(classes[c].extent for c in candidate.whole)
    if len(candidate.group) > 1 and parallel == 1 and elements > SMALL:
        return f"no loop is parallel in all of them, and {elements} elements, more than {SMALL}, would have to be whole"
    return None


def _rows_fit_ub(candidate: GroupCandidate) -> str | None:
    """What has to be whole in UB fits."""
    if not candidate.whole or candidate.contractions:
        return None
    needed, capacity = footprint(candidate), candidate.target.ub
    if needed <= capacity:
        return None
    return f"what is reduced and used again has to be whole, which takes {needed} bytes of ub; there are {capacity}"


def _batch_is_not_whole(candidate: GroupCandidate) -> str | None:
    """L0 holds one product of a batch at a time."""
    for op in candidate.contractions if candidate.whole else ():
        roles = contraction_roles(op)
        assert roles is not None
        if any(candidate.classes.class_of[op.key][d] in candidate.whole for d in roles.batch):
            return "a batch of products is reduced and used again, and L0 holds one product at a time"
    return None


def _accumulator_fits(candidate: GroupCandidate) -> str | None:
    """Rows or columns of a product that have to be whole fit the memories of the cube, and UB."""
    for op in candidate.contractions if candidate.whole else ():
        needs = _whole_tile(op, candidate.classes.class_of, candidate.whole, candidate.target)
        for space, needed in needs.items():
            if needed > candidate.target.capacity(space):
                return (
                    f"rows or columns of the product have to be whole, which takes {needed} bytes of {space}; "
                    f"there are {candidate.target.capacity(space)}"
                )
    return None


def _broadcast_fits_ub(candidate: GroupCandidate) -> str | None:
    """The loops of a product are tiled; dims along which its result is broadcast have to be whole in UB."""
    classes = candidate.classes
    own = {c for contraction in candidate.contractions for c in classes.class_of[contraction.key]}
    if candidate.contractions:
        beside = {c.id for c in classes.classes if c.id not in own and c.extent > 1}
        if not beside:
            return None
        needed, capacity = (
            footprint(candidate, beside | candidate.whole, fill_lanes=False),
            candidate.target.ub,
        )
        if needed > capacity:
            return (
                f"the product's result is broadcast along dims that have to be whole, which takes {needed} bytes "
                f"of ub; there are {capacity}"
            )
    return None


Rule = Callable[[GroupCandidate], str | None]

RULES: dict[str, Rule] = {
    "one-contraction": _one_contraction,
    "contraction-first": _contraction_first,
    "depends-on-contraction": _depends_on_contraction,
    "one-core": _one_core,
    "parallel-class": _parallel_class,
    "rows-fit-ub": _rows_fit_ub,
    "batch-is-not-whole": _batch_is_not_whole,
    "accumulator-fits": _accumulator_fits,
    "broadcast-fits-ub": _broadcast_fits_ub,
}
"""The rules by name, in the order in which they are asked; before them all, "size" and "one-loop-nest"."""


# ---- sizes ----------------------------------------------------------------------------------------------------------


def footprint(candidate: GroupCandidate, whole: set[int] | None = None, *, fill_lanes: bool = True) -> int:
    """Bytes of UB that f32 tiles of all values of the group need when the innermost parallel dims of values that have
    to be whole along others fill the vector unit, or, without `fill_lanes`, are 1.

    Rows that are whole fill it themselves: the statistics of a layer norm, one for each row, need no 64 rows.

    `whole` are the classes whose extents are whole, those of the candidate if none are given. Operands from outside
    count twice, for their two slots.
    """
    classes, target = candidate.classes, candidate.target
    whole = candidate.whole if whole is None else whole
    sizes = {c.id: c.extent if c.id in whole else 1 for c in classes.classes}
    for op in candidate.group if fill_lanes else ():
        of = classes.class_of[op.key]
        for value in ([of[d] for d in op.result], *(_classes(map_, of) for map_ in op.maps)):
            if value and whole & set(value) and classes.classes[value[-1]].kind is DimKind.PAR:
                sizes[value[-1]] = min(classes.classes[value[-1]].extent, target.vector_bytes // 4)
    total = 0
    for op in candidate.group:
        of = classes.class_of[op.key]
        total += _elements([sizes[of[d]] for d in op.result])
        for key, map_ in zip(op.operands, op.maps, strict=True):
            if key not in candidate.inside:
                total += 2 * _elements([_box(expr, [sizes[c] for c in of], op) for expr in map_])
    return 4 * total


def _classes(map_: Sequence[Linear], of: Sequence[int]) -> list[int]:
    """The classes that index an operand, the innermost last."""
    return [of[d] for expr in map_ for d in expr.dims()]


def _elements(shape: Sequence[int]) -> int:
    """Elements of a tile whose rows are padded as those of f32 are."""
    return math.prod(shape[:-1]) * round_up(shape[-1], tile.ROW_ALIGNMENT // 4) if shape else 1


def _box(expr: Linear, sizes: Sequence[int], op: LoopNestOp) -> int:
    """Extent of the coordinates that an expression takes over a tile; windows are read whole."""
    window = len(expr.dims()) > 1
    full = [op.extents[d] if window and op.reduction[d] else size for d, size in enumerate(sizes)]
    return 1 + sum(abs(expr.coefficients[d]) * (full[d] - 1) for d in expr.dims())


def _whole_tile(
    op: LoopNestOp, of: dict[Hashable, tuple[int, ...]], whole: set[int], target: Target
) -> dict[str, int]:
    """Bytes by memory of the smallest tile of a product, some of whose classes have to be whole."""
    roles = contraction_roles(op)
    assert roles is not None
    sides = [math.prod(op.extents[d] for d in dims if of[op.key][d] in whole) for dims in (roles.m, roles.n)]
    rows, columns = round_up(sides[0], target.cube_m), round_up(sides[1], target.cube_n)
    # A step of any type in each of two slots.
    chunk = 2 * target.cube.k_bytes
    return {
        "l0c": ACCUMULATOR * rows * columns,
        "l0a": rows * chunk,
        "l0b": columns * chunk,
        "ub": 4 * sides[0] * sides[1] * 3,
    }
