"""Every op that the default pipeline leaves in a kernel knows where it comes from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Operation

from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.frontends.onnx import import_model
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.printing import PrintOptions, op_text
from npu_mlir.pass_infra.pass_manager import PassManager
from npu_mlir.pipeline import PIPELINE, phase_pipeline
from npu_mlir.simulator import simulate
from npu_mlir.support.locations import fused, hand_down, located, node_of, origin

TEXT = """
func.func @main(%x: tensor<8x12xf32>, %w: tensor<12x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<8x12xf32>, tensor<12x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = linalg.softmax dimension(1) ins(%0 : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = linalg.exp ins(%1 : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  func.return %2 : tensor<8x16xf32>
}
"""


def model() -> ModelProto:
    """A convolution with bias and relu, a pool, a product with softmax."""
    weights = np.random.default_rng(0)
    arrays = {"w": (4, 2, 3, 3), "b": (4,), "m": (4 * 9, 5), "c": (5,)}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["0"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["0"], ["1"], "relu"),
        helper.make_node("MaxPool", ["1"], ["2"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["2"], ["3"], "flatten"),
        helper.make_node("MatMul", ["3", "m"], ["4"], "dense"),
        helper.make_node("Add", ["4", "c"], ["5"], "bias"),
        helper.make_node("Softmax", ["5"], ["y"], "softmax"),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
        [
            numpy_helper.from_array(weights.standard_normal(shape).astype("f"), name)
            for name, shape in arrays.items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def lowered(module: ModuleOp, ctx: Context, precision: str = "f32") -> Iterator[str]:
    """Take a module through the default pipeline; the name of each level that has kernels, when it is reached."""
    module.attributes["npu.target"] = StringAttr("toy")
    for phase in PIPELINE:
        PassManager(phase_pipeline(phase, {"graph-set-precision": f"precision={precision}"})).run(ctx, module)
        if phase.level not in ("graph", "linalg"):
            yield phase.level


def in_kernels(module: ModuleOp) -> list[Operation]:
    return [op for kernel in module.ops if isinstance(kernel, tile.KernelOp) for op in kernel.walk()]


@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_nodes_of_a_model(precision: str) -> None:
    module, ctx = import_model(model()), make_context()
    nodes = {"conv", "relu", "pool", "flatten", "dense", "bias", "softmax"}
    for level in lowered(module, ctx, precision):
        ops = in_kernels(module)
        unknown = [str(op) for op in ops if not set((node_of(op) or "?").split("+")) <= nodes]
        assert not unknown, level
        assert {"conv", "conv+relu", "pool", "dense", "bias", "softmax"} <= {node_of(op) for op in ops}, level


def test_places_in_a_text() -> None:
    ctx = make_context()
    module = parse_module(ctx, TEXT, "in.mlir")
    for level in lowered(module, ctx):
        locations = [op.location for op in in_kernels(module)]
        assert all(isinstance(location, FileLineColLoc) for location in locations), level
        lines = {location.line.data for location in locations if isinstance(location, FileLineColLoc)}
        assert {6, 7, 8} <= lines, level


def test_locations_survive_text() -> None:
    ctx, options = make_context(), PrintOptions(debuginfo=True)
    module = parse_module(ctx, TEXT, "in.mlir")
    for level in lowered(module, ctx):
        text = op_text(module, options)
        assert op_text(parse_module(ctx, text, "printed.mlir"), options) == text, level


def test_attribution_is_by_node() -> None:
    module, ctx = import_model(model()), make_context()
    *_, _ = lowered(module, ctx)
    result = simulate(module, [np.ones((1, 2, 6, 6), "f")], explain=True)
    dense = next(kernel for kernel in result.kernels if kernel.loc.startswith("dense"))
    assert dense.attribution is not None
    assert {"dense", "bias", "softmax"} <= {site.loc for site in dense.attribution.sites}
    assert {"dense", "softmax"} <= set(dense.attribution.critical_by_loc)


def place(line: int) -> LocationAttr:
    return FileLineColLoc(StringAttr("a.mlir"), IntAttr(line), IntAttr(1))


def test_located() -> None:
    outer, inner = test.TestOp.create(location=place(1)), test.TestOp.create(location=place(2))
    with located(outer):
        assert test.TestOp().location == place(1)
        with located(inner):
            assert test.TestOp().location == place(2)
            assert test.TestOp.create(location=place(3)).location == place(3)
        with located(test.TestOp.create(location=UNKNOWN_LOC)):
            assert test.TestOp().location == place(1)
    assert test.TestOp().location is UNKNOWN_LOC


def test_located_ends_with_an_exception() -> None:
    with pytest.raises(ValueError, match="stop"), located(test.TestOp.create(location=place(1))):
        raise ValueError("stop")
    assert test.TestOp().location is UNKNOWN_LOC


def test_the_attribute_names_the_node() -> None:
    op = test.TestOp.create(location=place(1), attributes={"npu.node": StringAttr("conv")})
    assert str(origin(op)) == 'loc("conv"("a.mlir":1:1))'
    renamed = test.TestOp.create(location=origin(op), attributes={"npu.node": StringAttr("conv+relu")})
    assert str(origin(renamed)) == 'loc("conv+relu"("a.mlir":1:1))'
    assert node_of(test.TestOp.create(location=origin(op))) == "conv"
    assert node_of(test.TestOp.create(location=place(1))) is None


def test_fused() -> None:
    conv = test.TestOp.create(location=place(1), attributes={"npu.node": StringAttr("conv")})
    relu = test.TestOp.create(location=place(2), attributes={"npu.node": StringAttr("relu")})
    both = test.TestOp.create(location=fused(conv, relu, conv))
    assert str(both.location) == 'loc(fused["conv"("a.mlir":1:1), "relu"("a.mlir":2:1)])'
    assert node_of(both) == "conv+relu"
    assert fused(conv, test.TestOp.create(location=UNKNOWN_LOC)) == origin(conv)
    assert fused() is UNKNOWN_LOC


def test_what_is_in_an_op_learns_its_node() -> None:
    named = test.TestOp.create(location=place(3), attributes={"npu.node": StringAttr("exp")})
    known = test.TestOp.create(location=origin(named))
    body = [test.TestOp.create(location=place(2)), test.TestOp.create(location=UnknownLoc()), known]
    module = ModuleOp(body, {"npu.node": StringAttr("relu")})
    module.location = place(1)
    hand_down(module)
    texts = ['loc("relu"("a.mlir":2:1))', 'loc("relu"("a.mlir":1:1))', 'loc("exp"("a.mlir":3:1))']
    assert [str(op.location) for op in body] == texts
