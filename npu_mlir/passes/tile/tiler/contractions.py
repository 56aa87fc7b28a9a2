"""Contractions of a tiled kernel: loops over K, matrices in L0A and L0B, the accumulator and its pieces in UB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineMap

from npu_mlir.analysis.affine_maps import Linear, affine_expression, linear_map
from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.structured.bodies import body_ops
from npu_mlir.analysis.structured.nest import init_of
from npu_mlir.analysis.structured.roles import Contraction, contraction_roles
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, place
from npu_mlir.passes.tile.kernel import Kernel
from npu_mlir.passes.tile.kernel_sizes import KernelSizes
from npu_mlir.passes.tile.tiler.loops import Position
from npu_mlir.passes.tile.tiler.operands import OperandTiler, Tensor
from npu_mlir.support.locations import located


class ContractionTiler(OperandTiler):
    """Makes the accumulators of contractions, and brings pieces of them to UB."""

    def __init__(self, kernel: Kernel, sizes: KernelSizes, order: Sequence[int]):
        super().__init__(kernel, sizes)
        self.order = [c for c in order if sizes.tile[c] < self.classes.classes[c].extent]
        self.outer = self.here.position
        """The position inside the outer loops, where accumulators are made."""

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
            panels = [self.operand(compute, i, Space.L1) for i in (0, 1)]
            return self._k0_loops(compute, roles, panels, list(roles.k), {}, acc)
        c, step = rest[0], self.sizes.tile[rest[0]]
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
        panels: Sequence[tuple[SSAValue, AffineMap]],
        rest: Sequence[int],
        offsets: dict[int, SSAValue],
        acc: SSAValue,
    ) -> SSAValue:
        """Loops over chunks of K that are brought from L1 to L0, and the multiplication of one chunk."""
        if not rest:
            return self._multiply(compute, roles, panels, offsets, acc)
        c = rest[0]
        if self.sizes.chunk[c] == self.size(c):
            return self._k0_loops(compute, roles, panels, rest[1:], offsets, acc)
        with self.loop(c, self.size(c), self.sizes.chunk[c], acc) as loop:
            carried = loop.body.block.args
            inner = self._k0_loops(compute, roles, panels, rest[1:], offsets | {c: carried[0]}, carried[1])
            self.here.block.add_op(scf.YieldOp(inner))
        return loop.results[0]

    def _multiply(
        self,
        compute: LoopNestOp,
        roles: Contraction,
        panels: Sequence[tuple[SSAValue, AffineMap]],
        offsets: dict[int, SSAValue],
        acc: SSAValue,
    ) -> SSAValue:
        generic = cast("linalg.GenericOp", compute.key)
        order = (1, 0) if roles.swapped else (0, 1)
        dims = ((*roles.m, *roles.k), (*roles.k, *roles.n))
        fragments = [
            self._fragment(compute, panels[side], offsets, dims[i], space)
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
        panel: tuple[SSAValue, AffineMap],
        offsets: dict[int, SSAValue],
        dims: Sequence[int],
        space: Space,
    ) -> SSAValue:
        """The matrix with these dims, brought from a panel in L1 to L0."""
        source, map_ = panel
        of = self.classes.class_of[compute.key]
        exprs = linear_map(map_)
        assert exprs is not None
        # Both operands depend on all of K.
        results: list[Linear] = []
        for e in exprs:
            by_class = {of[d]: e.coefficients[d] for d in e.dims()}
            coefficients = [by_class.get(c, 0) for c in (*offsets, *dims)]
            results.append(Linear(tuple(coefficients), e.constant))
        shape = [self.size(c) for c in dims]
        type_ = place(shape, cast("Tensor", source.type).element_type, space)
        full = AffineMap(len(offsets) + len(dims), 0, tuple(affine_expression(r) for r in results))
        load = tile.LoadOp(source, list(offsets.values()), full, type_)
        self.here.emit(load)
        return load.results[0]

    def piece(self, compute: LoopNestOp) -> SSAValue:
        """The current piece of a contraction's result in UB, its dims in the order of the result."""
        roles = self.roles(compute)
        of = self.classes.class_of[compute.key]
        acc = self.accumulator_of(compute)
        dims = [of[d] for d in compute.result]
        inside = {c: self.start(c)[len(self.outer[c].terms) :] for c in (*roles.m, *roles.n)}
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
        saved, self.frames = self.frames, self.frames[: len(self.order) + 1]
        acc = self.accumulator(compute)
        self.frames = saved
        return acc


_ITERATORS = (
    IteratorTypeAttr(IteratorType.PARALLEL),
    IteratorTypeAttr(IteratorType.REDUCTION),
)
