"""graph: the reference meaning of every operator, on whole arrays.

16-bit floats are computed in f32 and rounded once per op, as the operators after lowering do within one kernel at
most once more often. Results may be views of operands.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.func import FuncOp

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import Layout, ReduceKind
from npu_mlir.interpreters.errors import index_out_of_range
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.host_call import runner
from npu_mlir.interpreters.math import erf
from npu_mlir.interpreters.registry import Results, Step, impl, prepare
from npu_mlir.ir.weights import check_weight, weights_of
from npu_mlir.support.dtypes import converted, numpy_dtype, static_shape

Array = np.ndarray[Any, Any]


_erfc = np.frompyfunc(math.erfc, 1, 1)


def wide(array: Array) -> Array:
    """The array in the type that it is computed in: 16-bit floats in f32, all else as it is."""
    narrow = array.dtype.kind not in "biu" and array.dtype.itemsize < 4
    return array.astype(np.float32) if narrow else array


def factor(array: Array) -> Array:
    """The array in the type that products of it are summed in."""
    return array.astype(np.int32) if array.dtype.kind in "iu" and array.dtype.itemsize < 4 else wide(array)


def _register(name: str, function: Callable[..., Any]) -> None:
    """The op `name` is this elementwise function, which may look at the op's properties."""

    @impl(f"graph.{name}")
    def run(interp: Interpreter, op: Any, args: Results) -> Results:
        result = function(op, *[wide(value) for value in args])
        return (converted(np.asarray(result), numpy_dtype(op.result.type)),)


def _divide(lhs: Array, rhs: Array) -> Array:
    if lhs.dtype.kind == "f":
        return lhs / rhs
    # The smallest integer has no absolute value.
    return lhs // rhs + ((lhs % rhs != 0) & ((lhs < 0) ^ (rhs < 0)))


def _sigmoid(x: Array) -> Array:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1).astype(x.dtype) / (1 + power)


def _swish(x: Array, alpha: float) -> Array:
    return x * _sigmoid(x if alpha == 1 else x * x.dtype.type(alpha))


def _gelu(x: Array, tanh: bool) -> Array:
    """In double precision: a sum of 1 and the function would cancel for negative x."""
    wide_x = x.astype(np.float64)
    if tanh:
        inner = 2 * np.sqrt(2 / np.pi) * (wide_x + 0.044715 * wide_x**3)
        return (wide_x * _sigmoid(inner)).astype(x.dtype)
    share = np.asarray(_erfc(-np.sqrt(0.5) * wide_x), np.float64) / 2
    return (wide_x * share).astype(x.dtype)


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _mish(x: Array) -> Array:
    power = np.exp(np.minimum(x, 20))
    return x * (power * (power + 2) / (power * (power + 2) + 2))


def _clip(x: Array, low: Any, high: Any) -> Array:
    x = x if low is None else np.maximum(x, x.dtype.type(low.value.data))
    return x if high is None else np.minimum(x, x.dtype.type(high.value.data))


def _hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    scale, offset = x.dtype.type(alpha), x.dtype.type(beta)
    return np.maximum(0, np.minimum(1, x * scale + offset))


for _name, _ufunc in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "logical_not": np.logical_not,
    "equal": np.equal,
    "less": np.less,
    "less_or_equal": np.less_equal,
    "greater": np.greater,
    "greater_or_equal": np.greater_equal,
    "relu": lambda x: np.maximum(x, 0),
    "neg": np.negative,
    "abs": np.abs,
    "sigmoid": _sigmoid,
    "hard_swish": lambda x: x * (np.clip(x + x.dtype.type(3), 0, 6) / x.dtype.type(6)),
    "softplus": _softplus,
    "mish": _mish,
    "tanh": np.tanh,
    "erf": erf,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "reciprocal": np.reciprocal,
    "floor": np.floor,
    "round": np.rint,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "ceil": np.ceil,
    "prelu": lambda x, slope: np.where(x < 0, x * slope, x),
    "where": np.where,
    "cast": lambda x: x,
}.items():
    _register(_name, lambda op, *args, ufunc=_ufunc: ufunc(*args))


def _quantize(op: Any, x: Array, scale: Array, zero: Array) -> Array:
    """The quotient has the type of the scale, of which `scale` is the wide form."""
    quotient = (x.astype(scale.dtype) / scale).astype(numpy_dtype(op.scale.type)).astype(np.float32)
    limits = ml_dtypes.iinfo(numpy_dtype(op.result.type))
    return np.clip(np.rint(quotient) + zero.astype(np.float32), limits.min, limits.max)


def _dequantize(op: Any, x: Array, scale: Array, zero: Array) -> Array:
    return (x.astype(np.float32) - zero.astype(np.float32)) * scale.astype(np.float32)


def _requantize(op: Any, x: Array, scale: Array, zero: Array) -> Array:
    limits = ml_dtypes.iinfo(numpy_dtype(op.result.type))
    least = limits.min if op.least is None else max(limits.min, op.least.value.data)
    rounded = np.rint(x.astype(np.float32) * scale)
    return np.clip(rounded + zero.astype(np.float32), least, limits.max)


def _quantized_add(op: Any, x: Array, y: Array) -> Array:
    left, right = (np.float16(scale) for scale in op.scales.get_values())
    with np.errstate(over="ignore"):
        total = x.astype(np.float16) * left + y.astype(np.float16) * right
        total = total + np.float16(op.offset.value.data)
    return np.clip(np.rint(total), -128 if op.least is None else op.least.value.data, 127)


_register("quantized_add", _quantized_add)
_register("quantize", _quantize)
_register("dequantize", _dequantize)
_register("requantize", _requantize)
_register("clip", lambda op, x: _clip(x, op.min, op.max))
_register("leaky_relu", lambda op, x: np.where(x < 0, x * x.dtype.type(op.alpha.value.data), x))
_register("swish", lambda op, x: _swish(x, op.alpha.value.data))
_register("gelu", lambda op, x: _gelu(x, op.tanh is not None))
_register("hard_sigmoid", lambda op, x: _hard_sigmoid(x, op.alpha.value.data, op.beta.value.data))


@impl("graph.bitcast")
def bitcast(interp: Interpreter, op: graph.BitcastOp, args: Results) -> Results:
    return (np.ascontiguousarray(args[0]).view(numpy_dtype(op.result.type)).reshape(args[0].shape),)


@impl("graph.weight")
def weight(interp: Interpreter, op: graph.WeightOp, args: Results) -> Results:
    store = weights_of(interp.module) if interp.weights is None else interp.weights
    array = store.get(op.entry_name)
    check_weight(op, array)
    return (array,)


@prepare("graph.repeat")
def repeat(interp: Interpreter, op: graph.RepeatOp) -> Step:
    name, carried, sequences = op.callee.string_value(), len(op.carried), len(op.sequences)
    number = _argument_dtype(interp, op) if op.numbered is not None else None
    reads, stacks = op.reads_backwards(), op.stacks_backwards()

    def step(args: Results) -> Results:
        states, each, kept = args[:carried], args[carried : carried + sequences], args[carried + sequences :]
        made = [np.empty(static_shape(v.type), numpy_dtype(v.type)) for v in op.results[carried:]]
        for i in range(op.times):
            places = (i, op.times - 1 - i)
            first = () if number is None else (np.array(i, number),)
            parts = (value[places[b], ...] for value, b in zip(each, reads, strict=True))
            results = interp.call(name, (*first, *states, *parts, *kept))
            states = results[:carried]
            for stack, b, value in zip(made, stacks, results[carried:], strict=True):
                stack[places[b], ...] = value
        return (*states, *made)

    return step


def _argument_dtype(interp: Interpreter, op: graph.RepeatOp) -> np.dtype[Any]:
    """The type of the first argument of the function that is run."""
    function = interp.symbol(op.callee)
    assert isinstance(function, FuncOp)
    return numpy_dtype(function.function_type.inputs.data[0])


@prepare("graph.host_call")
def host_call(interp: Interpreter, op: graph.HostCallOp) -> Step:
    return runner(op)


@impl("graph.conv")
def conv(interp: Interpreter, op: graph.ConvOp, args: Results) -> Results:
    image, kernel = factor(args[0]), factor(args[1])
    if op.layout.data is Layout.NCHW:
        image, kernel = np.moveaxis(image, 1, -1), np.moveaxis(kernel, (0, 1), (-1, -2))
    image = pad_spatial(image, op.pads.get_values(), 0)
    window = (kernel.shape[:-2], op.strides.get_values(), op.dilations.get_values())
    if op.group.value.data == 1:
        result = _contract_windows(image, kernel, *window)
    elif kernel.shape[-2] == 1 and kernel.shape[-1] == image.shape[-1]:
        result = sum(tap * kernel[(*at, 0)] for at, tap in taps(image, *window))
    else:
        result = _grouped_conv(image, kernel, op.group.value.data, *window)
    if op.bias is not None:
        result = result + wide(args[2])
    dtype = numpy_dtype(op.result.type)
    return (_from_channels_last(np.asarray(result), op.layout.data).astype(dtype, copy=False),)


def _grouped_conv(image: Array, kernel: Array, group: int, *window: Sequence[int]) -> Array:
    images, kernels = np.split(image, group, axis=-1), np.split(kernel, group, axis=-1)
    parts = [_contract_windows(x, w, *window) for x, w in zip(images, kernels, strict=True)]
    return np.concatenate(parts, axis=-1)


def _contract_windows(
    image: Array, kernel: Array, extents: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Array:
    """Sum over window and input channels: a view of all windows times the kernel as a matrix."""
    spatial = len(extents)
    windows = _windows(image, extents, strides, dilations)
    return np.tensordot(windows, kernel, (range(1 + spatial, 2 + 2 * spatial), range(1 + spatial)))


def _windows(image: Array, extents: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Array:
    """A view of a channels-last image as (batch, positions, window, channels)."""
    positions = [
        (extent - (size - 1) * dilation - 1) // stride + 1
        for extent, size, stride, dilation in zip(image.shape[1:-1], extents, strides, dilations, strict=True)
    ]
    batch, *spatial, channel = image.strides
    return np.lib.stride_tricks.as_strided(
        image,
        (image.shape[0], *positions, *extents, image.shape[-1]),
        (
            batch,
            *(step * stride for step, stride in zip(spatial, strides, strict=True)),
            *(step * dilation for step, dilation in zip(spatial, dilations, strict=True)),
            channel,
        ),
        writeable=False,
    )


def taps(
    image: Array, extents: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], Array]]:
    """For each window position, the elements of a channels-last image that it meets."""
    windows = _windows(image, extents, strides, dilations)
    spatial = len(extents)
    for at in itertools.product(*map(range, extents)):
        yield at, windows[(slice(None),) * (1 + spatial) + at]


def pad_spatial(image: Array, pads: Sequence[int], value: Any) -> Array:
    """A channels-last image surrounded by `value`."""
    if not any(pads):
        return image
    spatial = len(pads) // 2
    widths = [(0, 0), *zip(pads[:spatial], pads[spatial:], strict=True), (0, 0)]
    return np.pad(image, widths, constant_values=value)


def _channels_last(image: Array, layout: Layout) -> Array:
    return np.moveaxis(image, 1, -1) if layout is Layout.NCHW else image


def _from_channels_last(image: Array, layout: Layout) -> Array:
    return np.moveaxis(image, -1, 1) if layout is Layout.NCHW else image


@impl("graph.matmul")
def matmul(interp: Interpreter, op: graph.MatmulOp, args: Results) -> Results:
    product = np.matmul(factor(args[0]), factor(args[1]))
    return (product.astype(numpy_dtype(op.result.type), copy=False),)


@impl("graph.gemm")
def gemm(interp: Interpreter, op: graph.GemmOp, args: Results) -> Results:
    lhs, rhs = wide(args[0]), wide(args[1])
    product = (lhs.T if op.trans_a else lhs) @ (rhs.T if op.trans_b else rhs)
    result = product * product.dtype.type(op.alpha.value.data)
    if op.bias is not None:
        result = result + wide(args[2]) * product.dtype.type(op.beta.value.data)
    return (result.astype(args[0].dtype, copy=False),)


def _window(op: graph.PoolOp) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    return op.kernel.get_values(), op.strides.get_values(), op.dilations.get_values()


def lowest(dtype: np.dtype[Any]) -> Any:
    """What no element of the type is below."""
    if dtype == np.bool_:
        return False
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


@impl("graph.max_pool")
def max_pool(interp: Interpreter, op: graph.MaxPoolOp, args: Results) -> Results:
    image = _channels_last(args[0], op.layout.data)
    image = pad_spatial(image, op.pads.get_values(), lowest(image.dtype))
    _, *parts = zip(*taps(image, *_window(op)), strict=True)
    first, *rest = parts[0]
    result = first.copy()
    for part in rest:
        np.maximum(result, part, out=result)
    return (_from_channels_last(result, op.layout.data),)


@impl("graph.avg_pool")
def avg_pool(interp: Interpreter, op: graph.AvgPoolOp, args: Results) -> Results:
    image = wide(_channels_last(args[0], op.layout.data))
    total = _window_sum(op, image)
    if op.count_include_pad:
        count: Any = np.prod(op.kernel.get_values())
    else:
        count = _window_sum(op, np.ones((1, *image.shape[1:-1], 1), image.dtype))
    mean = (total / count).astype(args[0].dtype, copy=False)
    return (_from_channels_last(mean, op.layout.data),)


def _window_sum(op: graph.AvgPoolOp, image: Array) -> Array:
    padded = pad_spatial(image, op.pads.get_values(), 0)
    return np.asarray(sum(part for _, part in taps(padded, *_window(op))))


def _maximum(x: Array, **options: Any) -> Array:
    """The maximum along axes; of nothing, it is what never wins."""
    return np.max(x, initial=lowest(x.dtype), **options)


def _minimum(x: Array, **options: Any) -> Array:
    highest = True if x.dtype == np.bool_ else np.iinfo(x.dtype).max if x.dtype.kind in "iu" else np.inf
    return np.min(x, initial=highest, **options)


def _spatial_axes(layout: Layout, rank: int) -> tuple[int, ...]:
    return tuple(range(2, rank)) if layout is Layout.NCHW else tuple(range(1, rank - 1))


@impl("graph.global_avg_pool")
def global_avg_pool(interp: Interpreter, op: graph.GlobalAvgPoolOp, args: Results) -> Results:
    axes = _spatial_axes(op.layout.data, args[0].ndim)
    return (wide(args[0]).mean(axes, keepdims=True).astype(args[0].dtype, copy=False),)


@impl("graph.global_max_pool")
def global_max_pool(interp: Interpreter, op: graph.GlobalMaxPoolOp, args: Results) -> Results:
    axes = _spatial_axes(op.layout.data, args[0].ndim)
    return (_maximum(args[0], axis=axes, keepdims=True),)


_REDUCTIONS: dict[ReduceKind, Callable[..., Any]] = {
    ReduceKind.SUM: np.sum,
    ReduceKind.MEAN: np.mean,
    ReduceKind.MAX: _maximum,
    ReduceKind.MIN: _minimum,
    ReduceKind.PROD: np.prod,
}


@impl("graph.reduce")
def reduce(interp: Interpreter, op: graph.ReduceOp, args: Results) -> Results:
    axes = tuple(op.axes.get_values())
    result = _REDUCTIONS[op.kind.data](wide(args[0]), axis=axes, keepdims=op.keepdims is not None)
    return (np.asarray(result).astype(args[0].dtype, copy=False),)


@impl("graph.softmax")
def softmax(interp: Interpreter, op: graph.SoftmaxOp, args: Results) -> Results:
    axis, x = op.axis.value.data, wide(args[0])
    exponentials = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    result = exponentials / exponentials.sum(axis, keepdims=True)
    return (result.astype(args[0].dtype, copy=False),)


@impl("graph.log_softmax")
def log_softmax(interp: Interpreter, op: graph.LogSoftmaxOp, args: Results) -> Results:
    axis, x = op.axis.value.data, wide(args[0])
    shifted = x - x.max(axis, keepdims=True, initial=-np.inf)
    result = shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))
    return (result.astype(args[0].dtype, copy=False),)


@impl("graph.layer_norm")
def layer_norm(interp: Interpreter, op: graph.LayerNormOp, args: Results) -> Results:
    x, *affine = map(wide, args)
    axes = tuple(range(op.axis.value.data, x.ndim))
    centred = x - x.mean(axes, keepdims=True)
    variance = np.square(centred).mean(axes, keepdims=True)
    result = centred / np.sqrt(variance + x.dtype.type(op.epsilon.value.data)) * affine[0]
    result = result + affine[1] if op.bias is not None else result
    return (result.astype(args[0].dtype, copy=False),)


@impl("graph.rms_norm")
def rms_norm(interp: Interpreter, op: graph.RmsNormOp, args: Results) -> Results:
    x, scale = map(wide, args)
    axes = tuple(range(op.axis.value.data, x.ndim))
    size = np.sqrt(np.square(x).mean(axes, keepdims=True) + x.dtype.type(op.epsilon.value.data))
    return ((x / size * scale).astype(args[0].dtype, copy=False),)


@impl("graph.batch_norm")
def batch_norm(interp: Interpreter, op: graph.BatchNormOp, args: Results) -> Results:
    x, *statistics = map(wide, args)
    channel = (-1,) + (1,) * (x.ndim - 2)
    scale, bias, mean, variance = (array.reshape(channel) for array in statistics)
    result = (x - mean) / np.sqrt(variance + x.dtype.type(op.epsilon.value.data)) * scale + bias
    return (result.astype(args[0].dtype, copy=False),)


@impl("graph.reshape")
def reshape(interp: Interpreter, op: graph.ReshapeOp, args: Results) -> Results:
    return (args[0].reshape(graph.shape_of(op.result)),)


@impl("graph.expand")
def expand(interp: Interpreter, op: graph.ExpandOp, args: Results) -> Results:
    return (np.broadcast_to(args[0], graph.shape_of(op.result)),)


@impl("graph.transpose")
def transpose(interp: Interpreter, op: graph.TransposeOp, args: Results) -> Results:
    return (args[0].transpose(op.perm.get_values()),)


@impl("graph.concat")
def concat(interp: Interpreter, op: graph.ConcatOp, args: Results) -> Results:
    return (np.concatenate(args, op.axis.value.data),)


@impl("graph.slice")
def slice_(interp: Interpreter, op: graph.SliceOp, args: Results) -> Results:
    lists = (op.offsets.get_values(), op.sizes.get_values(), op.strides.get_values())
    return (args[0][tuple(slice(at, at + size * step, step) for at, size, step in zip(*lists, strict=True))],)


@impl("graph.pad")
def pad(interp: Interpreter, op: graph.PadOp, args: Results) -> Results:
    widths = list(zip(op.low.get_values(), op.high.get_values(), strict=True))
    return (np.pad(args[0], widths, constant_values=op.value.value.data) if widths else args[0],)


@impl("graph.gather")
def gather(interp: Interpreter, op: graph.GatherOp, args: Results) -> Results:
    axis = op.axis.value.data
    try:
        return (np.take(args[0], args[1], axis),)
    except IndexError as error:
        before = (0,) * axis
        raise index_out_of_range(args[0].shape[: axis + 1], (*before, args[1]), op) from error


@impl("graph.scatter")
def scatter(interp: Interpreter, op: graph.ScatterOp, args: Results) -> Results:
    data, indices, updates = args
    axis = op.axis.value.data
    result, extent = data.copy(), data.shape[axis]
    rows = np.moveaxis(result, axis, 0)
    new = np.moveaxis(updates.reshape(*data.shape[:axis], indices.size, *data.shape[axis + 1 :]), axis, 0)
    for index, row in zip(indices.reshape(-1), new, strict=True):
        if not -extent <= index < extent:
            raise index_out_of_range(data.shape[: axis + 1], (*(0,) * axis, index), op)
        rows[index] = row
    return (result,)
