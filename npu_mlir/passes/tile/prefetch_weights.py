"""Bring weights from HBM to L2 ahead of the launches that read them.

Which, and how far ahead, is decided by `npu_mlir.analysis.prefetch`: at most `window` bytes are on their way or wait in
L2, fewer where they would push out too much of what would have been there; no launch has more to load from HBM than
without. Weights that are in L2 anyway are left out, and so are those that alone are larger than the window.

Before:

    %w0 = graph.weight @w0
    %y = tile.launch @k0(%x, %w0) {result_offsets = ...}
    %w1 = graph.weight @w1
    %z = tile.launch @k1(%y, %w1) {result_offsets = ...}

After:

    %w0 = graph.weight @w0
    tile.prefetch %w0
    %w1 = graph.weight @w1
    tile.prefetch %w1
    %y = tile.launch @k0(%x, %w0) {result_offsets = ...}
    %z = tile.launch @k1(%y, %w1) {result_offsets = ...}

Leaves alone: machines without L2; functions that have prefetches, which somebody has put there; launches in loops.
Does not handle: results whose places are not planned (`tile-plan-memory`), which count as never used before.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.gm_addresses import GmAddresses, KernelTouches, viewed
from npu_mlir.analysis.prefetch import LaunchNeeds, plan_prefetches
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.ir.functions import body_of
from npu_mlir.ir.host_ops import flattened, host_block
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import located
from npu_mlir.support.remarks import RemarkKind, remark
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.numbers import number

WEIGHT = "graph.weight"


@dataclass(frozen=True)
class PrefetchWeights(ModulePass):
    """Place `tile.prefetch` for weights."""

    name = "tile-prefetch-weights"
    window: str = "16MiB"
    """The most bytes that are brought ahead, as 8MiB; 0 for none."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target, window = target_of(op), _bytes(self.window)
        if not target.l2 or not window:
            return
        kernels = {k.sym_name.data: k for k in op.ops if isinstance(k, tile.KernelOp)}
        touches = {name: KernelTouches(kernel) for name, kernel in kernels.items()}
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                _place(body_of(function), GmAddresses(op), touches, window, int(target.l2["size"]))


def _bytes(window: str) -> int:
    if window == "0":
        return 0
    try:
        return int(number("l2.size", window))  # type: ignore[arg-type]
    except UserError as error:
        raise UserError(
            f"the window can't be '{window}': it is a number of bytes, like 8MiB, or 0"
        ) from error


def _place(
    block: Block, addresses: GmAddresses, kernels: dict[str, KernelTouches], window: int, size: int
) -> None:
    ops = list(block.walk())
    if any(isinstance(op, tile.PrefetchOp | npu_isa.PrefetchOp) for op in ops):
        return
    launches = [op for op in ops if isinstance(op, tile.LaunchOp)]
    if not launches or any(host_block(op) is not block for op in launches):
        return
    needs = [_needs(op, addresses, kernels) for op in launches]
    plan = plan_prefetches(needs, window, size)
    order = {op: i for i, op in enumerate(flattened(block))}
    for op, begun in zip(launches, plan.before, strict=True):
        for launch, operand in begun:
            _prefetch(viewed(launches[launch].inputs[operand]), op, launches[launch], order)
    _explain(launches[0], plan.window, window, sum(map(len, plan.before)))


def _needs(op: tile.LaunchOp, addresses: GmAddresses, kernels: dict[str, KernelTouches]) -> LaunchNeeds:
    places = [addresses.of(value) for value in (*op.inputs, *op.results)]
    touches = kernels[op.kernel.string_value()].at(places)
    weights = [i for i, value in enumerate(op.inputs) if _is_weight(value)]
    return LaunchNeeds(touches, len(op.inputs), weights)


def _is_weight(value: SSAValue) -> bool:
    owner = viewed(value).owner
    return isinstance(owner, Operation) and owner.name == WEIGHT


def _prefetch(
    weight: SSAValue, launch: tile.LaunchOp, user: tile.LaunchOp, order: dict[Operation, int]
) -> None:
    """Begin before a launch, where the weight may not be defined yet; `order` has the places of ops in the block."""
    owner, block = weight.owner, launch.parent
    assert isinstance(owner, Operation) and block is not None
    if order[owner] > order[launch]:
        home = owner.parent
        assert home is not None
        around = home.find_ancestor_op_in_block(launch)
        assert around is not None
        owner.detach()
        home.insert_op_before(owner, around)
        order[owner] = order[launch]
    with located(user):
        block.insert_op_before(tile.PrefetchOp(weight), launch)


def _explain(launch: tile.LaunchOp, taken: int, asked: int, count: int) -> None:
    if not count:
        reason = "every weight is in L2, larger than the window, or would push out what is there"
        remark(
            RemarkKind.MISSED, PrefetchWeights.name, "prefetch", launch, "nothing prefetched", reason=reason
        )
        return
    remark(
        RemarkKind.PASSED,
        PrefetchWeights.name,
        "prefetch",
        launch,
        f"{count} weights prefetched",
        Window=taken,
        Asked=asked,
    )
