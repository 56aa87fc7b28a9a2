"""Is one instruction known to complete before another starts? Paths over edges and in-order pipes.

Within a block, iterations are told apart as `NOW`, `NEXT` and `REUSE` (the next use of the slot in question, which
may be `NEXT`, unless the slot is known to change): a forward edge stays in its iteration, an unslotted back edge leads
from `NOW` to `NEXT`, a slotted one with the slot value in question from `NOW` to `REUSE`, and along a pipe, `NOW` comes
before both and `NEXT` not after `REUSE`. A loop that is known to run is crossed over the forward edges of its body; one
that is known to run more often than a back edge has ids is also crossed over that, since the flags of one iteration are
then waited for in another.

Between instructions in different blocks, a path leads out of the blocks around the first, through their innermost
common block, and into the blocks around the second:

    load x            MTE2          |  on MTE2, to the loop
    for i:                          v
      load y[i]       MTE2          |  on MTE2, to the set in the loop
      set, wait MTE2 -> V           v
      add y[i], x     V                so this needs no flag for x

Out of blocks and into them, forward edges count, since the iteration may be the last or the first. So do the sets
before and the waits after the outermost loop that belong to back edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from npu_mlir.analysis.sync_edges import Edge, SlotKey

NOW, NEXT, REUSE = 0, 1, 2

State = tuple[str, int]
"""A pipe in an iteration."""

Edges = frozenset[Edge]


class PathPlace(NamedTuple):
    """Where an access stands: the (block, item) pairs from the kernel down, and the pipe."""

    path: tuple[tuple[int, int], ...]
    pipe: str


class PathStep(NamedTuple):
    """From a point on one pipe to a point on another: an edge, or None for what a nested item does."""

    src: str
    dst: str
    start: int
    end: int
    back: bool
    slot: SlotKey | None
    edge: Edge | None


def step_of(edge: Edge) -> PathStep:
    """The edge as a step."""
    return PathStep(edge.src, edge.dst, edge.set_point, edge.wait_point, edge.back, edge.slot, edge)


class _Search:
    """Earliest points reached on each pipe and iteration up to `last`, and over which steps."""

    def __init__(self, last: int, edge: Edge | None = None):
        self.last = last
        self.slot = None if edge is None else edge.slot
        self.changing = edge is not None and edge.changing
        self.best: dict[State, int] = {}
        self.via: dict[State, tuple[State | None, Edge | None]] = {}
        self.work: list[State] = []

    def reach(self, pipe: str, iteration: int, point: int, came: State | None, edge: Edge | None) -> None:
        """Note that `point` is reached, and with it the later iterations of the pipe that count."""
        state = (pipe, iteration)
        if iteration > self.last or self.best.get(state, point + 1) <= point:
            return
        self.best[state] = point
        self.via[state] = (came, edge)
        self.work.append(state)
        if iteration == NOW:
            self.reach(pipe, NEXT, 0, state, None)
        elif iteration == NEXT:
            self.reach(pipe, REUSE, 0 if self.changing else point, state, None)

    def follow(self, state: State, step: PathStep) -> None:
        """Take a step if it starts no earlier than where the pipe was reached."""
        pipe, iteration = state
        if step.src != pipe or step.start < self.best[state]:
            return
        if not step.back:
            self.reach(step.dst, iteration, step.end, state, step.edge)
        elif iteration == NOW and step.slot is None:
            self.reach(step.dst, NEXT, step.end, state, step.edge)
        elif iteration == NOW and step.slot == self.slot:
            self.reach(step.dst, REUSE, step.end, state, step.edge)

    def run(
        self, sources: Mapping[str, int], steps: Sequence[PathStep], goal: tuple[str, int] | None = None
    ) -> bool:
        """Go on until the goal, a pipe and a point on it, is reached in the last iteration; whether it is."""
        for pipe, point in sources.items():
            self.reach(pipe, NOW, point, None, None)
        while self.work:
            if goal is not None and self.reached(*goal):
                return True
            state = self.work.pop()
            for step in steps:
                self.follow(state, step)
        return goal is not None and self.reached(*goal)

    def reached(self, pipe: str, point: int) -> bool:
        """Whether a pipe is reached in the last iteration, at a point at the latest."""
        return self.best.get((pipe, self.last), point + 1) <= point

    def edges(self, pipe: str) -> Edges:
        """The edges on the way to a pipe in the last iteration."""
        used: set[Edge] = set()
        state: State | None = (pipe, self.last)
        while state is not None:
            state, edge = self.via[state]
            if edge is not None:
                used.add(edge)
        return frozenset(used)


def _later(edge: Edge) -> int:
    """The iteration that an edge's id is used in next."""
    return NEXT if edge.slot is None else REUSE


def path(edge: Edge, steps: Sequence[PathStep]) -> Edges | None:
    """The edges on a path from the set of an edge to its wait; None without one."""
    search = _Search(_later(edge) if edge.back else NOW, edge)
    found = search.run({edge.src: edge.set_point}, steps, (edge.dst, edge.wait_point))
    return search.edges(edge.dst) if found else None


def return_path(edge: Edge, steps: Sequence[PathStep]) -> Edges | None:
    """The edges on a path from the wait of an edge to the next set of its id; None without one."""
    search = _Search(NOW if edge.back else _later(edge), edge)
    found = search.run({edge.dst: edge.wait_point}, steps, (edge.src, edge.set_point))
    return search.edges(edge.src) if found else None


@dataclass(frozen=True)
class Inside:
    """A nested item: the numbers of its blocks, whether it is a loop, and how often that runs at least."""

    blocks: tuple[int, ...]
    loop: bool
    runs: int


@dataclass
class LoopTree:
    """The blocks of a kernel, and the edges of those that are done."""

    in_loop: Sequence[bool]
    nested: Sequence[Mapping[int, Inside]]
    """The nested items of each block."""
    surrounded: bool = True
    """Whether every back edge has its sets before the outermost loop, and its waits after it."""
    edges: dict[int, list[Edge]] = field(default_factory=dict[int, list[Edge]])
    _crossings: dict[int, list[PathStep]] = field(default_factory=dict[int, list[PathStep]])

    def crossings(self, block: int) -> list[PathStep]:
        """The steps over the nested items of a block."""
        if block not in self._crossings:
            found = {(*pair, i) for i in self.nested[block] for pair in self._crossed(block, i)}
            self._crossings[block] = [
                PathStep(src, dst, 2 * i, 2 * i + 1, False, None, None) for src, dst, i in sorted(found)
            ]
        return self._crossings[block]

    def _crossed(self, block: int, item: int) -> Iterator[tuple[str, str]]:
        inside = self.nested[block][item]
        if self.surrounded and inside.loop and not self.in_loop[block]:
            yield from (e.pair for e in self._edges_within(inside) if e.back)
        if inside.runs:
            (body,) = inside.blocks
            for src in {step.src for step in self._steps(body)}:
                yield from ((src, dst) for dst in self._run_through(src, body, inside.runs) if dst != src)

    def _run_through(self, src: str, body: int, runs: int) -> Iterator[str]:
        """The pipes that follow, behind a loop, what `src` did before it."""
        best = self._closure({src: 0}, body)
        yield from (pipe for pipe, _ in best)
        for e in self.edges.get(body, ()):
            if e.back and e.ids < runs and best.get((e.src, NOW), e.set_point + 1) <= e.set_point:
                yield from (pipe for pipe, _ in self._closure({e.dst: e.wait_point}, body))

    def _edges_within(self, inside: Inside) -> Iterator[Edge]:
        for block in inside.blocks:
            yield from self.edges.get(block, ())
            for deeper in self.nested[block].values():
                yield from self._edges_within(deeper)

    def _steps(self, block: int) -> list[PathStep]:
        return [*map(step_of, self.edges.get(block, ())), *self.crossings(block)]

    def _closure(self, sources: Mapping[str, int], block: int) -> dict[State, int]:
        """The pipes reached within one iteration of a block, and where."""
        search = _Search(NOW)
        search.run(sources, self._steps(block))
        return search.best

    def path(
        self, edge: Edge, first: PathPlace, second: PathPlace, steps: Sequence[PathStep]
    ) -> Edges | None:
        """The edges of the common block, whose steps these are, on paths from an instruction to another that `edge`
        orders; None without any."""
        depth = fork(first, second)
        search = _Search(_later(edge) if edge.back else NOW, edge)
        search.run(self._leave(first, depth), steps)
        item = second.path[depth][1]
        entered = {pipe for pipe, _ in search.best if search.reached(pipe, 2 * item)}
        if second.pipe not in self._enter(entered, second, depth):
            return None
        return frozenset[Edge]().union(*(search.edges(pipe) for pipe in entered))

    def _leave(self, place: PathPlace, depth: int) -> dict[str, int]:
        """The pipes that follow an instruction in the block at `depth`, and from where on."""
        sources = {place.pipe: 2 * place.path[-1][1] + 1}
        waited: set[str] = set()
        for level in range(len(place.path) - 1, depth, -1):
            block, (parent, around) = place.path[level][0], place.path[level - 1]
            best = self._closure(sources, block)
            for e in self.edges.get(block, ()):
                if self.surrounded and e.back and best.get((e.src, NOW), e.set_point + 1) <= e.set_point:
                    waited.add(e.dst)
            left = {pipe for pipe, _ in best}
            if not self.in_loop[parent]:
                left |= waited
            sources = dict.fromkeys(left, 2 * around + 1)
        return sources

    def _enter(self, pipes: set[str], place: PathPlace, depth: int) -> set[str]:
        """The pipes that precede an instruction, of those that follow others in the block at `depth` and so on."""
        arrived, before = pipes, set[str]()
        for (parent, _), (block, item) in pairwise(place.path[depth:]):
            if not self.in_loop[parent]:
                before = arrived
            sources = dict.fromkeys(arrived, 0)
            for e in self.edges.get(block, ()):
                if self.surrounded and e.back and e.src in before:
                    sources[e.dst] = min(sources.get(e.dst, e.wait_point), e.wait_point)
            best = self._closure(sources, block)
            arrived = {pipe for (pipe, _), point in best.items() if point <= 2 * item}
        return arrived


def fork(first: PathPlace, second: PathPlace) -> int:
    """The depth at which two paths part; in different blocks there, the two exclude each other."""
    pairs = zip(first.path, second.path, strict=False)
    return next(i for i, (a, b) in enumerate(pairs) if a != b)
