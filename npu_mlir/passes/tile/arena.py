"""Places in the GM arena for what launches make, for `tile-plan-memory`.

What needs memory is a unit: the result of a launch, or a tensor that a loop puts together. Outside of loops it has one
place, as long as something reads it or a view of it. A tensor that is joined in place (`npu.in_place`) is reserved, and
the launches of its pieces write their parts of it, with its strides:

    %d = tensor.empty()                                     %d = tile.reserve at 0 : tensor<8x96xf16>
    %y = tile.launch @k(...)                          ->    %y = tile.launch @k(...) {result_offsets = [64],
    %c = tensor.insert_slice %y into %d[0, 32]                                        result_strides = [[96, 1]]}

In a loop

- a result that is put into a tensor of all iterations lies there from the start:

    %all = scf.for %i = ... iter_args(%a = %empty) {        %r = tile.reserve at 512 : tensor<100x8xf32>
      %y = tile.launch @k(...)                        ->    %y = tile.launch @k(...) slots(%i)
      %b = tensor.insert_slice %y into %a[%i, 0]                 {result_offsets = [512], result_slots = [100]}
      scf.yield %b

- a result that is carried on has as many slots as there are iterations in which it is alive, which take turns: two for
  a state that the next iteration reads; other results have one slot;
- all of them keep their places while the outermost loop runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    TensorType,
    UnrealizedConversionCastOp,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from npu_mlir.analysis.gm_addresses import is_row
from npu_mlir.analysis.memory import Lifetime, plan
from npu_mlir.analysis.placed_parts import is_in_place, part_of, row_major, strides_behind
from npu_mlir.dialects import tile
from npu_mlir.dialects.graph import HostCallOp
from npu_mlir.dialects.tile import element_bits, storage_bytes
from npu_mlir.ir.functions import body_of
from npu_mlir.ir.host_ops import ancestor_among, flattened, host_block
from npu_mlir.ir.loop_bounds import constant_index, constant_trips
from npu_mlir.support.arithmetic import round_up
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import located

GM_ALIGNMENT = 512
"""Bytes to which results in the GM arena are aligned: an L2 line (Ascend 910B, see docs of the targets)."""

VIEWS = (tensor.CollapseShapeOp, tensor.ExpandShapeOp, UnrealizedConversionCastOp)
"""Ops whose result is all bytes of the operand."""


@dataclass(eq=False)
class _Unit:
    """A tensor that needs memory."""

    value: OpResult
    loops: list[scf.ForOp]
    """Those around it, outermost first."""
    ages: list[int]
    """For each of them, after how many more iterations it is read."""
    last: int
    """The op of the function that reads it last, by its number."""
    into: tensor.InsertSliceOp | None = None
    """What puts it into its place in a larger tensor."""
    strides: tuple[int, ...] | None = None
    """In elements, if it is a part of a tensor that is joined in place."""
    parts: list[_Unit] = field(default_factory=list["_Unit"])
    """What lies in it."""
    offset: int = 0

    @property
    def slots(self) -> int:
        return math.prod(age + 1 for age in self.ages)

    @property
    def type(self) -> TensorType[Attribute]:
        return cast("TensorType[Attribute]", self.value.type)


Reused: TypeAlias = Mapping[str, Sequence[int | None]]
"""Of kernels whose results lie where operands do, the number of the operand for each result."""


def plan_results(function: FuncOp, reused: Reused) -> None:
    """Give the results of launches their places in one arena; a view keeps what it views alive, and so does a result
    that lies where an operand does."""
    block = body_of(function)
    order = {op: i for i, op in enumerate(flattened(block))}
    launches = [op for op in _host_ops(block) if isinstance(op, tile.LaunchOp)]
    roots = {result: _place_of(result, reused) for op in launches for result in op.results}
    units = {unit.value: unit for unit in _units(function, order, roots, reused)}
    whole: list[_Unit] = []
    for insert in [op for op in function.walk() if isinstance(op, tensor.InsertSliceOp)]:
        if is_in_place(insert):
            _place_part(insert, units, roots)
        else:
            _put_into_place(insert, units, roots)
    for unit in units.values():
        if isinstance(unit.value.owner, tensor.EmptyOp):
            if not unit.parts:
                continue
            for part in unit.parts:
                unit.last = max(unit.last, part.last)
                unit.ages = [max(pair) for pair in zip(unit.ages, part.ages, strict=False)]
        if unit.into is None:
            whole.append(unit)
    lifetimes = [_lifetime(unit, order) for unit in whole]
    addresses, _ = plan(lifetimes)
    for unit, address in zip(whole, addresses, strict=True):
        unit.offset = address
    places = _write(whole)
    strides = {part.value: part.strides for unit in whole for part in unit.parts}
    for launch in launches:
        with located(launch):
            results = [roots[result] for result in launch.results]
            _write_launch(launch, [places[result] for result in results], [strides.get(r) for r in results])


def _place_of(result: OpResult, reused: Reused) -> OpResult:
    """The result of a launch in whose place another one lies: itself, or what it reuses."""
    while True:
        launch = result.owner
        assert isinstance(launch, tile.LaunchOp)
        operand = _reused_by(launch, reused)[result.index]
        if operand is None:
            return result
        value = _unviewed(launch.inputs[operand])
        if not isinstance(value.owner, tile.LaunchOp) or host_block(value.owner) is not host_block(launch):
            raise UserError("only what a launch has made can be overwritten by another one", loc=launch)
        result = cast("OpResult", value)


def _unviewed(value: SSAValue) -> SSAValue:
    """What a value is a view of, also if a program hands it on."""
    while isinstance(value.owner, (tile.ProgramOp, *VIEWS)):
        owner = value.owner
        handed = isinstance(owner, tile.ProgramOp)
        value = owner.yielded.values[cast("OpResult", value).index] if handed else owner.operands[0]
    return value


def _reused_by(launch: tile.LaunchOp, reused: Reused) -> Sequence[int | None]:
    return reused.get(launch.kernel.string_value(), (None,) * len(launch.results))


def _units(
    function: FuncOp, order: dict[Operation, int], roots: dict[OpResult, OpResult], reused: Reused
) -> Iterator[_Unit]:
    for op in _host_ops(body_of(function)):
        if isinstance(op, tile.LaunchOp) or (isinstance(op, tensor.EmptyOp) and _is_put_together(op)):
            loops = _loops_around(op)
            for result in op.results:
                if roots.get(result, result) is not result:
                    continue
                ages, last = _reach(result, loops, order, reused)
                yield _Unit(result, loops, ages, last)


def _host_ops(block: Block) -> Iterator[Operation]:
    """The ops that the host runs one by one."""
    for op in block.ops:
        yield op
        for region in op.regions if not isinstance(op, tile.HostOp) else ():
            for inner in region.blocks:
                yield from _host_ops(inner)


def _is_put_together(op: tensor.EmptyOp) -> bool:
    """Whether a loop, or insertions in place, start with this tensor."""
    user = next(iter(op.tensor.uses)).operation if op.tensor.has_one_use() else None
    return isinstance(user, scf.ForOp) or (isinstance(user, tensor.InsertSliceOp) and is_in_place(user))


def _loops_around(op: Operation) -> list[scf.ForOp]:
    loops: list[scf.ForOp] = []
    outer = op.parent_op()
    while outer is not None:
        if isinstance(outer, scf.ForOp):
            loops.insert(0, outer)
        outer = outer.parent_op()
    return loops


def _reach(
    value: SSAValue, loops: Sequence[scf.ForOp], order: dict[Operation, int], reused: Reused
) -> tuple[list[int], int]:
    """How many iterations later a value, or a view of it, is there in each of the loops around it, at most; and the
    last op of the function that reads it."""
    oldest = [0] * len(loops)
    owner = value.owner
    last = order[ancestor_among(order, owner)] if isinstance(owner, Operation) else 0
    pending: list[tuple[SSAValue, tuple[int, ...]]] = [(value, (0,) * len(loops))]
    seen = set(pending)
    while pending:
        current, ages = pending.pop()
        oldest = [max(pair) for pair in zip(oldest, ages, strict=True)]
        for use in current.uses:
            user = use.operation
            last = max(last, order[ancestor_among(order, user)])
            for alias, loop in _aliases(user, use.index, reused):
                now = tuple(age + (loop is around) for age, around in zip(ages, loops, strict=True))
                if any(age > len(around.iter_args) + 1 for age, around in zip(now, loops, strict=True)):
                    raise UserError("a value of one iteration is read in all others", loc=user)
                if (alias, now) not in seen:
                    seen.add((alias, now))
                    pending.append((alias, now))
    return oldest, last


def _aliases(user: Operation, index: int, reused: Reused) -> Iterator[tuple[SSAValue, scf.ForOp | None]]:
    """What may be the same memory as an operand of an op, and the loop in whose next iteration it is."""
    match user:
        case tile.LaunchOp():
            for result, operand in zip(user.results, _reused_by(user, reused), strict=True):
                if operand == index:
                    yield result, None
        case HostCallOp():
            pass
        case tile.YieldOp() if isinstance(program := user.parent_op(), tile.ProgramOp):
            yield program.results[index], None
        case scf.YieldOp() if isinstance(loop := user.parent_op(), scf.ForOp):
            yield loop.results[index], None
            yield loop.body.block.args[index + 1], loop
        case scf.ForOp():
            if index >= 3:
                yield user.body.block.args[index - 2], None
                if not constant_trips(user):
                    # It may not run at all.
                    yield user.results[index - 3], None
        case tensor.InsertSliceOp():
            if index == 1:
                yield user.result, None
        case _ if _in_host_op(user):
            pass
        case _:
            for result in user.results:
                if isinstance(result.type, TensorType):
                    yield result, None


def _in_host_op(op: Operation) -> bool:
    """Whether an op is part of what the host does as a whole, whose results are tensors of their own."""
    outer = op.parent_op()
    while outer is not None and not isinstance(outer, FuncOp):
        if isinstance(outer, tile.HostOp):
            return True
        outer = outer.parent_op()
    return False


def _put_into_place(
    insert: tensor.InsertSliceOp, units: dict[OpResult, _Unit], roots: dict[OpResult, OpResult]
) -> None:
    """Let a launch write where its result is put later. What the host makes, it puts into place itself."""
    source = _unviewed(insert.source)
    if isinstance(source.owner, tile.HostOp | HostCallOp):
        return
    source = roots.get(cast("OpResult", source), source)
    part = units.get(cast("OpResult", source))
    stack = units.get(cast("OpResult", _start_of(insert)))
    if (
        part is None
        or not isinstance(source.owner, tile.LaunchOp)
        or host_block(source.owner) is not host_block(insert)
    ):
        raise UserError(
            "what a loop puts together has to come from a launch: tile-copy-for-loops", loc=insert
        )
    if part.into is not None:
        raise UserError("a result can be part of one tensor only: tile-copy-for-loops", loc=insert)
    if stack is None or not is_row(insert):
        raise UserError("a loop can only put together tensors without contents, row by row", loc=insert)
    if element_bits(part.type.element_type) % 8:
        raise UserError(f"elements of type {part.type.element_type} share bytes", loc=insert)
    place = insert.offsets[0].owner
    if (
        isinstance(place, Operation)
        and host_block(place) is host_block(insert)
        and not _is_before(place, source.owner)
    ):
        raise UserError("where a result is put has to be known before its launch", loc=insert)
    if any(part.ages) and not _is_counter(insert.offsets[0], cast("scf.ForOp", insert.parent_op())):
        raise UserError("a result that is carried on has to be put into a place of its own", loc=insert)
    part.into = insert
    stack.parts.append(part)


def _is_before(op: Operation, other: Operation) -> bool:
    """Whether an op comes before another one that stands in the same block, or in programs there."""
    for one in _out_of_programs(op):
        for two in _out_of_programs(other):
            if one.parent is two.parent:
                return one.is_before_in_block(two)
    raise AssertionError("they stand in different blocks")


def _out_of_programs(op: Operation) -> Iterator[Operation]:
    yield op
    around = op.parent_op()
    while isinstance(around, tile.ProgramOp):
        yield around
        around = around.parent_op()


def _place_part(
    insert: tensor.InsertSliceOp, units: dict[OpResult, _Unit], roots: dict[OpResult, OpResult]
) -> None:
    """Let a launch write its result where it is a part of a tensor that is joined in place."""
    start, source = _unviewed(insert.dest), _unviewed(insert.source)
    while isinstance(start.owner, tensor.InsertSliceOp) and is_in_place(start.owner):
        start = _unviewed(start.owner.dest)
    whole, part = units.get(cast("OpResult", start)), units.get(cast("OpResult", source))
    box = part_of(insert)
    if (
        whole is None
        or part is None
        or box is None
        or whole.loops
        or part.loops
        or not isinstance(start.owner, tensor.EmptyOp)
        or roots.get(cast("OpResult", source)) is not source
    ):
        raise UserError(
            "what is joined in place is a tensor without contents, of results of launches that have no other place, "
            "whole but for one axis, outside of loops: run linalg-place-pieces",
            loc=insert,
        )
    if part.into is not None:
        raise UserError("a result can be part of one tensor only: copy it", loc=insert)
    if element_bits(part.type.element_type) % 8:
        raise UserError(f"elements of type {part.type.element_type} share bytes", loc=insert)
    part.strides = strides_behind(insert.source, source, row_major(box.shape))
    if part.strides is None:
        raise UserError("the shape of a result can't be that of a part in place: copy it", loc=insert)
    part.into = insert
    part.offset = box.first
    whole.parts.append(part)


def _start_of(insert: tensor.InsertSliceOp) -> SSAValue | None:
    """What a loop that carries on a tensor through this op alone starts with."""
    loop, arg = insert.parent_op(), insert.dest
    if (
        not isinstance(loop, scf.ForOp)
        or not isinstance(arg, BlockArgument)
        or arg.block is not insert.parent
    ):
        return None
    uses = list(insert.result.uses)
    if not arg.has_one_use() or len(uses) != 1 or not isinstance(uses[0].operation, scf.YieldOp):
        return None
    return loop.iter_args[arg.index - 1] if uses[0].index == arg.index - 1 else None


def _is_counter(value: SSAValue, loop: scf.ForOp) -> bool:
    """Whether a value is another one in each iteration: the index of the loop, or a constant less it."""
    index = loop.body.block.args[0]
    owner = value.owner
    is_rest = isinstance(owner, arith.SubiOp) and constant_index(owner.lhs) is not None and owner.rhs is index
    return value is index or is_rest


def _lifetime(unit: _Unit, order: dict[Operation, int]) -> Lifetime:
    makers = [unit.value.owner, *(part.value.owner for part in unit.parts)]
    start = min(order[ancestor_among(order, maker)] for maker in makers)
    size = storage_bytes(math.prod(unit.type.get_shape()), element_bits(unit.type.element_type))
    return Lifetime(round_up(unit.slots * size, GM_ALIGNMENT), start, unit.last)


# ---- writing it down -------------------------------------------------------------------------------------------------


Place: TypeAlias = tuple[int, int, SSAValue | None]
"""Where the slots of a result begin, how many there are, and which one is meant; None for the only one."""


def _write(whole: Sequence[_Unit]) -> dict[OpResult, Place]:
    """Reserve the places of tensors that loops put together; those of what launches make."""
    place_of: dict[OpResult, Place] = {}
    for unit in whole:
        owner = unit.value.owner
        with located(owner):
            slot = _slot(unit, owner)
            if isinstance(owner, tensor.EmptyOp):
                reserve = tile.ReserveOp(unit.offset, unit.type, slot, unit.slots)
                first = _first(unit)
                cast("Block", first.parent).insert_op_before(reserve, first)
                for part in unit.parts:
                    if part.strides is None:
                        place_of[part.value] = _within(part, unit, slot)
                    else:
                        size = element_bits(part.type.element_type) // 8
                        place_of[part.value] = unit.offset + part.offset * size, 1, None
                unit.value.replace_all_uses_with(reserve.result)
                owner.detach()
                owner.erase()
            else:
                place_of[unit.value] = unit.offset, unit.slots, slot
    return place_of


def _first(unit: _Unit) -> Operation:
    """The op in front of which a tensor is reserved: the first of those that make it and its parts in place."""
    makers = [unit.value.owner, *(part.value.owner for part in unit.parts if part.strides is not None)]
    if len({maker.parent for maker in makers}) > 1:
        # It is seen inside and outside of programs.
        makers = [list(_out_of_programs(maker))[-1] for maker in makers]
    first, *others = makers
    for maker in others:
        if maker.is_before_in_block(first):
            first = maker
    return first


def _write_launch(
    launch: tile.LaunchOp, places: Sequence[Place], strides: Sequence[tuple[int, ...] | None]
) -> None:
    launch.properties["result_offsets"] = DenseArrayBase.from_list(i64, [offset for offset, _, _ in places])
    if any(strides):
        lists = [DenseArrayBase.from_list(i64, own or ()) for own in strides]
        launch.properties["result_strides"] = ArrayAttr(lists)
    if all(slot is None for _, _, slot in places):
        return
    launch.properties["result_slots"] = DenseArrayBase.from_list(i64, [slots for _, slots, _ in places])
    indices = [slot if slot is not None else _constant(0, launch) for _, _, slot in places]
    new = tile.LaunchOp(launch.kernel.string_value(), launch.inputs, launch.result_types, indices)
    names = ("result_offsets", "result_slots", "result_strides")
    new.properties |= {name: launch.properties[name] for name in names if name in launch.properties}
    new.attributes |= launch.attributes
    cast("Block", launch.parent).insert_op_before(new, launch)
    for old, result in zip(launch.results, new.results, strict=True):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    launch.detach()
    launch.erase()


def _within(part: _Unit, stack: _Unit, slot: SSAValue | None) -> Place:
    """Where a launch finds the row of a tensor that a loop puts together."""
    assert part.into is not None
    launch, rows = part.value.owner, stack.type.get_shape()[0]
    place = part.into.offsets[0]
    if slot is not None:
        number = _add(arith.RemUIOp(slot, _constant(stack.slots, launch)), launch)
        place = _add(arith.AddiOp(_add(arith.MuliOp(number, _constant(rows, launch)), launch), place), launch)
    return stack.offset, stack.slots * rows, place


def _slot(unit: _Unit, anchor: Operation) -> SSAValue | None:
    """The number of the slot in this iteration, modulo how many there are; None if there is one."""
    slot: SSAValue | None = None
    turns = [(loop, age + 1) for loop, age in zip(unit.loops, unit.ages, strict=True) if age]
    for loop, count in turns:
        number = _iteration(loop, anchor)
        if len(turns) > 1:
            number = _add(arith.RemUIOp(number, _constant(count, anchor)), anchor)
        if slot is not None:
            slot = _add(arith.MuliOp(slot, _constant(count, anchor)), anchor)
            number = _add(arith.AddiOp(slot, number), anchor)
        slot = number
    return slot


def _iteration(loop: scf.ForOp, anchor: Operation) -> SSAValue:
    """The number of the iteration of a loop, from 0."""
    number: SSAValue = loop.body.block.args[0]
    if constant_index(loop.lb) != 0:
        number = _add(arith.SubiOp(number, loop.lb), anchor)
    if constant_index(loop.step) != 1:
        number = _add(arith.DivUIOp(number, loop.step), anchor)
    return number


def _constant(value: int, anchor: Operation) -> SSAValue:
    return _add(arith.ConstantOp(IntegerAttr(value, IndexType())), anchor)


def _add(op: Operation, anchor: Operation) -> SSAValue:
    cast("Block", anchor.parent).insert_op_before(op, anchor)
    return op.results[0]
