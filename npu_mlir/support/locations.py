"""Where ops come from: the place in a file and the node of the model, and how new ops get to know it.

A location is `loc("conv1"("in.mlir":3:8))`: a node, and a place if the model was text. Ops of the levels graph and
linalg have the name of the node in an attribute as well (`npu.node`), which plain text keeps; ops in kernels have only
the location, since equal kernels of several nodes are one.

xDSL leaves ops that a pass makes without a location. Two mechanisms give them one:

- while a pass runs, every `PatternRewriter` hands on the location and the node of the op that it matched
  (`kept_by_patterns`), whichever walker the pass uses;
- a pass that builds ops by hand says for which op it does: all that is made inside `with located(op):` has the
  location of `op`, wherever it is made.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation, core
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from npu_mlir.support.node_names import joined, parts

PROVENANCE = "npu.node"


def node_of(op: Operation) -> str | None:
    """The node of the model that an op comes from, or several (see `node_names`); None if nothing says so."""
    name = op.attributes.get(PROVENANCE)
    return name.data if isinstance(name, StringAttr) else joined(_names(op.location)) or None


def closest_node(op: Operation) -> str | None:
    """The node that an op, or the closest one around it that knows, comes from."""
    around: Operation | None = op
    while around is not None:
        node = node_of(around)
        if node is not None:
            return node
        around = around.parent_op()
    return None


def _names(location: Attribute) -> list[str]:
    """The names in a location; those inside of a named one are what it was called before."""
    if isinstance(location, NameLoc):
        return parts(location.desc.data)
    if isinstance(location, CallSiteLoc):
        return _names(location.callee) or _names(location.caller)
    if isinstance(location, FusedLoc) and isinstance(location.locations, ArrayAttr):
        return [name for part in location.locations for name in _names(part)]
    return []


def origin(op: Operation) -> LocationAttr:
    """The location of an op, with the node that its attribute names."""
    name = op.attributes.get(PROVENANCE)
    return _named(name, op.location) if isinstance(name, StringAttr) else op.location


@lru_cache(4096)
def _named(name: StringAttr, location: LocationAttr) -> LocationAttr:
    if name.data == joined(_names(location)):
        return location
    inner = location.location if isinstance(location, NameLoc) else location
    return NameLoc(name, NoneAttr() if isinstance(inner, UnknownLoc) else inner)


def fused(*ops: Operation) -> LocationAttr:
    """The location of an op that stands for several."""
    known = list(dict.fromkeys(loc for op in ops if not isinstance(loc := origin(op), UnknownLoc)))
    if len(known) < 2:
        return known[0] if known else UNKNOWN_LOC
    return FusedLoc(ArrayAttr[Attribute](known), NoneAttr())


def located(op: Operation) -> _Located:
    """Within, ops that are made without a location have that of `op`, or if it has none, what they had around.
    Clones have the location of what they are cloned from.

    >>> from xdsl.dialects.builtin import ModuleOp
    >>> from xdsl.dialects.test import TestOp
    >>> source = TestOp(attributes={"npu.node": StringAttr("conv1")})
    >>> with located(source):
    ...     module = ModuleOp([])
    >>> print(module.location)
    loc("conv1")
    """
    return _Located(origin(op))


class _Located:
    """See `located`: answers in place of xDSL when an op asks for the location that it has by default."""

    __slots__ = ("_location", "_outer")

    def __init__(self, location: LocationAttr):
        self._location = location

    def __enter__(self) -> None:
        self._outer = core._unknown_loc  # pyright: ignore[reportPrivateUsage]
        if not isinstance(self._location, UnknownLoc):
            core._unknown_loc = self._default  # pyright: ignore[reportPrivateUsage]

    def __exit__(self, *_: object) -> None:
        core._unknown_loc = self._outer  # pyright: ignore[reportPrivateUsage]

    def _default(self) -> LocationAttr:
        return self._location


def inherit_location(new: Operation, old: Operation) -> None:
    """Give `new`, and all in it, what it doesn't know about where it comes from."""
    name = old.attributes.get(PROVENANCE)
    if name is not None:
        new.attributes.setdefault(PROVENANCE, name)
    fill_locations(new, origin(old))


def hand_down(op: Operation) -> None:
    """Tell what is in an op which node it comes from, before they part."""
    name, location = op.attributes.get(PROVENANCE), origin(op)
    for inner in op.walk():
        if isinstance(inner.location, UnknownLoc):
            inner.location = location
        elif inner is not op and isinstance(name, StringAttr) and not _names(inner.location):
            inner.location = _named(name, inner.location)


def fill_locations(op: Operation, location: LocationAttr) -> None:
    """Give an op, and all in it, a location where it has none."""
    if isinstance(location, UnknownLoc):
        return
    for inner in op.walk():
        if isinstance(inner.location, UnknownLoc):
            inner.location = location


@contextmanager
def kept_by_patterns() -> Generator[None]:
    """Within, ops that a `PatternRewriter` inserts inherit the location of the op that it matched."""
    insert = PatternRewriter.insert

    def insert_located(
        self: PatternRewriter, op: Operation | Sequence[Operation], insertion_point: InsertPoint | None = None
    ) -> Operation | Sequence[Operation]:
        inserted = insert(self, op, insertion_point)  # pyright: ignore[reportArgumentType]
        matched = self._current_operation  # pyright: ignore[reportPrivateUsage]
        if matched is not None:
            for new in (op,) if isinstance(op, Operation) else op:
                inherit_location(new, matched)
        return inserted

    PatternRewriter.insert = insert_located  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        PatternRewriter.insert = insert
