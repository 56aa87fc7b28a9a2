"""Large weights of ONNX files are read apart from the model, to the same arrays and the same errors."""

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from npu_mlir.frontends.onnx.large_weights import LARGE, without_large_weights
from npu_mlir.frontends.onnx.load import load_apart
from npu_mlir.support.diagnostics import UserError

TYPES = (
    np.float32,
    np.float16,
    np.float64,
    np.int8,
    np.uint8,
    np.int16,
    np.uint16,
    np.int32,
    np.int64,
    np.bool_,
)


def saved(path: Path, weights: list[TensorProto]) -> onnx.ModelProto:
    """A model with these weights, and its file."""
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value], [result], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="ü" * 200)
    path.write_bytes(model.SerializeToString())
    return model


def test_every_weight_is_found_in_the_model_or_beside_it(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    arrays = [random.integers(0, 2, (3, size)).astype(type_) for size in (2, LARGE) for type_ in TYPES]
    weights = [numpy_helper.from_array(array, f"w{i}") for i, array in enumerate(arrays)]
    weights.append(numpy_helper.from_array(np.ones(LARGE, ml_dtypes.bfloat16), "b"))
    whole = saved(tmp_path / "m.onnx", weights)
    model, apart = load_apart(tmp_path / "m.onnx")
    # Neither booleans nor bfloat16 are plain.
    assert set(apart) == set(range(len(TYPES), 2 * len(TYPES) - 1))
    for number, tensor in enumerate(model.graph.initializer):
        expected = numpy_helper.to_array(whole.graph.initializer[number])
        found = apart[number] if number in apart else numpy_helper.to_array(tensor)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        assert (number in apart) == (not tensor.HasField("raw_data"))
    # Everything else is there.
    for number, tensor in enumerate(model.graph.initializer):
        if number in apart:
            tensor.raw_data = apart[number].tobytes()
    assert model == whole


def test_a_weight_of_another_size_than_its_shape_stays_in_the_model(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.ones((8, LARGE), np.float32), "w")
    weight.dims[0] = 9
    whole = saved(tmp_path / "m.onnx", [weight])
    assert load_apart(tmp_path / "m.onnx") == (whole, {})


@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.999])
def test_a_truncated_file_is_an_error(tmp_path: Path, part: float) -> None:
    path = tmp_path / "m.onnx"
    saved(path, [numpy_helper.from_array(np.ones((8, LARGE), np.float32), "w")])
    data = path.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    with pytest.raises(UserError, match="is not an ONNX file|truncated or damaged"):
        load_apart(path)


def test_no_change_to_a_byte_of_the_header_is_anything_but_an_error_or_another_model(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    saved(path, [numpy_helper.from_array(np.ones((2, LARGE), np.float32), "w")])
    data = bytearray(path.read_bytes())
    ends = [*range(40), *range(len(data) - 80, len(data))]
    for at in ends:
        for value in (0, 0x7F, 0xFF):
            path.write_bytes(data[:at] + bytes([value]) + data[at + 1 :])
            try:
                whole = onnx.ModelProto.FromString(path.read_bytes())
            except Exception:
                whole = None
            try:
                model, apart = load_apart(path)
            except UserError:
                continue
            for number, array in apart.items():
                model.graph.initializer[number].raw_data = array.tobytes()
            assert model == whole


def test_a_mapped_file_that_is_empty_of_weights_keeps_all_bytes(tmp_path: Path) -> None:
    from mmap import ACCESS_READ, mmap

    whole = saved(tmp_path / "m.onnx", [])
    with (tmp_path / "m.onnx").open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        contents, places = without_large_weights(data)
    assert places == {}
    assert onnx.ModelProto.FromString(contents) == whole
