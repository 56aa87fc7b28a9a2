"""Shape inference of the graph dialect against onnxruntime, on random operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from npu_mlir.dialects.graph import shapes
from npu_mlir.dialects.graph.shapes import ShapeError
from npu_mlir.frontends.onnx import import_model
from npu_mlir.interpreters import run_function
from npu_mlir.support.diagnostics import UserError

FEW = settings(max_examples=100, deadline=None)


def single(
    operator: str, arrays: dict[str, np.ndarray], opset: int = 18, **attributes: Any
) -> onnx.ModelProto:
    """A model of one node whose inputs are those arrays."""
    node = helper.make_node(operator, list(arrays), ["y"], **attributes)
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, a.shape) for name, a in arrays.items()]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "single", inputs, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def onnxruntime(model: onnx.ModelProto, arrays: dict[str, np.ndarray]) -> np.ndarray | None:
    """The result, or None if onnxruntime rejects the operands."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        session: Any = ort.InferenceSession(model.SerializeToString(), options)
        return session.run(None, arrays)[0]
    except Exception:
        return None


def check(model: onnx.ModelProto, arrays: dict[str, np.ndarray]) -> None:
    """What onnxruntime accepts is imported to the same shape and values."""
    expected = onnxruntime(model, arrays)
    if expected is None:
        return
    try:
        module = import_model(model)
    except UserError as error:
        # Windows larger than the image, and the auto_pad that runtimes disagree about, are reported.
        if not any(
            reason in str(error.notes) for reason in ("exceeds padded extent", "auto_pad with kernel")
        ):
            raise
        return
    module.verify()
    (actual,) = run_function(module, "main", list(arrays.values()))
    assert actual.shape == expected.shape
    # The maximum of a window that lies in the padding alone is -inf here, the least finite number in onnxruntime.
    actual = np.maximum(actual, np.finfo(np.float32).min)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


@st.composite
def windows(draw: st.DrawFn, rank: int) -> dict[str, list[int]]:
    """Window attributes; mostly ones that fit."""
    return {
        "kernel_shape": [draw(st.integers(1, 3)) for _ in range(rank)],
        "strides": [draw(st.integers(1, 3)) for _ in range(rank)],
        "dilations": [draw(st.integers(1, 2)) for _ in range(rank)],
    }


@st.composite
def padding(draw: st.DrawFn, rank: int) -> dict[str, Any]:
    mode = draw(st.sampled_from(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    if mode != "NOTSET":
        return {"auto_pad": mode}
    return {"pads": [draw(st.integers(0, 2)) for _ in range(2 * rank)]}


@FEW
@given(st.data())
def test_conv(data: st.DataObject):
    rank = data.draw(st.integers(1, 2))
    attributes = data.draw(windows(rank)) | data.draw(padding(rank))
    group = data.draw(st.integers(1, 3))
    per_group, out = data.draw(st.integers(1, 2)), group * data.draw(st.integers(1, 2))
    extents = [data.draw(st.integers(1, 9)) for _ in range(rank)]
    arrays = {
        "x": random(data.draw(st.integers(1, 2)), group * per_group, *extents),
        "w": random(out, per_group, *attributes["kernel_shape"]),
        "b": random(out),
    }
    check(single("Conv", arrays, group=group, **attributes), arrays)


@FEW
@given(st.data())
def test_pools(data: st.DataObject):
    rank = data.draw(st.integers(1, 2))
    attributes = data.draw(windows(rank)) | data.draw(padding(rank))
    if "pads" in attributes:
        attributes["ceil_mode"] = data.draw(st.integers(0, 1))
        # A window that lies in the padding as a whole has no defined maximum.
        kernel = attributes["kernel_shape"]
        attributes["pads"] = [
            min(pad, kernel[axis % rank] - 1) for axis, pad in enumerate(attributes["pads"])
        ]
    operator = data.draw(st.sampled_from(["MaxPool", "AveragePool"]))
    if operator == "AveragePool":
        attributes["count_include_pad"] = data.draw(st.integers(0, 1))
    arrays = {"x": random(1, 2, *(data.draw(st.integers(1, 9)) for _ in range(rank)))}
    check(single(operator, arrays, opset=19, **attributes), arrays)


EXTENTS = st.lists(st.sampled_from([1, 2, 3]), max_size=4).map(tuple)


@FEW
@given(EXTENTS, EXTENTS)
def test_broadcast(left: tuple[int, ...], right: tuple[int, ...]):
    try:
        expected = np.broadcast_shapes(left, right)
    except ValueError:
        with pytest.raises(ShapeError, match="do not broadcast"):
            shapes.broadcast(left, right)
        return
    assert shapes.broadcast(left, right) == expected
    arrays = {"x": random(*left), "y0": random(*right)}
    check(single("Add", arrays), arrays)


@FEW
@given(
    st.lists(st.sampled_from([1, 2]), min_size=1, max_size=3), st.lists(st.sampled_from([1, 2]), max_size=3)
)
def test_matmul(left: list[int], right: list[int]):
    arrays = {"x": random(*left, 3), "w": random(*right, 3, 4) if right else random(3)}
    check(single("MatMul", arrays), arrays)


@FEW
@given(st.permutations(range(4)), st.integers(-4, 3))
def test_transpose_and_concat(perm: list[int], axis: int):
    assert shapes.transpose((2, 3, 4, 5), perm) == tuple((2, 3, 4, 5)[at] for at in perm)
    assert shapes.concat([(2, 3, 4, 5)] * 2, axis % 4)[axis % 4] == 2 * (2, 3, 4, 5)[axis % 4]


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (lambda: shapes.matmul((2, 3), (4, 5)), "inner extents of 2x3 and 4x5 differ"),
        (lambda: shapes.matmul((3,), (3, 5)), "operands 3 and 3x5 must have rank 2 or more"),
        (lambda: shapes.reshape((2, 3), (4, -1)), r"2x3 cannot become 4x\?"),
        (lambda: shapes.reshape((2, 3), (5,)), "2x3 has 6 elements, 5 has 5"),
        (lambda: shapes.transpose((2, 3), (0, 0)), r"perm \[0, 0\] is no permutation of rank 2"),
        (lambda: shapes.concat([(2, 3), (2, 4)], 0), "shapes 2x3 and 2x4 differ outside of axis 0"),
        (lambda: shapes.concat([], 0), "at least one operand"),
        (lambda: shapes.reduce((2, 3), [1, 0], False), r"axes \[1, 0\] are not ascending and distinct"),
        (lambda: shapes.reduce((2, 3), [2], False), r"axes \[2\] exceed rank 2"),
        (lambda: shapes.window([3], [5], [1], [0, 0], [1]), "window of reach 5 exceeds padded extent 3"),
        (lambda: shapes.window([3], [2], [0], [0, 0], [1]), "strides has an entry below 1"),
        (lambda: shapes.window([3], [2], [1, 1], [0, 0], [1]), "strides has 2 entries, expected 1"),
    ],
)
def test_errors(compute: Any, message: str):
    with pytest.raises(ShapeError, match=message):
        compute()
