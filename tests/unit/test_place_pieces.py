"""Joined tensors that are put together in place: which ones, and that every level agrees with onnxruntime."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
import pytest

import npu_mlir
from npu_mlir.analysis.joins import Home, Join, homes
from npu_mlir.analysis.placed_parts import Part
from npu_mlir.simulator.checks import gm_hazards
from npu_mlir.simulator.checks.gm_hazards import GmArray
from npu_mlir.validation.equivalence import EquivalenceChecker
from operators import model, node, reference

Arrays = dict[str, np.ndarray[Any, Any]]


def dense_block(layers: int = 4, growth: int = 8, size: int = 12) -> tuple[onnx.ModelProto, Arrays]:
    """Each layer reads all those before it."""
    rng = np.random.default_rng(layers)
    weights: dict[str, Any] = {}
    weights["w"] = rng.standard_normal((16, 16, 1, 1)).astype(np.float32) / 4
    nodes, features, channels = [node("Conv", "x w", "f")], ["f"], 16
    for layer in range(layers):
        weights[f"w{layer}"] = rng.standard_normal((growth, channels, 3, 3)).astype(np.float32) / 12
        read = features[0]
        if len(features) > 1:
            read = f"c{layer}"
            nodes.append(node("Concat", " ".join(features), read, axis=1))
        nodes.append(node("Relu", read, f"r{layer}"))
        nodes.append(node("Conv", f"r{layer} w{layer}", f"f{layer}", pads=[1] * 4))
        features.append(f"f{layer}")
        channels += growth
    nodes.append(node("Concat", " ".join(features), "all", axis=1))
    nodes.append(node("Relu", "all", "y"))
    inputs: Arrays = {"x": rng.standard_normal((1, 16, size, size)).astype(np.float32)}
    return model(nodes, inputs, **weights), inputs


def agree(
    source: onnx.ModelProto,
    inputs: Arrays,
    target: str = "ascend-910",
    precision: str = "f32",
    link: bool = False,
) -> Any:
    program = npu_mlir.compile(
        source, target=target, precision=precision, link=link, instruments=[EquivalenceChecker()]
    )
    assert not [op for op in program.module.walk() if op.name == "tile.host"]
    tolerance = 1e-4 if precision == "f32" else 3e-2
    results = program.run(inputs)
    for output, wanted in zip(source.graph.output, reference(source, inputs), strict=True):
        np.testing.assert_allclose(results[output.name], wanted, rtol=tolerance, atol=tolerance)
    return program


def placed(program: Any) -> int:
    """The results that lie in a larger tensor."""
    launches = [op for op in program.module.walk() if op.name == "tile.launch"]
    return sum(strides is not None for launch in launches for strides in launch.strides())


@pytest.mark.parametrize("target", ["toy", "ascend-910", "ascend-910b"])
@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_a_dense_block_is_one_tensor(target: str, precision: str):
    program = agree(*dense_block(), target, precision)
    assert placed(program) == 5
    assert len([op for op in program.module.walk() if op.name == "tile.reserve"]) == 1


def test_a_dense_block_in_one_program():
    assert placed(agree(*dense_block(), link=True)) == 5


def test_parts_share_the_elements_of_the_whole():
    """For the search for races: by their bytes, not by their numbers."""
    whole = np.zeros((4, 6), np.float32)
    part, other = whole[:, 2:4], whole[:, 4:]
    arrays = {
        name: GmArray(view.size, 4, gm_hazards.byte_range(view), gm_hazards.byte_offsets(view))
        for name, view in (("part", part), ("other", other))
    }
    arrays["whole"] = GmArray(24, 4, gm_hazards.byte_range(whole))
    every = np.arange(8)
    assert arrays["whole"].elements_of(arrays["part"], every).tolist() == [2, 3, 8, 9, 14, 15, 20, 21]
    assert arrays["part"].elements_of(arrays["whole"], np.array([1, 3, 8, 10])).tolist() == [1, 2]
    assert arrays["other"].elements_of(arrays["part"], every).tolist() == []
    assert arrays["part"].elements_of(arrays["part"], np.array([5])).tolist() == [5]


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_pieces_along_any_axis(axis: int):
    rng = np.random.default_rng(axis)
    shapes = [[6, 10, 12, 14] for _ in range(3)]
    for k, shape in enumerate(shapes):
        shape[axis] = 5 + 4 * k
    inputs: Arrays = {f"x{k}": rng.standard_normal(s).astype(np.float32) for k, s in enumerate(shapes)}
    nodes = [node("Relu", f"x{k}", f"r{k}") for k in range(3)]
    nodes += [node("Concat", "r0 r1 r2", "c", axis=axis), node("Tanh", "c", "y")]
    program = agree(model(nodes, inputs), inputs)
    assert placed(program) == 3


def test_what_is_read_elsewhere_and_what_is_joined_twice():
    rng = np.random.default_rng(5)
    inputs: Arrays = {"x": rng.standard_normal((1, 32, 40, 40)).astype(np.float32)}
    weights: dict[str, Any] = {"w": rng.standard_normal((16, 32, 1, 1)).astype(np.float32) / 6}
    nodes = [
        node("Conv", "x w", "a"),
        node("Relu", "a", "b"),
        node("Concat", "a b a", "c", axis=1),
        node("Concat", "b x", "d", axis=1),
        node("Sigmoid", "c", "e"),
        node("Conv", "b v", "f"),
        node("Sigmoid", "d", "g"),
        node("Concat", "e g f", "y", axis=1),
    ]
    weights["v"] = rng.standard_normal((8, 16, 1, 1)).astype(np.float32) / 4
    agree(model(nodes, inputs, **weights), inputs)


@pytest.mark.parametrize("target", ["toy", "ascend-910", "ascend-910b"])
@pytest.mark.parametrize("half", [6, 16])
def test_shuffled_channels(target: str, half: int):
    rng = np.random.default_rng(half)
    inputs: Arrays = {"x": rng.standard_normal((1, 2 * half, 9, 9)).astype(np.float32)}
    weights: dict[str, Any] = {
        "first": rng.standard_normal((2 * half, 2 * half, 1, 1)).astype(np.float32) / half,
        "split": np.array([1, 2, half, 9, 9]),
        "joined": np.array([1, 2 * half, 9, 9]),
    }
    nodes, source = [node("Conv", "x first", "x0")], "x0"
    for unit in range(2):
        weights[f"w{unit}"] = rng.standard_normal((half, half, 1, 1)).astype(np.float32) / 4
        nodes += [
            node("Split", source, f"l{unit} r{unit}", axis=1, num_outputs=2),
            node("Conv", f"r{unit} w{unit}", f"c{unit}"),
            node("Concat", f"l{unit} c{unit}", f"j{unit}", axis=1),
            node("Reshape", f"j{unit} split", f"s{unit}"),
            node("Transpose", f"s{unit}", f"t{unit}", perm=[0, 2, 1, 3, 4]),
            node("Reshape", f"t{unit} joined", f"x{unit + 1}"),
        ]
        source = f"x{unit + 1}"
    nodes.append(node("Relu", source, "y"))
    agree(model(nodes, inputs, **weights), inputs, target)


def random_joins(seed: int) -> tuple[onnx.ModelProto, Arrays]:
    """Operations that join, split, convolve and add what there is of one size."""
    choice = random.Random(seed)
    rng = np.random.default_rng(seed)
    size = choice.choice([5, 8, 11])
    inputs: Arrays = {"x": rng.standard_normal((1, choice.choice([8, 10]), size, size)).astype(np.float32)}
    channels = {"x": inputs["x"].shape[1]}
    weights: dict[str, Any] = {}
    nodes: list[onnx.NodeProto] = []
    for number in range(choice.randint(4, 9)):
        names, new = list(channels), f"t{number}"
        kind = choice.choice(["concat", "concat", "conv", "relu", "split", "add"])
        if kind == "concat":
            pieces = [choice.choice(names) for _ in range(choice.randint(2, 4))]
            if sum(channels[p] for p in pieces) > 96:
                continue
            nodes.append(node("Concat", " ".join(pieces), new, axis=1))
            channels[new] = sum(channels[p] for p in pieces)
        elif kind == "conv":
            source, out = choice.choice(names), choice.choice([4, 7, 16])
            weights[f"w{number}"] = rng.standard_normal((out, channels[source], 3, 3)).astype(np.float32) / 12
            nodes.append(node("Conv", f"{source} w{number}", new, pads=[1] * 4))
            channels[new] = out
        elif kind == "split":
            source = choice.choice([n for n in names if channels[n] % 2 == 0] or names)
            if channels[source] % 2:
                continue
            nodes.append(node("Split", source, f"{new} {new}b", axis=1, num_outputs=2))
            channels[new] = channels[f"{new}b"] = channels[source] // 2
        elif kind == "add":
            source = choice.choice(names)
            other = choice.choice([n for n in names if channels[n] == channels[source]])
            nodes.append(node("Add", f"{source} {other}", new))
            channels[new] = channels[source]
        else:
            source = choice.choice(names)
            nodes.append(node("Relu", source, new))
            channels[new] = channels[source]
    source = list(channels)[-1]
    nodes += [node("Concat", f"{source} x", "last", axis=1), node("Relu", "last", "y")]
    return model(nodes, inputs, **weights), inputs


@pytest.mark.parametrize("seed", range(25))
def test_random_joins(seed: int, monkeypatch: pytest.MonkeyPatch):
    # Whether it pays or not.
    monkeypatch.setattr("npu_mlir.passes.linalg.place_pieces.pays", lambda pieces, row, target: True)
    source, inputs = random_joins(seed)
    agree(source, inputs, random.Random(seed).choice(["toy", "ascend-910", "ascend-910b"]))


def test_parts_of_others():
    def found(*joins: Join) -> list[Home]:
        return homes(joins, lambda join: True)

    first, second = Join("a", 1, ("x", "y")), Join("b", 1, ("a", "z"))
    assert found(first, second) == [Home(Join("b", 1, ("x", "y", "z")), {"b": (0, 3), "a": (0, 2)})]
    # Along another axis, in another order, or not at all.
    assert len(found(first, Join("b", 0, ("a", "z")))) == 2
    assert len(found(first, Join("b", 1, ("y", "x", "z")))) == 2
    assert homes([first, second], lambda join: join.key == "a") == [Home(first, {"a": (0, 2)})]


def test_elements_of_a_part():
    part = Part((4, 6, 2), 1, 2, 3)
    assert part.first == 4
    assert part.elements == range(16, 40)
