"""One generator per family of operators: each picks operands and parameters that the operator may well take."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import TensorProto, helper

from fuzz.graphs import Builder, Spec, Value, generates

FLOATS = (np.float32,)
INTEGERS = (np.int64, np.int32, np.uint8, np.int8)


@generates(
    *[
        "Relu",
        "Sigmoid",
        "Softplus",
        "Mish",
        "Tanh",
        "Erf",
        "Exp",
        "Log",
        "Sqrt",
        "Reciprocal",
        "Neg",
        "Abs",
        "Floor",
        "Ceil",
        "Round",
        "Sign",
        "Sin",
        "Cos",
        "Tan",
        "Sinh",
        "Cosh",
        "Asin",
        "Acos",
        "Atan",
        "Asinh",
        "Acosh",
        "Atanh",
        "Elu",
        "Selu",
        "Celu",
        "Gelu",
        "HardSwish",
        "HardSigmoid",
        "LeakyRelu",
        "Softsign",
        "ThresholdedRelu",
        "Shrink",
        "Swish",
        "IsNaN",
        "IsInf",
        "Identity",
        "Dropout",
    ]
)
def unary(g: Builder, operator: str) -> Spec | None:
    """Of one float; Neg, Abs, Sign, Relu of an integer as well."""
    value = g.pick_float()
    if operator in ("Neg", "Abs", "Sign", "Relu", "Identity") and g.chance(0.2):
        value = g.pick(lambda v: v.array.dtype.kind in "iu") or value
    attributes = {}
    for name in ("alpha", "beta", "gamma", "lambd", "bias"):
        if g.has_attribute(operator, name) and g.chance(0.5):
            attributes[name] = g.random.choice((0.0, 0.25, 0.5, 1.0, 1.5))
    if operator == "Gelu" and g.chance(0.5):
        attributes["approximate"] = "tanh"
    return Spec(operator, [value], attributes)


@generates("Not", "BitwiseNot")
def unary_integer(g: Builder, operator: str) -> Spec | None:
    kinds = "b" if operator == "Not" else "iu"
    value = g.pick(lambda v: v.array.dtype.kind in kinds)
    return Spec(operator, [value]) if value else None


def partner(g: Builder, value: Value, *, nonzero: bool = False) -> Value:
    """An operand that broadcasts with a value."""
    found = g.pick(lambda v: v.array.dtype == value.array.dtype and broadcasts(v.shape, value.shape))
    if found is not None and not nonzero and g.chance(0.5):
        return found
    shape = [extent if g.chance(0.7) else 1 for extent in value.shape]
    shape = shape[g.random.randint(0, len(shape)) if g.chance(0.4) else 0 :]
    if g.chance(0.1) and len(shape) < 6 and value.array.size < 500:
        shape = [2, *([1] * (value.rank - len(shape))), *shape]
    array = g.data(shape, value.array.dtype)
    if nonzero and array.dtype.kind in "iu":
        array = np.where(array == 0, 3, array).astype(array.dtype)
    if g.chance(0.15):
        array = np.full_like(array, array.flat[0] if array.size else 1)
    return g.new(shape, array.dtype, array)


def broadcasts(a: Sequence[int], b: Sequence[int]) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b), strict=False))


def in_order(g: Builder, *values: Value) -> list[Value]:
    return [*values] if g.chance(0.6) else [*reversed(values)]


@generates(
    "Add", "Sub", "Mul", "Div", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Mod", "Pow"
)
def binary(g: Builder, operator: str) -> Spec | None:
    value = g.pick(lambda v: v.array.dtype.kind in "fiu") or g.pick_float()
    if operator in ("Div", "Mod"):
        other = partner(g, value, nonzero=True)
        return Spec(operator, [value, other], {"fmod": 1} if operator == "Mod" and value.is_float else {})
    # What 0 to a negative power is among integers, ONNX does not say.
    if operator == "Pow" and (not value.is_float or g.chance(0.6)):
        powers = (0, 1, 2, 3, 0.5, -1) if value.is_float else (0, 1, 2, 3)
        exponent = g.constant(np.asarray(g.random.choice(powers), value.array.dtype))
        return Spec(operator, [value, exponent])
    return Spec(operator, in_order(g, value, partner(g, value)))


@generates("PRelu")
def prelu(g: Builder, operator: str) -> Spec | None:
    value = g.pick_float(1)
    shape = [extent if g.chance(0.5) else 1 for extent in value.shape]
    return Spec(operator, [value, g.new(shape, value.array.dtype)])


@generates("And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
def logical(g: Builder, operator: str) -> Spec | None:
    kinds = "iu" if "Bitwise" in operator else "b"
    value = g.pick(lambda v: v.array.dtype.kind in kinds)
    if value is None:
        value = g.new(g.shape(), np.int32 if kinds == "iu" else np.bool_)
    return Spec(operator, in_order(g, value, partner(g, value)))


@generates("Max", "Min", "Sum", "Mean")
def variadic(g: Builder, operator: str) -> Spec | None:
    value = g.pick_float()
    if operator in ("Max", "Min") and g.chance(0.2):
        value = g.pick(lambda v: v.array.dtype.kind in "iu") or value
    return Spec(operator, [value, *(partner(g, value) for _ in range(g.random.choice((0, 1, 1, 2, 3))))])


@generates("Where")
def where(g: Builder, operator: str) -> Spec | None:
    value = g.pick(lambda v: True) or g.pick_float()
    other = partner(g, value)
    known = g.pick(lambda v: v.array.dtype.kind == "b" and broadcasts(v.shape, value.shape))
    condition = known or g.new([e if g.chance(0.7) else 1 for e in value.shape], np.bool_)
    return Spec(operator, [condition, *in_order(g, value, other)])


@generates("Clip")
def clip(g: Builder, operator: str) -> Spec | None:
    value = g.pick_float()
    low, high = sorted(g.random.choice((-4.0, -1.0, 0.0, 0.5, 3.0, 6.0)) for _ in range(2))
    if g.has_attribute("Clip", "min"):
        return Spec(operator, [value], {"min": low if g.chance(0.8) else None, "max": high})
    if g.chance(0.2):
        value = g.pick(lambda v: v.array.dtype.kind in "iu") or value
    dtype = value.array.dtype
    limits = [
        g.constant(np.asarray(max(0, x) if dtype.kind == "u" else x).astype(dtype)) for x in (low, high)
    ]
    return Spec(operator, [value, *(limit if g.chance(0.8) else None for limit in limits)])


@generates("Cast", "CastLike")
def cast(g: Builder, operator: str) -> Spec | None:
    value = g.pick(lambda v: True) or g.pick_float()
    kind = g.random.choice(
        (np.float32, np.float32, np.float16, np.float64, np.int64, np.int32, np.uint8, np.int8, np.bool_)
    )
    if operator == "CastLike":
        return Spec(operator, [value, g.new([2], kind)])
    return Spec(operator, [value], {"to": helper.np_dtype_to_tensor_dtype(np.dtype(kind))})


# ---- shapes and movement


def factors(g: Builder, size: int, count: int) -> list[int]:
    """So many numbers with a product."""
    parts = [1] * count
    for prime in primes(size):
        parts[g.random.randrange(count)] *= prime
    return parts


def primes(number: int) -> list[int]:
    found, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found


def anything(g: Builder, least_rank: int = 0, most_rank: int = 6) -> Value:
    return g.pick(lambda v: least_rank <= v.rank <= most_rank) or g.pick_float(least_rank, most_rank)


@generates("Reshape")
def reshape(g: Builder, operator: str) -> Spec | None:
    value = anything(g)
    size = value.array.size
    if size == 0:
        shape = [*value.shape]
        g.random.shuffle(shape)
        return Spec(operator, [value, g.indices(shape)], {"allowzero": 1} if g.opset >= 14 else {})
    shape = factors(g, size, g.random.randint(1, 6)) if size > 1 or g.chance(0.7) else []
    if shape and g.chance(0.4):
        shape[g.random.randrange(len(shape))] = -1
    return Spec(operator, [value, g.indices(shape)])


@generates("Flatten")
def flatten(g: Builder, operator: str) -> Spec | None:
    value = anything(g, 1)
    return Spec(operator, [value], {"axis": g.random.randint(0, value.rank)})


@generates("Squeeze")
def squeeze(g: Builder, operator: str) -> Spec | None:
    value = g.pick(lambda v: 1 in v.shape) or anything(g, 1)
    ones = [axis for axis, extent in enumerate(value.shape) if extent == 1]
    return g.with_axes(
        operator, value, g.random.sample(ones, g.random.randint(1, len(ones))) if ones else None
    )


@generates("Unsqueeze")
def unsqueeze(g: Builder, operator: str) -> Spec | None:
    value = anything(g, 0, 5)
    count = g.random.randint(1, min(2, 6 - value.rank))
    return g.with_axes(operator, value, g.random.sample(range(value.rank + count), count))


@generates("Shape", "Size", "NonZero")
def shape_of(g: Builder, operator: str) -> Spec | None:
    return Spec(operator, [anything(g)])


@generates("Transpose")
def transpose(g: Builder, operator: str) -> Spec | None:
    value = anything(g)
    order = g.random.sample(range(value.rank), value.rank)
    return Spec(operator, [value], {"perm": order} if order and g.chance(0.9) else {})


@generates("Concat")
def concat(g: Builder, operator: str) -> Spec | None:
    value = anything(g, 1)
    axis = g.axis(value.rank)
    values = [value]
    for _ in range(g.random.choice((0, 1, 1, 2))):
        shape = [*value.shape]
        shape[axis] = g.extent()
        values.append(value if g.chance(0.2) else g.new(shape, value.array.dtype))
    g.random.shuffle(values)
    return Spec(operator, values, {"axis": axis})


@generates("Expand")
def expand(g: Builder, operator: str) -> Spec | None:
    value = anything(g, 0, 5)
    shape = [e if e != 1 else g.extent(LIMIT // max(1, value.array.size)) for e in value.shape]
    if g.chance(0.3):
        shape = [2, *shape]
    return Spec(operator, [value, g.indices(shape)])


LIMIT = 4000


@generates("Tile")
def tile(g: Builder, operator: str) -> Spec | None:
    value = anything(g, 1)
    return Spec(operator, [value, g.indices([g.random.choice((1, 1, 2, 3)) for _ in value.shape])])


@generates("Split")
def split(g: Builder, operator: str) -> Spec | None:
    value = anything(g, 1)
    axis = g.axis(value.rank)
    extent = value.shape[axis]
    if g.chance(0.5):
        first = g.random.randint(0, extent)
        sizes = [first, extent - first]
        if g.has_attribute("Split", "split"):
            return Spec(operator, [value], {"axis": axis, "split": sizes}, 2)
        return Spec(operator, [value, g.indices(sizes)], {"axis": axis}, 2)
    count = g.random.randint(1, 3)
    number = {"num_outputs": count} if g.has_attribute("Split", "num_outputs") else {}
    return Spec(operator, [value], {"axis": axis, **number}, count)


@generates("Slice")
def slice_(g: Builder, operator: str) -> Spec | None:
    value = anything(g, 1)
    axes = [axis % value.rank for axis in g.axes(value.rank, 1)]
    starts, ends, steps = [], [], []
    for axis in axes:
        extent = value.shape[axis]
        low, high = sorted(g.random.randint(-2, extent + 2) for _ in range(2))
        step = g.random.choice((1, 1, 2, 3, -1, -2))
        low, high = (high, low) if step < 0 else (low, high)
        starts.append(low)
        ends.append(high if g.chance(0.7) else (-(1 << 40) if step < 0 else 1 << 40))
        steps.append(step)
    if g.has_attribute("Slice", "starts"):
        limits = [abs(end) if abs(end) < 1 << 31 else 1 << 31 for end in ends]
        return Spec(operator, [value], {"starts": starts, "ends": limits, "axes": axes})
    return Spec(operator, [value, *(map(g.indices, (starts, ends, axes, steps)))])


@generates("Pad")
def pad(g: Builder, operator: str) -> Spec | None:
    value = anything(g, 1) if g.opset >= 13 else g.pick_float(1)
    mode = g.random.choice(("constant", "constant", "reflect", "edge", "wrap"))
    low = -1 if mode == "constant" and g.chance(0.3) else 0
    pads = [g.random.choice((0, 0, 1, 2, low)) for _ in range(2 * value.rank)]
    if g.has_attribute("Pad", "pads"):
        return Spec(operator, [value], {"pads": pads, "mode": mode, "value": 1.5 if g.chance(0.5) else None})
    fill = g.constant(np.asarray(1, value.array.dtype)) if g.chance(0.5) and mode == "constant" else None
    return Spec(operator, [value, g.indices(pads), *([fill] if fill else [])], {"mode": mode})


@generates("DepthToSpace", "SpaceToDepth")
def depth(g: Builder, operator: str) -> Spec | None:
    block = g.random.choice((1, 2, 2, 3))
    shape = (g.random.choice((1, 2)), g.random.choice((1, 3)), g.extent(7), g.extent(7))
    n, c, h, w = shape
    if operator == "DepthToSpace":
        mode = {"mode": g.random.choice(("DCR", "CRD"))} if g.opset >= 11 else {}
        return Spec(operator, [g.new((n, c * block * block, h, w), np.float32)], {"blocksize": block, **mode})
    return Spec(operator, [g.new((n, c, h * block, w * block), np.float32)], {"blocksize": block})


@generates("Trilu")
def trilu(g: Builder, operator: str) -> Spec | None:
    value = anything(g, 2)
    by = [g.indices(g.random.randint(-3, 3))] if g.chance(0.5) else []
    return Spec(operator, [value, *by], {"upper": g.random.randint(0, 1)})


# ---- indices


@generates("Gather")
def gather(g: Builder, operator: str) -> Spec | None:
    value = anything(g, 1, 5)
    axis = g.axis(value.rank)
    extent = value.shape[axis]
    if not extent:
        return None
    shape = g.shape(g.random.choice((0, 1, 1, 2)), 64)
    return Spec(operator, [value, picks(g, extent, shape)], {"axis": axis})


def picks(g: Builder, extent: int, shape: Sequence[int]) -> Value:
    """Indices below an extent, from either end."""
    low = -extent if g.opset >= 11 else 0
    array = g.numbers.integers(low, extent, shape).astype(np.int64)
    return g.constant(array) if g.chance(0.6) else g.input(np.asarray(array))


@generates("GatherElements", "ScatterElements")
def elements(g: Builder, operator: str) -> Spec | None:
    value = anything(g, 1, 4)
    axis = g.axis(value.rank)
    if not value.array.size:
        return None
    shape = [g.random.randint(1, extent) for extent in value.shape]
    if operator == "GatherElements":
        return Spec(operator, [value, picks(g, value.shape[axis], shape)], {"axis": axis})
    # No place twice: which update stays would be open.
    places = [*np.delete(shape, axis), value.shape[axis]]
    order = g.numbers.permuted(np.broadcast_to(np.arange(value.shape[axis]), places), axis=-1)
    index = np.moveaxis(order[..., : shape[axis]], -1, axis).astype(np.int64)
    return Spec(
        operator, [value, g.new(shape, np.int64, index), g.new(shape, value.array.dtype)], {"axis": axis}
    )


@generates("GatherND")
def gather_nd(g: Builder, operator: str) -> Spec | None:
    value = anything(g, 1, 4)
    if not value.array.size:
        return None
    depth = g.random.randint(1, value.rank)
    rows = g.shape(g.random.choice((0, 1, 2)), 16)
    index = np.stack([g.numbers.integers(-e, e, rows) for e in value.shape[:depth]], -1).astype(np.int64)
    return Spec(operator, [value, g.new(index.shape, np.int64, index)])


@generates("ScatterND")
def scatter_nd(g: Builder, operator: str) -> Spec | None:
    value = anything(g, 1, 4)
    if not value.array.size:
        return None
    depth = g.random.randint(1, value.rank)
    places = [*np.ndindex(*value.shape[:depth])]
    index = np.asarray(g.random.sample(places, g.random.randint(1, min(4, len(places)))), np.int64)
    updates = g.new((len(index), *value.shape[depth:]), value.array.dtype)
    return Spec(operator, [value, g.new(index.shape, np.int64, index), updates])


@generates("ArgMax", "ArgMin")
def arg(g: Builder, operator: str) -> Spec | None:
    value = g.pick_float(1)
    last = {"select_last_index": 1} if g.opset >= 12 and g.chance(0.3) else {}
    return Spec(operator, [value], {"axis": g.axis(value.rank), "keepdims": g.random.randint(0, 1), **last})


@generates("TopK")
def top_k(g: Builder, operator: str) -> Spec | None:
    value = g.pick_float(1)
    axis = g.axis(value.rank)
    count = g.random.randint(1, max(1, value.shape[axis]))
    if g.has_attribute("TopK", "k"):
        return Spec(operator, [value], {"axis": axis, "k": count}, 2)
    largest = {"largest": g.random.randint(0, 1)} if g.opset >= 11 else {}
    return Spec(operator, [value, g.indices([count])], {"axis": axis, **largest}, 2)


@generates("OneHot")
def one_hot(g: Builder, operator: str) -> Spec | None:
    count = g.extent(13) or 1
    indices = g.new(g.shape(g.random.randint(0, 3), 100), np.int64)
    return Spec(
        operator, [indices, g.indices([count]), g.constant(np.asarray([0, 1], np.float32))], {"axis": -1}
    )


@generates("CumSum")
def cum_sum(g: Builder, operator: str) -> Spec | None:
    value = g.pick_float(1, 4)
    flags = {name: g.random.randint(0, 1) for name in ("exclusive", "reverse")}
    return Spec(operator, [value, g.indices(g.axis(value.rank))], flags)


@generates("EyeLike")
def eye(g: Builder, operator: str) -> Spec | None:
    return Spec(operator, [g.new(g.shape(2), np.float32)], {"k": g.random.randint(-2, 2)})


@generates("ConstantOfShape")
def constant_of_shape(g: Builder, operator: str) -> Spec | None:
    fill = helper.make_tensor("value", TensorProto.FLOAT, [1], [1.5])
    return Spec(operator, [g.indices(g.shape())], {"value": fill} if g.chance(0.7) else {})


@generates("Range")
def range_(g: Builder, operator: str) -> Spec | None:
    start, delta = g.random.randint(-3, 3), g.random.choice((1, 2, -1))
    ends = (start, start + delta * g.random.randint(0, 20), delta)
    dtype = g.random.choice((np.int64, np.float32, np.int32))
    return Spec(operator, [g.constant(np.asarray(x, dtype)) for x in ends])


@generates("ReverseSequence")
def reverse_sequence(g: Builder, operator: str) -> Spec | None:
    value = g.pick_float(2)
    batch = g.random.randint(0, 1)
    if not value.array.size:
        return None
    lengths = g.numbers.integers(1, value.shape[1 - batch] + 1, value.shape[batch]).astype(np.int64)
    return Spec(
        operator,
        [value, g.new(lengths.shape, np.int64, lengths)],
        {"batch_axis": batch, "time_axis": 1 - batch},
    )


# ---- reductions and norms


@generates(
    *[
        "ReduceSum",
        "ReduceMean",
        "ReduceMax",
        "ReduceMin",
        "ReduceProd",
        "ReduceL1",
        "ReduceL2",
        "ReduceLogSum",
        "ReduceLogSumExp",
        "ReduceSumSquare",
    ]
)
def reduction(g: Builder, operator: str) -> Spec | None:
    value = g.pick_float()
    if operator in ("ReduceMax", "ReduceMin", "ReduceSum") and g.chance(0.2):
        value = g.pick(lambda v: v.array.dtype.kind in "biu") or value
    if (
        g.precision == "f16"
        and operator in ("ReduceL2", "ReduceSumSquare")
        and np.square(value.array).sum() > 6e4
    ):
        return None
    if operator == "ReduceMean" and not value.array.size:
        # Nothing is said about the mean of nothing.
        return None
    if operator == "ReduceLogSumExp" and value.array.size and value.array.max() > 8:
        return None
    axes = g.axes(value.rank) if g.chance(0.8) else None
    empty = (
        {"noop_with_empty_axes": 1}
        if g.has_attribute(operator, "noop_with_empty_axes") and g.chance(0.2)
        else {}
    )
    keep = {"keepdims": g.random.randint(0, 1)} if g.chance(0.7) else {}
    return g.with_axes(operator, value, axes, **keep, **empty)


@generates("Softmax", "LogSoftmax", "Hardmax", "LpNormalization")
def softmax(g: Builder, operator: str) -> Spec | None:
    value = g.pick_float(1)
    attributes = {"axis": g.axis(value.rank)} if g.chance(0.8) else {}
    return Spec(operator, [value], attributes)


@generates("LayerNormalization", "RMSNormalization")
def layer_norm(g: Builder, operator: str) -> Spec | None:
    value = g.pick_float(1)
    axis = g.axis(value.rank)
    shape = value.shape[axis:]
    bias = [g.new(shape, value.array.dtype)] if operator == "LayerNormalization" and g.chance(0.6) else []
    return Spec(operator, [value, g.new(shape, value.array.dtype), *bias], {"axis": axis})


@generates(
    "BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN", "MeanVarianceNormalization"
)
def channel_norm(g: Builder, operator: str) -> Spec | None:
    value = g.pick(lambda v: v.array.dtype == np.float32 and v.rank >= 3) or g.new(g.shape(4), np.float32)
    channels = value.shape[1]
    if operator == "LRN":
        if g.special:
            return None  # onnxruntime's running sum makes all channels behind an infinite one undefined.
        return Spec(operator, [value], {"size": g.random.choice((1, 3, 5)), "bias": 1.0, "alpha": 0.5})
    if operator == "MeanVarianceNormalization":
        return Spec(operator, [value], {"axes": g.axes(value.rank, 1)} if g.chance(0.5) else {})
    groups = g.random.choice([n for n in range(1, channels + 1) if channels % n == 0] or [1])
    extent = groups if operator == "GroupNormalization" and g.opset < 21 else channels
    scale, bias = (g.new((extent,), np.float32) for _ in range(2))
    if operator == "GroupNormalization":
        return Spec(operator, [value, scale, bias], {"num_groups": groups})
    if operator == "InstanceNormalization":
        return Spec(operator, [value, scale, bias])
    mean = g.new((channels,), np.float32)
    var = g.constant((g.numbers.integers(1, 9, channels) / 4).astype(np.float32))
    return Spec(operator, [value, scale, bias, mean, var])


# ---- windows and products


def spatial(g: Builder, most: int = 3) -> Value:
    found = g.pick(lambda v: v.array.dtype == np.float32 and 3 <= v.rank <= 2 + most)
    if found is not None and g.chance(0.7):
        return found
    rank = g.random.choice((1, 2, 2, 2, 3)[: 2 + most])
    sizes = [g.extent({1: 37, 2: 13, 3: 7}[rank]) for _ in range(rank)]
    return g.new((g.random.choice((1, 2)), g.random.choice((1, 2, 3, 4, 8)), *sizes), np.float32)


def window(g: Builder, operator: str, rank: int, kernel: Sequence[int]) -> dict[str, object]:
    attributes: dict[str, object] = {"kernel_shape": [*kernel]} if g.chance(0.9) or "Pool" in operator else {}
    if g.chance(0.5):
        attributes["strides"] = [g.random.choice((1, 2, 3)) for _ in range(rank)]
    if g.has_attribute(operator, "dilations") and g.chance(0.3):
        attributes["dilations"] = [g.random.choice((1, 2)) for _ in range(rank)]
    if g.chance(0.2):
        attributes["auto_pad"] = g.random.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
    elif g.chance(0.5):
        attributes["pads"] = [g.random.randint(0, max(0, size - 1)) for size in [*kernel, *kernel]]
    if g.has_attribute(operator, "ceil_mode") and g.chance(0.3):
        attributes["ceil_mode"] = 1
    if g.has_attribute(operator, "count_include_pad") and g.chance(0.4):
        attributes["count_include_pad"] = 1
    return attributes


@generates("MaxPool", "AveragePool", "LpPool")
def pool(g: Builder, operator: str) -> Spec | None:
    value = spatial(g)
    kernel = [g.random.choice((1, 2, 3)) for _ in value.shape[2:]]
    outputs = 2 if operator == "MaxPool" and value.error is None and g.chance(0.1) else 1
    attributes = window(g, operator, value.rank - 2, kernel)
    if str(attributes.get("auto_pad", "")).startswith("SAME"):
        # onnxruntime pads for a window without dilations, against ONNX and its shape inference.
        attributes.pop("dilations", None)
    return Spec(operator, [value], attributes, outputs)


@generates("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(g: Builder, operator: str) -> Spec | None:
    value = spatial(g)
    # ONNX's reference is wrong about the shape of a maximum of nothing.
    return Spec(operator, [value]) if value.array.size or operator != "GlobalMaxPool" else None


@generates("Conv", "ConvTranspose")
def conv(g: Builder, operator: str) -> Spec | None:
    value = spatial(g)
    rank, channels = value.rank - 2, value.shape[1]
    kernel = [g.random.choice((1, 2, 3)) for _ in range(rank)]
    group = g.random.choice([n for n in range(1, channels + 1) if channels % n == 0] or [1])
    if g.special:
        group = 1  # Groups are blocks of a product, where infinite elements meet zeros.
    out = group * g.random.choice((1, 2, 3))
    sides = (out, channels // group) if operator == "Conv" else (channels, out // group)
    weight = g.new((*sides, *kernel), np.float32)
    bias = [g.new((out,), np.float32)] if g.chance(0.5) else []
    attributes = window(g, operator, rank, kernel)
    if operator == "ConvTranspose" and str(attributes.get("auto_pad", "")).startswith("SAME"):
        # onnxruntime never adds to what is computed, against ONNX: strides may not be larger than the window.
        attributes.pop("strides", None)
    return Spec(operator, [value, weight, *bias], {**attributes, "group": group})


@generates("MatMul", "MatMulInteger")
def matmul(g: Builder, operator: str) -> Spec | None:
    if operator == "MatMulInteger":
        shape = g.shape(2, 400)
        a, b = g.new(shape, np.uint8), g.new((shape[1], g.extent()), np.int8)
        return Spec(operator, [a, b])
    value = g.pick_float(1)
    inner = value.shape[-1]
    if g.chance(0.15):
        return Spec(operator, [value, g.new((inner,), value.array.dtype)])
    batch = [e if g.chance(0.6) else 1 for e in value.shape[:-2]]
    batch = batch[g.random.randint(0, len(batch)) :]
    other = g.new((*batch, inner, g.extent(LIMIT // max(1, math.prod(value.shape[:-1])))), value.array.dtype)
    return Spec(operator, [value, other])


@generates("Gemm")
def gemm(g: Builder, operator: str) -> Spec | None:
    value = g.pick_float(2, 2)
    swap = [g.chance(0.3), g.chance(0.4)]
    m, k = reversed(value.shape) if swap[0] else value.shape
    n = g.extent()
    other = g.new((n, k) if swap[1] else (k, n), value.array.dtype)
    shape = g.random.choice(((), (n,), (1, n), (m, 1), (m, n), (1, 1)))
    bias = [g.new(shape, value.array.dtype)] if g.opset < 11 or g.chance(0.6) else []
    attributes = {"transA": int(swap[0]), "transB": int(swap[1])}
    if g.chance(0.3):
        attributes |= {"alpha": 0.5, "beta": g.random.choice((0.0, 2.0))}
    return Spec(operator, [value, other, *bias], attributes)


EQUATIONS = (
    "ij,jk->ik",
    "bij,bjk->bik",
    "ij->ji",
    "ij,ij->i",
    "bij->b",
    "ij,kj->ik",
    "i,j->ij",
    "bhqd,bhkd->bhqk",
    "ii->i",
)


@generates("Einsum")
def einsum(g: Builder, operator: str) -> Spec | None:
    equation = g.random.choice(EQUATIONS)
    extents = {letter: g.extent(7) for letter in "bhijkqd"}
    terms = equation.split("->")[0].split(",")
    return Spec(
        operator, [g.new([extents[x] for x in term], np.float32) for term in terms], {"equation": equation}
    )


@generates("Resize")
def resize(g: Builder, operator: str) -> Spec | None:
    value = spatial(g)
    if not value.array.size:
        return None
    mode = g.random.choice(("nearest", "linear", "cubic") if value.rank == 4 else ("nearest", "linear"))
    sizes = g.chance(0.4) and g.opset >= 11
    new = [1.0, 1.0, *(g.random.choice((0.5, 1.0, 2.0, 1.5, 3.0)) for _ in value.shape[2:])]
    if g.opset < 11:
        mode = "nearest" if mode == "cubic" else mode
        return Spec(operator, [value, g.constant(np.asarray(new, np.float32))], {"mode": mode})
    attributes = {
        "mode": mode,
        "coordinate_transformation_mode": g.random.choice(
            ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
        ),
    }
    if mode == "nearest":
        attributes["nearest_mode"] = g.random.choice(
            ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
        )
    reached = [factor * extent for extent, factor in zip(value.shape, new, strict=True)]
    if attributes["coordinate_transformation_mode"] == "align_corners" and any(map(is_broken, reached)):
        # What is after the point counts for ONNX, and not for onnxruntime.
        attributes["coordinate_transformation_mode"] = "half_pixel"
    roi = g.constant(np.zeros(0, np.float32)) if g.opset < 13 else None
    if sizes:
        extents = [max(1, int(e * factor)) for e, factor in zip(value.shape, new, strict=True)]
        scales = g.constant(np.zeros(0, np.float32)) if g.opset < 13 else None
        return Spec(operator, [value, roi, scales, g.indices(extents)], attributes)
    return Spec(operator, [value, roi, g.constant(np.asarray(new, np.float32))], attributes)


def is_broken(number: float) -> bool:
    return number != int(number)


@generates("QuantizeLinear", "DequantizeLinear")
def quantize(g: Builder, operator: str) -> Spec | None:
    kind = g.random.choice((np.uint8, np.int8))
    scale = g.constant(np.asarray(g.random.choice((0.25, 0.5, 2.0)), np.float32))
    zero = [g.constant(np.asarray(g.random.choice((0, 3)), kind))] if g.chance(0.7) else []
    if operator == "QuantizeLinear":
        return Spec(operator, [g.pick_float(), scale, *zero])
    kind = kind if zero and zero[0].array.dtype == kind else np.uint8
    value = g.pick(lambda v: v.array.dtype == kind) or g.new(g.shape(), kind)
    return Spec(operator, [value, scale, *zero])
