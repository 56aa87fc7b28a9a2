"""graph-block-groups{groups=0}: convolve several groups at once, by weights with zeros beside a diagonal of blocks.

    %0 = graph.conv %x, %w ... group 32 layout NHWC         // 3x3x1x32: each channel with its own window
  becomes
    %0 = graph.conv %x, %w1 ... group 2 layout NHWC         // 3x3x16x32: 16 channels with 16, most weights 0

so that depthwise convolutions, and those with groups narrower than the cube, are products that fill the cube. The
number of groups that become one is the divisor with the fewest cycles by estimate (`npu_mlir.analysis.group_blocks`);
a depthwise convolution stays one if the vector unit is faster. The option gives the number instead, where it divides
that of the groups; 1 leaves all alone.

*Why it is the same.* Let b groups of c input channels become one. An output channel o of the old group g is then of
the new group g div b, whose input channels are those of the old groups b (g div b) to b (g div b) + b - 1 in order.
The new weight of o and input channel i of the new group is the old one of i mod c if i div c = g mod b, and 0
otherwise. So the new sum is the old one and terms x * 0, which are 0 for every finite x, in sums that start from 0:
equal up to the order of summation, and exactly for integers.

How many groups were joined stays with the convolution (`npu.joined`), so that multiplications by the zeros beside the
blocks don't count as work of the model.

Leaves alone: convolutions whose weights are not constant, or of a type that the cube doesn't multiply, and those whose
groups are as wide as the cube.
Does not handle: infinite or undefined elements, which become NaN in all channels of a block (x * 0 is no number then).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from npu_mlir.analysis.group_blocks import JOINED, GroupedConvolution, best_block, joined_groups
from npu_mlir.dialects.graph import ConvOp, Layout, element_of, location_of, shape_of
from npu_mlir.dialects.tile import cube_type, element_bits
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
    replace,
)
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.module_target import target_of


@dataclass(frozen=True)
class BlockGroups(ModulePass):
    """Join groups of convolutions to blocks that fill the cube."""

    name = "graph-block-groups"

    groups: int = 0
    """Groups that become one: 0 for what takes the fewest cycles by estimate, 1 for none."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.groups < 0:
            raise UserError(f"groups of a block are 0 (chosen by estimate) or more, not {self.groups}")
        store, target, releaser = weights_of(op), target_of(op), WeightReleaser(op)
        for function in functions(op):
            for conv in graph_ops(body_of(function)):
                if not isinstance(conv, ConvOp) or conv.group.value.data == 1:
                    continue
                size = self.groups or best_block(_described(conv), target)
                if size > 1 and conv.group.value.data % size == 0:
                    _block(conv, size, store, releaser)
        erase_dead_ops(op)
        releaser.finish()


def _described(conv: ConvOp) -> GroupedConvolution:
    """The convolution as plain data."""
    groups, result, weight = conv.group.value.data, shape_of(conv.result), shape_of(conv.weight)
    last = conv.layout.data is Layout.NHWC
    channels, filters = (weight[-2], weight[-1]) if last else (weight[1], weight[0])
    element = element_of(conv.input)
    return GroupedConvolution(
        groups,
        channels,
        filters // groups,
        math.prod(result) // filters,
        math.prod(weight) // (channels * filters),
        math.prod(shape_of(conv.input)),
        cube_type(element),
        element_bits(element),
    )


def _block(conv: ConvOp, size: int, store: WeightStore, releaser: WeightReleaser) -> None:
    """Make `size` groups of a convolution one, if its weights are known."""
    weight = constant_of(conv.weight, store)
    if weight is None:
        return
    last, groups = conv.layout.data is Layout.NHWC, conv.group.value.data
    blocked = blocked_weight(weight if last else _channels_last(weight), groups, size)
    name = getattr(conv.weight.owner, "entry_name", location_of(conv) or conv.name)
    new = ConvOp(
        conv.input,
        insert_constant(conv, store, blocked if last else _channels_first(blocked), f"{name}.blocks"),
        conv.bias,
        strides=conv.strides.get_values(),
        pads=conv.pads.get_values(),
        dilations=conv.dilations.get_values(),
        group=groups // size,
        layout=conv.layout.data,
    )
    new.attributes.update(conv.attributes)
    new.attributes[JOINED] = IntegerAttr(size * joined_groups(conv), i64)
    read = list(conv.operands)
    replace(conv, insert_before(conv, new))
    releaser.release(read)


def blocked_weight(weight: np.ndarray, groups: int, size: int) -> np.ndarray:
    """Weights of `groups` groups (window, input channels of a group, output channels) as those of groups of `size`.

    >>> blocked_weight(np.array([[1, 2, 3, 4]]), 4, 2).tolist()
    [[1, 0, 3, 0], [0, 2, 0, 4]]
    """
    *window, channels, filters = weight.shape
    blocked = np.zeros((*window, size, channels, groups // size, size, filters // groups), weight.dtype)
    split = weight.reshape(*window, channels, groups // size, size, filters // groups)
    for position in range(size):
        blocked[..., position, :, :, position, :] = split[..., position, :]
    return blocked.reshape(*window, size * channels, filters)


def _channels_last(weight: np.ndarray) -> np.ndarray:
    return np.moveaxis(weight, (1, 0), (-2, -1))


def _channels_first(weight: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(weight, (-2, -1), (1, 0)))
