"""Compiled programs of all kinds for `isa_run`, each with loops that run several times.

A case is a function from values to a graph op. The tiles of the real machines hold all of a small program, so their
cases are scheduled as if the memories were smaller, by `shrink`, and then compiled and run as ever.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, f16, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from npu_mlir.dialects import graph, tile
from npu_mlir.dialects.context import make_context
from npu_mlir.dialects.graph import GraphOp, ReduceKind
from npu_mlir.ir.verification import verify
from npu_mlir.ir.weights import weights_of
from npu_mlir.passes import load_pass
from npu_mlir.passes.tile.choose_schedule import choose
from npu_mlir.pipeline import phases_between
from npu_mlir.targets.target import Target, get_target

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A program: `body` makes the graph from the inputs, then the weights."""

    name: str
    target: str
    body: Callable[..., GraphOp]
    inputs: Sequence[Shape]
    weights: Sequence[Shape] = ()
    shrink: Mapping[str, int] = field(default_factory=dict[str, int])
    """Memories, by name, and how many bytes of them the schedule may use."""
    precision: str = "f32"


def _conv(strides: int = 1, pads: int = 0, dims: int = 2, group: int = 1) -> Callable[..., GraphOp]:
    def body(x: SSAValue, w: SSAValue) -> GraphOp:
        every = {"strides": [strides] * dims, "pads": [pads] * 2 * dims, "dilations": [1] * dims}
        return graph.ConvOp(x, w, **every, group=group)

    return body


def _pool(op: Callable[..., GraphOp], kernel: int, strides: int, pads: int = 0) -> Callable[..., GraphOp]:
    def body(x: SSAValue) -> GraphOp:
        return op(x, kernel=[kernel] * 2, strides=[strides] * 2, pads=[pads] * 4, dilations=[1, 1])

    return body


def _bias_relu(x: SSAValue, w: SSAValue, b: SSAValue) -> GraphOp:
    return graph.ReluOp(graph.AddOp(graph.MatmulOp(x, w), b))


def _layer_norm(x: SSAValue, scale: SSAValue, bias: SSAValue) -> GraphOp:
    return graph.LayerNormOp(x, scale, bias, axis=1, epsilon=1e-5)


def _attention(q: SSAValue, k: SSAValue, v: SSAValue) -> GraphOp:
    scores = graph.MatmulOp(q, graph.TransposeOp(k, [0, 2, 1]))
    return graph.MatmulOp(graph.SoftmaxOp(scores, 2), v)


def _conv_relu_pool(x: SSAValue, w: SSAValue) -> GraphOp:
    return _pool(graph.MaxPoolOp, 2, 2)(graph.ReluOp(_conv(pads=1)(x, w)))


def _elementwise(x: SSAValue, y: SSAValue) -> GraphOp:
    return graph.MulOp(graph.TanhOp(graph.SubOp(x, y)), graph.SigmoidOp(x))


def _column_mean(x: SSAValue) -> GraphOp:
    return graph.SubOp(x, graph.ReduceOp(ReduceKind.MEAN, x, [0], keepdims=True))


def _where(x: SSAValue, y: SSAValue) -> GraphOp:
    return graph.WhereOp(graph.LessOp(x, y), graph.ExpOp(x), y)


def _mlp(x: SSAValue, w: SSAValue, v: SSAValue) -> GraphOp:
    return graph.MatmulOp(graph.ReluOp(graph.MatmulOp(x, w)), v)


CUBE = {"l1": 8 << 10, "l0a": 1 << 10, "l0b": 1 << 10, "l0c": 4 << 10, "ub": 8 << 10}
"""Room for a few steps of a real machine's cube."""

ATTENTION = {"l1": 8 << 10, "l0a": 4 << 10, "l0b": 4 << 10, "l0c": 8 << 10, "ub": 24 << 10}
"""Room for a few whole rows of scores."""

VECTOR = {"ub": 2 << 10}


def _reduce(kind: ReduceKind, *axes: int) -> Callable[..., GraphOp]:
    return lambda x: graph.ReduceOp(kind, x, list(axes))


CASES = (
    Case("matmul", "toy", graph.MatmulOp, [(16, 16), (16, 24)]),
    Case("matmul with a long sum", "toy", graph.MatmulOp, [(8, 160), (160, 8)]),
    Case("matmul with many columns", "toy", graph.MatmulOp, [(4, 16), (16, 112)]),
    Case("ragged matmul", "toy", graph.MatmulOp, [(13, 37), (37, 29)]),
    Case("matmul, bias, relu", "toy", _bias_relu, [(20, 24)], [(24, 28), (28,)]),
    Case("batched matmul", "toy", graph.MatmulOp, [(3, 9, 10), (3, 10, 11)]),
    Case("matrix times vector", "toy", graph.MatmulOp, [(1, 60), (60, 40)]),
    Case("perceptron", "toy", _mlp, [(9, 16)], [(16, 40), (40, 8)]),
    Case("convolution 1x1", "toy", _conv(), [(1, 8, 6, 6)], [(12, 8, 1, 1)]),
    Case("convolution 3x3", "toy", _conv(pads=1), [(1, 4, 8, 8)], [(8, 4, 3, 3)]),
    Case("convolution with stride", "toy", _conv(strides=2, pads=1), [(1, 3, 11, 9)], [(5, 3, 3, 3)]),
    Case("depthwise convolution", "toy", _conv(pads=1, group=16), [(1, 16, 7, 7)], [(16, 1, 3, 3)]),
    Case("grouped convolution", "toy", _conv(pads=1, group=2), [(1, 8, 6, 6)], [(8, 4, 3, 3)]),
    Case("convolution 1-d", "toy", _conv(pads=2, dims=1), [(1, 6, 40)], [(8, 6, 5)]),
    Case("convolution, relu, pool", "toy", _conv_relu_pool, [(1, 3, 8, 8)], [(4, 3, 3, 3)]),
    Case("max pool", "toy", _pool(graph.MaxPoolOp, 3, 2, 1), [(1, 16, 11, 11)]),
    Case("average pool", "toy", _pool(graph.AvgPoolOp, 2, 2), [(1, 16, 12, 12)]),
    Case("global pool", "toy", graph.GlobalAvgPoolOp, [(1, 24, 9, 9)]),
    Case("softmax of rows", "toy", lambda x: graph.SoftmaxOp(x, 1), [(24, 37)]),
    Case("softmax of columns", "toy", lambda x: graph.SoftmaxOp(x, 0), [(30, 40)]),
    Case("softmax of long rows", "toy", lambda x: graph.SoftmaxOp(x, 1), [(3, 700)]),
    Case("layer norm", "toy", _layer_norm, [(20, 33)], [(33,), (33,)]),
    Case("elementwise chain", "toy", _elementwise, [(30, 50), (30, 50)]),
    Case("broadcasts", "toy", lambda x, y, z: graph.AddOp(graph.MulOp(x, y), z), [(20, 48), (48,), (20, 1)]),
    Case("sum of rows", "toy", _reduce(ReduceKind.SUM, 1), [(40, 90)]),
    Case("maximum of columns", "toy", _reduce(ReduceKind.MAX, 0), [(90, 40)]),
    Case("sum of everything", "toy", _reduce(ReduceKind.SUM, 0), [(3001,)]),
    Case("mean of columns, taken off", "toy", _column_mean, [(20, 40)]),
    Case("transpose", "toy", lambda x: graph.TransposeOp(x, [1, 0]), [(40, 50)]),
    Case("transpose of three dims", "toy", lambda x: graph.TransposeOp(x, [2, 0, 1]), [(6, 20, 14)]),
    Case("cast", "toy", lambda x: graph.CastOp(graph.ExpOp(x), f16), [(40, 50)]),
    Case("comparison", "toy", _where, [(30, 40), (30, 40)]),
    Case("concatenation", "toy", lambda x, y: graph.ConcatOp([x, y], 1), [(20, 24), (20, 17)]),
    Case("attention", "toy", _attention, [(2, 7, 8), (2, 9, 8), (2, 9, 6)]),
    Case("matmul f16", "ascend-910", graph.MatmulOp, [(48, 96), (96, 80)], (), CUBE, "f16"),
    Case("ragged matmul f16", "ascend-910", _bias_relu, [(50, 70)], [(70, 45), (45,)], CUBE, "f16"),
    Case("convolution f16", "ascend-910", _conv(pads=1), [(1, 16, 10, 9)], [(32, 16, 3, 3)], CUBE, "f16"),
    Case("layer norm f16", "ascend-910", _layer_norm, [(24, 65)], [(65,), (65,)], VECTOR, "f16"),
    Case("attention f16", "ascend-910", _attention, [(2, 20, 16), (2, 24, 16), (2, 24, 16)], (), ATTENTION, "f16"),
    Case("matmul f16, fixpipe", "ascend-910b", graph.MatmulOp, [(48, 96), (96, 80)], (), CUBE, "f16"),
    Case("perceptron f16, fixpipe", "ascend-910b", _mlp, [(40, 48)], [(48, 64), (64, 32)], CUBE, "f16"),
    Case(
        "convolution f16, fixpipe", "ascend-910b", _conv(strides=2, pads=1), [(1, 16, 13, 9)],
        [(32, 16, 3, 3)], CUBE, "f16",
    ),
    Case("softmax on split cores", "ascend-910b", lambda x: graph.SoftmaxOp(x, 1), [(24, 70)], (), VECTOR),
)  # fmt: skip


def graph_of(case: Case) -> ModuleOp:
    """The graph of a case, every op with its name as location."""
    types = [TensorType(f32, shape) for shape in case.inputs]
    block = Block(arg_types=types)
    with ImplicitBuilder(block) as args:
        weights = [graph.WeightOp(f"w{i}", TensorType(f32, shape)) for i, shape in enumerate(case.weights)]
        result = case.body(*args, *[w.result for w in weights])
        ReturnOp(result.result)
    for i, op in enumerate(op for op in block.ops if isinstance(op, GraphOp)):
        op.attributes["npu.node"] = StringAttr(f"{op.name.removeprefix('graph.')}{i}")
    function = FuncOp("main", (types, [result.result.type]), Region(block))
    module = ModuleOp([function], {"npu.target": StringAttr(case.target)})
    store = weights_of(module)
    random = np.random.default_rng(1)
    for i, shape in enumerate(case.weights):
        store.set(f"w{i}", random.standard_normal(shape, np.float32) / np.float32(prod(shape) ** 0.5))
    return module


def compiled(case: Case, link: bool = False) -> ModuleOp:
    """The case at the level of instructions, each kernel alone unless they are linked."""
    module, ctx = graph_of(case), make_context()
    verify(module)
    for phase in phases_between(None, "isa"):
        for name in phase.passes:
            if name == "tile-choose-schedule" and case.shrink:
                _choose(module, dataclasses.replace(get_target(case.target), **case.shrink))
            load_pass(name)(**_options(name, case, link)).apply(ctx, module)
    verify(module)
    return module


def _options(name: str, case: Case, link: bool) -> dict[str, Any]:
    match name:
        case "graph-set-precision":
            return {"precision": case.precision}
        case "tile-link-kernels":
            return {"enable": link}
        case _:
            return {}


def _choose(module: ModuleOp, small: Target) -> None:
    for kernel in module.ops:
        if isinstance(kernel, tile.KernelOp):
            kernel.properties["schedule"] = choose(kernel, small)
