"""What the kernel of a group of operations consists of, as steps from which it can be built, and compared before it is.

    %e = tensor.empty()                                                 load %p as %q[d0] = %p[d0 - 1] pad 0.0
    %q = tensor.pad %p low[1] high[1] ...                               copy %e
    %r = linalg.generic ins(%q) outs(%e)              outline_of(%r) =  copy %r
    func.return %r                                                      store %r

What is built depends on the steps alone, and on the copied operations only by what a structural key has of them, and
by where they come from. So groups whose outlines have equal keys make equal kernels, up to locations.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, MemRefType, NoneAttr, StridedLayoutAttr, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.placed_parts import Layouts
from npu_mlir.analysis.structured.gathers import rows_of
from npu_mlir.analysis.structured.nest import init_of, is_shape_only, root_of
from npu_mlir.dialects import tile
from npu_mlir.ir.structural_keys import StructuralKeys
from npu_mlir.passes.tile.load_maps import fold_into_load
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import fill_locations, located, origin


@dataclass(frozen=True)
class Load:
    """Load `value` of the host, for `user`: the place that `map` says of argument number `argument`."""

    value: SSAValue
    user: linalg.GenericOp
    argument: int
    map: AffineMapAttr
    pad: Attribute | None


@dataclass(frozen=True)
class Gather:
    """Gather `value` of the host, for `user`: the rows of argument number `argument`, by the indices that are argument
    number `indices`."""

    value: SSAValue
    user: linalg.GenericOp
    indices: int
    listed: TensorType[Attribute]
    """The type of the list of indices; a single one may have no dims."""
    argument: int
    axis: int


@dataclass(frozen=True)
class Copy:
    """Copy an operation of the host, for `user`, which may be the operation itself."""

    op: Operation
    user: linalg.GenericOp
    constants: tuple[arith.ConstantOp, ...] = ()
    """What its body reads from outside: copied into it."""


Step: TypeAlias = Load | Gather | Copy


@dataclass(frozen=True)
class Outline:
    """The operations of a kernel, what it loads and copies in order, and the results that it stores at the end."""

    generics: Sequence[linalg.GenericOp]
    root: linalg.GenericOp
    """The one that the kernel is about."""
    steps: Sequence[Step]
    sources: Sequence[SSAValue]
    """The values of the host that are its arguments, in front of those for the results."""
    outputs: Sequence[SSAValue]
    strides: Mapping[SSAValue, Sequence[int]]
    """Of those of the sources and outputs that have gaps in GM."""


def outline_of(group: Sequence[LoopNestOp], layouts: Layouts) -> Outline:
    """The outline of operations (in topological order) that become one kernel, with `layouts` of what it reads and
    writes. What can't be part of one is a located `UserError`."""
    generics = [cast("linalg.GenericOp", op.key) for op in group]
    steps: list[Step] = []
    sources: dict[SSAValue, int] = {}
    present: set[SSAValue] = set()
    for op in generics:
        for step in _steps_of(op, present, sources):
            steps.append(step)
            present.update(step.op.results if isinstance(step, Copy) else [step.value])
    inside = set[Operation](generics)
    outputs = [g.results[0] for g in generics if any(u.operation not in inside for u in g.results[0].uses)]
    found = {value: layouts.of(value) for value in (*sources, *outputs)}
    strides = {value: own for value, own in found.items() if own is not None}
    return Outline(generics, root_of(group), steps, list(sources), outputs, strides)


def _steps_of(op: linalg.GenericOp, present: set[SSAValue], sources: dict[SSAValue, int]) -> Generator[Step]:
    """The steps for one operation: its operands, unless they are present, what its result starts from, and itself."""

    def load(value: SSAValue) -> Generator[Step]:
        rows = None if value in present else rows_of(value)
        if rows is not None:
            # As they are: what a load would find behind the end of a slice may be no index.
            type_ = cast("TensorType[Attribute]", rows.indices.type)
            indices = sources.setdefault(rows.indices, len(sources))
            yield Gather(value, op, indices, type_, sources.setdefault(rows.table, len(sources)), rows.axis)
        elif value not in present:
            source, map_, pad = fold_into_load(value)
            yield Load(value, op, sources.setdefault(source, len(sources)), AffineMapAttr(map_), pad)

    for i, value in enumerate(op.inputs):
        if is_shape_only(op, i):
            yield Copy(cast("Operation", value.owner), op)
        else:
            yield from load(value)
    init = init_of(op)
    if isinstance(init, linalg.FillOp):
        for part in init.operands:
            if not isinstance(part.owner, arith.ConstantOp | tensor.EmptyOp):
                raise UserError(
                    "a fill in front of a kernel has a constant and a tensor.empty as operands", loc=init
                )
            yield Copy(part.owner, op)
        yield Copy(init, op)
    elif isinstance(init, tensor.EmptyOp):
        yield Copy(init, op)
    else:
        yield from load(cast("SSAValue", init))
    yield Copy(op, op, tuple(_outer_constants(op)))


def _outer_constants(op: linalg.GenericOp) -> list[arith.ConstantOp]:
    """The constants that the body reads from outside. Anything else from there is a `UserError`."""
    block = op.body.block
    found: dict[arith.ConstantOp, None] = {}
    for inner in block.ops:
        for value in inner.operands:
            owner = value.owner
            if block in (owner, owner.parent):
                continue
            if not isinstance(owner, arith.ConstantOp):
                maker = f"'{owner.name}'" if isinstance(owner, Operation) else "an argument"
                raise UserError(f"'{inner.name}' reads {maker} from outside of the body", loc=op)
            found[owner] = None
    return list(found)


# ---- keys ------------------------------------------------------------------------------------------------------------


def outline_key(outline: Outline, keys: StructuralKeys) -> Hashable:
    """Equal for outlines whose kernels are equal up to locations, and not for others. (Some outlines with different
    keys make equal kernels, too.)"""
    key = keys.start()
    for value in outline.sources:
        key.note("argument", value.type, *_gaps(outline, value))
    for step in outline.steps:
        if isinstance(step, Load):
            key.note(f"load {step.argument}", step.map, step.pad, step.value.type)
            key.define(step.value)
            continue
        if isinstance(step, Gather):
            key.note(f"gather {step.indices} {step.argument} {step.axis}", step.listed, step.value.type)
            key.define(step.value)
            continue
        for constant in step.constants:
            key.add(constant)
        key.add(step.op)
    for value in outline.outputs:
        key.note("store", value.type, *_gaps(outline, value))
        key.use(value)
    return key.finish()


def _gaps(outline: Outline, value: SSAValue) -> Sequence[StridedLayoutAttr]:
    return (StridedLayoutAttr(outline.strides[value]),) if value in outline.strides else ()


# ---- building --------------------------------------------------------------------------------------------------------


def build(outline: Outline) -> Block:
    """The body of a kernel: loads of its arguments, the operations, and stores."""
    block = Block()
    values: dict[SSAValue, SSAValue] = {}
    for step in outline.steps:
        if isinstance(step, Load):
            with located(step.user):
                if step.argument == len(block.args):
                    _add_argument(block, outline.sources[step.argument], outline)
                load = tile.LoadOp(block.args[step.argument], [], step.map, step.value.type, None, step.pad)
            block.add_op(load)
            values[step.value] = load.results[0]
            continue
        if isinstance(step, Gather):
            with located(step.user):
                values[step.value] = _gather(step, block, outline)
            continue
        copy = step.op.clone(values)
        fill_locations(copy, origin(step.user))
        block.add_op(copy)
        for constant in step.constants:
            _sink(values.get(constant.result, constant.result), copy.regions[0].block)
    for value in outline.outputs:
        rank = len(cast("TensorType[Attribute]", value.type).get_shape())
        with located(cast("Operation", value.owner)):
            arg = _add_argument(block, value, outline)
            block.add_op(tile.StoreOp(values[value], arg, [], AffineMap.identity(rank)))
    with located(outline.root):
        block.add_op(tile.ReturnOp())
    return block


def _gather(step: Gather, block: Block, outline: Outline) -> SSAValue:
    """The rows, by a list of indices that is loaded."""
    for number in (step.indices, step.argument):
        if number == len(block.args):
            _add_argument(block, outline.sources[number], outline)
    count = len(step.listed.get_shape())
    places = AffineMap(1, 0, AffineMap.identity(1).results[:count])
    listed = TensorType(step.listed.element_type, step.listed.get_shape() or (1,))
    load = tile.LoadOp(block.args[step.indices], [], places, listed)
    identity = AffineMap.identity(len(cast("TensorType[Attribute]", step.value.type).get_shape()))
    table, rows = block.args[step.argument], load.results[0]
    gather = tile.GatherOp(table, [], rows, step.axis, identity, step.value.type)
    block.add_ops([load, gather])
    return gather.results[0]


def _sink(constant: SSAValue, body: Block) -> None:
    """Copy a constant from outside of a body into it."""
    copy = cast("Operation", constant.owner).clone()
    body.insert_op_before(copy, cast("Operation", body.first_op))
    constant.replace_uses_with_if(copy.results[0], lambda use: use.operation.parent is body)


def _add_argument(block: Block, value: SSAValue, outline: Outline) -> BlockArgument:
    """Another argument: the buffer in GM of a tensor value."""
    type_ = cast("TensorType[Attribute]", value.type)
    layout = next(iter(_gaps(outline, value)), NoneAttr())
    buffer = MemRefType(type_.element_type, type_.get_shape(), layout, tile.SpaceAttr(tile.Space.GM))
    return block.insert_arg(buffer, len(block.args))
