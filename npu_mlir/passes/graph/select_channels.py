"""graph-select-channels: take channels in another order by the weights of what reads them, or by a product.

    %r = graph.reshape %c : tensor<1x7x7x6xf32> -> tensor<1x7x7x2x3xf32>          // two groups of 3 channels
    %t = graph.transpose %r perm [0, 1, 2, 4, 3] : ... -> tensor<1x7x7x3x2xf32>
    %s = graph.reshape %t : ... -> tensor<1x7x7x6xf32>                           // channels 0 3 1 4 2 5
    %h = graph.slice %s ... -> tensor<1x7x7x3xf32>                               // channels 0 3 1
    %y = graph.conv %h, %w ... layout NHWC
  becomes
    %y = graph.conv %c, %w1 ... layout NHWC       // of channels 0, 3, 1 the weights of 0, 1, 2, of others 0

Reshapes, transposes and slices that only concern the last dim and what it is split into select elements of it: which
ones is computed here. What something else than a convolution reads, is made by a product with one weight of 1 for each
element, which is exact, and takes the cube less time than the vector unit needs for rows of few elements.

Leaves alone: selections in order, since slices are part of loads; more than 512 channels; types that the cube doesn't
multiply. Convolutions of groups, of less than half of the channels or whose weights are not constant read a product.
Does not handle: infinite or undefined elements, which become NaN in all channels that are made of a position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.group_blocks import JOINED, joined_groups
from npu_mlir.dialects.graph import (
    ConvOp,
    GraphOp,
    Layout,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    element_of,
    location_of,
    shape_of,
)
from npu_mlir.dialects.tile import cube_type
from npu_mlir.ir.constants import constant_of
from npu_mlir.ir.functions import body_of
from npu_mlir.ir.weights import WeightStore, weights_of
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.graph.rewriting import (
    WeightReleaser,
    functions,
    graph_ops,
    insert_before,
    insert_constant,
    join_locations,
    replace,
)
from npu_mlir.support.dtypes import numpy_dtype
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target

MOST_CHANNELS = 512
"""Channels up to which a product is faster than a transpose: it takes the cube this many steps for as many rows of
elements as the side of a step has, and each row of 16 elements takes the vector unit a cycle or more."""

_MOVING = (ReshapeOp, TransposeOp, SliceOp)


class SelectChannels(ModulePass):
    """Fold reorderings of channels into weights, or make them products."""

    name = "graph-select-channels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store, target, releaser = weights_of(op), target_of(op), WeightReleaser(op)
        for function in functions(op):
            known: dict[SSAValue, ChannelSelection] = {}
            for candidate in graph_ops(body_of(function)):
                if isinstance(candidate, _MOVING):
                    found = _through(candidate, known)
                    if found is not None:
                        known[candidate.result] = found
                        if _is_reordered(found) and _multiplies(found, target):
                            _rewrite(candidate, found, store, releaser)
        erase_dead_ops(op)
        releaser.finish()


@dataclass(frozen=True)
class ChannelSelection:
    """Elements of the last dim of a tensor, by their numbers in the shape that they have then."""

    source: SSAValue
    numbers: np.ndarray

    @property
    def kept(self) -> tuple[int, ...]:
        """The dims before, which stay as they are."""
        return shape_of(self.source)[:-1]


def _through(op: GraphOp, known: dict[SSAValue, ChannelSelection]) -> ChannelSelection | None:
    """What an operation selects of what its operand is selected of; None if it concerns other dims."""
    value = op.operands[0]
    shape = shape_of(value)
    if not shape:
        return None
    before = known.get(value)
    found = _moved(op, before) if before is not None else None
    return found or _moved(op, ChannelSelection(value, np.arange(shape[-1])))


def _moved(op: GraphOp, before: ChannelSelection) -> ChannelSelection | None:
    kept, numbers = before.kept, before.numbers
    rank = len(kept)
    match op:
        case ReshapeOp():
            shape = shape_of(op.result)
            if shape[:rank] != kept or len(shape) == rank:
                return None
            return ChannelSelection(before.source, numbers.reshape(shape[rank:]))
        case TransposeOp():
            perm = list(op.perm.get_values())
            if perm[:rank] != list(range(rank)):
                return None
            return ChannelSelection(before.source, numbers.transpose([axis - rank for axis in perm[rank:]]))
        case SliceOp():
            parts = list(
                zip(op.offsets.get_values(), op.sizes.get_values(), op.strides.get_values(), strict=True)
            )
            if any(
                (start, size, step) != (0, extent, 1)
                for (start, size, step), extent in zip(parts[:rank], kept, strict=True)
            ):
                return None
            own = tuple(slice(s, s + (n - 1) * step + 1, step) for s, n, step in parts[rank:])
            return ChannelSelection(before.source, numbers[own])
        case _:
            return None


def _is_reordered(found: ChannelSelection) -> bool:
    """Whether elements of a single dim are selected in another order."""
    return found.numbers.ndim == 1 and len(found.numbers) > 1 and bool(np.any(np.diff(found.numbers) < 0))


def _multiplies(found: ChannelSelection, target: Target) -> bool:
    """Whether the selection may be a product: of floats that the cube multiplies, with few enough channels."""
    element, shape = element_of(found.source), shape_of(found.source)
    return (
        isinstance(element, AnyFloat)
        and cube_type(element) in target.cube_steps
        and len(shape) >= 3
        and shape[-1] <= MOST_CHANNELS
    )


def _rewrite(op: GraphOp, found: ChannelSelection, store: WeightStore, releaser: WeightReleaser) -> None:
    """Let what reads a selection, but for what goes on selecting, read a product or its source."""
    made: SSAValue | None = None
    for use in list(op.results[0].uses):
        user = use.operation
        if isinstance(user, ConvOp) and use.index == 0 and _fold(user, found, store, releaser):
            continue
        if isinstance(user, _MOVING) and _goes_on(user, found):
            continue
        made = made or _product(op, found, store)
        user.operands[use.index] = made


def _goes_on(user: GraphOp, found: ChannelSelection) -> bool:
    """Whether an operation selects of a selection, so that what reads it is looked at in its turn."""
    after = _moved(user, found)
    return after is not None and after.numbers.ndim == 1


def _product(op: GraphOp, found: ChannelSelection, store: WeightStore) -> SSAValue:
    """The selected channels as a convolution with single weights of 1."""
    rank, channels = len(shape_of(found.source)) - 2, shape_of(found.source)[-1]
    weight = np.zeros((*(1,) * rank, channels, len(found.numbers)), numpy_dtype(element_of(found.source)))
    weight[..., found.numbers, np.arange(len(found.numbers))] = 1
    constant = insert_constant(op, store, weight, f"{location_of(op) or op.name}.selects")
    ones, none = (1,) * rank, (0,) * 2 * rank
    conv = ConvOp(found.source, constant, strides=ones, pads=none, dilations=ones, layout=Layout.NHWC)
    join_locations(conv, op)
    conv.attributes[JOINED] = IntegerAttr(channels, i64)
    return insert_before(op, conv)


def _fold(conv: ConvOp, found: ChannelSelection, store: WeightStore, releaser: WeightReleaser) -> bool:
    """Let a convolution read all channels, those that are not selected with weights of 0, if it can."""
    weight = constant_of(conv.weight, store)
    channels = shape_of(found.source)[-1]
    whole = conv.layout.data is Layout.NHWC and conv.group.value.data == 1
    if weight is None or not whole or channels > 2 * len(found.numbers):
        return False
    wide = np.zeros((*weight.shape[:-2], channels, weight.shape[-1]), weight.dtype)
    wide[..., found.numbers, :] = weight
    name = getattr(conv.weight.owner, "entry_name", location_of(conv) or conv.name)
    new = conv.rebuilt(
        [found.source, insert_constant(conv, store, wide, f"{name}.selects"), *_bias(conv)], {}
    )
    if channels % len(found.numbers) == 0:
        new.attributes[JOINED] = IntegerAttr(channels // len(found.numbers) * joined_groups(conv), i64)
    read: Sequence[SSAValue] = list(conv.operands)
    replace(conv, insert_before(conv, new))
    releaser.release(read)
    return True


def _bias(conv: ConvOp) -> list[SSAValue]:
    return [] if conv.bias is None else [conv.bias]
