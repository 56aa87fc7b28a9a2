"""Random quantized graphs: every level has to compute the same integers, to the bit, and instructions no hazard.

    python tests/unit/quantized_graphs.py --count 500 [--seed 0]

Drawn are convolutions and products with any zero points, scales for tensors and for channels, biases, relus and clips;
signed and unsigned tensors; pools, transposes, reshapes, joins and shortcuts between them; each followed by a
quantization, as onnxruntime's QDQ models have it.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import npu_mlir

Array = np.ndarray[Any, Any]

LEVELS = ("graph", "linalg", "tile", "tile-memref", "isa")
TARGETS = ("ascend-910", "ascend-910b", "toy")


@dataclass
class _Tensor:
    """Integers and what they stand for."""

    name: str
    shape: tuple[int, ...]
    scale: str
    zero: str


@dataclass
class _Maker:
    """A model under construction."""

    seed: int
    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    weights: list[onnx.TensorProto] = field(default_factory=list[onnx.TensorProto])
    steps: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.numbers = np.random.default_rng(self.seed)

    def constant(self, value: Any) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(operator, inputs, [name], name=f"n{len(self.nodes)}", **attributes)
        )
        return name

    def parameters(self) -> tuple[str, str]:
        """A scale and a zero point of one tensor."""
        dtype = np.dtype(np.uint8 if self.random.random() < 0.2 else np.int8)
        limits = np.iinfo(dtype)
        zero = self.random.choice([limits.min, limits.max, 0, self.random.randint(limits.min, limits.max)])
        scale = np.float32(2.0 ** self.random.uniform(-6, -2))
        return self.constant(scale), self.constant(np.array(zero, dtype))

    def quantized(self, value: str, shape: tuple[int, ...], like: _Tensor | None = None) -> _Tensor:
        scale, zero = (like.scale, like.zero) if like is not None else self.parameters()
        return _Tensor(self.node("QuantizeLinear", value, scale, zero), shape, scale, zero)

    def number(self, tensor: _Tensor) -> str:
        return self.node("DequantizeLinear", tensor.name, tensor.scale, tensor.zero)

    def weight(self, shape: tuple[int, ...], axis: int) -> tuple[str, Array]:
        """Weights with a scale for each channel or for all, and that scale."""
        unsigned = self.random.random() < 0.15
        integers = self.numbers.integers(-127, 128, shape)
        zero = 0 if self.random.random() < 0.8 else self.random.randint(-3, 3)
        channels = self.random.random() < 0.7 and not zero
        scale = (self.numbers.random(shape[axis] if channels else ()) * 0.02 + 0.002).astype(np.float32)
        dtype = np.uint8 if unsigned else np.int8
        zeros = np.full(scale.shape, zero + 128 * unsigned).astype(dtype)
        stored = (integers + 128 * unsigned).astype(dtype)
        names = [self.constant(array) for array in (stored, scale, zeros)]
        return self.node("DequantizeLinear", *names, **({"axis": axis} if channels else {})), scale

    def bias(self, tensor: _Tensor, scale: Array, count: int) -> str:
        """In units of both scales, or floats."""
        given = next(numpy_helper.to_array(w) for w in self.weights if w.name == tensor.scale)
        if self.random.random() < 0.15:
            return self.constant(self.numbers.standard_normal(count).astype(np.float32))
        unit = np.broadcast_to((given * scale).astype(np.float32), (count,)).copy()
        integers = self.numbers.integers(-20000, 20000, count).astype(np.int32)
        zeros = np.zeros(count, np.int32)
        return self.node("DequantizeLinear", *map(self.constant, (integers, unit, zeros)), axis=0)

    def limited(self, value: str) -> str:
        choice = self.random.random()
        if choice < 0.4:
            return self.node("Relu", value)
        if choice < 0.5:
            return self.node("Clip", value, self.constant(np.float32(0)), self.constant(np.float32(6)))
        return value

    def step(self, values: list[_Tensor]) -> _Tensor:
        """One more tensor."""
        x = self.random.choice(values)
        image = len(x.shape) == 4
        kinds = (
            ["move", "same", "shortcut", "product", "product"]
            + ["conv"] * 4 * image
            + ["pool", "join"] * image
        )
        return getattr(self, f"_{self.random.choice(kinds)}")(x, values)

    def _conv(self, x: _Tensor, values: list[_Tensor]) -> _Tensor:
        n, c, h, w = x.shape
        group = self.random.choice([1, 1, 1, c])
        out = c if group > 1 else self.random.choice([3, 5, 8, 16])
        k = self.random.choice([1, 3]) if min(h, w) >= 3 else 1
        stride, pad = self.random.choice([1, 1, 2]), self.random.choice([0, k // 2])
        weight, scale = self.weight((out, c // group, k, k), 0)
        inputs = [self.number(x), weight]
        if self.random.random() < 0.7:
            inputs.append(self.bias(x, scale, out))
        y = self.node("Conv", *inputs, pads=[pad] * 4, strides=[stride] * 2, group=group)
        shape = (n, out, *((e + 2 * pad - k) // stride + 1 for e in (h, w)))
        return self.quantized(self.limited(y), shape)

    def _product(self, x: _Tensor, values: list[_Tensor]) -> _Tensor:
        columns, out = x.shape[-1], self.random.choice([4, 7, 16, 33])
        weight, scale = self.weight((columns, out), 1)
        y = self.node("MatMul", self.number(x), weight)
        if self.random.random() < 0.6:
            y = self.node("Add", y, self.bias(x, scale, out))
        return self.quantized(self.limited(y), (*x.shape[:-1], out))

    def _move(self, x: _Tensor, values: list[_Tensor]) -> _Tensor:
        perm = list(range(len(x.shape)))
        self.random.shuffle(perm)
        y = self.node("Transpose", self.number(x), perm=perm)
        return self.quantized(y, tuple(x.shape[d] for d in perm), x if self.random.random() < 0.7 else None)

    def _same(self, x: _Tensor, values: list[_Tensor]) -> _Tensor:
        return self.quantized(self.limited(self.number(x)), x.shape)

    def _shortcut(self, x: _Tensor, values: list[_Tensor]) -> _Tensor:
        other = self.random.choice([v for v in values if v.shape == x.shape])
        return self.quantized(self.limited(self.node("Add", self.number(x), self.number(other))), x.shape)

    def _pool(self, x: _Tensor, values: list[_Tensor]) -> _Tensor:
        n, c, h, w = x.shape
        if min(h, w) < 2:
            return self._same(x, values)
        y = self.node("MaxPool", self.number(x), kernel_shape=[2, 2], strides=[2, 2])
        return self.quantized(y, (n, c, h // 2, w // 2), x if self.random.random() < 0.7 else None)

    def _join(self, x: _Tensor, values: list[_Tensor]) -> _Tensor:
        n, c, h, w = x.shape
        others = [v for v in values if len(v.shape) == 4 and v is not x and v.shape[2:] == (h, w)]
        if not others:
            return self._same(x, values)
        other = self.random.choice(others)
        y = self.node("Concat", self.number(x), self.number(other), axis=1)
        return self.quantized(y, (n, c + other.shape[1], h, w), x if self.random.random() < 0.5 else None)


def random_model(seed: int) -> tuple[onnx.ModelProto, Array]:
    """A model and an input for it."""
    maker = _Maker(seed)
    r = maker.random
    shape: tuple[int, ...] = (r.choice([1, 5, 12]), r.choice([8, 20, 64]))
    if r.random() < 0.7:
        shape = (1, r.choice([1, 3, 8, 16]), r.choice([4, 7, 9]), r.choice([4, 7, 10]))
    scale, zero = maker.parameters()
    dtype = next(numpy_helper.to_array(w) for w in maker.weights if w.name == zero).dtype
    values = [_Tensor("x", shape, scale, zero)]
    for _ in range(r.choice([1, 2, 3, 4])):
        values.append(maker.step(values))
    element = helper.np_dtype_to_tensor_dtype(dtype)
    last = values[-1]
    result = next(numpy_helper.to_array(w) for w in maker.weights if w.name == last.zero).dtype
    graph = helper.make_graph(
        maker.nodes,
        f"quantized{seed}",
        [helper.make_tensor_value_info("x", element, shape)],
        [helper.make_tensor_value_info(last.name, helper.np_dtype_to_tensor_dtype(result), last.shape)],
        maker.weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    limits = np.iinfo(dtype)
    return model, maker.numbers.integers(limits.min, limits.max + 1, shape).astype(dtype)


def check(seed: int, targets: tuple[str, ...] = TARGETS, precision: str = "f32") -> dict[str, Any]:
    """Compile and run a random model at all levels for these targets; the compiled programs by target."""
    model, x = random_model(seed)
    programs: dict[str, Any] = {}
    for target in targets:
        expected: Array | None = None
        for level in LEVELS:
            program = npu_mlir.compile(model, emit=level, target=target, precision=precision)
            (found,) = program.run({"x": x}).values()
            if expected is None:
                expected = found
            np.testing.assert_array_equal(found, expected, err_msg=f"seed {seed}, {target}, {level}")
        # With its checks: races, misused flags, reads of memory that nothing wrote.
        program.simulate({"x": x})
        programs[target] = program
    return programs


def main() -> int:
    """Check many; the number of those that fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", default=[])
    parser.add_argument("--precision", default="f32", help="f16: shortcuts are added in f16")
    options = parser.parse_args()
    wrong = 0
    for seed in range(options.seed, options.seed + options.count):
        try:
            check(seed, tuple(options.target) or TARGETS, options.precision)
        except Exception as error:
            wrong += 1
            print(f"seed {seed}: {type(error).__name__}: {str(error).strip().splitlines()[0]}", flush=True)
    print(f"{options.count - wrong} of {options.count} graphs are the same at every level")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
