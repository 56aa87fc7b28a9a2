"""How many groups of a grouped convolution the cube multiplies at once, as one block with zeros beside them.

A group of few channels leaves most of a step of the cube empty. `b` groups together are one product of b times the
rows and columns of weights, in which only the diagonal is not zero: b times the multiply-adds, and yet fewer steps as
long as the block is no larger than a step. Too large ones multiply zeros, and load more weights than they save.

For each size of the blocks, the bounds of the pipes (see `npu_mlir.analysis.bound`), and what each block takes besides:
two transfers from GM, two loads to L0, and an mmad. Groups of one channel in and out are no matrix product; they are
the vector unit's, a multiply-add for each element and position of the window, unless blocks are faster.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from npu_mlir.analysis.bound import KernelWork, ProductWork, VectorOps, bound
from npu_mlir.analysis.tiling import ACCUMULATOR
from npu_mlir.dialects.tile import ROW_ALIGNMENT, storage_bytes
from npu_mlir.support.arithmetic import round_up
from npu_mlir.targets.target import Target

JOINED = "npu.joined"
"""The attribute that says how many groups of the model one group of a convolution, or its product, is made of."""

FRICTION = 0.1
"""Part of the work of the pipes that are not the slowest that is not hidden behind it: fitted by eye, not measured."""


def joined_groups(op: Operation) -> int:
    """How many groups of the model a group of an op is made of: so many multiply-adds for each of the model."""
    joined = op.attributes.get(JOINED)
    return joined.value.data if isinstance(joined, IntegerAttr) else 1


@dataclass(frozen=True)
class GroupedConvolution:
    """A convolution of `groups` groups, each of `channels` input and `filters` output channels."""

    groups: int
    channels: int
    filters: int
    rows: int
    """Positions of the result, over all images."""
    window: int
    """Positions of the window."""
    inputs: int
    """Elements of the images."""
    element: str
    """The type of the factors, as `Target.cube_steps` has it."""
    bits: int
    """Bits of one of them."""

    @property
    def depthwise(self) -> bool:
        """Whether each group has one channel, in and out, so that it is no matrix product."""
        return self.channels == self.filters == 1 < self.groups


def best_block(conv: GroupedConvolution, target: Target) -> int:
    """The number of groups in the blocks that take the fewest cycles by estimate, the smallest of equal ones; 1 if
    they are best left alone.

    >>> from npu_mlir.targets.target import get_target
    >>> best_block(GroupedConvolution(64, 1, 1, 3136, 9, 64 * 3136, "f16", 16), get_target("ascend-910"))
    16
    """
    if conv.element not in target.cube_steps:
        return 1
    return min(_sizes(conv, target), key=lambda size: block_cycles(conv, size, target))


def _sizes(conv: GroupedConvolution, target: Target) -> list[int]:
    """The divisors of the number of groups, up to the first block that fills a step of the cube."""
    sizes: list[int] = []
    for size in range(1, conv.groups + 1):
        if conv.groups % size == 0:
            sizes.append(size)
            if size * conv.filters >= target.cube_n and size * conv.channels >= target.cube_m:
                break
    return sizes


def block_cycles(conv: GroupedConvolution, size: int, target: Target) -> float:
    """The cycles by estimate with blocks of `size` groups; with 1, those of the convolution as it is."""
    results = conv.rows * conv.groups * conv.filters
    bytes_ = storage_bytes(results, conv.bits)
    if conv.depthwise and size == 1:
        loads = tuple(
            ("gm_ub", storage_bytes(n, conv.bits)) for n in (conv.inputs, conv.window * conv.groups)
        )
        vector = VectorOps(results * conv.window, ACCUMULATOR, _slope(target))
        return _overlapped(bound(KernelWork(loads, (bytes_,), (), (vector,)), target).pipes.values())
    blocks, latencies = conv.groups // size, target.latencies
    # Of a position and of a weight, the channels of a block are a row, which is padded in transfers.
    row, column = (_padded(size * n, conv.bits) for n in (conv.channels, conv.filters))
    positions = conv.inputs // (conv.groups * conv.channels)
    loads = (positions * row, conv.window * size * conv.channels * column)
    k = 8 * conv.window * row // conv.bits
    product = ProductWork(blocks, conv.rows, size * conv.filters, k, conv.element, conv.bits)
    work = KernelWork(
        tuple(("gm_l1", blocks * n) for n in loads),
        (blocks * conv.rows * column,),
        (product,),
        direct=target.split_cores,
    )
    pipes: dict[str, float] = {**bound(work, target).pipes}
    if target.l2:
        # Activations are there, and weights are brought ahead.
        pipes["MTE2"] *= target.rates["gm_l1"] / max(target.rates["gm_l1"], target.l2["rate"])
    # Half of L0A is filled while the other half is multiplied.
    chunks = math.ceil(round_up(conv.rows, target.cube_m) * conv.window * row / (target.l0a // 2))
    fixed = {
        "MTE2": 2 * latencies["dma"],
        "MTE1": 2 * chunks * latencies["l0_load"],
        "M": chunks * latencies["mmad"],
    }
    cycles = _overlapped([used + blocks * fixed.get(pipe, 0) for pipe, used in pipes.items()])
    if conv.depthwise and target.split_cores:
        # What stands behind it would be part of a kernel of the vector unit, and becomes one of its own.
        cycles += latencies["launch"] + max(bytes_ / target.rates["gm_ub"], bytes_ / target.rates["ub_gm"])
    return cycles


def _overlapped(pipes: Collection[float]) -> float:
    """Cycles of pipes that work at the same time: those of the slowest, and what is not hidden behind it."""
    slowest = max(pipes, default=0)
    return slowest + FRICTION * (sum(pipes) - slowest)


def _padded(elements: int, bits: int) -> int:
    """The bytes that a row of elements takes in a transfer."""
    return round_up(storage_bytes(elements, bits), ROW_ALIGNMENT)


def _slope(target: Target) -> int:
    """Cycles of a multiply-add for each group of `vector_bytes`."""
    return target.vector.get("madd", target.vector["default"])[1]
