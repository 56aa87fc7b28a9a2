"""The weight store: entries in memory and in files, and the errors about them."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from npu_mlir.dialects.context import make_context
from npu_mlir.dialects.graph import WeightOp
from npu_mlir.ir.constants import constant_of, make_constant, tensor_type
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.weights import (
    WeightStore,
    check_weight,
    has_new_weights,
    save_weights,
    share_weights,
    weight_names,
    weights_of,
)
from npu_mlir.support.diagnostics import UserError

ARRAYS = {
    "conv1/kernel:0": np.arange(60, dtype=np.float32).reshape(3, 20),
    "half": np.linspace(-1, 1, 40).astype(np.float16),
    "brain": np.arange(33).astype(ml_dtypes.bfloat16),
    "indices": np.arange(20, dtype=np.int64),
    "bytes": np.arange(17, dtype=np.uint8),
}


def module_with(arrays: dict[str, np.ndarray]) -> ModuleOp:
    module = ModuleOp([])
    for name, array in arrays.items():
        module.body.block.add_op(make_constant(weights_of(module), array, name))
    return module


def reopened(path: Path, names: dict[str, np.ndarray]) -> ModuleOp:
    """A module that has nothing but the file."""
    module = module_with(names).clone()
    module.attributes["npu.weights"] = StringAttr(path.name)
    weights_of(module).directory = path.parent
    return module


def test_round_trip(tmp_path: Path):
    module = module_with(ARRAYS)
    assert weight_names(module) == list(ARRAYS)
    assert has_new_weights(module)
    save_weights(module, tmp_path / "m.safetensors")
    assert module.attributes["npu.weights"] == StringAttr("m.safetensors")
    assert not has_new_weights(module)
    for again in (module, reopened(tmp_path / "m.safetensors", ARRAYS)):
        for name, array in ARRAYS.items():
            found = weights_of(again).get(name)
            assert found.dtype == array.dtype
            np.testing.assert_array_equal(found, array)


def test_only_entries_in_use_are_saved(tmp_path: Path):
    module = module_with(ARRAYS)
    weights_of(module).set("unused", np.zeros(100))
    save_weights(module, tmp_path / "m.safetensors")
    assert weights_of(reopened(tmp_path / "m.safetensors", ARRAYS)).names() == set(ARRAYS)


def test_new_entries_win_over_the_file(tmp_path: Path):
    module = module_with(ARRAYS)
    save_weights(module, tmp_path / "m.safetensors")
    weights_of(module).set("half", np.zeros(40, np.float16))
    assert has_new_weights(module)
    assert not weights_of(module).get("half").any()
    save_weights(module, tmp_path / "m.safetensors")
    assert not weights_of(reopened(tmp_path / "m.safetensors", ARRAYS)).get("half").any()


def test_clone_shares():
    module = module_with(ARRAYS)
    clone = module.clone()
    share_weights(module, clone)
    assert weights_of(clone) is weights_of(module)


def test_fresh_names():
    store = weights_of(module_with(ARRAYS))
    assert store.fresh("new") == "new"
    assert store.fresh("half") == "half_1"


@pytest.mark.parametrize(
    "array",
    [
        np.float32(1.5).reshape(()),
        np.array([True, False, True]),
        np.full((100, 3), -2.5, np.float16),
        np.arange(16, dtype=np.int32).reshape(4, 4),
        np.ones((2, 2), bool),
        np.asarray(True),
        np.zeros((0, 3), np.float32),
        np.arange(3, dtype=np.uint8),
        np.array([0.0, -np.inf, np.nan, 2**24, 3.4e38, 1e-45], np.float32),
        np.full((40, 2), -np.inf, np.float16),
    ],
)
def test_small_constants_stay_in_the_module(array: np.ndarray):
    module = ModuleOp([])
    op = make_constant(weights_of(module), array, "small")
    assert not isinstance(op, WeightOp)
    found = constant_of(op.results[0], weights_of(module))
    assert found is not None and found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)
    module.body.block.add_op(op)
    (again,) = parse_module(make_context(), str(module), "again").body.block.ops
    found = constant_of(again.results[0], weights_of(module))
    assert found is not None
    np.testing.assert_array_equal(found, array)


def test_zeros_of_both_signs_go_to_the_store():
    """Printed, they would all look the same."""
    assert isinstance(make_constant(weights_of(ModuleOp([])), np.array([0.0, -0.0]), "zeros"), WeightOp)


def test_missing_file(tmp_path: Path):
    module = reopened(tmp_path / "none.safetensors", ARRAYS)
    with pytest.raises(UserError, match=r"weight file '.*none\.safetensors' does not exist"):
        weights_of(module).get("half")


def test_damaged_file(tmp_path: Path):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(b"not a weight file")
    with pytest.raises(UserError, match="is not a readable safetensors file"):
        weights_of(reopened(path, ARRAYS)).get("half")


def test_truncated_file(tmp_path: Path):
    path = tmp_path / "m.safetensors"
    save_weights(module_with(ARRAYS), path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(UserError, match="is not a readable safetensors file"):
        weights_of(reopened(path, ARRAYS)).get("half")


def test_missing_entry(tmp_path: Path):
    save_weights(module_with(ARRAYS), tmp_path / "m.safetensors")
    store = weights_of(reopened(tmp_path / "m.safetensors", ARRAYS))
    with pytest.raises(UserError, match="has no entry 'halv'; did you mean 'half'"):
        store.get("halv")


def test_no_file():
    with pytest.raises(UserError, match="no weight 'x': the module names no weight file"):
        weights_of(ModuleOp([])).get("x")


def test_wrong_shape():
    op = WeightOp("half", tensor_type(ARRAYS["half"]))
    with pytest.raises(UserError, match="weight 'half' is 4x5xfloat16 in the file, declared tensor<40xf16>"):
        check_weight(op, np.zeros((4, 5), np.float16))


def test_a_file_is_written_in_parts_as_the_library_writes_it() -> None:
    from safetensors.numpy import save

    from npu_mlir.ir.safetensors_file import parts_of

    types = [np.bool_, np.int8, np.float16, ml_dtypes.bfloat16, np.int32, np.float32, np.float64, np.uint64]
    arrays = {f'{"zyx"[i % 3]}"ü{i}': np.ones((2, i % 4, 3), type_) for i, type_ in enumerate(2 * types)}
    arrays["scalar"] = np.array(3.0, np.float32)
    arrays["transposed"] = np.arange(6, dtype=np.float32).reshape(2, 3).T
    contiguous = {name: np.array(array, order="C") for name, array in arrays.items()}
    assert b"".join(parts_of(arrays)) == save(contiguous)


def test_what_is_discarded_is_gone_but_its_name_is_not_used_again() -> None:
    store = WeightStore()
    store.set("w", np.ones(3))
    other = store.copy()
    store.discard("w")
    assert store.names() == set()
    assert store.fresh("w") == "w_1"
    assert store.copy().fresh("w") == "w_1"
    np.testing.assert_array_equal(other.get("w"), np.ones(3))
