"""Reading images at positions that are computed: GridSample, RoiAlign, DeformConv.

The weight of an element follows from its distance to the position, along each axis. All weights together are a matrix,
mostly of zeros, and what is sampled is a product with it: no element is addressed.

    y[c, p] = sum over h, w of x[c, h, w] * weight(|h - row[p]|) * weight(|w - column[p]|)

An infinite element makes NaN of every sample of its channel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import ReduceKind, element_of, shape_of
from npu_mlir.frontends.onnx.converters.selection import box, checked, from_front, pick, reshaped, take
from npu_mlir.frontends.onnx.node import Constant, Node, Unsupported, converts
from npu_mlir.support.dtypes import numpy_dtype

MOST_WEIGHTS = 1 << 28
"""The largest matrix of weights that is made."""


class _Arithmetic:
    """Elementwise operations on values and numbers, for formulas."""

    def __init__(self, node: Node):
        self.node = node

    def _operand(self, value: SSAValue | float, like: SSAValue) -> SSAValue:
        return value if isinstance(value, SSAValue) else self.node.scalar(value, like)

    def _binary(
        self, op: Callable[[SSAValue, SSAValue], graph.GraphOp], lhs: SSAValue | float, rhs: SSAValue | float
    ) -> SSAValue:
        like = lhs if isinstance(lhs, SSAValue) else rhs
        assert isinstance(like, SSAValue)
        return self.node.add(op(self._operand(lhs, like), self._operand(rhs, like)))

    def add(self, lhs: SSAValue | float, rhs: SSAValue | float) -> SSAValue:
        return self._binary(graph.AddOp, lhs, rhs)

    def sub(self, lhs: SSAValue | float, rhs: SSAValue | float) -> SSAValue:
        return self._binary(graph.SubOp, lhs, rhs)

    def mul(self, lhs: SSAValue | float, rhs: SSAValue | float) -> SSAValue:
        return self._binary(graph.MulOp, lhs, rhs)

    def less(self, lhs: SSAValue | float, rhs: SSAValue | float) -> SSAValue:
        return self._binary(graph.LessOp, lhs, rhs)

    def equal(self, lhs: SSAValue | float, rhs: SSAValue | float) -> SSAValue:
        return self._binary(graph.EqualOp, lhs, rhs)

    def where(self, condition: SSAValue, lhs: SSAValue | float, rhs: SSAValue | float) -> SSAValue:
        like = lhs if isinstance(lhs, SSAValue) else rhs
        assert isinstance(like, SSAValue)
        return self.node.add(graph.WhereOp(condition, self._operand(lhs, like), self._operand(rhs, like)))

    def floor(self, value: SSAValue) -> SSAValue:
        return self.node.add(graph.FloorOp(value))

    def absolute(self, value: SSAValue) -> SSAValue:
        return self.node.add(graph.AbsOp(value))

    def clamp(self, value: SSAValue, low: float, high: float) -> SSAValue:
        return self.node.add(graph.ClipOp(value, low, high))

    def rounded(self, value: SSAValue) -> SSAValue:
        """To the nearest whole number, halves to the even one."""
        up = self.floor(self.add(value, 0.5))
        half = self.equal(self.sub(up, value), 0.5)
        odd = self.sub(up, self.mul(self.floor(self.mul(up, 0.5)), 2.0))
        return self.sub(up, self.where(half, odd, 0.0))

    def reflected(self, value: SSAValue, low: float, high: float) -> SSAValue:
        """Folded into the interval between two mirrors."""
        width = high - low
        if width == 0:
            return self.mul(value, 0.0)
        distance = self.absolute(self.sub(value, low))
        turns = self.floor(self.mul(distance, 1 / (2 * width)))
        rest = self.sub(distance, self.mul(turns, 2 * width))
        return self.add(self.where(self.less(width, rest), self.sub(2 * width, rest), rest), low)


def hat(do: _Arithmetic, distance: SSAValue) -> SSAValue:
    """Linear interpolation: 1 at distance 0, down to 0 at 1 and beyond."""
    return do.node.add(graph.ReluOp(do.sub(1.0, distance)))


def spike(do: _Arithmetic, distance: SSAValue) -> SSAValue:
    """1 at distance 0, else 0."""
    return do.where(do.equal(distance, 0.0), do.node.scalar(1, distance), 0.0)


def keys(do: _Arithmetic, distance: SSAValue, a: float = -0.75) -> SSAValue:
    """Keys' cubic convolution kernel, which reaches as far as 2."""
    square = do.mul(distance, distance)
    near = do.add(do.mul(do.sub(do.mul(distance, a + 2), a + 3), square), 1.0)
    far = do.sub(do.mul(do.mul(do.add(do.mul(do.sub(distance, 5.0), distance), 8.0), distance), a), 4 * a)
    outer = do.where(do.less(distance, 2.0), far, 0.0)
    return do.where(do.less(distance, 1.0), near, outer)


def places(node: Node, first: int, extent: int, shape: Sequence[int], like: SSAValue) -> SSAValue:
    """first, first + 1, ... as a tensor of that shape."""
    array = np.arange(first, first + extent, dtype=np.int64).astype(numpy_dtype(element_of(like)))
    return node.array(array.reshape(shape), f"places{first}.{extent}")


def combined(node: Node, weights: Sequence[SSAValue]) -> SSAValue:
    """Weights (batch, extent, points) of each axis as one matrix (batch, all extents, points)."""
    total = weights[0]
    batch, _, points = shape_of(total)
    if batch * points * prod(shape_of(part)[1] for part in weights) > MOST_WEIGHTS:
        raise Unsupported(f"{points} positions of an image of that size")
    for part in weights[1:]:
        first, second = shape_of(total)[1], shape_of(part)[1]
        factors = [
            reshaped(node, total, (batch, first, 1, points)),
            reshaped(node, part, (batch, 1, second, points)),
        ]
        total = reshaped(node, node.add(graph.MulOp(*factors)), (batch, first * second, points))
    return total


@converts("GridSample")
def grid_sample(node: Node) -> SSAValue:
    """Samples of an image of any rank at a grid of positions from -1 to 1: nearest, linear or cubic."""
    value, grid = node.value(0), node.value(1)
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(text := node.text("mode", "linear"), text)
    padding, align = node.text("padding_mode", "zeros"), bool(node.integer("align_corners", 0))
    if mode not in ("nearest", "linear", "cubic") or padding not in ("zeros", "border", "reflection"):
        raise Unsupported(f"attributes mode = {mode}, padding_mode = {padding}")
    batch, channels, *extents = shape_of(value)
    *_, rank = shape_of(grid)
    points = prod(shape_of(grid)[1:-1])
    lines = reshaped(node, grid, (batch, points, rank))
    do, weights = _Arithmetic(node), list[SSAValue]()
    for axis, extent in enumerate(extents):
        column = box(node, lines, {2: (rank - 1 - axis, 1, 1)})
        at = _denormalised(do, reshaped(node, column, (batch, 1, points)), extent, align=align)
        at = do.rounded(at) if mode == "nearest" else at
        if padding == "border" and mode == "cubic":
            # As in PyTorch and onnxruntime, elements beyond the border count, each as that on the border.
            at = do.clamp(at, -2, extent + 1)
        else:
            at = _inside(do, at, extent, padding, align=align)
        around = 0 if padding == "zeros" or mode == "nearest" else 3
        if around:
            value = take(node, value, _outside(extent, around, padding, align=align), 2 + axis)
        spots = places(node, -around, extent + 2 * around, (1, extent + 2 * around, 1), at)
        kernel = {"nearest": spike, "linear": hat, "cubic": keys}[mode]
        weights.append(kernel(do, do.absolute(do.sub(at, spots))))
    image = reshaped(node, value, (batch, channels, prod(shape_of(value)[2:])))
    samples = node.add(graph.MatmulOp(image, combined(node, weights)))
    return reshaped(node, samples, (batch, channels, *shape_of(grid)[1:-1]))


def _denormalised(do: _Arithmetic, at: SSAValue, extent: int, *, align: bool) -> SSAValue:
    """Positions from -1 to 1 in elements: the ends are the outer elements, or their outer edges."""
    if align:
        return do.mul(do.add(at, 1.0), (extent - 1) / 2)
    return do.mul(do.sub(do.mul(do.add(at, 1.0), float(extent)), 1.0), 0.5)


def _mirrors(extent: int, *, align: bool) -> tuple[float, float]:
    return (0, extent - 1) if align else (-0.5, extent - 0.5)


def _inside(do: _Arithmetic, at: SSAValue, extent: int, padding: str, *, align: bool) -> SSAValue:
    if padding == "border":
        return do.clamp(at, 0, extent - 1)
    if padding == "reflection":
        return do.reflected(at, *_mirrors(extent, align=align))
    return at


def _outside(extent: int, around: int, padding: str, *, align: bool) -> Constant:
    """Which elements stand around the image, and the image itself."""
    at = np.arange(-around, extent + around).astype(np.float64)
    if padding == "border":
        return np.clip(at, 0, extent - 1).astype(np.int64)
    low, high = _mirrors(extent, align=align)
    width = high - low
    rest = np.abs(at - low) % (2 * width) if width else np.zeros_like(at)
    return (np.where(rest > width, 2 * width - rest, rest) + low).astype(np.int64)


@converts("RoiAlign")
def roi_align(node: Node) -> SSAValue:
    """Means of linear samples in the bins of regions of images, or the maxima of their four weighted terms; the number
    of samples has to be given."""
    mode = node.text("mode", "avg")
    if mode not in ("avg", "max"):
        raise Unsupported(f"attribute mode = {mode}")
    value, regions = node.value(0), node.value(1)
    batch, channels, height, width = shape_of(value)
    count = shape_of(regions)[0]
    ratio = node.integer("sampling_ratio", 0)
    if ratio < 1:
        raise Unsupported("attribute sampling_ratio = 0: the number of samples depends on the regions")
    bins = (node.integer("output_height", 1), node.integer("output_width", 1))
    scale = node.real("spatial_scale", 1.0)
    modern = node.opset >= 16
    half = (
        node.text("coordinate_transformation_mode", "half_pixel" if modern else "output_half_pixel")
        == "half_pixel"
    )
    index = reshaped(node, from_front(node, checked(node, node.value(2), batch), batch), (count, 1))
    images = pick(node, reshaped(node, value, (batch, channels * height * width)), index, 0)
    do = _Arithmetic(node)
    images = reshaped(node, images, (count, channels, height, width))
    rows, columns = (
        _Samples(do, regions, column, number * ratio, extent, scale, half)
        for column, number, extent in ((1, bins[0], height), (0, bins[1], width))
    )
    shape = (count, channels, bins[0], ratio, bins[1], ratio)
    if mode == "avg":
        means = [do.mul(_summed(node, part.linear(), ratio), 1 / ratio) for part in (rows, columns)]
        return _between(node, means[0], images, means[1])
    terms = [_between(node, row, images, column) for row in rows.terms() for column in columns.terms()]
    best = reduce(lambda lhs, rhs: node.add(graph.MaximumOp(lhs, rhs)), terms)
    return node.add(graph.ReduceOp(ReduceKind.MAX, reshaped(node, best, shape), [3, 5]))


def _summed(node: Node, weights: SSAValue, ratio: int) -> SSAValue:
    """The weights of the samples of each bin added up."""
    count, extent, samples = shape_of(weights)
    apart = reshaped(node, weights, (count, extent, samples // ratio, ratio))
    return node.add(graph.ReduceOp(ReduceKind.SUM, apart, [3]))


def _between(node: Node, rows: SSAValue, images: SSAValue, columns: SSAValue) -> SSAValue:
    """Images between weights (region, extent, sample) of rows and of columns."""
    count, channels, height, width = shape_of(images)
    left = node.add(graph.TransposeOp(rows, [0, 2, 1]))
    samples = shape_of(left)[1], shape_of(columns)[2]
    left = node.add(
        graph.ExpandOp(
            reshaped(node, left, (count, 1, samples[0], height)), (count, channels, samples[0], height)
        )
    )
    right = reshaped(node, columns, (count, 1, width, samples[1]))
    right = node.add(graph.ExpandOp(right, (count, channels, width, samples[1])))
    return node.add(graph.MatmulOp(node.add(graph.MatmulOp(left, images)), right))


class _Samples:
    """The samples in regions along an axis, and the weights (region, extent, sample) of elements for them."""

    def __init__(
        self,
        do: _Arithmetic,
        regions: SSAValue,
        column: int,
        number: int,
        extent: int,
        scale: float,
        half: bool,
    ):
        node, count = do.node, shape_of(regions)[0]
        start, end = (
            do.mul(reshaped(node, box(node, regions, {1: (at, 1, 1)}), (count, 1, 1)), scale)
            for at in (column, column + 2)
        )
        size = do.sub(end, start)
        start = do.sub(start, 0.5) if half else start
        size = size if half else node.add(graph.MaximumOp(size, node.scalar(1, size)))
        fractions = (
            ((np.arange(number) + 0.5) / number).astype(numpy_dtype(element_of(regions))).reshape(1, 1, -1)
        )
        at = do.add(do.mul(size, node.array(fractions, f"fractions{column}")), start)
        self.do, self.extent = do, extent
        self.outside = node.add(graph.LogicalOrOp(do.less(at, -1.0), do.less(float(extent), at)))
        self.at = do.clamp(at, 0, extent - 1)
        self.spots = places(node, 0, extent, (1, extent, 1), at)

    def linear(self) -> SSAValue:
        """Those of linear interpolation."""
        weights = hat(self.do, self.do.absolute(self.do.sub(self.at, self.spots)))
        return self.do.where(self.outside, 0.0, weights)

    def terms(self) -> list[SSAValue]:
        """The same, of the element below and of the one above apart."""
        do, low = self.do, self.do.floor(self.at)
        fraction = do.sub(self.at, low)
        high = do.clamp(do.add(low, 1.0), 0, self.extent - 1)
        pairs = [(low, do.sub(1.0, fraction)), (high, fraction)]
        parts = [do.where(do.equal(self.spots, at), weight, 0.0) for at, weight in pairs]
        return [do.where(self.outside, 0.0, part) for part in parts]


@converts("DeformConv")
def deform_conv(node: Node) -> SSAValue:
    """A convolution of images whose windows are samples at positions that offsets move, with a mask and groups."""
    value, offsets = node.value(0), node.value(2)
    batch, channels, height, width = shape_of(value)
    outputs, per_group, *kernel = node.shape(1)
    strides, dilations = node.integers("strides") or [1, 1], node.integers("dilations") or [1, 1]
    pads = node.integers("pads") or [0] * 4
    group, parts = node.integer("group", 1), node.integer("offset_group", 1)
    node.attribute("kernel_shape")
    size, places_out = prod(kernel), shape_of(offsets)[2:]
    points = prod(places_out)
    do, weights = _Arithmetic(node), list[SSAValue]()
    apart = reshaped(node, offsets, (batch * parts, size, 2, points))
    for axis, extent in enumerate((height, width)):
        moved = reshaped(node, box(node, apart, {2: (axis, 1, 1)}), (batch * parts, 1, size * points))
        grid = np.indices((*kernel, *places_out))
        base = grid[axis] * dilations[axis] + grid[2 + axis] * strides[axis] - pads[axis]
        base = base.astype(numpy_dtype(element_of(offsets))).reshape(1, 1, -1)
        at = do.add(moved, node.array(base, f"base{axis}"))
        spots = places(node, 0, extent, (1, extent, 1), at)
        weights.append(hat(do, do.absolute(do.sub(at, spots))))
    matrix = combined(node, weights)
    if node.has(4):
        matrix = node.add(
            graph.MulOp(matrix, reshaped(node, node.value(4), (batch * parts, 1, size * points)))
        )
    images = reshaped(node, value, (batch * parts, channels // parts, height * width))
    samples = node.add(graph.MatmulOp(images, matrix))
    samples = reshaped(node, samples, (batch, group, per_group * size, points))
    kernels = reshaped(node, node.value(1), (1, group, outputs // group, per_group * size))
    kernels = node.add(graph.ExpandOp(kernels, (batch, group, outputs // group, per_group * size)))
    result = reshaped(node, node.add(graph.MatmulOp(kernels, samples)), (batch, outputs, *places_out))
    if not node.has(3):
        return result
    return node.add(graph.AddOp(result, reshaped(node, node.value(3), (outputs, 1, 1))))
