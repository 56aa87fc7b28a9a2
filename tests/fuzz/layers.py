"""Generators of larger operators: recurrences, attention, quantized arithmetic, narrow types, sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

from fuzz.graphs import Builder, Spec, Value, generates
from fuzz.operators import anything, spatial

# ---- recurrences


GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@generates("RNN", "GRU", "LSTM")
def recurrent(g: Builder, operator: str) -> Spec | None:
    """A few steps, in one or both directions."""
    found = g.pick(
        lambda v: v.array.dtype == np.float32 and v.rank == 3 and v.shape[0] <= 4 and v.shape[2] <= 17
    )
    value = found or g.new((g.random.choice((1, 2, 2, 4)), g.extent(4), g.extent(9)), np.float32)
    if g.special or not value.array.size:
        # Its functions have limits in onnxruntime, where those of infinities are lost.
        return None
    steps, batch, width = value.shape
    hidden, gates = g.random.choice((1, 2, 3, 5, 8, 16)), GATES[operator]
    direction = g.random.choice(("forward", "forward", "reverse", "bidirectional"))
    ways = 1 + (direction == "bidirectional")

    def weights(*shape: int) -> Value:
        return g.constant((g.data(shape, np.float32) / 4).astype(np.float32))

    operands: list[Value | None] = [
        value,
        weights(ways, gates * hidden, width),
        weights(ways, gates * hidden, hidden),
        weights(ways, 2 * gates * hidden) if g.chance(0.6) else None,
    ]
    lengths = g.numbers.integers(1, max(1, steps) + 1, batch).astype(np.int32)
    operands.append(g.constant(lengths) if g.chance(0.15) and steps else None)
    for _ in range(2 if operator == "LSTM" else 1):
        operands.append(g.new((ways, batch, hidden), np.float32) if g.chance(0.4) else None)
    if operator == "LSTM" and g.chance(0.2):
        operands.append(weights(ways, 3 * hidden))
    while operands[-1] is None:
        operands.pop()
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    if operator == "GRU" and g.chance(0.5):
        attributes["linear_before_reset"] = 1
    if operator == "LSTM" and g.chance(0.1):
        attributes["input_forget"] = 1
    if g.chance(0.15):
        attributes["clip"] = 0.5
    if operator == "RNN" and g.chance(0.3):
        attributes["activations"] = [g.random.choice(("Relu", "Sigmoid", "Tanh"))] * ways
    return Spec(operator, operands, attributes, g.random.randint(1, 3 if operator == "LSTM" else 2))


# ---- attention


@generates("Attention")
def attention(g: Builder, operator: str) -> Spec | None:
    """With separate or joined heads, fewer heads of keys, masks."""
    batch, queries, keys = g.random.choice((1, 2)), g.extent(17), g.extent(17)
    groups, more, width = g.random.choice((1, 2, 3)), g.random.choice((1, 1, 2)), g.extent(16)
    heads = groups * more
    attributes: dict[str, Any] = {}
    if g.chance(0.5):
        shapes = [(batch, heads, queries, width), (batch, groups, keys, width), (batch, groups, keys, width)]
    else:
        shapes = [
            (batch, queries, heads * width),
            (batch, keys, groups * width),
            (batch, keys, groups * width),
        ]
        attributes = {"q_num_heads": heads, "kv_num_heads": groups}
    operands: list[Value | None] = [g.new(shape, np.float32) for shape in shapes]
    if g.chance(0.3):
        attributes["is_causal"] = 1
    elif g.chance(0.4):
        mask = np.where(g.numbers.random((queries, keys)) < 0.7, 0, -8).astype(np.float32)
        mask = mask == 0 if g.chance(0.4) else mask
        if mask.dtype == np.bool_:
            mask[:, :1] = True
        operands.append(g.new(mask.shape, mask.dtype, mask))
    if g.chance(0.3):
        attributes["scale"] = 0.5
    if g.chance(0.2):
        attributes["softcap"] = 4.0
    return Spec(operator, operands, attributes)


@generates("RotaryEmbedding")
def rotary(g: Builder, operator: str) -> Spec | None:
    batch, heads, steps, width = (
        g.random.choice((1, 2)),
        g.random.choice((1, 3)),
        g.extent(8),
        g.random.choice((4, 8, 16)),
    )
    value = g.new((batch, heads, steps, width), np.float32)
    tables = [g.constant(g.data((steps, width // 2), np.float32) / np.float32(4)) for _ in range(2)]
    places = g.constant(np.tile(np.arange(steps, dtype=np.int64), (batch, 1)))
    return Spec(operator, [value, *tables, places], {"interleaved": g.random.randint(0, 1)})


# ---- quantized arithmetic


def quantized(g: Builder, shape: Any, kind: Any) -> Value:
    return g.new(shape, kind, g.numbers.integers(0 if kind == np.uint8 else -20, 40, shape).astype(kind))


def scale_and_zero(g: Builder, kind: Any, count: int | None = None) -> list[Value]:
    """Powers of two, so that what is rounded is the same everywhere."""
    shape = () if count is None else (count,)
    scale = g.numbers.choice(np.asarray((0.25, 0.5, 1.0, 2.0), np.float32), shape)
    zero = g.numbers.integers(0 if kind == np.uint8 else -4, 5, shape)
    return [g.constant(np.asarray(scale, np.float32)), g.constant(np.asarray(zero, kind))]


@generates("QLinearMatMul", "ConvInteger", "QLinearConv")
def integer_products(g: Builder, operator: str) -> Spec | None:
    kinds = [g.random.choice((np.uint8, np.int8)) for _ in range(2)]
    if operator == "QLinearMatMul":
        m, k, n = g.extent(17), g.extent(17), g.extent(17)
        a, b = quantized(g, (m, k), kinds[0]), quantized(g, (k, n), kinds[1])
        operands = [
            a,
            *scale_and_zero(g, kinds[0]),
            b,
            *scale_and_zero(g, kinds[1]),
            *scale_and_zero(g, kinds[0]),
        ]
        return Spec(operator, operands)
    kinds[0] = np.uint8
    channels, out, size = g.random.choice((1, 2, 4)), g.random.choice((1, 3, 8)), g.extent(8)
    value = quantized(g, (1, channels, size, size), kinds[0])
    weight = quantized(g, (out, channels, min(2, size), min(3, size)), kinds[1])
    if operator == "ConvInteger":
        zeros = [scale_and_zero(g, kind)[1] for kind in kinds]
        return Spec(operator, [value, weight, *zeros])
    operands = [
        value,
        *scale_and_zero(g, kinds[0]),
        weight,
        *scale_and_zero(g, kinds[1]),
        *scale_and_zero(g, np.uint8),
    ]
    bias = [g.constant(g.numbers.integers(-50, 50, out).astype(np.int32))] if g.chance(0.5) else []
    return Spec(operator, [*operands, *bias], {"pads": [1, 0, 0, 1]} if g.chance(0.4) else {})


@generates("DynamicQuantizeLinear")
def dynamic(g: Builder, operator: str) -> Spec | None:
    """Of powers of two between them 255 steps apart, so that the scale is exact."""
    shape = g.shape()
    array = (g.numbers.integers(0, 256, shape) / 4).astype(np.float32)
    if array.size < 2 or g.precision == "f16":
        return None
    array.flat[0], array.flat[-1] = 0, 63.75
    return Spec(operator, [g.new(shape, np.float32, array)], {}, 3)


@generates("PerChannel")
def per_channel(g: Builder, operator: str) -> bool:
    """Quantized and back along an axis, or of 32 bits."""
    if g.opset < 13:
        return False
    value = g.pick(lambda v: v.is_float and v.rank >= 1 and v.error is None and v.array.dtype == np.float32)
    if value is None:
        return False
    axis = g.random.randrange(value.rank)
    kind = g.random.choice((np.uint8, np.int8))
    scale, zero = scale_and_zero(g, kind, value.shape[axis])
    name = f"{g.prefix}{len(g.nodes)}"
    operands = [scale.name, zero.name]
    nodes = [
        helper.make_node("QuantizeLinear", [value.name, *operands], [f"{name}_q"], axis=axis),
        helper.make_node("DequantizeLinear", [f"{name}_q", *operands], [name], axis=axis),
    ]
    return g.add_nodes(nodes, [value, scale, zero])


# ---- narrow types


NARROW = {
    "bf16": (TensorProto.BFLOAT16, 13),
    "e4m3": (TensorProto.FLOAT8E4M3FN, 19),
    "e4m3z": (TensorProto.FLOAT8E4M3FNUZ, 19),
    "e5m2": (TensorProto.FLOAT8E5M2, 19),
    "e5m2z": (TensorProto.FLOAT8E5M2FNUZ, 19),
    "int4": (TensorProto.INT4, 21),
    "uint4": (TensorProto.UINT4, 21),
    "int16": (TensorProto.INT16, 7),
    "uint16": (TensorProto.UINT16, 7),
    "uint32": (TensorProto.UINT32, 7),
}
"""Types with the opsets from which there are casts to them."""


@generates("Narrow")
def narrow(g: Builder, operator: str) -> bool:
    """Through a narrow type and back: what is moved in between keeps its bits."""
    name = g.random.choice(sorted(NARROW))
    number, since = NARROW[name]
    value = g.pick(lambda v: v.array.dtype == np.float32 and v.error is None and v.array.size > 0)
    if value is None or g.opset < since:
        return False
    if "int" in name:
        # Of what has no such integer nothing is said.
        low, high = {"int4": (-8, 8), "uint4": (0, 16)}.get(name, (0 if name[0] == "u" else -100, 100))
        # How fractions are rounded is said in two ways.
        is_broken = np.any(value.array != np.round(value.array))
        if is_broken or value.array.min() < low or value.array.max() >= high:
            value = g.new(
                value.shape, np.float32, g.numbers.integers(low, high, value.shape).astype(np.float32)
            )
    at = f"{g.prefix}{len(g.nodes)}"
    saturate: dict[str, Any] = (
        {"saturate": g.random.randint(0, 1)} if "e" in name[:1] and g.chance(0.4) else {}
    )
    nodes = [helper.make_node("Cast", [value.name], [f"{at}_n"], to=number, **saturate)]
    inner, operands = f"{at}_n", [value]
    moves = ["Reshape", "Transpose", "Identity"] if value.rank else ["Identity"]
    if g.chance(0.5):
        move = g.random.choice(moves)
        if move == "Reshape":
            to = g.indices([-1])
            operands.append(to)
            nodes.append(helper.make_node("Reshape", [inner, to.name], [f"{at}_m"]))
        else:
            nodes.append(helper.make_node(move, [inner], [f"{at}_m"]))
        inner = f"{at}_m"
    nodes.append(helper.make_node("Cast", [inner], [at], to=TensorProto.FLOAT))
    return g.add_nodes(nodes, operands)


# ---- sampling and others


@generates("GridSample")
def grid_sample(g: Builder, operator: str) -> Spec | None:
    value = spatial(g, 2)
    if value.rank != 4 or not value.array.size:
        return None
    shape = (value.shape[0], g.extent(5), g.extent(5), 2)
    grid = g.new(shape, np.float32, (g.numbers.integers(-9, 10, shape) / 8).astype(np.float32))
    mode = g.random.choice(
        ("linear", "nearest", "cubic") if g.opset >= 20 else ("bilinear", "nearest", "bicubic")
    )
    return Spec(
        operator,
        [value, grid],
        {
            "mode": mode,
            "padding_mode": g.random.choice(("zeros", "border", "reflection")),
            "align_corners": g.random.randint(0, 1),
        },
    )


@generates("Col2Im")
def col2im(g: Builder, operator: str) -> Spec | None:
    image = [g.random.choice((2, 4, 5, 7)) for _ in range(2)]
    block = [g.random.choice((1, 2)) for _ in range(2)]
    count = (image[0] - block[0] + 1) * (image[1] - block[1] + 1)
    value = g.new((g.random.choice((1, 2)), 3 * block[0] * block[1], count), np.float32)
    return Spec(operator, [value, g.indices(image), g.indices(block)])


@generates("CumProd", "BitShift", "Compress", "Upsample", "Scatter", "TensorScatter")
def others(g: Builder, operator: str) -> Spec | None:
    match operator:
        case "CumProd":
            value = g.pick_float(1, 4)
            return Spec(operator, [value, g.indices(g.axis(value.rank))])
        case "BitShift":
            shape = g.shape()
            kind = g.random.choice((np.uint8, np.uint32, np.uint64))
            by = g.new(shape, kind, g.numbers.integers(0, 8, shape).astype(kind))
            return Spec(operator, [g.new(shape, kind), by], {"direction": g.random.choice(("LEFT", "RIGHT"))})
        case "Compress":
            value = anything(g, 1)
            axis = g.axis(value.rank)
            chosen = g.constant(g.data((value.shape[axis],), np.bool_))
            return Spec(operator, [value, chosen], {"axis": axis})
        case "Upsample":
            value = spatial(g, 2)
            factors = [1.0, 1.0, *(g.random.choice((1.0, 2.0, 3.0)) for _ in value.shape[2:])]
            if g.opset < 9:
                return Spec(operator, [value], {"scales": factors, "mode": "nearest"})
            return Spec(operator, [value, g.constant(np.asarray(factors, np.float32))], {"mode": "nearest"})
        case "Scatter":
            value = anything(g, 1, 4)
            if not value.array.size:
                return None
            index = g.numbers.permutation(value.shape[0])[:2].astype(np.int64)
            index = np.broadcast_to(
                index.reshape(-1, *[1] * (value.rank - 1)), (len(index), *value.shape[1:])
            )
            updates = g.new(index.shape, value.array.dtype)
            return Spec(operator, [value, g.new(index.shape, np.int64, index.copy()), updates], {"axis": 0})
        case _:
            batch, most, steps, width = g.random.choice((1, 2)), g.extent(8), 1, g.extent(8)
            cache, update = (
                g.new((batch, 2, most, width), np.float32),
                g.new((batch, 2, steps, width), np.float32),
            )
            at = (
                g.new((batch,), np.int64, g.numbers.integers(0, most, batch).astype(np.int64))
                if most
                else None
            )
            return Spec(operator, [cache, update, at], {"axis": 2})
