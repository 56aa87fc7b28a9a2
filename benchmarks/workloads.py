"""The workloads of the table of networks (`networks.py`): published topologies with seeded random weights, opset 17.

    python benchmarks/workloads.py resnet18       makes one on first use, and prints its path

As exporters leave them: normalisations behind convolutions are part of their weights, those before stay nodes. Weights
are normal, scaled so that activations keep their size; a model's metadata says how many multiply-accumulates it has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples"))

from fetch_model import cached  # noqa: E402

VERSION = 2
"""Of the files that are kept: to be raised when what is made here changes."""

BRANCH = 0.2
"""The gain of what is added to a shortcut: sums of many branches stay as large as one."""


@dataclass
class Builder:
    """A model that grows node by node. Values are known by their names, and their shapes by `shapes`."""

    dtype: Any = np.float32
    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    weights: list[onnx.TensorProto] = field(default_factory=list[onnx.TensorProto])
    inputs: list[str] = field(default_factory=list[str])
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    macs: int = 0

    def __post_init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def input(self, name: str, *shape: int) -> str:
        """An input of the model."""
        self.inputs.append(name)
        self.shapes[name] = shape
        return name

    def weight(self, array: np.ndarray) -> str:
        """A constant."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def normal(self, *shape: int, scale: float = 1.0, mean: float = 0.0) -> str:
        """A constant of normal numbers."""
        numbers = self.generator.standard_normal(shape, np.float32) * scale + mean
        return self.weight(numbers.astype(self.dtype))

    def node(
        self, operator: str, inputs: Sequence[str], shape: Sequence[int], name: str = "", **attributes: Any
    ) -> str:
        """A node with one result of this shape."""
        name = name or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        self.shapes[name] = tuple(shape)
        return name

    def conv(
        self,
        x: str,
        channels: int,
        kernel: int,
        stride: int = 1,
        groups: int = 1,
        activation: str = "relu",
        gain: float = 1.0,
        name: str = "",
    ) -> str:
        """A convolution that keeps the size but for its stride, with a bias and an activation (relu, relu6 or none);
        its results are `gain` times as large as what it reads."""
        _, own, height, width = self.shapes[x]
        pad = kernel // 2
        shape = (
            1,
            channels,
            (height + 2 * pad - kernel) // stride + 1,
            (width + 2 * pad - kernel) // stride + 1,
        )
        depth = own // groups * kernel * kernel
        self.macs += prod(shape) * depth
        scale = gain * ((2 if activation else 1) / depth) ** 0.5
        weights = self.normal(channels, own // groups, kernel, kernel, scale=scale)
        operands = [x, weights, self.normal(channels, scale=0.01)]
        window = _window(kernel, stride, pad)
        y = self.node("Conv", operands, shape, name, group=groups, **window)
        if activation == "relu6":
            ends = [self.weight(np.array(end, self.dtype)) for end in (0, 6)]
            return self.node("Clip", [y, *ends], shape)
        return self.relu(y) if activation else y

    def relu(self, x: str) -> str:
        """What is negative becomes 0."""
        return self.node("Relu", [x], self.shapes[x])

    def add(self, x: str, y: str) -> str:
        """The sum of two values of one shape."""
        return self.node("Add", [x, y], self.shapes[x])

    def normalise(self, x: str) -> str:
        """A normalisation by statistics from training."""
        c = self.shapes[x][1]
        scale, bias = self.normal(c, scale=0.1, mean=1.0), self.normal(c, scale=0.1)
        mean, variance = self.normal(c, scale=0.1), self.weight(np.ones(c, self.dtype))
        return self.node("BatchNormalization", [x, scale, bias, mean, variance], self.shapes[x])

    def pool(self, x: str, operator: str, kernel: int, stride: int, pad: int = 0, ceil: bool = False) -> str:
        """A maximum or average of windows."""
        n, c, *sizes = self.shapes[x]
        up = stride - 1 if ceil else 0
        out = [(size + 2 * pad - kernel + up) // stride + 1 for size in sizes]
        window = _window(kernel, stride, pad)
        return self.node(operator, [x], (n, c, *out), ceil_mode=int(ceil), **window)

    def mean(self, x: str) -> str:
        """The mean of each channel."""
        return self.node("GlobalAveragePool", [x], (*self.shapes[x][:2], 1, 1))

    def concat(self, values: Sequence[str]) -> str:
        """Channels side by side."""
        n, _, *sizes = self.shapes[values[0]]
        channels = sum(self.shapes[value][1] for value in values)
        return self.node("Concat", values, (n, channels, *sizes), axis=1)

    def reshape(self, x: str, *shape: int) -> str:
        """The same elements in another shape."""
        return self.node("Reshape", [x, self.weight(np.array(shape, np.int64))], shape)

    def product(self, x: str, y: str, columns: int) -> str:
        """A matrix product."""
        rows, depth = self.shapes[x]
        self.macs += rows * depth * columns
        return self.node("MatMul", [x, y], (rows, columns))

    def classify(self, x: str, classes: int = 1000) -> str:
        """The last layers of a classifier."""
        c = self.shapes[x][1]
        x = self.reshape(self.mean(x), 1, c)
        x = self.product(x, self.normal(c, classes, scale=c**-0.5), classes)
        return self.node("Add", [x, self.normal(classes, scale=0.01)], (1, classes))

    def model(self) -> onnx.ModelProto:
        """The model, whose output is the value of the last node."""
        element = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        entries = [helper.make_tensor_value_info(x, element, self.shapes[x]) for x in self.inputs]
        last = self.nodes[-1].output[0]
        outputs = [helper.make_tensor_value_info(last, element, self.shapes[last])]
        graph = helper.make_graph(self.nodes, "workload", entries, outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        helper.set_model_props(model, {"macs": str(self.macs)})
        return model


def _window(kernel: int, stride: int, pad: int) -> dict[str, Any]:
    return {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4}


def _image(size: int = 224) -> tuple[Builder, str]:
    b = Builder()
    return b, b.input("image", 1, 3, size, size)


# ---- networks --------------------------------------------------------------------------------------------------------


def resnet(blocks: Sequence[int], bottleneck: bool) -> onnx.ModelProto:
    """ResNets as published in torchvision: the stride of a bottleneck is that of its 3x3 convolution."""
    b, x = _image()
    x = b.pool(b.conv(x, 64, 7, 2), "MaxPool", 3, 2, 1)
    for stage, (count, width) in enumerate(zip(blocks, (64, 128, 256, 512), strict=True)):
        for i in range(count):
            stride = 2 if stage and not i else 1
            own, name = x, f"stage{stage + 1}_block{i + 1}"
            if bottleneck:
                y = b.conv(b.conv(x, width, 1), width, 3, stride, name=f"{name}_conv3x3")
                y = b.conv(y, 4 * width, 1, activation="", gain=BRANCH)
            else:
                y = b.conv(x, width, 3, stride, name=f"{name}_conv3x3")
                y = b.conv(y, width, 3, activation="", gain=BRANCH)
            if b.shapes[own] != b.shapes[y]:
                own = b.conv(own, b.shapes[y][1], 1, stride, activation="")
            x = b.relu(b.add(y, own))
    b.classify(x)
    return b.model()


def mobilenet_v2() -> onnx.ModelProto:
    """Inverted residuals with depthwise convolutions."""
    b, x = _image()
    x = b.conv(x, 32, 3, 2, activation="relu6")
    stages = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    for factor, channels, count, first in stages:
        for i in range(count):
            stride = first if not i else 1
            wide = b.shapes[x][1] * factor
            y = x if factor == 1 else b.conv(x, wide, 1, activation="relu6")
            y = b.conv(y, wide, 3, stride, groups=wide, activation="relu6")
            y = b.conv(y, channels, 1, activation="", gain=BRANCH if b.shapes[x][1] == channels else 1)
            x = b.add(x, y) if b.shapes[x] == b.shapes[y] else y
    b.classify(b.conv(x, 1280, 1, activation="relu6"))
    return b.model()


def densenet121() -> onnx.ModelProto:
    """Each layer takes all those before it in its block, normalised; as torchvision has it, side by side anew."""
    b, x = _image()
    x = b.pool(b.conv(x, 64, 7, 2), "MaxPool", 3, 2, 1)
    for block, layers in enumerate((6, 12, 24, 16)):
        features = [x]
        for _ in range(layers):
            x = b.concat(features) if len(features) > 1 else x
            y = b.conv(b.relu(b.normalise(x)), 128, 1)
            features.append(b.conv(y, 32, 3, activation=""))
        x = b.relu(b.normalise(b.concat(features)))
        if block < 3:
            x = b.pool(b.conv(x, b.shapes[x][1] // 2, 1, activation=""), "AveragePool", 2, 2)
    b.classify(x)
    return b.model()


def shufflenet_v2() -> onnx.ModelProto:
    """Halves of the channels, one through depthwise convolutions, and shuffled behind; width 1.0."""
    b, x = _image()
    x = b.pool(b.conv(x, 24, 3, 2), "MaxPool", 3, 2, 1)
    for channels, count in ((116, 4), (232, 8), (464, 4)):
        half = channels // 2
        for i in range(count):
            if i:
                left, y = _halves(b, x)
                stride = 1
            else:
                own = b.shapes[x][1]
                left = b.conv(b.conv(x, own, 3, 2, groups=own, activation=""), half, 1)
                y, stride = x, 2
            y = b.conv(b.conv(b.conv(y, half, 1), half, 3, stride, groups=half, activation=""), half, 1)
            x = _shuffle(b, b.concat([left, y]))
    b.classify(b.conv(x, 1024, 1))
    return b.model()


def _halves(b: Builder, x: str) -> tuple[str, str]:
    n, c, *sizes = b.shapes[x]
    left, right = f"left_{len(b.nodes)}", f"right_{len(b.nodes)}"
    b.nodes.append(helper.make_node("Split", [x], [left, right], name=f"split_{len(b.nodes)}", axis=1))
    for name in (left, right):
        b.shapes[name] = (n, c // 2, *sizes)
    return left, right


def _shuffle(b: Builder, x: str) -> str:
    n, c, h, w = b.shapes[x]
    x = b.reshape(x, n, 2, c // 2, h, w)
    x = b.node("Transpose", [x], (n, c // 2, 2, h, w), perm=[0, 2, 1, 3, 4])
    return b.reshape(x, n, c, h, w)


def regnet_y_400mf() -> onnx.ModelProto:
    """Bottlenecks with groups of 8 channels, weighed by squeeze and excitation."""
    b, x = _image()
    x = b.conv(x, 32, 3, 2)
    for width, count in ((48, 1), (104, 3), (208, 6), (440, 6)):
        for i in range(count):
            stride, own = 1 if i else 2, b.shapes[x][1]
            y = b.conv(b.conv(x, width, 1), width, 3, stride, groups=width // 8)
            scale = b.conv(b.conv(b.mean(y), round(own / 4), 1), width, 1, activation="")
            scale = b.node("Sigmoid", [scale], b.shapes[scale])
            y = b.conv(b.node("Mul", [scale, y], b.shapes[y]), width, 1, activation="", gain=2 * BRANCH)
            if b.shapes[x] != b.shapes[y]:
                x = b.conv(x, width, 1, stride, activation="")
            x = b.relu(b.add(x, y))
    b.classify(x)
    return b.model()


def googlenet() -> onnx.ModelProto:
    """Convolutions of several sizes side by side, as torchvision has it: 3x3 for 5x5, no auxiliary heads."""
    b, x = _image()
    x = b.pool(b.conv(x, 64, 7, 2), "MaxPool", 3, 2, ceil=True)
    x = b.pool(b.conv(b.conv(x, 64, 1), 192, 3), "MaxPool", 3, 2, ceil=True)
    modules = (
        (64, 96, 128, 16, 32, 32),
        (128, 128, 192, 32, 96, 64),
        3,
        (192, 96, 208, 16, 48, 64),
        (160, 112, 224, 24, 64, 64),
        (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64),
        (256, 160, 320, 32, 128, 128),
        2,
        (256, 160, 320, 32, 128, 128),
        (384, 192, 384, 48, 128, 128),
    )
    for module in modules:
        if isinstance(module, int):
            x = b.pool(x, "MaxPool", module, 2, ceil=True)
            continue
        one, before3, three, before5, five, pooled = module
        x = b.concat(
            [
                b.conv(x, one, 1),
                b.conv(b.conv(x, before3, 1), three, 3),
                b.conv(b.conv(x, before5, 1), five, 3),
                b.conv(b.pool(x, "MaxPool", 3, 1, 1, ceil=True), pooled, 1),
            ]
        )
    b.classify(x)
    return b.model()


# ---- single layers ---------------------------------------------------------------------------------------------------


def gemm(size: int, dtype: Any, weights: bool) -> onnx.ModelProto:
    """A product of two square matrices, of which the second may be weights."""
    b = Builder(dtype)
    a = b.input("a", size, size)
    b.product(a, b.normal(size, size, scale=size**-0.5) if weights else b.input("b", size, size), size)
    return b.model()


def conv3x3(dtype: Any) -> onnx.ModelProto:
    """One convolution of ResNet's first stage with its relu, channels first on both sides."""
    b = Builder(dtype)
    b.conv(b.input("x", 1, 64, 56, 56), 64, 3)
    return b.model()


WORKLOADS: dict[str, Callable[[], onnx.ModelProto]] = {
    "resnet50": lambda: resnet((3, 4, 6, 3), True),
    "resnet18": lambda: resnet((2, 2, 2, 2), False),
    "mobilenet-v2": mobilenet_v2,
    "densenet121": densenet121,
    "shufflenet-v2": shufflenet_v2,
    "regnet-y-400mf": regnet_y_400mf,
    "googlenet": googlenet,
    "gemm512-f16": lambda: gemm(512, np.float16, False),
    "gemm1024-f16": lambda: gemm(1024, np.float16, False),
    "gemm2048-f16": lambda: gemm(2048, np.float16, False),
    "gemm4096-f16": lambda: gemm(4096, np.float16, False),
    "gemm1024": lambda: gemm(1024, np.float32, True),
    "gemm2048": lambda: gemm(2048, np.float32, True),
    "gemm4096": lambda: gemm(4096, np.float32, True),
    "conv3x3-f16": lambda: conv3x3(np.float16),
}


def workload(name: str) -> Path:
    """The file of a workload, made on first use."""
    return cached(f"workload{VERSION}-{name}", lambda: WORKLOADS[name]().SerializeToString())


def macs_of(path: Path) -> int:
    """The multiply-accumulates that a workload says it has; 0 for other models."""
    properties = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    return int(properties.get("macs", 0))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(workload(argument))
