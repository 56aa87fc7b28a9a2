"""The sizes that a schedule gives to the dimension classes of a kernel, checked against the kernel."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from npu_mlir.analysis.dims import DimClass, DimKind
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.dialects import tile
from npu_mlir.passes.tile.kernel import Kernel, exact_classes, linked_classes
from npu_mlir.support.diagnostics import UserError


@dataclass(frozen=True)
class KernelSizes:
    """Sizes by class number."""

    tile: tuple[int, ...]
    """In the outer loops (parallel classes), or of a chunk that is brought on chip (the others)."""
    chunk: tuple[int, ...]
    """What of a contraction's summed classes is in L0; elsewhere the tile."""
    piece: tuple[int, ...]
    """What of a contraction's accumulators passes through UB at once; elsewhere the tile."""
    linked: Mapping[Hashable, Link] = field(default_factory=dict[Hashable, "Link"])
    """For contractions that read what the kernel makes, by their keys."""

    def chunks(self, contraction: Hashable, c: int) -> tuple[int, int]:
        """What of a class is summed at once in a contraction: what is brought to L1, what is in L0."""
        link = self.linked.get(contraction)
        if link is not None and c in link.chunks:
            return link.chunks[c]
        return self.tile[c], self.chunk[c]


@dataclass(frozen=True)
class Link:
    """How a contraction reads what the kernel makes."""

    chunks: Mapping[int, tuple[int, int]]
    """What of the classes that it reads it along is summed at once: of the other operand in L1, in L0."""
    per_tile: bool = False
    """It is made chunk by chunk, as the contraction reads it, not whole before."""


@dataclass(frozen=True)
class _Roles:
    """The classes of a kernel by what a contraction does with them."""

    batch: frozenset[int] = frozenset()
    rows_and_columns: frozenset[int] = frozenset()
    summed: frozenset[int] = frozenset()
    exact: frozenset[int] = frozenset()
    """Those of `summed` whose chunks have to divide them."""

    @property
    def all(self) -> frozenset[int]:
        return self.batch | self.rows_and_columns | self.summed


def _roles(kernel: Kernel) -> _Roles:
    result = _Roles()
    for compute in kernel.contractions:
        of, roles = kernel.classes.class_of[compute.key], contraction_roles(compute)
        assert roles is not None
        linked = set(linked_classes(kernel, compute))
        result = _Roles(
            result.batch | {of[d] for d in roles.batch},
            result.rows_and_columns | {of[d] for d in (*roles.m, *roles.n)},
            result.summed | ({of[d] for d in roles.k} - linked),
            result.exact | (exact_classes(kernel, compute) - linked),
        )
    return result


def levels_of(kernel: Kernel, sizes: KernelSizes) -> dict[str, list[int]]:
    """The lists of a schedule that give these sizes; 0 where a class is not cut further, none where none is."""
    roles = _roles(kernel)
    count = len(kernel.classes.classes)
    at = [(c, sizes.tile[c], sizes.chunk[c], sizes.piece[c]) for c in range(count)]
    lists = {
        "l1": [size if c in roles.all else 0 for c, size, _, _ in at],
        "l0": [chunk if c in roles.summed and chunk < size else 0 for c, size, chunk, _ in at],
        "ub": [
            size if c not in roles.all else piece if c in roles.rows_and_columns and piece < size else 0
            for c, size, _, piece in at
        ],
    }
    return {level: values for level, values in lists.items() if any(values)}


def ops_of(kernel: Kernel, sizes: KernelSizes) -> dict[int, dict[str, list[int] | str]]:
    """The entries of single operations that give these sizes."""
    count, found = len(kernel.classes.classes), dict[int, dict[str, list[int] | str]]()
    for position, key in enumerate(kernel.computes):
        link = sizes.linked.get(key)
        if link is None:
            continue
        l1, l0 = [0] * count, [0] * count
        for c, (chunk, inner) in link.chunks.items():
            l1[c], l0[c] = chunk, inner if inner < chunk else 0
        found[position] = {"l1": l1}
        if any(l0):
            found[position]["l0"] = l0
        if link.per_tile:
            found[position]["via"] = "tile"
    return found


def kernel_sizes(kernel: Kernel, schedule: tile.ScheduleAttr) -> KernelSizes:
    """The sizes that a schedule gives to a kernel. Raises UserError if they are not for this kernel, or don't fit
    each other."""
    roles = _roles(kernel)
    lists = {level: _list(kernel, schedule, level) for level in tile.SIZE_LEVELS}
    for c in kernel.classes.classes:
        _check_levels(kernel, c, roles, {level: values[c.id] for level, values in lists.items()})
    own = [lists["l1" if c.id in roles.all else "ub"][c.id] or c.extent for c in kernel.classes.classes]
    cut = [(lists["l0"][c] if c in roles.summed else 0) or size for c, size in enumerate(own)]
    piece = [(lists["ub"][c] if c in roles.all else 0) or size for c, size in enumerate(own)]
    sizes = KernelSizes(tuple(own), tuple(cut), tuple(piece), _links(kernel, schedule, own))
    for c in kernel.classes.classes:
        _check_class(kernel, c, roles, sizes)
    _check_order(kernel, schedule.order, sizes)
    return sizes


def _list(kernel: Kernel, schedule: tile.ScheduleAttr, level: str) -> list[int]:
    """The sizes of a level, with those of single operations in their places."""
    count = len(kernel.classes.classes)
    sizes = list(schedule.sizes(level)) or [0] * count
    own_sizes = {op: own[level] for op, own in schedule.own_sizes.items() if level in own}
    for given in (sizes, *own_sizes.values()):
        if len(given) != count:
            raise UserError(
                f"the schedule must give '{level}' for {count} dimension classes, got {len(given)}",
                loc=kernel.op,
            )
    for op, own in own_sizes.items():
        mine = _classes_of(kernel, op)
        for c, size in enumerate(own):
            if not size or size == sizes[c] or (c in mine and c in _linked_at(kernel, op)):
                continue
            if c not in mine:
                raise UserError(
                    f"operation {op} has no class {c}, for which the schedule gives it a size", loc=kernel.op
                )
            if sum(c in of for of in kernel.classes.class_of.values()) > 1:
                raise UserError(
                    f"class {c} is looped over for several operations at once: operation {op} can't have a size "
                    "of its own",
                    loc=kernel.op,
                )
            sizes[c] = size
    return sizes


def _linked_at(kernel: Kernel, op: int) -> Sequence[int]:
    """The classes along which the operation at a position reads what the kernel makes, if it is a contraction."""
    compute = list(kernel.computes.values())[op]
    return linked_classes(kernel, compute) if compute.contraction else ()


def _links(kernel: Kernel, schedule: tile.ScheduleAttr, tiles: Sequence[int]) -> dict[Hashable, Link]:
    """How contractions read what the kernel makes."""
    found: dict[Hashable, Link] = {}
    for op, (key, compute) in enumerate(kernel.computes.items()):
        linked = linked_classes(kernel, compute) if compute.contraction else ()
        per_tile = schedule.via(op) == "tile"
        if not linked:
            if per_tile:
                raise UserError(
                    f"operation {op} reads nothing that the kernel makes: it has no 'via'", loc=kernel.op
                )
            continue
        chunks: dict[int, tuple[int, int]] = {}
        for c in linked:
            extent = kernel.classes.classes[c].extent
            own = {
                level: sizes[c] if sizes else 0
                for level in ("l1", "l0")
                for sizes in (schedule.sizes(level, op),)
            }
            chunk = own["l1"] or (tiles[c] if per_tile else extent)
            inner = own["l0"] or chunk
            where = f"operation {op}, class {c}:"
            if extent % chunk or chunk % inner:
                raise UserError(
                    f"{where} 'l1' has to divide {extent}, which the kernel makes, and 'l0' has to divide 'l1', got "
                    f"{chunk} and {inner}",
                    loc=kernel.op,
                )
            if per_tile and chunk != tiles[c]:
                raise UserError(
                    f"{where} with via = tile, 'l1' is the tile that the kernel makes, {tiles[c]}, got {chunk}",
                    loc=kernel.op,
                )
            chunks[c] = chunk, inner
        found[key] = Link(chunks, per_tile)
    return found


def _classes_of(kernel: Kernel, op: int) -> Sequence[int]:
    """The classes of the operation at a position."""
    if op >= len(kernel.computes):
        raise UserError(
            f"the schedule has sizes for operation {op}, the kernel has {len(kernel.computes)}", loc=kernel.op
        )
    return kernel.classes.class_of[list(kernel.computes)[op]]


def _check_levels(kernel: Kernel, c: DimClass, roles: _Roles, sizes: dict[str, int]) -> None:
    """A class has a size only where it is cut."""
    wrong = None
    if c.id not in roles.all and (sizes["l1"] or sizes["l0"]):
        wrong = "is no loop of a matrix product: it has a size in 'ub' only"
    elif c.id in roles.all - roles.summed and sizes["l0"]:
        wrong = "is not summed: 'l0' can't cut it"
    elif c.id in roles.all - roles.rows_and_columns and sizes["ub"]:
        wrong = "is no row or column of the accumulators: 'ub' can't cut it"
    if wrong is not None:
        raise UserError(f"class {c.id} {wrong}", loc=kernel.op)


def _check_class(kernel: Kernel, c: DimClass, roles: _Roles, sizes: KernelSizes) -> None:
    size = sizes.tile[c.id]
    wrong = None
    for level, inner in (("l0", sizes.chunk[c.id]), ("ub", sizes.piece[c.id])):
        if inner > size:
            wrong = f"'{level}' can't be more than 'l1', got {inner} and {size}"
        elif size % inner:
            wrong = f"'{level}' has to divide 'l1', got {inner} and {size}"
    if wrong is None and c.kind is DimKind.MIXED and not size == sizes.piece[c.id] == c.extent:
        wrong = f"it is reduced and used again, so it has to be whole, {c.extent}"
    if wrong is None and c.kind is DimKind.LINK and c.extent % size:
        wrong = f"a later product sums it: its tile has to divide {c.extent}, got {size}"
    if wrong is None and c.id in roles.batch and size != 1:
        wrong = f"it is a batch of matrix products: its tile must be 1, got {size}"
    if wrong is None and c.id in roles.exact and c.extent % size:
        wrong = f"it is a sum over a part of an operand: its tile has to divide {c.extent}, got {size}"
    if wrong is not None:
        raise UserError(f"class {c.id}: {wrong}", loc=kernel.op)


def _check_order(kernel: Kernel, order: Sequence[int], sizes: KernelSizes) -> None:
    classes = kernel.classes.classes
    cut = {c.id for c in classes if sizes.tile[c.id] < c.extent}
    looped = {c.id for c in classes if c.kind is DimKind.PAR} & cut
    for c in order:
        if c >= len(classes):
            raise UserError(f"the order names class {c}, the kernel has {len(classes)}", loc=kernel.op)
        if c in cut - looped:
            raise UserError(f"the order names class {c}, which is summed: it is no outer loop", loc=kernel.op)
    if not looped <= set(order):
        raise UserError(f"the order must name the tiled parallel classes {sorted(looped)}", loc=kernel.op)
