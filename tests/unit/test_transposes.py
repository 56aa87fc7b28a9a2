"""Transposes as blocks: the same values as onnxruntime at every level, on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_mlir
from npu_mlir.targets.target import get_target
from npu_mlir.validation.equivalence import EquivalenceChecker
from operators import model, node, reference

SHAPES = [
    ((1, 20, 9, 13), (0, 2, 3, 1)),
    ((1, 9, 13, 20), (0, 3, 1, 2)),
    ((50, 37), (1, 0)),
    ((3, 5, 18, 7), (3, 1, 0, 2)),
    ((2, 17, 3, 16, 5), (0, 3, 4, 1, 2)),
]


@pytest.mark.parametrize("target", ["toy", "ascend-910", "ascend-910b"])
@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize(("shape", "perm"), SHAPES)
def test_transposed_and_added(target: str, precision: str, shape: tuple[int, ...], perm: tuple[int, ...]):
    rng = np.random.default_rng(sum(shape))
    inputs = {
        "x": rng.standard_normal(shape).astype(np.float32),
        "z": rng.standard_normal([shape[p] for p in perm]).astype(np.float32),
    }
    nodes = [node("Transpose", "x", "t", perm=list(perm)), node("Add", "t z", "y")]
    source = model(nodes, inputs)
    program = npu_mlir.compile(source, target=target, precision=precision, instruments=[EquivalenceChecker()])
    (wanted,) = reference(source, inputs)
    tolerance = 1e-6 if precision == "f32" else 2e-3
    np.testing.assert_allclose(program.run(inputs)["y"], wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("element", [np.int8, np.int16, np.int32, np.int64, np.float16, np.bool_])
def test_types(element: Any):
    x = np.random.default_rng(0).integers(0, 2, (40, 24)).astype(element)
    source = model([node("Transpose", "x", "y", perm=[1, 0])], {"x": x})
    program = npu_mlir.compile(source, target="ascend-910", instruments=[EquivalenceChecker()])
    np.testing.assert_array_equal(program.run({"x": x})["y"], x.T)
    names = {op.name for op in program.module.walk()}
    assert ("npu_isa.vtranspose" in names) == (x.itemsize in (2, 4))


def test_a_machine_that_says_nothing_of_transposes_has_none():
    machine = get_target("ascend-910")
    values = {name: value for name, value in machine.values().items() if name != "vector.transpose"}
    plain = machine.of(values, machine.sources, "")
    x = np.zeros((40, 24), np.float16)
    source = model([node("Transpose", "x", "y", perm=[1, 0])], {"x": x})
    program = npu_mlir.compile(source, target=plain)
    assert not any(op.name == "npu_isa.vtranspose" for op in program.module.walk())


def test_images_are_reordered_at_half_of_the_rate_of_gm():
    x = np.zeros((1, 64, 64, 64), np.float16)
    source = model([node("Transpose", "x", "y", perm=[0, 2, 3, 1])], {"x": x})
    machine = get_target("ascend-910")
    cycles = npu_mlir.compile(source, target=machine).simulate().cycles
    # The first tile on its way in, and the last on its way out, take a quarter each.
    assert cycles < (2 + 1 / 2) * x.nbytes / machine.rates["gm_ub"] + 1500
