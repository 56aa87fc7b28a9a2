"""Depthwise and grouped convolutions, on the cube as blocks of groups, against onnxruntime and level by level."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import npu_mlir
from npu_mlir.analysis.group_blocks import GroupedConvolution, best_block, block_cycles
from npu_mlir.passes.graph.block_groups import blocked_weight
from npu_mlir.targets.target import get_target
from npu_mlir.validation.equivalence import EquivalenceChecker
from operators import model, node, reference


def convolution(
    groups: int, channels: int, filters: int, size: int = 7, window: int = 3, stride: int = 1
) -> tuple[onnx.ModelProto, dict[str, np.ndarray[Any, Any]]]:
    """A padded convolution with bias, clipped, and its input."""
    rng = np.random.default_rng(groups * channels * filters + size)
    weights = rng.standard_normal((groups * filters, channels, window, window)).astype(np.float32) / window
    pads = [window // 2] * 4
    nodes = [
        node("Conv", "x w b", "c", group=groups, pads=pads, strides=[stride] * 2, name="conv"),
        node("Clip", "c low high", "y", name="clip"),
    ]
    inputs = {"x": rng.standard_normal((1, groups * channels, size, size)).astype(np.float32)}
    bias = rng.standard_normal(groups * filters).astype(np.float32)
    return model(nodes, inputs, w=weights, b=bias, low=np.float32(0), high=np.float32(6)), inputs


def channels_last(source: onnx.ModelProto) -> None:
    """Let the model take and give images with their channels last."""
    graph = source.graph
    dims = graph.input[0].type.tensor_type.shape.dim
    sizes = [dims[axis].dim_value for axis in (0, 2, 3, 1)]
    for dim, size in zip(dims, sizes, strict=True):
        dim.dim_value = size
    graph.input[0].name, graph.output[0].name = "x_last", "y_last"
    graph.node.insert(0, node("Transpose", "x_last", "x", perm=[0, 3, 1, 2]))
    graph.node.append(node("Transpose", "y", "y_last", perm=[0, 2, 3, 1]))


@pytest.mark.parametrize("target", ["toy", "ascend-910", "ascend-910b"])
@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize(
    ("groups", "channels", "filters", "stride"),
    [(32, 1, 1, 1), (24, 1, 1, 2), (7, 1, 1, 1), (8, 1, 2, 1), (8, 4, 4, 1), (4, 8, 6, 2), (3, 24, 24, 1)],
)
def test_groups_agree_with_onnxruntime(
    target: str, precision: str, groups: int, channels: int, filters: int, stride: int
):
    source, inputs = convolution(groups, channels, filters, stride=stride)
    program = npu_mlir.compile(source, target=target, precision=precision, instruments=[EquivalenceChecker()])
    assert not [op for op in program.module.walk() if op.name == "tile.host"]
    tolerance = 2e-5 if precision == "f32" else 1e-2
    (wanted,) = reference(source, inputs)
    np.testing.assert_allclose(program.run(inputs)["y"], wanted, rtol=tolerance, atol=tolerance)


def test_depthwise_is_one_kernel_on_the_cube():
    source, _ = convolution(64, 1, 1, size=14)
    channels_last(source)
    program = npu_mlir.compile(source, target="ascend-910", precision="f16")
    kernels = [op for op in program.module.ops if op.name == "tile.kernel"]
    products = [k for k in kernels if any(op.name == "npu_isa.mmad" for op in k.walk())]
    # The other casts the input.
    assert len(products) == 1 and len(kernels) == 2
    # Multiplications by the zeros beside the blocks are not the model's.
    assert str(products[0].attributes["npu.macs"]).startswith(f"{14 * 14 * 64 * 9} :")
    # The bias is what the cube starts from.
    assert not any(op.name == "npu_isa.vbinary" and "add" in str(op) for op in products[0].walk())


@given(
    st.sampled_from([1, 2, 3, 4]),
    st.sampled_from([1, 2, 5]),
    st.sampled_from([1, 3]),
    st.sampled_from([1, 2, 3]),
)
@settings(deadline=None)
def test_blocked_weights_convolve_the_same(size: int, channels: int, filters: int, blocks: int):
    groups = size * blocks
    rng = np.random.default_rng(groups)
    weight = rng.integers(-9, 9, (2, channels, groups * filters))
    x = rng.integers(-9, 9, (2, groups * channels))

    def product(weight: np.ndarray[Any, Any], groups: int) -> np.ndarray[Any, Any]:
        split = weight.reshape(2, weight.shape[1], groups, -1)
        return np.einsum("kgc,kcgo->go", x.reshape(2, groups, -1), split).reshape(-1)

    blocked = blocked_weight(weight, groups, size)
    assert np.array_equal(product(blocked, blocks), product(weight, groups))


def test_sizes_of_blocks():
    target = get_target("ascend-910")

    def conv(groups: int, channels: int, rows: int = 3136, element: str = "f16") -> GroupedConvolution:
        inputs = rows * groups * channels
        return GroupedConvolution(groups, channels, channels, rows, 9, inputs, element, 16)

    assert best_block(conv(96, 1), target) == 16
    assert best_block(conv(8, 8), target) == 2
    # As wide as the cube, or of a type that it does not multiply.
    assert best_block(conv(8, 16), target) == 1
    assert best_block(conv(8, 8, element="f64"), target) == 1
    # Nothing to join.
    assert best_block(conv(13, 16), target) == 1
    assert block_cycles(conv(96, 1), 16, target) < block_cycles(conv(96, 1), 1, target) / 4
