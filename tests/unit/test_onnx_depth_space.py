"""DepthToSpace and SpaceToDepth against onnxruntime, in all opsets: ONNX has functions for them in the last only."""

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

import npu_mlir
from npu_mlir.support.diagnostics import UserError


def model(operator: str, shape: tuple[int, ...], opset: int, **attributes: Any) -> onnx.ModelProto:
    """One node on an input `x`."""
    graph = helper.make_graph(
        [helper.make_node(operator, ["x"], ["y"], name="blocks", **attributes)],
        "blocks",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_empty_tensor_value_info("y")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def computed(proto: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    program = npu_mlir.compile(proto, target="toy", emit="isa")
    (y,) = program.simulate({"x": x}, check=True).outputs
    return y


@pytest.mark.parametrize("opset", [7, 11, 13, 22])
@pytest.mark.parametrize("mode", [None, "DCR", "CRD"])
def test_depth_to_space(opset: int, mode: str | None):
    x = np.arange(2 * 12 * 3 * 5, dtype=np.float32).reshape(2, 12, 3, 5)
    attributes = {} if mode is None or opset < 11 else {"mode": mode}
    proto = model("DepthToSpace", x.shape, opset, blocksize=2, **attributes)
    right: Any = ort.InferenceSession(proto.SerializeToString()).run(None, {"x": x})[0]
    assert np.array_equal(computed(proto, x), right)


@pytest.mark.parametrize("opset", [7, 13, 22])
@pytest.mark.parametrize("block", [1, 3])
def test_space_to_depth(opset: int, block: int):
    x = np.arange(2 * 2 * 6 * 9, dtype=np.float32).reshape(2, 2, 6, 9)
    proto = model("SpaceToDepth", x.shape, opset, blocksize=block)
    right: Any = ort.InferenceSession(proto.SerializeToString()).run(None, {"x": x})[0]
    assert np.array_equal(computed(proto, x), right)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_one_undoes_the_other(mode: str):
    """Only opset 28 has a mode for both."""
    x = np.arange(2 * 3 * 4 * 6, dtype=np.float32).reshape(2, 3, 4, 6)
    deep = computed(model("SpaceToDepth", x.shape, 28, blocksize=2, mode=mode), x)
    assert deep.shape == (2, 12, 2, 3)
    assert np.array_equal(computed(model("DepthToSpace", deep.shape, 28, blocksize=2, mode=mode), deep), x)


@pytest.mark.parametrize(
    ("operator", "shape"), [("DepthToSpace", (1, 6, 2, 2)), ("SpaceToDepth", (1, 1, 3, 4))]
)
def test_blocks_that_do_not_fit_are_refused_by_name(operator: str, shape: tuple[int, ...]):
    with pytest.raises(UserError) as error:
        npu_mlir.compile(model(operator, shape, 13, blocksize=2), target="toy", emit="graph")
    assert "blocks" in error.value.notes[0].message
    assert "2 x 2" in error.value.notes[0].message
