"""Graph passes keep what a module computes: random graphs of images, run before and after each pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.context import make_context
from npu_mlir.dialects.graph import GraphOp, Layout, ReduceKind, TransposeOp, shape_of
from npu_mlir.interpreters import run_function
from npu_mlir.ir.constants import make_constant
from npu_mlir.ir.weights import weights_of
from npu_mlir.passes import load_pass

PASSES = [
    "graph-fold-constants",
    "canonicalize",
    "graph-fold-batch-norm",
    "cse",
    "graph-layout",
    "canonicalize",
]


class Builder:
    """A function under construction, with choices made by hypothesis."""

    def __init__(self, data: st.DataObject):
        self.draw = data.draw
        self.module = ModuleOp([])
        self.block = Block(arg_types=[TensorType(f32, (1, 4, 6, 5)), TensorType(f32, (1, 6, 5, 4))])
        self.values: list[SSAValue] = list(self.block.args)
        self.generator = np.random.default_rng(self.draw(st.integers(0, 9)))

    def add(self, op: GraphOp) -> SSAValue:
        self.block.add_op(op)
        self.values.append(op.result)
        return op.result

    def constant(self, *shape: int) -> SSAValue:
        array = self.generator.uniform(0.5, 1.5, shape).astype(np.float32)
        op = make_constant(weights_of(self.module), array, "c")
        self.block.add_op(op)
        return op.results[0]

    def pick(self, rank: int | None = None) -> SSAValue:
        fitting = [value for value in self.values if rank is None or len(shape_of(value)) == rank]
        # Recent values more often, so that graphs become deep.
        return self.draw(st.sampled_from(fitting[-4:]))

    def finish(self, outputs: int) -> ModuleOp:
        results = self.values[-outputs:]
        self.block.add_op(ReturnOp(*results))
        types = ([arg.type for arg in self.block.args], [value.type for value in results])
        self.module.body.block.add_op(FuncOp("main", types, Region(self.block)))
        return self.module


def add_conv(b: Builder) -> None:
    value = b.pick(4)
    layout = b.draw(st.sampled_from([Layout.NCHW, Layout.NCHW, Layout.NHWC]))
    channels = shape_of(value)[1 if layout is Layout.NCHW else 3]
    group = b.draw(st.sampled_from([1, channels]))
    out = 2 * group if group > 1 else 3
    size = b.draw(st.sampled_from([1, 3]))
    oihw = (out, channels // group, size, size)
    weight = b.constant(*(oihw if layout is Layout.NCHW else (size, size, channels // group, out)))
    bias = b.constant(out) if b.draw(st.booleans()) else None
    b.add(
        graph.ConvOp(
            value,
            weight,
            bias,
            strides=[1, b.draw(st.integers(1, 2))],
            pads=[1, 1, 1, b.draw(st.integers(1, 2))],
            dilations=[1, 1],
            group=group,
            layout=layout,
        )
    )


def add_norm(b: Builder) -> None:
    value = b.pick()
    if len(shape_of(value)) >= 2:
        channels = shape_of(value)[1]
        b.add(graph.BatchNormOp(value, *(b.constant(channels) for _ in range(4)), epsilon=1e-3))


def add_pool(b: Builder) -> None:
    value = b.pick(4)
    make = b.draw(st.sampled_from([graph.MaxPoolOp, graph.AvgPoolOp]))
    b.add(make(value, kernel=[2, 2], strides=[1, 1], pads=[0, 1, 1, 1], dilations=[1, 1]))


def add_global_pool(b: Builder) -> None:
    b.add(b.draw(st.sampled_from([graph.GlobalAvgPoolOp, graph.GlobalMaxPoolOp]))(b.pick(4)))


def add_unary(b: Builder) -> None:
    b.add(b.draw(st.sampled_from([graph.ReluOp, graph.TanhOp, graph.NegOp]))(b.pick()))


def add_binary(b: Builder) -> None:
    value = b.pick()
    shape = shape_of(value)
    if b.draw(st.booleans()):
        # A constant of lower rank or with extents of 1.
        kept = shape[b.draw(st.integers(0, len(shape))) :]
        other = b.constant(*(b.draw(st.sampled_from([1, extent])) for extent in kept))
    else:
        fitting = [v for v in b.values if _broadcasts(shape_of(v), shape)]
        other = b.draw(st.sampled_from(fitting))
    operands = [value, other] if b.draw(st.booleans()) else [other, value]
    b.add(b.draw(st.sampled_from([graph.AddOp, graph.MulOp, graph.SubOp, graph.MaximumOp]))(*operands))


def _broadcasts(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    return len(small) <= len(large) and all(
        a in (1, b) for a, b in zip(small[::-1], large[::-1], strict=False)
    )


def add_prelu(b: Builder) -> None:
    value = b.pick(4)
    b.add(graph.PReluOp(value, b.constant(shape_of(value)[1], 1, 1)))


def add_transpose(b: Builder) -> None:
    value = b.pick()
    perms = [b.draw(st.permutations(range(len(shape_of(value)))))]
    if len(shape_of(value)) == 4:
        perms += [[0, 2, 3, 1], [0, 3, 1, 2]]
    b.add(TransposeOp(value, b.draw(st.sampled_from(perms))))


def add_reduce(b: Builder) -> None:
    value = b.pick()
    rank = len(shape_of(value))
    axes = sorted(b.draw(st.sets(st.integers(0, rank - 1), min_size=1))) if rank else []
    kind = b.draw(st.sampled_from([ReduceKind.MEAN, ReduceKind.MAX]))
    b.add(graph.ReduceOp(kind, value, axes, b.draw(st.booleans())))


def add_softmax(b: Builder) -> None:
    value = b.pick(4)
    b.add(graph.SoftmaxOp(value, b.draw(st.integers(0, 3))))


def add_concat(b: Builder) -> None:
    value, axis = b.pick(4), b.draw(st.integers(1, 3))
    b.add(graph.ConcatOp([value, b.add(graph.TanhOp(value))], axis))


def add_slice(b: Builder) -> None:
    value = b.pick(4)
    sizes = [max(1, extent - 1) for extent in shape_of(value)]
    offsets = [extent - size for extent, size in zip(shape_of(value), sizes, strict=True)]
    b.add(graph.SliceOp(value, offsets, sizes, [1] * 4))


def add_pad(b: Builder) -> None:
    low = [b.draw(st.integers(0, 1)) for _ in range(3)]
    b.add(graph.PadOp(b.pick(4), [0, *low], [0, 1, 0, 1], b.draw(st.sampled_from([0.0, 1.0]))))


def add_reshape(b: Builder) -> None:
    value = b.pick()
    shape = shape_of(value)
    squeezed = [extent for extent in shape if extent != 1]
    total = int(np.prod(shape))
    flat = [shape[0], total // shape[0]] if shape else [1]
    b.add(graph.ReshapeOp(value, b.draw(st.sampled_from([squeezed, flat, [*shape, 1], [1, *shape]]))))


def add_dense(b: Builder) -> None:
    value = b.pick(4)
    shape = shape_of(value)
    flat = b.add(graph.ReshapeOp(value, (shape[0], int(np.prod(shape[1:])))))
    if b.draw(st.booleans()):
        b.add(graph.MatmulOp(flat, b.constant(shape_of(flat)[1], 3)))
    else:
        b.add(graph.GemmOp(flat, b.constant(3, shape_of(flat)[1]), trans_b=True))


def add_expand(b: Builder) -> None:
    value = b.pick()
    shape = shape_of(value)
    if len(shape) < 5:
        b.add(graph.ExpandOp(value, (2, *(3 if extent == 1 else extent for extent in shape))))


STEPS = [
    add_conv,
    add_conv,
    add_norm,
    add_pool,
    add_global_pool,
    add_unary,
    add_binary,
    add_binary,
    add_prelu,
    add_transpose,
    add_reduce,
    add_softmax,
    add_concat,
    add_slice,
    add_pad,
    add_reshape,
    add_dense,
    add_expand,
]


def random_module(data: st.DataObject) -> ModuleOp:
    builder = Builder(data)
    for _ in range(data.draw(st.integers(2, 12))):
        data.draw(st.sampled_from(STEPS))(builder)
    return builder.finish(data.draw(st.integers(1, 2)))


def inputs() -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape, np.float32) for shape in ((1, 4, 6, 5), (1, 6, 5, 4))]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_passes_keep_the_results(data: st.DataObject):
    module = random_module(data)
    module.verify()
    expected = run_function(module, "main", inputs())
    context: Any = make_context()
    for name in PASSES:
        load_pass(name)().apply(context, module)
        module.verify()
        for actual, reference in zip(run_function(module, "main", inputs()), expected, strict=True):
            scale = max(1.0, float(np.abs(reference).max(initial=0)))
            assert actual.shape == reference.shape, name
            np.testing.assert_allclose(actual / scale, reference / scale, rtol=1e-3, atol=1e-4, err_msg=name)
