"""The loop nest that a tiler builds: frames, positions, and where a value is made."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue


@dataclass(frozen=True)
class Position:
    """Where a class stands: the sum of `terms` is the start, `size` the extent of the tile."""

    terms: tuple[SSAValue, ...]
    size: int


@dataclass
class Frame:
    """A block being filled: the positions that hold in it and the tiles already made in it."""

    block: Block
    position: dict[int, Position]
    made: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])
    loop: Operation | None = None
    """The loop in this block that is being filled: what belongs to this block goes before it."""

    def emit(self, op: Operation) -> None:
        """Append an operation, before the loop that is being filled."""
        if self.loop is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.loop)


class LoopNest:
    """A body under construction: a stack of frames, the innermost last."""

    def __init__(self, arg_types: Sequence[Attribute], start: dict[int, Position]):
        self.block = Block(arg_types=arg_types)
        self.frames = [Frame(self.block, start)]
        self.constants: dict[int, SSAValue] = {}

    @property
    def here(self) -> Frame:
        """The innermost frame."""
        return self.frames[-1]

    def constant(self, value: int) -> SSAValue:
        """An index constant, made once at the start of the body."""
        if value not in self.constants:
            op = arith.ConstantOp(IntegerAttr(value, IndexType()))
            first = self.block.first_op
            if first is None:
                self.block.add_op(op)
            else:
                self.block.insert_op_before(op, first)
            self.constants[value] = op.result
        return self.constants[value]

    @contextmanager
    def loops(self, classes: Sequence[int], bounds: Callable[[int], tuple[int, int]]) -> Generator[None]:
        """Nested loops over classes, `bounds` giving (extent, step) of each."""
        if not classes:
            yield
            return
        extent, step = bounds(classes[0])
        with self.loop(classes[0], extent, step), self.loops(classes[1:], bounds):
            yield

    @contextmanager
    def loop(self, c: int, extent: int, step: int, carried: SSAValue | None = None) -> Generator[scf.ForOp]:
        """A loop over a class, from its present position on; with a carried value, which the body has to yield."""
        args = [] if carried is None else [carried]
        body = Block(arg_types=[IndexType(), *(a.type for a in args)])
        loop = scf.ForOp(self.constant(0), self.constant(extent), self.constant(step), args, Region(body))
        parent = self.here
        parent.emit(loop)
        outer, parent.loop = parent.loop, loop
        terms = (*parent.position[c].terms, body.args[0])
        self.frames.append(Frame(body, parent.position | {c: Position(terms, step)}))
        yield loop
        if carried is None:
            body.add_op(scf.YieldOp())
        self.frames.pop()
        parent.loop = outer

    @contextmanager
    def at(self, position: dict[int, Position]) -> Generator[None]:
        """The same place in the same block at another position."""
        here = self.here
        self.frames.append(Frame(here.block, here.position | position, loop=here.loop))
        yield
        self.frames.pop()

    @contextmanager
    def hoisted(self, classes: set[int]) -> Generator[None]:
        """The outermost frame in which these classes stand where they stand now."""
        now = self.here.position
        depth = next(
            i for i, frame in enumerate(self.frames) if all(frame.position[c] == now[c] for c in classes)
        )
        saved, self.frames = self.frames, self.frames[: depth + 1]
        yield
        self.frames = saved

    def memo(self, key: object, classes: set[int], make: Callable[[], SSAValue]) -> SSAValue:
        """The tile called `key`, which depends on the positions of `classes`, made as far outside as possible."""
        with self.hoisted(classes):
            if key not in self.here.made:
                self.here.made[key] = make()
            return self.here.made[key]

    def size(self, c: int) -> int:
        """How many elements of a class the current tile has."""
        return self.here.position[c].size

    def start(self, c: int) -> tuple[SSAValue, ...]:
        """The index values whose sum is where the current tile of a class starts."""
        return self.here.position[c].terms
