"""Convolution: padding, one generic that multiplies and sums, and an elementwise one for bias and rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from xdsl.ir import OpResult, SSAValue
from xdsl.ir.affine import AffineExpr

from npu_mlir.analysis.group_blocks import JOINED
from npu_mlir.dialects import graph
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.graph_lowering.contraction import contract, narrowed
from npu_mlir.passes.linalg.graph_lowering.registry import lowering
from npu_mlir.passes.linalg.tensor_types import Shape, element_of, shape_of


def window_read(output: int, position: int | None, stride: int, dilation: int) -> AffineExpr:
    """The input index at an output and a position in the window: `output * stride + position * dilation`."""
    start = AffineExpr.dimension(output) * stride
    return start if position is None else start + AffineExpr.dimension(position) * dilation


def pad_spatial(b: Builder, value: SSAValue, pads: Sequence[int], first: int, fill: float) -> SSAValue:
    """The image padded along its spatial dims, which start at `first`; pads are all begins, then all ends."""
    count = len(pads) // 2
    rank = len(shape_of(value))
    before, after = [0] * first, [0] * (rank - first - count)
    return b.pad(value, [*before, *pads[:count], *after], [*before, *pads[count:], *after], fill)


@dataclass(frozen=True)
class _Loops:
    n: list[int]
    spatial: list[int]
    out: list[int]
    window: list[int]
    c: list[int]

    def count(self) -> int:
        return sum(map(len, (self.n, self.spatial, self.out, self.window, self.c)))


@dataclass(frozen=True)
class _Form:
    """A convolution as loops: n, spatial, o, window, c for NHWC; n, o, spatial, c, window for NCHW.

    With groups, g stands before o. A depthwise convolution has neither o nor c, its g is the channel. An axis along
    which the window has one position has no window loop, so that a 1x1 convolution is a matrix product.
    """

    op: graph.ConvOp

    @cached_property
    def nhwc(self) -> bool:
        return self.op.layout.data is graph.Layout.NHWC

    @cached_property
    def weight(self) -> tuple[Shape, int, int]:
        """Window, input channels of a group, output channels."""
        shape = shape_of(self.op.weight)
        return (shape[:-2], shape[-2], shape[-1]) if self.nhwc else (shape[2:], shape[1], shape[0])

    @cached_property
    def depthwise(self) -> bool:
        _, per_group, out = self.weight
        return out == self.op.group.value.data > 1 and per_group == 1

    @cached_property
    def channels(self) -> Shape:
        """The output channels, split into groups if there are several and they are not the channels themselves."""
        group, out = self.op.group.value.data, self.weight[2]
        return (out,) if group == 1 or self.depthwise else (group, out // group)

    @cached_property
    def slides(self) -> list[int]:
        """The spatial axes that have a window loop."""
        window = self.weight[0]
        axes = [axis for axis, size in enumerate(window) if size > 1]
        return axes if axes or not self.depthwise else list(range(len(window)))

    @cached_property
    def loops(self) -> _Loops:
        sizes = {
            "n": 1,
            "spatial": len(self.weight[0]),
            "out": len(self.channels),
            "window": len(self.slides),
            "c": int(not self.depthwise),
        }
        numbers: dict[str, list[int]] = {}
        start = 0
        for name in _NHWC if self.nhwc else _NCHW:
            numbers[name] = list(range(start, start + sizes[name]))
            start += sizes[name]
        return _Loops(**numbers)

    def maps(self) -> list[Map]:
        """The maps of input, weight and result."""
        loops = self.loops
        group, out = (loops.out, []) if self.depthwise else (loops.out[:-1], loops.out[-1:])
        if self.nhwc:
            return [
                [*loops.n, *self._reads(), *group, *loops.c],
                [*loops.window, *loops.c, *group, *out],
                [*loops.n, *loops.spatial, *loops.out],
            ]
        return [
            [*loops.n, *group, *loops.c, *self._reads()],
            [*group, *out, *loops.c, *loops.window],
            [*loops.n, *loops.out, *loops.spatial],
        ]

    def _reads(self) -> list[AffineExpr]:
        positions = dict(zip(self.slides, self.loops.window, strict=True))
        strides, dilations = self.op.strides.get_values(), self.op.dilations.get_values()
        return [
            window_read(output, positions.get(axis), strides[axis], dilations[axis])
            for axis, output in enumerate(self.loops.spatial)
        ]

    def input(self, b: Builder) -> SSAValue:
        """The input with its channels split into groups, then padded: a load does both where pads come last."""
        x, first = self.op.input, 1 if self.nhwc else 2
        if len(self.channels) > 1:
            shape, split = shape_of(x), (self.channels[0], self.weight[1])
            x = b.reshape(x, (*shape[:-1], *split) if self.nhwc else (shape[0], *split, *shape[2:]))
            first += not self.nhwc
        return pad_spatial(b, x, self.op.pads.get_values(), first, 0)

    def kernel(self, b: Builder) -> SSAValue:
        """The weight with its channels split into groups and only the dims that have loops."""
        window, per_group, _ = self.weight
        sizes = [window[axis] for axis in self.slides]
        c = [] if self.depthwise else [per_group]
        if self.nhwc:
            return b.reshape(self.op.weight, (*sizes, *c, *self.channels))
        return b.reshape(self.op.weight, (*self.channels, *c, *sizes))

    def result_shape(self) -> Shape:
        """The shape of the result with its channels split into groups."""
        shape = shape_of(self.op.result)
        if self.nhwc:
            return (*shape[:-1], *self.channels)
        return (shape[0], *self.channels, *shape[2:])


_NHWC = ("n", "spatial", "out", "window", "c")
_NCHW = ("n", "out", "spatial", "c", "window")


@lowering(graph.ConvOp)
def conv(b: Builder, op: graph.ConvOp) -> SSAValue:
    form = _Form(op)
    x = form.input(b)
    loops = form.loops
    reductions = [*loops.window, *loops.c]
    product = contract(b, x, form.kernel(b), form.maps(), form.result_shape(), loops.count(), reductions)
    if JOINED in op.attributes:
        cast("OpResult", product).op.attributes[JOINED] = op.attributes[JOINED]
    return _with_bias(b, op, b.reshape(product, shape_of(op.result)), -1 if form.nhwc else 1)


def _with_bias(b: Builder, op: graph.ConvOp, product: SSAValue, axis: int) -> SSAValue:
    if op.bias is None:
        return narrowed(b, product, op)
    shape = shape_of(product)

    def build(body: Body, x: SSAValue, y: SSAValue) -> SSAValue:
        return body.cast(body.apply("add", x, body.cast(y, x.type)), element_of(op.result))

    maps: list[Map] = [range(len(shape)), [axis % len(shape)]]
    return b.map([product, op.bias], maps, shape, element_of(op.result), build)
