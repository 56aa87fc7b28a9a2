"""Contractions of a tiled kernel: loops over K, matrices in L0A and L0B, the accumulator and its pieces in UB, and what
the vector unit makes of them for a later contraction, in L1."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineMap

from npu_mlir.analysis.affine_maps import Linear, affine_expression, linear_map
from npu_mlir.analysis.dims import DimKind, LoopNestOp
from npu_mlir.analysis.structured.bodies import body_ops
from npu_mlir.analysis.structured.nest import init_of
from npu_mlir.analysis.structured.roles import Contraction, contraction_roles
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, place
from npu_mlir.passes.tile.kernel import Kernel, contractions_behind
from npu_mlir.passes.tile.kernel_sizes import KernelSizes
from npu_mlir.passes.tile.tiler.loops import Position
from npu_mlir.passes.tile.tiler.operands import OperandTiler, Tensor
from npu_mlir.support.locations import located
from npu_mlir.targets.target import Target


@dataclass(frozen=True)
class _Panel:
    """An operand of a contraction in L1: the map from the contraction's loop dims to it, and where the classes stood
    where it was made."""

    value: SSAValue
    map: AffineMap
    position: Mapping[int, Position]


@dataclass(frozen=True)
class _Home:
    """Where the accumulators of a contraction are made: the number of frames, and where the classes stand there."""

    depth: int
    position: Mapping[int, Position]


class ContractionTiler(OperandTiler):
    """Makes the accumulators of contractions, and brings pieces of them to UB."""

    def __init__(self, kernel: Kernel, sizes: KernelSizes, order: Sequence[int], target: Target):
        super().__init__(kernel, sizes, target)
        self.order = [c for c in order if sizes.tile[c] < self.classes.classes[c].extent]
        self._homes: dict[Hashable, _Home] = {}

    def settle(self, compute: LoopNestOp) -> None:
        """Make the accumulators of a contraction here: outside of the loops over their pieces that follow."""
        self._homes[compute.key] = _Home(len(self.frames), self.here.position)
        self.accumulator(compute)

    def roles(self, compute: LoopNestOp) -> Contraction:
        """The roles of the contraction, by class."""
        roles = contraction_roles(compute)
        assert roles is not None
        of = self.classes.class_of[compute.key]
        return replace(
            roles, **{f: tuple(of[d] for d in getattr(roles, f)) for f in ("batch", "m", "n", "k")}
        )

    def accumulator(self, compute: LoopNestOp) -> SSAValue:
        """The result of a contraction for the current tile, in L0C: rows, then columns."""
        roles = self.roles(compute)

        def make() -> SSAValue:
            for i in (0, 1) if not self._per_tile(compute) else ():
                # Made before the accumulators are: L0C is free for its own.
                self._made_panel(compute, i)
            shape = [self.size(c) for c in (*roles.m, *roles.n)]
            generic = cast("linalg.GenericOp", compute.key)
            empty = tensor.EmptyOp(
                [], place(shape, cast("Tensor", generic.results[0].type).element_type, Space.L0C)
            )
            self.here.emit(empty)
            init = init_of(generic)
            if isinstance(init, linalg.FillOp):
                start = self.fill(init, empty.tensor)
            else:
                row = self.kernel.computes[cast("linalg.GenericOp", generic.outputs[0].owner)]
                with located(cast("linalg.GenericOp", row.key)):
                    start = self._start_from_row(row, roles, empty.tensor)
            return self._k_loops(compute, roles, list(roles.k), start)

        with located(cast("linalg.GenericOp", compute.key)):
            return self.memo((compute.key, "accumulator"), {*roles.batch, *roles.m, *roles.n}, make)

    def _start_from_row(self, broadcast: LoopNestOp, roles: Contraction, acc: SSAValue) -> SSAValue:
        """The accumulators, each row of them a copy of the row that `broadcast` reads."""
        of = self.classes.class_of[broadcast.key]
        exprs = broadcast.maps[0]
        row = self.operand(broadcast, 0, Space.L1)[0]
        loops = [*roles.m, *roles.n]
        identity = AffineMap.identity(len(loops))
        picked = tuple(
            # Of a batch, there is one product in a tile.
            identity.results[loops.index(of[e.dims()[0]])]
            if e.dims() and of[e.dims()[0]] in loops
            else AffineConstantExpr(0)
            for e in exprs
        )
        body = Block(arg_types=[cast("Tensor", v.type).element_type for v in (row, acc)])
        value = body.args[0]
        for inner in body_ops(cast("linalg.GenericOp", broadcast.key)):
            copy = inner.clone()
            copy.operands[0] = value
            body.add_op(copy)
            value = copy.results[0]
        body.add_op(linalg.YieldOp(value))
        maps = [AffineMapAttr(AffineMap(len(loops), 0, picked)), AffineMapAttr(identity)]
        new = linalg.GenericOp([row], [acc], Region(body), maps, [_ITERATORS[0]] * len(loops), [acc.type])
        self.here.emit(new)
        return new.results[0]

    def fill(self, fill: linalg.FillOp, value: SSAValue) -> SSAValue:
        """A fill of `value` with the constant of another fill."""
        constant = cast("arith.ConstantOp", fill.inputs[0].owner).clone()
        self.here.emit(constant)
        new = linalg.FillOp([constant.result], [value], [value.type])
        self.here.emit(new)
        return new.results[0]

    def _k_loops(
        self, compute: LoopNestOp, roles: Contraction, rest: Sequence[int], acc: SSAValue
    ) -> SSAValue:
        """Loops over chunks of K that are brought to L1."""
        if not rest:
            panels = [self._panel(compute, i) for i in (0, 1)]
            return self._k0_loops(compute, roles, panels, list(roles.k), acc)
        c = rest[0]
        step = self.sizes.chunks(compute.key, c)[0]
        if step >= self.classes.classes[c].extent:
            with self.at({c: Position((), step)}):
                return self._k_loops(compute, roles, rest[1:], acc)
        with self.loop(c, self.classes.classes[c].extent, step, acc) as loop:
            inner = self._k_loops(compute, roles, rest[1:], loop.body.block.args[1])
            self.here.block.add_op(scf.YieldOp(inner))
        return loop.results[0]

    def _k0_loops(
        self,
        compute: LoopNestOp,
        roles: Contraction,
        panels: Sequence[_Panel],
        rest: Sequence[int],
        acc: SSAValue,
    ) -> SSAValue:
        """Loops over chunks of K that are brought from L1 to L0, and the multiplication of one chunk."""
        if not rest:
            return self._multiply(compute, roles, panels, acc)
        c = rest[0]
        step = self.sizes.chunks(compute.key, c)[1]
        if step == self.size(c):
            return self._k0_loops(compute, roles, panels, rest[1:], acc)
        with self.loop(c, self.size(c), step, acc) as loop:
            inner = self._k0_loops(compute, roles, panels, rest[1:], loop.body.block.args[1])
            self.here.block.add_op(scf.YieldOp(inner))
        return loop.results[0]

    def _multiply(
        self,
        compute: LoopNestOp,
        roles: Contraction,
        panels: Sequence[_Panel],
        acc: SSAValue,
    ) -> SSAValue:
        generic = cast("linalg.GenericOp", compute.key)
        order = (1, 0) if roles.swapped else (0, 1)
        dims = ((*roles.m, *roles.k), (*roles.k, *roles.n))
        fragments = [
            self._fragment(compute, roles, panels[side], dims[i], space)
            for i, (side, space) in enumerate(zip(order, (Space.L0A, Space.L0B), strict=True))
        ]
        loops = [*roles.m, *roles.n, *roles.k]
        maps = [
            AffineMap(
                len(loops), 0, tuple(AffineMap.identity(len(loops)).results[loops.index(c)] for c in group)
            )
            for group in (*dims, (*roles.m, *roles.n))
        ]
        parallel = len(roles.m) + len(roles.n)
        kinds = [_ITERATORS[i >= parallel] for i in range(len(loops))]
        # Both factors have one type, so exchanged operands need no other body.
        body = generic.body.clone()
        new = linalg.GenericOp(fragments, [acc], body, [AffineMapAttr(m) for m in maps], kinds, [acc.type])
        self.here.emit(new)
        return new.results[0]

    def _fragment(
        self,
        compute: LoopNestOp,
        roles: Contraction,
        panel: _Panel,
        dims: Sequence[int],
        space: Space,
    ) -> SSAValue:
        """The matrix with these dims, brought from a panel in L1 to L0."""
        of = self.classes.class_of[compute.key]
        exprs = linear_map(panel.map)
        assert exprs is not None
        # Both operands depend on all of K; what has moved since the panel was made is an offset in it.
        moved = {term: c for c in roles.k for term in self._since(c, panel.position)}
        results: list[Linear] = []
        for e in exprs:
            by_class = {of[d]: e.coefficients[d] for d in e.dims()}
            coefficients = [by_class.get(c, 0) for c in (*moved.values(), *dims)]
            results.append(Linear(tuple(coefficients), e.constant))
        shape = [self.size(c) for c in dims]
        type_ = place(shape, cast("Tensor", panel.value.type).element_type, space)
        full = AffineMap(len(moved) + len(dims), 0, tuple(affine_expression(r) for r in results))
        load = tile.LoadOp(panel.value, list(moved), full, type_)
        self.here.emit(load)
        return load.results[0]

    def _since(self, c: int, position: Mapping[int, Position]) -> tuple[SSAValue, ...]:
        """The index values by which a class has moved since it stood at a position."""
        return self.start(c)[len(position[c].terms) :]

    # ---- what the kernel makes for a contraction

    def _per_tile(self, compute: LoopNestOp) -> bool:
        link = self.sizes.linked.get(compute.key)
        return link is not None and link.per_tile

    def _panel(self, compute: LoopNestOp, index: int) -> _Panel:
        """Operand `index` of a contraction for the current chunk of K, in L1."""
        made = self._made_panel(compute, index)
        if made is not None:
            return made
        value, map_ = self.operand(compute, index, Space.L1)
        return _Panel(value, map_, self.here.position)

    def _made_panel(self, compute: LoopNestOp, index: int) -> _Panel | None:
        """Operand `index` of a contraction, if the kernel makes it: for all of K, or per tile for the current chunk."""
        generic = cast("linalg.GenericOp", compute.key)
        producer = self.kernel.computes.get(cast("Operation", generic.inputs[index].owner))
        if producer is None:
            return None
        map_ = generic.indexing_maps.data[index].data
        linked = self.sizes.linked[compute.key].chunks
        whole = {c: Position((), self.classes.classes[c].extent) for c in linked}
        with self.at({} if self._per_tile(compute) else whole):
            position = self.here.position
            with located(cast("Operation", producer.key)):
                classes = {self.classes.class_of[producer.key][d] for d in producer.result}
                value = self.memo((producer.key, Space.L1), classes, lambda: self._to_l1(producer))
        return _Panel(value, map_, position)

    def _to_l1(self, compute: LoopNestOp) -> SSAValue:
        """The result of an operation of the vector unit in L1, brought there tile by tile and piece by piece."""
        dims = [self.classes.class_of[compute.key][d] for d in compute.result]
        at = self.here.position
        type_ = place([self.size(c) for c in dims], _element(compute), Space.L1)
        behind = contractions_behind(self.kernel, compute)
        own = dict.fromkeys(c for op in behind for c in self.free_classes(op))
        tiled = [
            c
            for c in own
            if self.classes.classes[c].kind is DimKind.LINK and self.sizes.tile[c] < self.size(c)
        ]

        def inside(
            rest: Sequence[tuple[int, int]], acc: SSAValue, then: Callable[[SSAValue], SSAValue]
        ) -> SSAValue:
            """What `then` makes of what is carried, in loops over classes in steps."""
            if not rest:
                return then(acc)
            c, step = rest[0]
            with self.loop(c, self.size(c), step, acc) as loop:
                self.here.block.add_op(scf.YieldOp(inside(rest[1:], loop.body.block.args[1], then)))
            return loop.results[0]

        def pieces(acc: SSAValue) -> SSAValue:
            for op in behind:
                self.settle(op)
            cut = [(c, self.sizes.piece[c]) for c in own if c in dims and self.sizes.piece[c] < self.size(c)]
            return inside(cut, acc, insert)

        def insert(acc: SSAValue) -> SSAValue:
            moved = {term: c for c in dims for term in self._since(c, at)}
            exprs = [
                Linear(tuple(int(m == c) for m in moved.values()) + tuple(int(d == c) for d in dims), 0)
                for c in dims
            ]
            map_ = AffineMap(len(moved) + len(dims), 0, tuple(affine_expression(e) for e in exprs))
            value = self.value(compute)
            new = tile.InsertOp(value, acc, list(moved), map_)
            self.here.emit(new)
            return cast("SSAValue", new.result)

        if not tiled and all(self.sizes.piece[c] >= self.size(c) for c in own if c in dims):
            for op in behind:
                self.settle(op)
            load = tile.LoadOp(self.value(compute), [], AffineMap.identity(len(dims)), type_)
            self.here.emit(load)
            return load.results[0]
        empty = tensor.EmptyOp([], type_)
        self.here.emit(empty)
        return inside([(c, self.sizes.tile[c]) for c in tiled], empty.tensor, pieces)

    def free_classes(self, compute: LoopNestOp) -> list[int]:
        """The classes of a contraction's result."""
        return [self.classes.class_of[compute.key][d] for d in compute.result]

    # ---- accumulators in UB

    def piece(self, compute: LoopNestOp) -> SSAValue:
        """The current piece of a contraction's result in UB, its dims in the order of the result."""
        roles = self.roles(compute)
        of = self.classes.class_of[compute.key]
        acc = self.accumulator_of(compute)
        dims = [of[d] for d in compute.result]
        home = self._homes[compute.key].position
        inside = {c: self._since(c, home) for c in (*roles.m, *roles.n)}
        indices = list(dict.fromkeys(term for terms in inside.values() for term in terms))
        results: list[Linear] = []
        for c, offsets in inside.items():
            coefficients = [int(t in offsets) for t in indices] + [int(d == c) for d in dims]
            results.append(Linear(tuple(coefficients), 0))
        map_ = AffineMap(len(indices) + len(dims), 0, tuple(affine_expression(r) for r in results))
        type_ = place([self.size(c) for c in dims], cast("Tensor", acc.type).element_type, Space.UB)
        load = tile.LoadOp(acc, indices, map_, type_)
        self.here.emit(load)
        return load.results[0]

    def accumulator_of(self, compute: LoopNestOp) -> SSAValue:
        """The accumulator, made before the loops over its pieces were entered."""
        saved, self.frames = self.frames, self.frames[: self._homes[compute.key].depth]
        acc = self.accumulator(compute)
        self.frames = saved
        return acc


def _element(compute: LoopNestOp) -> Attribute:
    """The element type of an operation's result."""
    return cast("Tensor", cast("linalg.GenericOp", compute.key).results[0].type).element_type


_ITERATORS = (
    IteratorTypeAttr(IteratorType.PARALLEL),
    IteratorTypeAttr(IteratorType.REDUCTION),
)
