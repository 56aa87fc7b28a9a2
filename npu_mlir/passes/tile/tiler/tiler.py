"""The tiler of one kernel: its outer loops, its stores, and the values that they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from npu_mlir.analysis.affine_maps import Linear, affine_expression, projection
from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.structured.bodies import yielded
from npu_mlir.analysis.structured.fixpipe import drained_by
from npu_mlir.analysis.structured.nest import init_of
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, place
from npu_mlir.passes.tile.kernel import Kernel, contractions_behind
from npu_mlir.passes.tile.kernel_sizes import KernelSizes
from npu_mlir.passes.tile.tiler.contractions import ContractionTiler
from npu_mlir.passes.tile.tiler.loops import Position
from npu_mlir.passes.tile.tiler.operands import Tensor
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import located
from npu_mlir.targets.target import Target


class Tiler(ContractionTiler):
    """Generates the tiled body of one kernel."""

    def __init__(
        self, kernel: Kernel, sizes: KernelSizes, order: Sequence[int], bypass_ub: bool, target: Target
    ):
        super().__init__(kernel, sizes, order, target)
        self.bypass_ub = bypass_ub

    def run(self) -> Block:
        """The tiled body."""
        with located(self.kernel.op), located(self.kernel.root):
            self._run()
        return self.block

    def _run(self) -> None:
        stored = [self.kernel.computes[cast("Operation", store.value.owner)] for store in self.kernel.stores]
        last = dict.fromkeys(op.key for compute in stored for op in contractions_behind(self.kernel, compute))
        with self.loops(self.order, lambda c: (self.classes.classes[c].extent, self.sizes.tile[c])):
            pieces: dict[int, None] = {}
            for contraction in (self.kernel.computes[cast("Operation", key)] for key in last):
                self.settle(contraction)
                cut = [c for c in self.free_classes(contraction) if self.sizes.piece[c] < self.sizes.tile[c]]
                pieces |= dict.fromkeys(cut if not self.bypass_ub else ())
            with self.loops(list(pieces), lambda c: (self.sizes.tile[c], self.sizes.piece[c])):
                for store in self.kernel.stores:
                    with located(store):
                        self._store(store)
        self.block.add_op(tile.ReturnOp())

    def _store(self, store: tile.StoreOp) -> None:
        generic = cast("Operation", store.value.owner)
        compute = self.kernel.computes[generic]
        dims = [self.classes.class_of[generic][d] for d in compute.result]
        with self.hoisted(set(dims)):
            value, order, epilogue, scales, along = self._stored(compute)
            exprs = [self.start(c) for c in dims]
            indices = list(dict.fromkeys(t for terms in exprs for t in terms))
            coordinates = [
                Linear(tuple(int(t in terms) for t in indices) + tuple(int(j == i) for j in order), 0)
                for i, terms in enumerate(exprs)
            ]
            map_ = AffineMap(len(indices) + len(order), 0, tuple(affine_expression(e) for e in coordinates))
            self.here.emit(tile.StoreOp(value, self.gm(store.dest), indices, map_, epilogue, scales, along))

    def _stored(
        self, compute: LoopNestOp
    ) -> tuple[SSAValue, list[int], tile.EpilogueAttr | None, SSAValue | None, list[int]]:
        """The tile to store; for each of its dims, which dim of the result it is; what the fixpipe does to it; a row of
        factors for that, and the dims of the tile that it lies along.

        With `bypass_ub`, that is the accumulator itself: the fixpipe scales and casts it on its way to GM.
        """
        if not self.bypass_ub:
            return self.value(compute), list(range(len(compute.result))), None, None, []
        contraction, behind = self._contraction_of(compute)
        state = drained_by(cast("linalg.GenericOp", contraction.key), behind)
        if state is None or not state.is_possible(self.target):
            raise self._not_on_the_way()
        roles = self.roles(contraction)
        dims = [self.classes.class_of[compute.key][d] for d in compute.result]
        columns = (*roles.m, *roles.n)
        order = [dims.index(c) for c in columns]
        scales, along = self._scales(state.row, columns)
        return self.accumulator_of(contraction), order, tile.EpilogueAttr.of(state.steps), scales, along

    def _scales(self, row: SSAValue | None, classes: Sequence[int]) -> tuple[SSAValue | None, list[int]]:
        """The row in L1 that the argument of a body stands for, and where its dims are among these classes."""
        if not isinstance(row, BlockArgument):
            return None, []
        user = self.kernel.computes[cast("Operation", row.block.parent_op())]
        value, map_ = self.operand(user, row.index, Space.L1)
        of = self.classes.class_of[user.key]
        return value, [list(classes).index(of[d]) for d in projection(map_) or ()]

    def _contraction_of(self, compute: LoopNestOp) -> tuple[LoopNestOp, list[linalg.GenericOp]]:
        """The contraction behind a result, and the operations between the two, first to last."""
        behind: list[linalg.GenericOp] = []
        while not compute.contraction:
            generic = cast("linalg.GenericOp", compute.key)
            owners = (cast("Operation", value.owner) for value in generic.inputs)
            producer = next((found for o in owners if (found := self.kernel.computes.get(o))), None)
            if producer is None:
                raise self._not_on_the_way()
            behind.insert(0, generic)
            compute = producer
        return compute, behind

    def _not_on_the_way(self) -> UserError:
        what = "only what the fixpipe does (a scale, relu, a cast) can be done on the way from L0C to GM"
        return UserError(what, loc=self.kernel.op)

    def value(self, compute: LoopNestOp) -> SSAValue:
        """The tile of an operation's result in UB."""
        classes = {self.classes.class_of[compute.key][d] for d in compute.result}
        make = (
            self.piece if compute.contraction else self._reduce if any(compute.reduction) else self._generic
        )
        with located(cast("Operation", compute.key)):
            return self.memo(compute.key, classes, lambda: make(compute))

    def _tile_type(self, compute: LoopNestOp, space: Space = Space.UB) -> Tensor:
        generic = cast("linalg.GenericOp", compute.key)
        shape = [self.size(self.classes.class_of[compute.key][d]) for d in compute.result]
        return place(shape, cast("Tensor", generic.results[0].type).element_type, space)

    def _generic(self, compute: LoopNestOp, init: SSAValue | None = None) -> SSAValue:
        """The operation on the tiles of its operands."""
        generic = cast("linalg.GenericOp", compute.key)
        if _hands_on_rows(generic):
            value, map_ = self.operand(compute, 0)
            if map_ == generic.indexing_maps.data[-1].data:
                return value
        inputs, maps = [], []
        for i in range(len(generic.inputs)):
            value, map_ = self.operand(compute, i)
            inputs.append(value)
            maps.append(map_)
        if init is None:
            init = self._init(compute)
        maps.append(generic.indexing_maps.data[-1].data)
        return self._emit_generic(generic, inputs, init, maps)

    def _emit_generic(
        self, generic: linalg.GenericOp, inputs: Sequence[SSAValue], init: SSAValue, maps: Sequence[AffineMap]
    ) -> SSAValue:
        body = generic.body.clone()
        new = linalg.GenericOp(
            inputs, [init], body, [AffineMapAttr(m) for m in maps], generic.iterator_types, [init.type]
        )
        self.here.emit(new)
        new.results[0].name_hint = generic.results[0].name_hint
        return new.results[0]

    def _init(self, compute: LoopNestOp) -> SSAValue:
        """The tile that the operation's result starts from."""
        generic = cast("linalg.GenericOp", compute.key)
        init = init_of(generic)
        if isinstance(init, SSAValue):
            return self.operand(compute, len(generic.inputs))[0]
        empty = tensor.EmptyOp([], self._tile_type(compute))
        self.here.emit(empty)
        return self.fill(init, empty.tensor) if isinstance(init, linalg.FillOp) else empty.tensor

    def _reduce(self, compute: LoopNestOp) -> SSAValue:
        """A vector reduction: chunk after chunk accumulated, the last one by itself when it is shorter."""
        of = self.classes.class_of[compute.key]
        chunked = [
            of[d]
            for d, red in enumerate(compute.reduction)
            if red and self.sizes.tile[of[d]] < self.size(of[d])
        ]

        def chunks(rest: Sequence[int], acc: SSAValue) -> SSAValue:
            if not rest:
                return self._generic(compute, acc)
            c, step = rest[0], self.sizes.tile[rest[0]]
            extent = self.classes.classes[c].extent
            with self.loop(c, extent - extent % step, step, acc) as loop:
                self.here.block.add_op(scf.YieldOp(chunks(rest[1:], loop.body.block.args[1])))
            acc = loop.results[0]
            if extent % step:
                last = Position((*self.start(c), self.constant(extent - extent % step)), extent % step)
                with self.at({c: last}):
                    acc = chunks(rest[1:], acc)
            return acc

        return chunks(chunked, self._init(compute))


def _hands_on_rows(generic: linalg.GenericOp) -> bool:
    """Whether an operation yields the rows that a gather brings as they are: their tile is its own."""
    block = generic.body.block
    return (
        len(generic.inputs) == 1
        and isinstance(generic.inputs[0].owner, tile.GatherOp)
        and yielded(block) is block.args[0]
    )
