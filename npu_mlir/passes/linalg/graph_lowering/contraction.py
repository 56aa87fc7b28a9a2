"""Convolution and matrix products: one generic that multiplies and sums (in f32 for narrow floats) and an elementwise
one for bias, scale and rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from npu_mlir.dialects import graph
from npu_mlir.passes.linalg.generics import Body, Builder, Map, Shape, element_of, shape_of
from npu_mlir.passes.linalg.graph_lowering.registry import elementwise, lowering, widened


def contract(
    b: Builder,
    lhs: SSAValue,
    rhs: SSAValue,
    maps: Sequence[Map],
    shape: Shape,
    num_dims: int,
    reductions: Sequence[int],
) -> SSAValue:
    """`sum(lhs * rhs)` over the reduction dims, a new tensor of `shape`; maps of lhs, rhs and result."""
    init = b.fill(0, shape, widened(element_of(lhs)))

    def build(body: Body) -> SSAValue:
        x, y, acc = body.args
        product = body.apply("mul", body.cast(x, acc.type), body.cast(y, acc.type))
        return body.apply("add", acc, product)

    return b.generic([lhs, rhs], init, maps, num_dims, reductions, build)


@lowering(graph.MatmulOp)
def matmul(b: Builder, op: graph.MatmulOp) -> SSAValue:
    """Loops: batch dims, m, n, k."""
    shape = shape_of(op.result)
    rank = len(shape)
    lhs, lhs_map = _batched(b, op.lhs, shape, [rank - 2, rank])
    rhs, rhs_map = _batched(b, op.rhs, shape, [rank, rank - 1])
    product = contract(b, lhs, rhs, [lhs_map, rhs_map, range(rank)], shape, rank + 1, [rank])
    return _narrowed(b, product, op)


def _batched(b: Builder, value: SSAValue, shape: Shape, matrix: list[int]) -> tuple[SSAValue, list[int]]:
    """An operand without the batch dims that broadcast, and its map."""
    own = shape_of(value)
    offset = len(shape) - len(own)
    keep = [d for d, size in enumerate(own[:-2]) if size == shape[d + offset]]
    compact = tuple(own[d] for d in keep) + own[-2:]
    return b.reshape(value, compact), [d + offset for d in keep] + matrix


def _narrowed(b: Builder, value: SSAValue, op: Any) -> SSAValue:
    """The accumulated value rounded to the element type of the op's result."""
    element = element_of(op.result)
    if element_of(value) == element:
        return value
    return elementwise(b, [value], shape_of(value), element, lambda body, x: x)


@lowering(graph.GemmOp)
def gemm(b: Builder, op: graph.GemmOp) -> SSAValue:
    """Loops: m, n, k; transposition is in the maps."""
    lhs_map = [2, 0] if op.trans_a else [0, 2]
    rhs_map = [1, 2] if op.trans_b else [2, 1]
    shape, element = shape_of(op.result), element_of(op.result)
    product = contract(b, op.lhs, op.rhs, [lhs_map, rhs_map, [0, 1]], shape, 3, [2])
    alpha, beta = op.alpha.value.data, op.beta.value.data

    def build(body: Body, x: SSAValue, bias: SSAValue | None = None) -> SSAValue:
        x = body.apply("mul", x, alpha) if alpha != 1 else x
        if bias is None:
            return x
        bias = body.cast(bias, x.type)
        return body.apply("add", x, body.apply("mul", bias, beta) if beta != 1 else bias)

    if op.bias is None and alpha == 1:
        return _narrowed(b, product, op)
    inputs = [product] if op.bias is None else [product, op.bias]
    return elementwise(b, inputs, shape, element, build)


@dataclass(frozen=True)
class Window:
    """A window that slides over spatial dims: at output `o` and window position `k` it reads `o * s + k * d`."""

    strides: Sequence[int]
    dilations: Sequence[int]

    def reads(self, outputs: Sequence[int], kernel: Sequence[int]) -> list[AffineExpr]:
        """The input index per spatial axis, from the loops of output and window."""
        steps = zip(outputs, kernel, self.strides, self.dilations, strict=True)
        return [AffineExpr.dimension(o) * s + AffineExpr.dimension(k) * d for o, k, s, d in steps]


def pad_spatial(b: Builder, value: SSAValue, pads: Sequence[int], first: int, fill: float) -> SSAValue:
    """The image padded along its spatial dims, which start at `first`; pads are all begins, then all ends."""
    count = len(pads) // 2
    rank = len(shape_of(value))
    before, after = [0] * first, [0] * (rank - first - count)
    return b.pad(value, [*before, *pads[:count], *after], [*before, *pads[count:], *after], fill)


@lowering(graph.ConvOp)
def conv(b: Builder, op: graph.ConvOp) -> SSAValue:
    """Loops: (n, spatial, o, window, c) for NHWC, (n, o, spatial, c, window) for NCHW. With groups, g stands before
    o; a depthwise convolution has neither o nor c, its loop g is the channel."""
    nhwc = op.layout.data is graph.Layout.NHWC
    spatial = len(op.strides.get_values())
    x = pad_spatial(b, op.input, op.pads.get_values(), 1 if nhwc else 2, 0)
    x, w, channels_out, has_c = _grouped_operands(b, op, x, nhwc)
    loops = _conv_loops(spatial, len(channels_out), has_c, nhwc)
    window = Window(op.strides.get_values(), op.dilations.get_values())
    reads = window.reads(loops.spatial, loops.window)
    grouped = loops.out[:-1] if has_c and len(loops.out) == 2 else ([] if has_c else loops.out)
    own = [] if not has_c else loops.out[-1:]
    if nhwc:
        x_map: Map = [loops.n, *reads, *grouped, *loops.c]
        w_map: Map = [*loops.window, *loops.c, *grouped, *own]
        out_map: Map = [loops.n, *loops.spatial, *loops.out]
    else:
        x_map = [loops.n, *grouped, *loops.c, *reads]
        w_map = [*grouped, *own, *loops.c, *loops.window]
        out_map = [loops.n, *loops.out, *loops.spatial]
    final = shape_of(op.result)
    extents = final[1:-1] if nhwc else final[2:]
    shape = (final[0], *extents, *channels_out) if nhwc else (final[0], *channels_out, *extents)
    reductions = [*loops.c, *loops.window]
    num_dims = 1 + len(loops.out) + 2 * spatial + len(loops.c)
    product = contract(b, x, w, [x_map, w_map, out_map], shape, num_dims, reductions)
    return _with_bias(b, op, b.reshape(product, final), -1 if nhwc else 1)


def _grouped_operands(
    b: Builder, op: graph.ConvOp, x: SSAValue, nhwc: bool
) -> tuple[SSAValue, SSAValue, tuple[int, ...], bool]:
    """Input and weight with explicit groups, the output channel dims, and whether input channels are summed."""
    group, w = op.group.value.data, op.weight
    if group == 1:
        return x, w, (shape_of(w)[-1 if nhwc else 0],), True
    xs, ws = shape_of(x), shape_of(w)
    out, per_group = (ws[-1], ws[-2]) if nhwc else (ws[0], ws[1])
    window = ws[:-2] if nhwc else ws[2:]
    if out == group and per_group == 1:
        return x, b.reshape(w, (*window, out) if nhwc else (out, *window)), (out,), False
    split = (group, out // group)
    if nhwc:
        x = b.reshape(x, (*xs[:-1], group, per_group))
        w = b.reshape(w, (*window, per_group, *split))
    else:
        x = b.reshape(x, (xs[0], group, per_group, *xs[2:]))
        w = b.reshape(w, (*split, per_group, *window))
    return x, w, split, True


@dataclass(frozen=True)
class _Loops:
    n: int
    spatial: list[int]
    out: list[int]
    window: list[int]
    c: list[int]


def _conv_loops(spatial: int, num_out: int, has_c: bool, nhwc: bool) -> _Loops:
    """The numbers of the loops, in the order of the layout."""
    order = [("spatial", spatial), ("out", num_out), ("window", spatial), ("c", int(has_c))]
    if not nhwc:
        order = [order[1], order[0], order[3], order[2]]
    numbers: dict[str, list[int]] = {}
    start = 1
    for name, count in order:
        numbers[name] = list(range(start, start + count))
        start += count
    return _Loops(0, numbers["spatial"], numbers["out"], numbers["window"], numbers["c"])


def _with_bias(b: Builder, op: graph.ConvOp, product: SSAValue, axis: int) -> SSAValue:
    if op.bias is None:
        return _narrowed(b, product, op)
    shape = shape_of(product)

    def build(body: Body, x: SSAValue, y: SSAValue) -> SSAValue:
        return body.cast(body.apply("add", x, body.cast(y, x.type)), element_of(op.result))

    maps: list[Map] = [range(len(shape)), [axis % len(shape)]]
    return b.map([product, op.bias], maps, shape, element_of(op.result), build)
