"""The conformance suite of ONNX, which is inside the onnx wheel: models with inputs and the outputs they should have.

    cases = dense_cases()

Only the cases on dense numeric tensors are ours: those with strings, sequences, optionals or maps are left out. The
nine networks of the kind "real" have every weight 0.02 in the wheel, so that almost any mistake passes: they get
seeded random weights here, and what onnxruntime computes is expected.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.loader import load_model_tests

import random_networks
from npu_mlir.frontends.onnx.inputs import model_inputs

Arrays = list[np.ndarray[Any, Any]]

ON_DISK = ("real", "simple", "pytorch-converted", "pytorch-operator")
"""Kinds of cases that are files; those of the kind "node" are made by the wheel's Python."""

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


@dataclass(frozen=True)
class Case:
    """One case: a model, pairs of inputs and the outputs they should have, and how close outputs have to be."""

    name: str
    kind: str
    load: Callable[[], tuple[onnx.ModelProto, list[tuple[Arrays, Arrays]]]]
    rtol: float
    atol: float
    base: str | None = None
    """Of a case whose model is the body of a function: the case with the operator itself."""


@cache
def dense_cases() -> tuple[Case, ...]:
    """All cases whose inputs and outputs are dense tensors of numbers, by name."""
    return tuple(sorted((*_node_cases(), *_stored_cases()), key=lambda case: case.name))


@cache
def case_named(name: str) -> Case | None:
    """The dense case of a name."""
    return next((case for case in dense_cases() if case.name == name), None)


def _node_cases() -> list[Case]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collected: Any = collect_testcases(None)
    return [
        Case(case.name, "node", _loader(case), case.rtol, case.atol, _base(case.name))
        for case in collected
        if all(map(_is_dense, (value for data in case.data_sets for values in data for value in values)))
        and not any(map(_is_other, (*case.model.graph.input, *case.model.graph.output)))
    ]


def _base(name: str) -> str | None:
    base, expanded, _ = name.partition("_expanded")
    return base if expanded else None


def _loader(case: Any) -> Callable[[], tuple[onnx.ModelProto, list[tuple[Arrays, Arrays]]]]:
    def load() -> tuple[onnx.ModelProto, list[tuple[Arrays, Arrays]]]:
        data = [([*map(_array, inputs)], [*map(_array, outputs)]) for inputs, outputs in case.data_sets]
        return case.model, data

    return load


def _array(value: Any) -> np.ndarray[Any, Any]:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def _is_dense(value: Any) -> bool:
    if isinstance(value, onnx.TensorProto):
        return value.data_type != onnx.TensorProto.STRING
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufcV"


def _is_other(value: onnx.ValueInfoProto) -> bool:
    """Whether a value is declared as something else than a tensor."""
    return value.type.WhichOneof("value") not in (None, "tensor_type")


def _stored_cases() -> list[Case]:
    found: list[Case] = []
    for kind in ON_DISK:
        for case in load_model_tests(kind=kind):
            if case.url is not None:
                topology = LIGHT / Path(case.url).name
                found.append(Case(case.name, kind, _network_loader(topology), case.rtol, case.atol))
                continue
            directory = Path(str(case.model_dir))
            files = [path for role in ("input", "output") for path in directory.glob(f"*/{role}_*.pb")]
            model = onnx.load(directory / "model.onnx")
            other = any(map(_is_other, (*model.graph.input, *model.graph.output)))
            if files and not other and all(map(_is_dense, map(onnx.load_tensor, files))):
                found.append(Case(case.name, kind, _file_loader(directory), case.rtol, case.atol))
    return found


def _file_loader(directory: Path) -> Callable[[], tuple[onnx.ModelProto, list[tuple[Arrays, Arrays]]]]:
    def load() -> tuple[onnx.ModelProto, list[tuple[Arrays, Arrays]]]:
        sets = sorted(directory.glob("test_data_set_*"))
        return onnx.load(directory / "model.onnx"), [
            (_stored(s, "input"), _stored(s, "output")) for s in sets
        ]

    return load


def _stored(directory: Path, role: str) -> Arrays:
    arrays: Arrays = []
    while (path := directory / f"{role}_{len(arrays)}.pb").exists():
        arrays.append(numpy_helper.to_array(onnx.load_tensor(path)))
    return arrays


def _network_loader(topology: Path) -> Callable[[], tuple[onnx.ModelProto, list[tuple[Arrays, Arrays]]]]:
    def load() -> tuple[onnx.ModelProto, list[tuple[Arrays, Arrays]]]:
        model = random_networks.build(topology)
        generator = np.random.default_rng(0)
        inputs: Arrays = []
        for value in model_inputs(model.graph):
            shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            inputs.append(generator.standard_normal(shape, np.float32))
        return model, [(inputs, random_networks.reference(model, inputs))]

    return load


def shard(cases: Sequence[Case], number: int, count: int) -> list[Case]:
    """One of `count` parts of the cases, of the same names on every machine; without the large networks."""
    small = [case for case in cases if case.kind != "real"]
    return [case for case in small if int(sha256(case.name.encode()).hexdigest(), 16) % count == number]


def matching(cases: Sequence[Case], pattern: str) -> list[Case]:
    """The cases whose names contain one of several texts, separated by `|`."""
    parts = pattern.split("|")
    return [case for case in cases if any(part in case.name for part in parts)]
