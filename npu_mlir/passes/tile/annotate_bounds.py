"""Write on every kernel what it has to do at least: `npu.bound`, in cycles and bytes.

The work is read off the kernel before it is tiled, so it does not depend on a schedule. See `npu_mlir.analysis.bound`
for the bound and its proof.

Before:

    tile.kernel @k(%A: memref<64x64xf16, gm>, ...) { ... linalg.generic ... }

After:

    tile.kernel @k(%A: memref<64x64xf16, gm>, ...) attributes {npu.bound = {cycles = 1622, M = 70, ...}} { ... }

The entries: `cycles`, the bound; the least occupancy of each pipe; `bytes`, what moves from and to GM;
`best_blocking`, for kernels with one product. On a machine with L2, `npu.reads` has what the bound of a launch follows
from that finds some of its operands there.

Leaves alone: kernels that are tiled already, or that have bounds.
"""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    TensorType,
    bf16,
    f16,
    f32,
    i64,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.affine_maps import Linear, linear_map
from npu_mlir.analysis.bound import KernelWork, ProductWork, VectorOps, best_blocking, bound, reads_of
from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.structured.bodies import CASTS, body_ops, is_multiply_add, is_relu, rounding_cast
from npu_mlir.analysis.structured.epilogues import prefix_of
from npu_mlir.analysis.structured.fixpipe import drained_by, scale_of
from npu_mlir.analysis.structured.nest import factor_type, init_of, is_shape_only
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.analysis.structured.slopes import least_slope
from npu_mlir.analysis.tiling import ceil_div, fill, panel_bytes
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import cube_type, element_bits, element_bytes, storage_bytes
from npu_mlir.passes.tile.kernel import Kernel, read_kernel
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target

Tensor = TensorType[Attribute]


class AnnotateBounds(ModulePass):
    """Write `npu.bound` on every untiled kernel."""

    name = "tile-annotate-bounds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in op.ops:
            if (
                isinstance(kernel, tile.KernelOp)
                and "npu.bound" not in kernel.attributes
                and _untiled(kernel)
            ):
                _annotate(kernel, target)


def _untiled(kernel: tile.KernelOp) -> bool:
    """Whether the loads stand for whole operands: tiles have a space."""
    loads = [op for op in kernel.walk() if isinstance(op, tile.LoadOp | tile.GatherOp)]
    if any(not op.result_types for op in loads):
        return False
    types = [op.result_types[0] for op in loads]
    return all(isinstance(t, TensorType) and isinstance(t.encoding, NoneAttr) for t in types)


def _annotate(op: tile.KernelOp, target: Target) -> None:
    kernel = read_kernel(op)
    work = kernel_work(kernel, target)
    least = bound(work, target)
    entries = {"cycles": least.cycles, **least.pipes}
    entries["bytes"] = sum(size for _, size in work.loads) + sum(work.stores)
    blocked = best_blocking(work, _slabs(kernel, target), target)
    if blocked is not None:
        entries["best_blocking"] = blocked
    op.attributes["npu.bound"] = _integers(entries)
    if target.l2:
        op.attributes["npu.reads"] = _reads(op, kernel, work, target)


def _integers(entries: dict[str, int]) -> DictionaryAttr:
    return DictionaryAttr({name: IntegerAttr(value, i64) for name, value in entries.items()})


def _reads(op: tile.KernelOp, kernel: Kernel, work: KernelWork, target: Target) -> DictionaryAttr:
    arguments = op.body.block.args
    numbers = [_argument(value) for value in _loads(kernel, target)]
    reads = reads_of(work, numbers, len(arguments), target)
    entries: dict[str, Attribute] = {
        path: DenseArrayBase.from_list(
            i64, [n if p == path else 0 for n, p in zip(reads.bytes, reads.paths, strict=True)]
        )
        for path in sorted(set(reads.paths) - {""})
    }
    return DictionaryAttr(
        {**entries, "around": _integers(reads.around), "fixed": IntegerAttr(reads.fixed, i64)}
    )


def _argument(value: SSAValue) -> int:
    """The number of the argument that a load or gather reads."""
    while isinstance(value.owner, tile.LoadOp | tile.GatherOp):
        value = value.owner.source
    return cast("BlockArgument", value).index


def kernel_work(kernel: Kernel, target: Target) -> KernelWork:
    """The work of a kernel."""
    products = tuple(_product(c) for c in kernel.computes.values() if c.contraction)
    vector = [
        op
        for g, c in kernel.computes.items()
        for op in _vector(cast("linalg.GenericOp", g), c, kernel, target)
    ]
    return KernelWork(
        tuple(_loads(kernel, target).values()),
        tuple(storage_bytes(prod(_shape(store.value)), _bits(store.value)) for store in kernel.stores),
        products,
        tuple(vector),
        bool(products)
        and any(_may_leave_l0c(store.value, _accumulators(kernel), target) for store in kernel.stores),
    )


def _product(compute: LoopNestOp) -> ProductWork:
    roles = contraction_roles(compute)
    assert roles is not None
    batch, m, n, k = (
        prod(compute.extents[d] for d in dims) for dims in (roles.batch, roles.m, roles.n, roles.k)
    )
    type_ = factor_type(compute)
    return ProductWork(batch, m, n, k, cube_type(type_), element_bits(type_))


def _slabs(kernel: Kernel, target: Target) -> list[tuple[int, int]]:
    """Panels of rows of the one product: how many, and the bytes of the left operand for each."""
    compute = next((c for c in kernel.computes.values() if c.contraction), None)
    roles = contraction_roles(compute) if compute is not None else None
    if compute is None or roles is None:
        return []
    bits = element_bits(factor_type(compute))
    left = compute.maps[int(roles.swapped)]
    slabs: list[tuple[int, int]] = []
    rows = target.cube_m
    while not slabs or slabs[-1][0] > 1:
        sizes = dict(zip(roles.m, fill([compute.extents[d] for d in roles.m], rows), strict=True))
        box = [sizes.get(d, 1 if d in roles.batch else extent) for d, extent in enumerate(compute.extents)]
        count = prod(ceil_div(compute.extents[d], size) for d, size in sizes.items())
        slabs.append((count, panel_bytes(left, box, bits)))
        rows *= 2
    return slabs


# ---- GM --------------------------------------------------------------------------------------------------------------


def _loads(kernel: Kernel, target: Target) -> dict[SSAValue, tuple[str, int]]:
    """Path and bytes of each operand of the kernel that is read; of several uses the one that needs most, on the
    fastest path."""
    loads: dict[SSAValue, tuple[str, int]] = {}
    for op, compute in kernel.computes.items():
        generic = cast("linalg.GenericOp", op)
        for i, (value, map_) in enumerate(zip(generic.inputs, compute.maps, strict=False)):
            load = value.owner
            if isinstance(load, tile.GatherOp):
                # Each index has its row moved, whatever the others are.
                size = storage_bytes(prod(_shape(value)), _bits(value))
                loads[value] = ("gm_ub", size)
                loads[load.rows] = ("gm_ub", storage_bytes(prod(_shape(load.rows)), _bits(load.rows)))
            if is_shape_only(generic, i) or not isinstance(load, tile.LoadOp):
                continue
            path = "gm_l1" if compute.contraction else "gm_ub"
            size = storage_bytes(_read(load, map_, compute.extents), _bits(value))
            before = loads.get(load.source, (path, 0))
            loads[load.source] = (max(path, before[0], key=lambda p: target.rates[p]), max(size, before[1]))
    return loads


def _read(load: tile.LoadOp, map_: tuple[Linear, ...], extents: tuple[int, ...]) -> int:
    """How many elements of GM an operation reads."""
    shape = cast("MemRefType[Attribute]", load.source.type).get_shape()
    outer = linear_map(load.map.data)
    assert outer is not None, "read_kernel has seen to it"
    coordinates = [_compose(expr, map_, len(extents)) for expr in outer]
    used = [d for expr in coordinates for d in expr.dims()]
    counts = [
        _count_inside(_values(expr, extents), size) for expr, size in zip(coordinates, shape, strict=True)
    ]
    return prod(counts) if len(set(used)) == len(used) else max(counts)


def _compose(expr: Linear, map_: tuple[Linear, ...], dims: int) -> Linear:
    """`expr` over the results of `map_`."""
    terms = [(c, map_[i]) for i, c in enumerate(expr.coefficients) if c]
    coefficients = tuple(sum(c * inner.coefficients[d] for c, inner in terms) for d in range(dims))
    return Linear(coefficients, expr.constant + sum(c * inner.constant for c, inner in terms))


def _may_leave_l0c(value: SSAValue, accumulators: set[Attribute], target: Target) -> bool:
    """Whether a result is a product, but for casts, relu and scales that the target may have."""
    op = value.owner
    behind: list[linalg.GenericOp] = []
    while isinstance(op, linalg.GenericOp):
        if is_multiply_add(op):
            return True
        behind.insert(0, op)
        product = next((v.owner for v in op.inputs if isinstance(v.owner, linalg.GenericOp)), None)
        state = drained_by(product, behind) if product is not None and is_multiply_add(product) else None
        if state is not None and state.is_possible(target):
            return True
        if any(
            not isinstance(o, CASTS) and not is_relu(o) and not _may_scale(o, accumulators, target)
            for o in body_ops(op)
        ):
            return False
        op = op.inputs[0].owner if len(op.inputs) == 1 else None
    return False


# ---- vector unit -----------------------------------------------------------------------------------------------------


def _vector(
    generic: linalg.GenericOp, compute: LoopNestOp, kernel: Kernel, target: Target
) -> list[VectorOps]:
    """The operations of a body that the vector unit can't avoid."""
    if compute.contraction:
        return []
    accumulators = _accumulators(kernel)
    supports = _Supports(generic, compute)
    drained = _drained_ops(generic, target)
    rounding = rounding_cast(generic.body.block)
    drained |= set(rounding.ops) if rounding is not None else set()
    counts = [(op, supports.count(op)) for op in body_ops(generic)]
    return [
        VectorOps(count, _width(op), least_slope(op, any(compute.reduction), target))
        for op, count in counts
        if count and op not in drained and not _is_free(op, accumulators, target)
    ]


def _drained_ops(generic: linalg.GenericOp, target: Target) -> set[Operation]:
    """The operations of a body that the fixpipe does on the way, if the body reads a product."""
    product = next(
        (
            v.owner
            for v in generic.inputs
            if isinstance(v.owner, linalg.GenericOp) and is_multiply_add(v.owner)
        ),
        None,
    )
    prefix = prefix_of(product, generic, target) if product is not None else None
    return set() if prefix is None else set(prefix.ops)


def _accumulators(kernel: Kernel) -> set[Attribute]:
    """The types in which the products of a kernel are summed."""
    products = [cast("linalg.GenericOp", g) for g, c in kernel.computes.items() if c.contraction]
    return {cast("Tensor", generic.results[0].type).element_type for generic in products}


def _may_scale(op: Operation, accumulators: set[Attribute], target: Target) -> bool:
    """Whether the fixpipe may do a multiplication, whatever the result becomes."""
    possible = any(target.scales(a, r) for a in accumulators for r in (f16, bf16, f32))
    return possible and scale_of(op) is not None


def _is_free(op: Operation, accumulators: set[Attribute], target: Target) -> bool:
    """Whether another instruction or the fixpipe may do it on the side; `accumulators` as the products have them."""
    if isinstance(op, CASTS) or (accumulators and is_relu(op)) or _may_scale(op, accumulators, target):
        return True
    if not isinstance(op, arith.MulfOp | arith.MuliOp):
        return False
    users = [use.operation for use in op.results[0].uses]
    return all(isinstance(user, arith.AddfOp | arith.AddiOp) for user in users)


class _Supports:
    """On how many points each value of a body depends."""

    def __init__(self, generic: linalg.GenericOp, compute: LoopNestOp):
        self.generic = generic
        self.compute = compute
        self.result = generic.body.block.last_op.operands[0]  # type: ignore[union-attr]
        self.args: dict[SSAValue, frozenset[int]] = {}
        """The operands that a value depends on."""
        for i, arg in enumerate(generic.body.block.args[:-1]):
            self.args[arg] = frozenset((i,))

    def count(self, op: Operation) -> int:
        """How many results of `op` have to be computed; 0 for what depends on constants alone."""
        own = frozenset[int]().union(*(self.args.get(v, frozenset()) for v in op.operands))
        self.args[op.results[0]] = own
        if not own:
            return 0
        extents, reduction = self.compute.extents, self.compute.reduction
        if op.results[0] is self.result and any(reduction):
            started = isinstance(init_of(self.generic), SSAValue)
            results = prod(e for e, r in zip(extents, reduction, strict=True) if not r)
            # A tree of d combinations for d + 1 values.
            apart = prod(extents) - (0 if started else results)
            if len(own) > 1:
                return apart
            return min(apart, self._shared(min(own), started))
        return max(self._image(i) for i in own)

    def _shared(self, operand: int, started: bool) -> int:
        """How many combinations a reduction of one operand takes when windows that overlap share their parts: each
        element is combined with something, and each result that differs from the others is made."""
        extents, reduction = self.compute.extents, self.compute.reduction
        used = {d for expr in self.compute.maps[operand] for d in expr.dims()}
        results = prod(extents[d] for d in used if not reduction[d])
        combined = any(reduction[d] and extents[d] > 1 for d in used)
        return max(self._image(operand) - (0 if started else results), results if combined else 0)

    def _image(self, operand: int) -> int:
        """How many elements of an operand are read."""
        if operand >= len(self.compute.maps):
            return 1
        counts = [len(_values(expr, self.compute.extents)) for expr in self.compute.maps[operand]]
        used = [d for expr in self.compute.maps[operand] for d in expr.dims()]
        return prod(counts) if len(set(used)) == len(used) else max(counts)


def _values(expr: Linear, extents: tuple[int, ...]) -> range | set[int]:
    """The values that an expression takes: a progression where they are one, however many they are."""
    values = range(expr.constant, expr.constant + 1)
    dims = sorted(expr.dims(), key=lambda d: abs(expr.coefficients[d]))
    for d in dims:
        step, count = expr.coefficients[d], extents[d]
        start = values.start + min(0, step * (count - 1))
        step = abs(step)
        if len(values) == 1:
            values = range(start, start + step * count, step)
        elif step % values.step == 0 and step // values.step <= len(values):
            values = range(
                start, start + values.step * (len(values) + (count - 1) * (step // values.step)), values.step
            )
        else:
            return _all_values(expr, extents)
    return values


def _all_values(expr: Linear, extents: tuple[int, ...]) -> set[int]:
    values = {expr.constant}
    for d in expr.dims():
        values = {v + expr.coefficients[d] * i for v in values for i in range(extents[d])}
    return values


def _count_inside(values: range | set[int], size: int) -> int:
    """How many of the values are at least 0 and less than `size`."""
    if isinstance(values, set):
        return sum(0 <= v < size for v in values)
    first = max(0, -(values.start // values.step))
    end = min(len(values), -((values.start - size) // values.step))
    return max(0, end - first)


def _width(op: Operation) -> int:
    return max(
        element_bytes(v.type)
        for v in (*op.operands, *op.results)
        if not isinstance(v.owner, arith.ConstantOp)
    )


def _shape(value: SSAValue) -> tuple[int, ...]:
    return cast("Tensor", value.type).get_shape()


def _bits(value: SSAValue) -> int:
    return element_bits(cast("Tensor", value.type).element_type)
