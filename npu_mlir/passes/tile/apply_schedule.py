"""Tile every kernel as its `#tile.schedule` says, by generation from the stores backwards.

`value(v)` emits the tile of the kernel value `v` at the current loop position: an operand becomes a load of the box
that is read, a reduction its own loop over chunks, a contraction its loops over K with loads to L1, L0A and L0B, and
anything else the same operation on the tiles of its operands. What does not depend on the innermost loops is emitted
before them, so an operand panel stays on chip exactly when the loop order allows it. After a contraction, its
accumulator is handed to the vector unit piece by piece.

Before (a matrix product with a bias; types shortened):

    tile.kernel @k(%A, %B, %b, %C) schedule <tile = [64, 32, 128], inner = [16, 32, 64], order = [0, 1]> {
      %a = tile.load %A[] ...
      %c = linalg.generic ... ins(%a, %w) outs(%zero)
      %d = linalg.generic ... ins(%c, %bias)
      tile.store %d, %C[] ...
    }

After:

    scf.for %m, %n {
      %acc = scf.for %k iter_args(%c0 = %zero) {
        %a = tile.load %A[%m, %k] ... : tensor<64x128xf16, l1>               // %b1 likewise
        %c1 = scf.for %k0 iter_args(%c = %c0) {
          %a0 = tile.load %a[%k0] ... : tensor<64x64xf16, l0a>               // %b0 likewise
          %x = linalg.generic ... ins(%a0, %b0) outs(%c) : tensor<64x32xf32, l0c>
          scf.yield %x }
        scf.yield %c1 }
      scf.for %s {
        %t = tile.load %acc[%s] ... : tensor<16x32xf32, ub>
        %d = linalg.generic ... ins(%t, %bias) : tensor<16x32xf32, ub>
        tile.store %d, %C[%m, %s, %n] ... } }

Tiles keep their size at the border: loads pad, stores clip. A vector reduction is exact instead: it takes its last,
shorter chunk by itself.

Does not handle: streaming a class that is reduced in one operation and parallel in another (kept whole).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, linalg, scf, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from npu_mlir.analysis.affine_maps import Linear, affine_expression, linear_map
from npu_mlir.analysis.dims import Classes, Compute, Contraction, Kind, contraction_roles
from npu_mlir.diagnostics import UserError
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, place
from npu_mlir.passes.tile.compute import CASTS, body_ops, init_of, is_window
from npu_mlir.passes.tile.kernel import Kernel, read_kernel

Tensor = TensorType[Attribute]


class ApplySchedule(ModulePass):
    """Tile the kernels by their schedules."""

    name = "tile-apply-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp) and kernel.schedule is not None:
                apply_schedule(kernel)


def apply_schedule(op: tile.KernelOp) -> None:
    """Replace the body of a kernel by its tiled form."""
    kernel = read_kernel(op)
    assert op.schedule is not None
    sizes = {key: op.schedule.sizes(key) for key in ("tile", "inner", "order")}
    _check_schedule(op, kernel.classes, sizes)
    tiled = _Tiler(kernel, sizes["tile"], sizes["inner"], sizes["order"], op.schedule.direct).run()
    op.body.detach_block(op.body.block)
    op.body.add_block(tiled)


def _check_schedule(op: tile.KernelOp, classes: Classes, sizes: dict[str, tuple[int, ...]]) -> None:
    count = len(classes.classes)
    if len(sizes["tile"]) != count or len(sizes["inner"]) != count:
        raise UserError(f"the schedule must give 'tile' and 'inner' for {count} dimension classes", loc=op)
    for c, size, inner in zip(classes.classes, sizes["tile"], sizes["inner"], strict=True):
        if not 0 < inner <= size or (size > c.extent and c.kind is Kind.MIXED):
            raise UserError(f"class {c.id}: need 0 < inner <= tile, got {inner} and {size}", loc=op)
        if size % inner:
            raise UserError(
                f"class {c.id}: the inner size {inner} has to divide the tile size {size}", loc=op
            )
        if c.kind is Kind.MIXED and size != c.extent:
            raise UserError(
                f"class {c.id} is reduced and used again: its tile must be whole, {c.extent}", loc=op
            )
    looped = {c.id for c in classes.classes if c.kind is Kind.PAR and sizes["tile"][c.id] < c.extent}
    if not looped <= set(sizes["order"]):
        raise UserError(f"the order must name the tiled parallel classes {sorted(looped)}", loc=op)


@dataclass(frozen=True)
class _Position:
    """Where a class stands: the sum of `terms` is the start, `size` the extent of the tile."""

    terms: tuple[SSAValue, ...]
    size: int


@dataclass
class _Frame:
    """A block being filled: the positions that hold in it and the tiles already made in it."""

    block: Block
    position: dict[int, _Position]
    made: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])
    loop: Operation | None = None
    """The loop in this block that is being filled: what belongs to this block goes before it."""

    def emit(self, op: Operation) -> None:
        if self.loop is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.loop)


class _Tiler:
    """Generates the tiled body of one kernel."""

    def __init__(
        self, kernel: Kernel, tile_: Sequence[int], inner: Sequence[int], order: Sequence[int], direct: bool
    ):
        self.kernel = kernel
        self.classes = kernel.classes
        self.tile, self.inner, self.direct = tile_, inner, direct
        self.order = [c for c in order if tile_[c] < self.classes.classes[c].extent]
        self.block = Block(arg_types=[a.type for a in kernel.op.body.block.args])
        for new, old in zip(self.block.args, kernel.op.body.block.args, strict=True):
            new.name_hint = old.name_hint
        start = {
            c.id: _Position((), tile_[c.id] if c.kind is not Kind.RED else c.extent)
            for c in self.classes.classes
        }
        self.frames = [_Frame(self.block, start)]
        self.constants: dict[int, SSAValue] = {}
        self.outer = start

    def run(self) -> Block:
        """The tiled body."""
        contraction = next((op for op in self.kernel.computes.values() if op.contraction), None)
        with self._loops(self.order, lambda c: (self.classes.classes[c].extent, self.tile[c])):
            self.outer = self.here.position
            pieces: list[int] = []
            if contraction is not None:
                self._accumulator(contraction)
                dims = [self.classes.of[contraction.key][d] for d in contraction.result]
                pieces = [c for c in dims if self.inner[c] < self.tile[c] and not self.direct]
            with self._loops(pieces, lambda c: (self.tile[c], self.inner[c])):
                for store in self.kernel.stores:
                    self._store(store)
        self.block.add_op(tile.ReturnOp())
        return self.block

    # ---- frames and loops ------------------------------------------------------------------------------------------

    @property
    def here(self) -> _Frame:
        return self.frames[-1]

    def _constant(self, value: int) -> SSAValue:
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
    def _loops(self, classes: Sequence[int], bounds: Callable[[int], tuple[int, int]]) -> Iterator[None]:
        """Nested loops over classes, `bounds` giving (extent, step) of each."""
        if not classes:
            yield
            return
        extent, step = bounds(classes[0])
        with self._loop(classes[0], extent, step), self._loops(classes[1:], bounds):
            yield

    @contextmanager
    def _loop(self, c: int, extent: int, step: int, carried: SSAValue | None = None) -> Iterator[scf.ForOp]:
        """A loop over a class, from its present position on; with a carried value, which the body has to yield."""
        args = [] if carried is None else [carried]
        body = Block(arg_types=[IndexType(), *(a.type for a in args)])
        loop = scf.ForOp(self._constant(0), self._constant(extent), self._constant(step), args, Region(body))
        parent = self.here
        parent.emit(loop)
        outer, parent.loop = parent.loop, loop
        terms = (*parent.position[c].terms, body.args[0])
        self.frames.append(_Frame(body, parent.position | {c: _Position(terms, step)}))
        yield loop
        if carried is None:
            body.add_op(scf.YieldOp())
        self.frames.pop()
        parent.loop = outer

    @contextmanager
    def _at(self, position: dict[int, _Position]) -> Iterator[None]:
        """The same place in the same block at another position."""
        here = self.here
        self.frames.append(_Frame(here.block, here.position | position, loop=here.loop))
        yield
        self.frames.pop()

    @contextmanager
    def _hoisted(self, classes: set[int]) -> Iterator[None]:
        """The outermost frame in which these classes stand where they stand now."""
        now = self.here.position
        depth = next(
            i for i, frame in enumerate(self.frames) if all(frame.position[c] == now[c] for c in classes)
        )
        saved, self.frames = self.frames, self.frames[: depth + 1]
        yield
        self.frames = saved

    def _memo(self, key: object, classes: set[int], make: Callable[[], SSAValue]) -> SSAValue:
        """The tile called `key`, which depends on the positions of `classes`, made as far outside as possible."""
        with self._hoisted(classes):
            if key not in self.here.made:
                self.here.made[key] = make()
            return self.here.made[key]

    def _size(self, c: int) -> int:
        return self.here.position[c].size

    # ---- values ----------------------------------------------------------------------------------------------------

    def _store(self, store: tile.StoreOp) -> None:
        generic = cast("Operation", store.value.owner)
        compute = self.kernel.computes[generic]
        dims = [self.classes.of[generic][d] for d in compute.result]
        with self._hoisted(set(dims)):
            value, order = self._stored(compute)
            exprs = [self._start(c) for c in dims]
            indices = list(dict.fromkeys(t for terms in exprs for t in terms))
            coordinates = [
                Linear(tuple(int(t in terms) for t in indices) + tuple(int(j == i) for j in order), 0)
                for i, terms in enumerate(exprs)
            ]
            map_ = AffineMap(len(indices) + len(order), 0, tuple(affine_expression(e) for e in coordinates))
            self.here.emit(tile.StoreOp(value, self._gm(store.dest), indices, map_))

    def _stored(self, compute: Compute) -> tuple[SSAValue, list[int]]:
        """The tile to store and, for each of its dims, which dim of the result it is.

        With `direct`, that is the accumulator itself: the fixpipe casts it on its way to GM.
        """
        if not self.direct:
            return self._value(compute), list(range(len(compute.result)))
        contraction = self._contraction_of(compute)
        roles = self._roles(contraction)
        dims = [self.classes.of[compute.key][d] for d in compute.result]
        return self._accumulator_of(contraction), [dims.index(c) for c in (*roles.m, *roles.n)]

    def _contraction_of(self, compute: Compute) -> Compute:
        """The contraction that a result is, possibly cast."""
        while not compute.contraction:
            generic = cast("linalg.GenericOp", compute.key)
            ops = body_ops(generic)
            producer = generic.inputs[0].owner if len(generic.inputs) == 1 else None
            if not isinstance(producer, linalg.GenericOp) or len(ops) != 1 or not isinstance(ops[0], CASTS):
                raise UserError("only a cast can be done on the way from L0C to GM", loc=self.kernel.op)
            compute = self.kernel.computes[producer]
        return compute

    def _start(self, c: int) -> tuple[SSAValue, ...]:
        return self.here.position[c].terms

    def _gm(self, value: SSAValue) -> SSAValue:
        index = list(self.kernel.op.body.block.args).index(value)  # type: ignore[arg-type]
        return self.block.args[index]

    def _value(self, compute: Compute) -> SSAValue:
        """The tile of an operation's result in UB."""
        classes = {self.classes.of[compute.key][d] for d in compute.result}
        make = (
            self._piece if compute.contraction else self._reduce if any(compute.reduction) else self._generic
        )
        return self._memo(compute.key, classes, lambda: make(compute))

    def _tile_type(self, compute: Compute, space: Space = Space.UB) -> Tensor:
        generic = cast("linalg.GenericOp", compute.key)
        shape = [self._size(self.classes.of[compute.key][d]) for d in compute.result]
        return place(shape, cast("Tensor", generic.results[0].type).element_type, space)

    def _generic(self, compute: Compute, init: SSAValue | None = None) -> SSAValue:
        """The operation on the tiles of its operands."""
        generic = cast("linalg.GenericOp", compute.key)
        inputs, maps = [], []
        for i in range(len(generic.inputs)):
            value, map_ = self._operand(compute, i)
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

    def _init(self, compute: Compute) -> SSAValue:
        """The tile that the operation's result starts from."""
        generic = cast("linalg.GenericOp", compute.key)
        init = init_of(generic)
        if isinstance(init, SSAValue):
            return self._operand(compute, len(generic.inputs))[0]
        empty = tensor.EmptyOp([], self._tile_type(compute))
        self.here.emit(empty)
        return self._fill(init, empty.tensor) if isinstance(init, linalg.FillOp) else empty.tensor

    def _fill(self, fill: linalg.FillOp, value: SSAValue) -> SSAValue:
        constant = cast("arith.ConstantOp", fill.inputs[0].owner).clone()
        self.here.emit(constant)
        new = linalg.FillOp([constant.result], [value], [value.type])
        self.here.emit(new)
        return new.results[0]

    def _reduce(self, compute: Compute) -> SSAValue:
        """A vector reduction: chunk after chunk accumulated, the last one by itself when it is shorter."""
        of = self.classes.of[compute.key]
        chunked = [
            of[d] for d, red in enumerate(compute.reduction) if red and self.tile[of[d]] < self._size(of[d])
        ]

        def chunks(rest: Sequence[int], acc: SSAValue) -> SSAValue:
            if not rest:
                return self._generic(compute, acc)
            c, step = rest[0], self.tile[rest[0]]
            extent = self.classes.classes[c].extent
            with self._loop(c, extent - extent % step, step, acc) as loop:
                self.here.block.add_op(scf.YieldOp(chunks(rest[1:], loop.body.block.args[1])))
            acc = loop.results[0]
            if extent % step:
                last = _Position((*self._start(c), self._constant(extent - extent % step)), extent % step)
                with self._at({c: last}):
                    acc = chunks(rest[1:], acc)
            return acc

        return chunks(chunked, self._init(compute))

    # ---- operands --------------------------------------------------------------------------------------------------

    def _operand(self, compute: Compute, index: int, space: Space = Space.UB) -> tuple[SSAValue, AffineMap]:
        """The tile of operand `index` of an operation, and the map from the operation's loop dims to it."""
        generic = cast("linalg.GenericOp", compute.key)
        value = [*generic.inputs, *generic.outputs][index]
        map_ = generic.indexing_maps.data[index].data
        if isinstance(value.owner, linalg.GenericOp):
            return self._value(self.kernel.computes[value.owner]), map_
        of = self.classes.of[compute.key]
        exprs = linear_map(map_)
        assert exprs is not None
        if index < len(generic.inputs) and is_window(generic, index):
            return self._window(value, [self._box(e, of)[0] for e in exprs]), map_
        boxes = [self._box(e, of) for e in exprs]
        classes = {of[d] for e in exprs for d in e.dims()}
        key = (value, space, tuple(boxes), tuple((e, tuple(of[d] for d in e.dims())) for e in exprs))
        load = cast("tile.LoadOp", value.owner)
        tile_ = self._memo(key, classes, lambda: self._load(load, exprs, of, space))
        local = [
            Linear(
                e.coefficients,
                sum(-c * (self._size(of[d]) - 1) for d, c in enumerate(e.coefficients) if c < 0),
            )
            for e in exprs
        ]
        return tile_, AffineMap(map_.num_dims, 0, tuple(affine_expression(e) for e in local))

    def _window(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        empty = tensor.EmptyOp([], TensorType(cast("Tensor", value.type).element_type, shape))
        self.here.emit(empty)
        return empty.tensor

    def _box(self, expr: Linear, of: Sequence[int]) -> tuple[int, int]:
        """(extent, constant part of the start) of the coordinates that `expr` takes over the current tile."""
        extent, start = 1, expr.constant
        for d, c in enumerate(expr.coefficients):
            extent += abs(c) * (self._size(of[d]) - 1) if c else 0
            start += c * (self._size(of[d]) - 1) if c < 0 else 0
        return extent, start

    def _load(self, load: tile.LoadOp, exprs: Sequence[Linear], of: Sequence[int], space: Space) -> SSAValue:
        """Load the box of an argument that the expressions take over the current tile."""
        boxes = [self._box(e, of) for e in exprs]
        indices: dict[SSAValue, int] = {}
        for e in exprs:
            for d in e.dims():
                for term in self._start(of[d]):
                    indices.setdefault(term, len(indices))
        starts: list[Linear] = []
        for e, (_, constant) in zip(exprs, boxes, strict=True):
            coefficients = [0] * len(indices)
            for d in e.dims():
                for term in self._start(of[d]):
                    coefficients[indices[term]] += e.coefficients[d]
            starts.append(Linear(tuple(coefficients), constant))
        source = linear_map(load.map.data)
        assert source is not None
        rank = len(exprs)
        results = [_compose(s, starts, rank, len(indices)) for s in source]
        map_ = AffineMap(len(indices) + rank, 0, tuple(affine_expression(r) for r in results))
        type_ = place(
            [extent for extent, _ in boxes], cast("Tensor", load.results[0].type).element_type, space
        )
        pad = load.pad
        if pad is None and self._overhangs({of[d] for e in exprs for d in e.dims()}):
            pad = _zero(type_.element_type)
        new = tile.LoadOp(self._gm(load.source), list(indices), map_, type_, None, pad)
        self.here.emit(new)
        return new.results[0]

    def _overhangs(self, classes: set[int]) -> bool:
        """Whether some tile of these classes reaches beyond their extent."""
        return any(self.classes.classes[c].extent % self.tile[c] for c in classes)

    # ---- contractions ----------------------------------------------------------------------------------------------

    def _roles(self, compute: Compute) -> Contraction:
        """The roles of the contraction, by class."""
        roles = contraction_roles(compute)
        assert roles is not None
        of = self.classes.of[compute.key]
        return replace(
            roles, **{f: tuple(of[d] for d in getattr(roles, f)) for f in ("batch", "m", "n", "k")}
        )

    def _accumulator(self, compute: Compute) -> SSAValue:
        """The result of a contraction for the current tile, in L0C: rows, then columns."""
        roles = self._roles(compute)

        def make() -> SSAValue:
            shape = [self._size(c) for c in (*roles.m, *roles.n)]
            generic = cast("linalg.GenericOp", compute.key)
            empty = tensor.EmptyOp(
                [], place(shape, cast("Tensor", generic.results[0].type).element_type, Space.L0C)
            )
            self.here.emit(empty)
            zero = self._fill(cast("linalg.FillOp", init_of(generic)), empty.tensor)
            return self._k_loops(compute, roles, list(roles.k), zero)

        return self._memo((compute.key, "accumulator"), {*roles.batch, *roles.m, *roles.n}, make)

    def _k_loops(self, compute: Compute, roles: Contraction, rest: Sequence[int], acc: SSAValue) -> SSAValue:
        """Loops over chunks of K that are brought to L1."""
        if not rest:
            panels = [self._operand(compute, i, Space.L1) for i in (0, 1)]
            return self._k0_loops(compute, roles, panels, list(roles.k), {}, acc)
        c, step = rest[0], self.tile[rest[0]]
        if step >= self.classes.classes[c].extent:
            with self._at({c: _Position((), step)}):
                return self._k_loops(compute, roles, rest[1:], acc)
        with self._loop(c, self.classes.classes[c].extent, step, acc) as loop:
            inner = self._k_loops(compute, roles, rest[1:], loop.body.block.args[1])
            self.here.block.add_op(scf.YieldOp(inner))
        return loop.results[0]

    def _k0_loops(
        self,
        compute: Compute,
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
        if self.inner[c] == self._size(c):
            return self._k0_loops(compute, roles, panels, rest[1:], offsets, acc)
        with self._loop(c, self._size(c), self.inner[c], acc) as loop:
            carried = loop.body.block.args
            inner = self._k0_loops(compute, roles, panels, rest[1:], offsets | {c: carried[0]}, carried[1])
            self.here.block.add_op(scf.YieldOp(inner))
        return loop.results[0]

    def _multiply(
        self,
        compute: Compute,
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
        body = generic.body.clone()
        if roles.swapped:
            _swap_inputs(body.block)
        new = linalg.GenericOp(fragments, [acc], body, [AffineMapAttr(m) for m in maps], kinds, [acc.type])
        self.here.emit(new)
        return new.results[0]

    def _fragment(
        self,
        compute: Compute,
        panel: tuple[SSAValue, AffineMap],
        offsets: dict[int, SSAValue],
        dims: Sequence[int],
        space: Space,
    ) -> SSAValue:
        """The matrix with these dims, brought from a panel in L1 to L0."""
        source, map_ = panel
        of = self.classes.of[compute.key]
        exprs = linear_map(map_)
        assert exprs is not None
        used = [c for c in offsets if any(of[d] == c for e in exprs for d in e.dims())]
        results: list[Linear] = []
        for e in exprs:
            by_class = {of[d]: e.coefficients[d] for d in e.dims()}
            coefficients = [by_class.get(c, 0) for c in (*used, *dims)]
            results.append(Linear(tuple(coefficients), e.constant))
        shape = [self._size(c) for c in dims]
        type_ = place(shape, cast("Tensor", source.type).element_type, space)
        full = AffineMap(len(used) + len(dims), 0, tuple(affine_expression(r) for r in results))
        load = tile.LoadOp(source, [offsets[c] for c in used], full, type_)
        self.here.emit(load)
        return load.results[0]

    def _piece(self, compute: Compute) -> SSAValue:
        """The current piece of a contraction's result in UB, its dims in the order of the result."""
        roles = self._roles(compute)
        of = self.classes.of[compute.key]
        acc = self._accumulator_of(compute)
        dims = [of[d] for d in compute.result]
        inside = {c: self._start(c)[len(self.outer[c].terms) :] for c in (*roles.m, *roles.n)}
        indices = list(dict.fromkeys(term for terms in inside.values() for term in terms))
        results: list[Linear] = []
        for c, offsets in inside.items():
            coefficients = [int(t in offsets) for t in indices] + [int(d == c) for d in dims]
            results.append(Linear(tuple(coefficients), 0))
        map_ = AffineMap(len(indices) + len(dims), 0, tuple(affine_expression(r) for r in results))
        type_ = place([self._size(c) for c in dims], cast("Tensor", acc.type).element_type, Space.UB)
        load = tile.LoadOp(acc, indices, map_, type_)
        self.here.emit(load)
        return load.results[0]

    def _accumulator_of(self, compute: Compute) -> SSAValue:
        """The accumulator, made before the loops over its pieces were entered."""
        saved, self.frames = self.frames, self.frames[: len(self.order) + 1]
        acc = self._accumulator(compute)
        self.frames = saved
        return acc


_ITERATORS = (
    linalg.IteratorTypeAttr(linalg.IteratorType.PARALLEL),
    linalg.IteratorTypeAttr(linalg.IteratorType.REDUCTION),
)


def _compose(outer: Linear, starts: Sequence[Linear], rank: int, indices: int) -> Linear:
    """`outer` over tensor dims, each of which is its start plus a tile dim, as an expression over (indices; dims)."""
    coefficients, constant = [0] * (indices + rank), outer.constant
    for d in outer.dims():
        factor = outer.coefficients[d]
        coefficients[indices + d] += factor
        constant += factor * starts[d].constant
        for i, c in enumerate(starts[d].coefficients):
            coefficients[i] += factor * c
    return Linear(tuple(coefficients), constant)


def _zero(element_type: Attribute) -> Attribute:
    if isinstance(element_type, AnyFloat):
        return FloatAttr(0.0, element_type)
    return IntegerAttr(0, cast("IntegerType", element_type))


def _swap_inputs(block: Block) -> None:
    """Exchange the first two arguments of a block."""
    first, second, *_ = block.args
    new = block.insert_arg(second.type, 0)
    other = block.insert_arg(first.type, 1)
    first.replace_all_uses_with(other)
    second.replace_all_uses_with(new)
    block.erase_arg(first)
    block.erase_arg(second)
