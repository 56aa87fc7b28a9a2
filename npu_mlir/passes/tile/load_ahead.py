"""Load ahead of the boundary of a section: weights, and what the section before has stored by then.

What stands at the top of a kernel moves in front of its `tile.boundary`. Of what a loop loads tile by tile, the first
tile is loaded there, and the loop leaves it out. So pipes that are through with the section before get something to do.

Before:

    tile.boundary
    tile.load %bias[] into %b
    scf.for %i = %c0 to %c512 step %c64 {
      %n = affine.apply affine_map<(d0) -> (d0 floordiv 64)> (%i)
      tile.load %X[%i] into %x                                            from the section before
      %s = tile.slot %w[%n]
      tile.load %W[%i] into %s
      ...

After:

    %s0 = tile.slot %w[%c0]
    tile.load %W[%c0] into %s0
    tile.await_stored from <ub>                                  in the section before: tile.stored
    tile.load %X[%c0] into %x
    tile.load %bias[] into %b
    tile.boundary
    scf.for %i = %c0 to %c512 step %c64 {
      %n = affine.apply affine_map<(d0) -> (d0 floordiv 64)> (%i)
      %again = arith.cmpi uge, %n, %c1
      scf.if %again { tile.load %X[%i] into %x }
      %s = tile.slot %w[%n]
      scf.if %again { tile.load %W[%i] into %s }
      ...

The section before says `tile.stored` behind the last store that meets the first tile (`npu_mlir.analysis.handover`),
in the iteration where that is so. All sections of a kernel have to agree: a kernel awaits something only if each of its
launches comes directly behind one whose kernel says it, and says it only if what comes next always waits for it.

Only the first load of each buffer, and only loads to L1: UB is in use until the section before is over. Loads for the
cube go first, then those that it reads from L1 itself (biases), whose places are free only when it is through.

Leaves alone: kernels without a boundary, those with loads before it, and with `tiles=0` everything; with
`activations=false` all but what no section writes; what is loaded behind the first loop that loads, whose buffers
would take the place of others until then.
Does not handle: loads whose place depends on more than constants and loops; more than one tile; sections that begin
with results of sections before the last; in loops of launches, what the iteration before has made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.boxes import Coordinate
from npu_mlir.analysis.gm_addresses import viewed
from npu_mlir.analysis.gm_boxes import gm_box
from npu_mlir.analysis.handover import LoadBox, StoreBoxes, last_iteration
from npu_mlir.analysis.scalar_forms import ScalarForms
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, space_of
from npu_mlir.dialects.tile.kernels import writer_in_program
from npu_mlir.ir.first_values import first_value
from npu_mlir.ir.loop_bounds import constant_trips
from npu_mlir.ir.running_count import running_count
from npu_mlir.ir.sections import last_sections, sections_before
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import located


@dataclass(frozen=True)
class LoadAhead(ModulePass):
    """Move first loads to the heads of kernels."""

    name = "tile-load-ahead"
    tiles: int = 1
    """How many tiles of each operand are loaded ahead: 0 or 1."""
    activations: bool = True
    """Whether what the section before makes is loaded as soon as it is stored."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.tiles not in (0, 1):
            raise UserError(f"{self.tiles} tiles can't be loaded ahead, only 1 or none")
        if not self.tiles:
            return
        kernels = {k.sym_name.data: k for k in op.ops if isinstance(k, tile.KernelOp)}
        sections = list(_sections(op))
        constant = _constant_arguments(sections)
        plans = {n: _Plan(kernels[n], own) for n, own in constant.items() if _is_open(kernels[n])}
        if self.activations:
            _hand_over(plans, sections)
        for plan in plans.values():
            plan.write()


def _is_open(kernel: tile.KernelOp) -> bool:
    """Whether a kernel has a boundary that nothing is loaded ahead of."""
    for op in kernel.body.block.ops:
        if isinstance(op, tile.BoundaryOp):
            return True
        if isinstance(op, tile.LoadOp | tile.AwaitStoredOp):
            return False
    return False


# ---- sections --------------------------------------------------------------------------------------------------------


class _Section(NamedTuple):
    """A launch of a program, those that may come directly before it, and whether something comes behind it."""

    launch: tile.LaunchOp
    program: tile.ProgramOp
    before: set[tile.LaunchOp]
    followed: bool

    @property
    def name(self) -> str:
        """The symbol of its kernel."""
        return self.launch.kernel.string_value()


def _sections(module: ModuleOp) -> Iterator[_Section]:
    for program in [op for op in module.walk() if isinstance(op, tile.ProgramOp)]:
        order = sections_before(program)
        ends = last_sections(program)
        for launch, before in order.items():
            yield _Section(launch, program, before, launch not in ends)


def _constant_arguments(sections: Sequence[_Section]) -> dict[str, set[int]]:
    """For each kernel of programs, the arguments that no section of any of these programs writes."""
    found: dict[str, set[int]] = {}
    for section in sections:
        inputs = section.launch.inputs
        own = {i for i, v in enumerate(inputs) if writer_in_program(v, section.program) is None}
        found[section.name] = found.get(section.name, own) & own
    return found


# ---- what is handed over ---------------------------------------------------------------------------------------------


def _hand_over(plans: dict[str, _Plan], sections: Sequence[_Section]) -> None:
    """Decide which kernels await what the section before stores, and where these say that it is stored."""
    taken = _taken(plans, sections)
    awaiting = {name for name, arguments in taken.items() if arguments}
    while True:
        saying = _saying(plans, sections, awaiting)
        said = {name: _said(plans, sections, name, taken) for name in saying}
        useful = {s.name for s in sections if any(said.get(b.kernel.string_value()) for b in s.before)}
        fit = {name for name in awaiting & useful if _is_answered(sections, name, said, plans)}
        if fit == awaiting:
            break
        awaiting = fit
    for name, place in said.items():
        plans[name].says, plans[name].stored_at = True, place
    for section in sections:
        if section.name in awaiting:
            (before,) = section.before
            plan = plans[section.name]
            name = before.kernel.string_value()
            plan.handed, plan.source = taken[section.name], plans[name].space
            plan.is_early |= said[name] is not None


def _taken(plans: dict[str, _Plan], sections: Sequence[_Section]) -> dict[str, set[int]]:
    """For each kernel, the arguments that in all its sections the one directly before has made, and that it can load
    ahead."""
    found: dict[str, set[int]] = {}
    for section in sections:
        own: set[int] = set()
        if len(section.before) == 1 and section.name in plans:
            (before,) = section.before
            firsts = plans[section.name].firsts
            own = {
                i for i, v in enumerate(section.launch.inputs) if viewed(v).owner is before and i in firsts
            }
        found[section.name] = found.get(section.name, own) & own
    return found


def _saying(plans: dict[str, _Plan], sections: Sequence[_Section], awaiting: set[str]) -> set[str]:
    """The kernels behind which always one comes that awaits what they store."""
    followed = {section.name: True for section in sections}
    for section in sections:
        followed[section.name] &= section.followed
        for before in section.before:
            followed[before.kernel.string_value()] &= section.name in awaiting
    return {name for name, always in followed.items() if always and name in plans and plans[name].space}


def _is_answered(
    sections: Sequence[_Section], name: str, said: Mapping[str, object], plans: dict[str, _Plan]
) -> bool:
    """Whether before each section of a kernel one comes that says what is stored, always from the same memory."""
    spaces: set[Space | None] = set()
    for section in sections:
        if section.name != name:
            continue
        if len(section.before) != 1:
            return False
        (before,) = section.before
        if before.kernel.string_value() not in said:
            return False
        spaces.add(plans[before.kernel.string_value()].space)
    return len(spaces) == 1


def _said(
    plans: dict[str, _Plan], sections: Sequence[_Section], name: str, taken: dict[str, set[int]]
) -> tuple[int, ...] | None:
    """The iteration in which all is stored that the sections behind a kernel begin with; None for its end."""
    latest: tuple[int, ...] = ()
    for section in sections:
        for before in section.before:
            if before.kernel.string_value() != name:
                continue
            for number in taken[section.name]:
                value = viewed(section.launch.inputs[number])
                result = len(before.inputs) + cast("OpResult", value).index
                boxes = plans[section.name].boxes(number)
                at = plans[name].last_store(result, boxes) if boxes is not None else None
                if at is None:
                    return None
                latest = max(latest, at)
    return latest if latest < plans[name].last else None


# ---- kernels ---------------------------------------------------------------------------------------------------------


class _Plan:
    """A kernel, and what is to be loaded ahead in it."""

    def __init__(self, kernel: tile.KernelOp, constant: set[int]):
        self.kernel = kernel
        self.top = kernel.body.block
        self.boundary = next(op for op in self.top.ops if isinstance(op, tile.BoundaryOp))
        self.constant = constant
        """The arguments that no section writes."""
        self.handed = set[int]()
        """Those that are awaited."""
        self.source: Space | None = None
        """Where the section before stores from what is awaited."""
        self.is_early = False
        """Whether that is stored before the section before is over."""
        self.says = False
        self.stored_at: tuple[int, ...] | None = None
        """In which iteration all is stored that comes next begins with; None for its end."""
        self.firsts: dict[int, list[tile.LoadOp]] = {}
        """For each argument, the loads whose first execution can be at the top of the kernel."""
        self._forms = ScalarForms()
        filled = set[SSAValue]()
        first = _first_loop(self.top)
        for load in [op for op in kernel.walk() if isinstance(op, tile.LoadOp)]:
            buffer = _buffer(load)
            if buffer is None or buffer in filled:
                continue
            filled.add(buffer)
            at = self.top.find_ancestor_op_in_block(load)
            if first is not None and at is not None and first.is_before_in_block(at):
                continue
            source = load.source
            if (
                isinstance(source, BlockArgument)
                and source.block is self.top
                and self._can_move(load, buffer)
            ):
                self.firsts.setdefault(source.index, []).append(load)
        self.stores = [op for op in kernel.walk() if isinstance(op, tile.StoreOp)]
        spaces = {space_of(store.value.type) for store in self.stores}
        self.space = spaces.pop() if len(spaces) == 1 else None
        """Where results are stored from."""
        homes = {store.parent for store in self.stores}
        self.home = homes.pop() if len(homes) == 1 and self.space else None
        """The block of all stores."""
        loops = _loops(self.stores[0]) if self.home is not None else None
        self.loops = [] if loops is None else list(reversed(loops))
        self.last = tuple(len(constant_trips(loop) or ()) - 1 for loop in self.loops)
        """The number of the last iteration of each loop around the stores, the outermost first."""

    def _can_move(self, load: tile.LoadOp, buffer: SSAValue) -> bool:
        if space_of(buffer.type) is not Space.L1 or cast("Operation", buffer.owner).parent is not self.top:
            return False
        if load.parent is self.top:
            needed = [value.owner for value in load.operands if isinstance(value.owner, Operation)]
            return all(isinstance(op, tile.AllocOp | arith.ConstantOp) for op in needed)
        slot = cast("SSAValue", load.dest).owner
        scalars = [*load.indices, *([slot.index] if isinstance(slot, tile.SlotOp) else [])]
        return bool(_loops(load)) and all(first_value(value) is not None for value in scalars)

    def boxes(self, number: int) -> list[LoadBox] | None:
        """What first executions load of an argument."""
        found: list[LoadBox] = []
        for load in self.firsts[number]:
            coordinates = gm_box(load, self._forms)
            if any(c is None for c in coordinates):
                return None
            known = cast("Sequence[Coordinate]", coordinates)
            first = tuple(min(max(c.constant, 0), c.extent - 1) for c in known)
            last = tuple(min(max(c.constant + (c.count - 1) * c.step, 0), c.extent - 1) for c in known)
            found.append(LoadBox(tuple(c.extent for c in known), first, last))
        return found

    def last_store(self, number: int, boxes: Sequence[LoadBox]) -> tuple[int, ...] | None:
        """The last iteration in which something of these parts of a result is stored; None if it is not known."""
        if self.home is None or not self.loops:
            return None
        latest: tuple[int, ...] | None = None
        for store in self.stores:
            if store.dest is not self.top.args[number]:
                continue
            coordinates = gm_box(store, self._forms)
            if any(c is None or any(t.loop not in self.loops for t in c.terms) for c in coordinates):
                return None
            known = cast("Sequence[Coordinate]", coordinates)
            moves = [{term.loop: term.coefficient for term in c.terms} for c in known]
            part = StoreBoxes(
                tuple(c.extent for c in known),
                tuple(c.constant for c in known),
                tuple(tuple(m.get(loop, 0) for m in moves) for loop in self.loops),
                tuple(last + 1 for last in self.last),
            )
            for box in boxes:
                at = last_iteration(part, box)
                if at is None:
                    return None
                latest = at if latest is None else max(latest, at)
        return latest

    # ---- writing

    def write(self) -> None:
        """Load ahead, and say what is stored."""
        loads = [op for n in sorted(self.constant - self.handed) for op in self.firsts.get(n, ())]
        late = [op for op in loads if not _is_for_l0(cast("SSAValue", _buffer(op)))]
        order = {op: i for i, op in enumerate(self.kernel.walk())}
        for load in sorted([op for op in loads if op not in late], key=order.__getitem__):
            self._move(load)
        late.sort(key=order.__getitem__)
        if not self.is_early:
            # Their places are free before anything is stored.
            for load in late:
                self._move(load)
        if self.handed:
            with located(self.boundary):
                self._insert(tile.AwaitStoredOp(cast("Space", self.source)))
            handed = [op for n in self.handed for op in self.firsts[n]]
            for load in sorted(handed, key=order.__getitem__):
                self._move(load)
        if self.is_early:
            for load in late:
                self._move(load)
        if self.says:
            self._say()

    def _insert(self, *ops: Operation) -> None:
        self.top.insert_ops_before(ops, self.boundary)

    def _move(self, load: tile.LoadOp) -> None:
        with located(load):
            alloc = cast("tile.AllocOp", cast("SSAValue", _buffer(load)).owner)
            self._raise(alloc)
            if load.parent is self.top:
                for index in load.indices:
                    self._raise(cast("Operation", index.owner))
                load.detach()
                self._insert(load)
            else:
                self._split(load, alloc)

    def _raise(self, op: Operation) -> None:
        if op.parent is self.top and not op.is_before_in_block(self.boundary):
            op.detach()
            self._insert(op)

    def _constant(self, value: SSAValue) -> SSAValue:
        op = arith.ConstantOp(IntegerAttr(cast("int", first_value(value)), IndexType()))
        self._insert(op)
        return op.result

    def _split(self, load: tile.LoadOp, alloc: tile.AllocOp) -> None:
        """Load the first tile before the boundary, and leave it out in the loop."""
        slot, dest = cast("SSAValue", load.dest).owner, alloc.buffer
        if isinstance(slot, tile.SlotOp):
            first = tile.SlotOp(alloc.buffer, self._constant(slot.index))
            self._insert(first)
            dest = first.result
        indices = [self._constant(index) for index in load.indices]
        self._insert(tile.LoadOp(load.source, indices, load.map, dest=dest, pad=load.pad))
        home = _home(load)
        one = arith.ConstantOp(IntegerAttr(1, IndexType()))
        again = arith.CmpiOp(running_count(home, self.top), one.result, "uge")
        guarded = scf.IfOp(again.result, [], Region(Block()))
        # Also around what else decides whether it is executed.
        left_out = cast("Operation", home.find_ancestor_op_in_block(load))
        home.insert_ops_before([one, again, guarded], left_out)
        left_out.detach()
        guarded.true_region.block.add_ops([left_out, scf.YieldOp()])

    def _say(self) -> None:
        """Say where all is stored that the next section begins with."""
        last = max(self.stores, key=lambda op: [*self.kernel.walk()].index(op))
        with located(last):
            if self.stored_at is None or self.home is None:
                self.top.insert_op_before(tile.StoredOp(), cast("Operation", self.top.last_op))
                return
            number = 0
            for at, most in zip(self.stored_at, self.last, strict=True):
                number = number * (most + 1) + at
            count = arith.ConstantOp(IntegerAttr(number, IndexType()))
            here = arith.CmpiOp(running_count(self.home, self.top), count.result, "eq")
            guarded = scf.IfOp(here.result, [], Region(Block([tile.StoredOp(), scf.YieldOp()])))
            self.home.insert_ops_after([count, here, guarded], last)


def _first_loop(top: Block) -> Operation | None:
    """The first loop of a kernel that loads to L1."""
    for loop in top.ops:
        if isinstance(loop, scf.ForOp):
            loads = (op for op in loop.walk() if isinstance(op, tile.LoadOp))
            if any(space_of(op.tile_type) is Space.L1 for op in loads):
                return loop
    return None


def _buffer(load: tile.LoadOp) -> SSAValue | None:
    """The buffer that a load fills, all of its slots."""
    if load.dest is None:
        return None
    owner = load.dest.owner
    value = owner.buffer if isinstance(owner, tile.SlotOp) else load.dest
    return value if isinstance(value.owner, tile.AllocOp) else None


def _is_for_l0(buffer: SSAValue) -> bool:
    """Whether all that reads a buffer are loads to L0."""
    users = [use.operation for use in buffer.uses]
    users += [use.operation for op in users if isinstance(op, tile.SlotOp) for use in op.result.uses]
    return all(isinstance(op, tile.LoadOp | tile.SlotOp) for op in users)


def _home(op: Operation) -> Block:
    """The body of the innermost loop around an op."""
    around = op.parent_op()
    while not isinstance(around, scf.ForOp):
        assert around is not None
        around = around.parent_op()
    return around.body.block


def _loops(op: Operation) -> list[scf.ForOp] | None:
    """The loops around an op, the innermost first; None if it is not executed in their first iterations, or if one of
    them is none that counts from zero and is known to run."""
    loops: list[scf.ForOp] = []
    inner, around = op, op.parent_op()
    while around is not None and not isinstance(around, tile.KernelOp):
        if isinstance(around, scf.IfOp):
            if inner.parent is not around.true_region.block or first_value(around.cond) != 1:
                return None
        elif isinstance(around, scf.ForOp):
            trips = constant_trips(around)
            if not trips or trips.start or around.iter_args:
                return None
            loops.append(around)
        else:
            return None
        inner, around = around, around.parent_op()
    return loops
