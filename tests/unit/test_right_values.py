"""Small models and modules whose results were wrong once: every level computes the right ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import npu_mlir
from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.printing import op_text
from npu_mlir.passes import load_pass
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.levels import LEVELS

INFINITE = np.array([-np.inf, -2, -0.5, -0.0, 0, 0.5, 3, np.inf], np.float32)


def node(operator: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(operator, inputs.split(), outputs.split(), **attributes)


def make(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, np.ndarray],
    opset: int = 18,
    **weights: np.ndarray,
) -> onnx.ModelProto:
    """A model with the output y and inputs like the arrays."""
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in inputs.items()
    ]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    y = onnx.ValueInfoProto(name="y")
    graph = helper.make_graph(nodes, "g", infos, [y], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def reference(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """What onnxruntime computes without its optimisations."""
    import onnxruntime as ort

    options: Any = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session: Any = ort.InferenceSession(model.SerializeToString(), options)
    (result,) = session.run(None, inputs)
    return np.asarray(result)


def check(
    model: onnx.ModelProto,
    inputs: dict[str, np.ndarray],
    expected: np.ndarray | None = None,
    *,
    levels: Sequence[str] = ("graph", "linalg", "isa"),
    rtol: float = 1e-6,
    **options: Any,
) -> None:
    """The result is that of onnxruntime, or the expected one, at each level."""
    expected = reference(model, inputs) if expected is None else expected
    for level in levels:
        result = npu_mlir.compile(model, emit=level, **options).run(inputs)["y"]
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape), level
        np.testing.assert_allclose(
            result.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=0, err_msg=level
        )


@pytest.mark.parametrize("shape", [(13, 1), (1, 1), (5, 1), (1, 13), (13,), (1,)])
@pytest.mark.parametrize("product", [(13, 6, 1), (13, 6, 13), (1, 6, 13), (5, 6, 1)])
def test_addends_of_a_product(product: tuple[int, int, int], shape: tuple[int, ...]):
    """A bias along the rows, along the columns, or both, of matrices with one row or column."""
    m, k, n = product
    try:
        np.broadcast_shapes((m, n), shape)
    except ValueError:
        return
    generator = np.random.default_rng(0)
    inputs = {
        "x": generator.integers(-4, 5, (m, k)).astype(np.float32),
        "c": generator.integers(-4, 5, shape).astype(np.float32),
    }
    weight = generator.integers(-4, 5, (k, n)).astype(np.float32)
    check(make([node("MatMul", "x w", "p"), node("Add", "p c", "y")], inputs, w=weight), inputs)


@pytest.mark.parametrize("operator", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("axes", [[0], [1], [0, 1]])
def test_reductions_of_bool(operator: str, axes: list[int]):
    x = np.array([[0, 0, 1, 1], [0, 1, 1, 0], [0, 1, 1, 1]], bool)
    model = make([node(operator, "x a", "y", keepdims=0)], {"x": x}, 20, a=np.array(axes))
    check(model, {"x": x}, np.asarray((np.any if operator == "ReduceMax" else np.all)(x, tuple(axes))))


@pytest.mark.parametrize("slope", [0.0, -0.0, 0.5, -2.0, 1.0, np.inf, -np.inf, np.nan])
def test_slopes(slope: float):
    inputs = {"x": INFINITE}
    with np.errstate(invalid="ignore"):
        expected = np.where(INFINITE < 0, INFINITE * np.float32(slope), INFINITE)
    slopes = np.full(8, slope, np.float32)
    check(make([node("LeakyRelu", "x", "y", alpha=slope)], inputs), inputs, expected)
    check(make([node("PRelu", "x s", "y")], inputs, s=slopes), inputs, expected)
    inputs = {"x": INFINITE, "s": slopes}
    check(make([node("PRelu", "x s", "y")], inputs), inputs, expected)


LARGE = [
    0.5,
    1.5,
    2.5,
    -0.5,
    -2.5,
    0.49999997,
    8388607.5,
    8388609.5,
    -8388609.5,
    4503599627370495.5,
    1e15 + 0.5,
    3e300,
]


@pytest.mark.parametrize("operator", ["Floor", "Ceil"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_of_large_numbers(operator: str, dtype: Any):
    with np.errstate(over="ignore"):
        x = np.array([*LARGE, *(-value for value in LARGE), np.inf], dtype)
    expected = (np.floor if operator == "Floor" else np.ceil)(x)
    check(make([node(operator, "x", "y")], {"x": x}), {"x": x}, expected, rtol=0)


ONE_BIT: dict[str, Any] = {
    "addi": lambda a, b: a ^ b,
    "subi": lambda a, b: a ^ b,
    "muli": lambda a, b: a & b,
    "maxsi": lambda a, b: a & b,
    "minsi": lambda a, b: a | b,
    "maxui": lambda a, b: a | b,
    "minui": lambda a, b: a & b,
    "cmpi slt,": lambda a, b: a & ~b,
    "cmpi sle,": lambda a, b: a | ~b,
    "cmpi sgt,": lambda a, b: ~a & b,
    "cmpi sge,": lambda a, b: ~a | b,
    "cmpi ult,": lambda a, b: ~a & b,
    "cmpi uge,": lambda a, b: a | ~b,
    "cmpi ne,": lambda a, b: a ^ b,
}
A, B = np.array([0, 0, 1, 1, 0, 1, 0, 1], bool), np.array([0, 1, 0, 1, 1, 1, 0, 0], bool)


def run(text: str, inputs: Sequence[np.ndarray], level: str) -> np.ndarray:
    """The one result of the function in a text, at a level."""
    context = make_context()
    module = parse_module(context, text, "test.mlir")
    module.verify()
    program = npu_mlir.Program(context, module)
    (result,) = program.lower(level).run(inputs).values()
    return result


def elementwise(body: str, count: int, types: Sequence[str] = ("i1", "i1", "i1")) -> str:
    """A function of two tensors; the body computes %r from %a and %b."""
    a, b, r = types
    tensors = [f"tensor<{count}x{t}>" for t in types]
    return f"""
    func.func @main(%x: {tensors[0]}, %z: {tensors[1]}) -> {tensors[2]} {{
      %e = tensor.empty() : {tensors[2]}
      %y = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>,
          affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}} ins(%x, %z : {tensors[0]}, {tensors[1]})
          outs(%e : {tensors[2]}) {{
      ^bb0(%a: {a}, %b: {b}, %o: {r}):
        {body}
        linalg.yield %r : {r}
      }} -> {tensors[2]}
      func.return %y : {tensors[2]}
    }}"""


@pytest.mark.parametrize("level", ["linalg", "tile", "isa"])
@pytest.mark.parametrize("operation", ONE_BIT)
def test_integers_of_one_bit(operation: str, level: str):
    """Modulo 2, and true is -1 where it has a sign."""
    text = elementwise(f"%r = arith.{operation} %a, %b : i1", 8)
    np.testing.assert_array_equal(run(text, [A, B], level), ONE_BIT[operation](A, B))
    constant = elementwise(f"%t = arith.constant true %r = arith.{operation} %a, %t : i1", 8)
    np.testing.assert_array_equal(run(constant, [A, B], level), ONE_BIT[operation](A, np.ones(8, bool)))


@pytest.mark.parametrize("level", ["linalg", "isa"])
@pytest.mark.parametrize("operation", ["maxui", "minui", "divui", "cmpi ult,", "cmpi uge,"])
def test_integers_without_a_sign(operation: str, level: str):
    a, b = np.array([1, -1, 127, -128, 5, -3], np.int8), np.array([-1, 1, -128, 127, 5, 7], np.int8)
    large, small = a.view(np.uint8), b.view(np.uint8)
    expected = {
        "maxui": np.maximum(large, small).view(np.int8),
        "minui": np.minimum(large, small).view(np.int8),
        "divui": (large // small).view(np.int8),
        "cmpi ult,": large < small,
        "cmpi uge,": large >= small,
    }[operation]
    result = "i1" if operation.startswith("cmpi") else "i8"
    text = elementwise(f"%r = arith.{operation} %a, %b : i8", 6, ("i8", "i8", result))
    np.testing.assert_array_equal(run(text, [a, b], level), expected)


@pytest.mark.parametrize("level", ["linalg", "tile", "isa"])
@pytest.mark.parametrize("zeros", ["0.0, -0.0", "-0.0, 0.0", "-0.0, -0.0"])
def test_zeros_keep_their_signs(zeros: str, level: str):
    text = f"""
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
      %c = arith.constant dense<[{zeros}]> : tensor<2xf32>
      %0 = arith.divf %x, %c : tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }}"""
    printed = op_text(parse_module(make_context(), text, "test.mlir"))
    expected = np.copysign(np.inf, np.array([float(zero) for zero in zeros.split(",")], np.float32))
    for source in (text, printed):
        np.testing.assert_array_equal(run(source, [np.ones(2, np.float32)], level), expected)


@pytest.mark.parametrize(
    ("digits", "count", "expected"),
    [("0x05", 3, [1, 0, 1]), ("0xFF", 5, [1] * 5), ("0x00", 2, [0, 0]), ("0x0180", 16, [1] + [0] * 14 + [1])],
)
def test_hexadecimal_literals_of_one_bit(digits: str, count: int, expected: list[int]):
    text = f"""func.func @main() -> tensor<{count}xi1> {{
      %0 = arith.constant dense<"{digits}"> : tensor<{count}xi1>
      func.return %0 : tensor<{count}xi1>
    }}"""
    np.testing.assert_array_equal(run(text, [], "isa"), np.array(expected, bool))


def test_long_constants_of_one_bit_come_back():
    bits = np.random.default_rng(0).integers(0, 2, 131).astype(bool)
    text = f"""func.func @main() -> tensor<131xi1> {{
      %0 = arith.constant dense<{str(bits.tolist()).lower()}> : tensor<131xi1>
      func.return %0 : tensor<131xi1>
    }}"""
    printed = op_text(parse_module(make_context(), text, "test.mlir"))
    assert f'dense<"0x{np.packbits(bits, bitorder="little").tobytes().hex().upper()}">' in printed
    np.testing.assert_array_equal(run(printed, [], "isa"), bits)


def test_a_hexadecimal_literal_with_too_few_bits():
    text = 'func.func @f() { %0 = arith.constant dense<"0x01"> : tensor<9xi1> func.return }'
    with pytest.raises(UserError, match="9 elements of i1 are 2 bytes, got 1"):
        parse_module(make_context(), text, "test.mlir")


@pytest.mark.parametrize("level", LEVELS[1:])
def test_a_function_that_is_called_twice(level: str):
    text = """
    func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = arith.mulf %x, %x : tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = func.call @square(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = func.call @square(%0) : (tensor<4xf32>) -> tensor<4xf32>
      %2 = arith.addf %0, %1 : tensor<4xf32>
      func.return %2 : tensor<4xf32>
    }"""
    x = np.array([1, 2, 3, 4], np.float32)
    np.testing.assert_array_equal(run(text, [x], level), x**2 + x**4)


def test_an_index_that_is_out_of_range():
    inputs = {"x": np.zeros((3, 4), np.float32), "i": np.array([1, 5])}
    for level in ("graph", "linalg", "isa"):
        program = npu_mlir.compile(make([node("Gather", "x i", "y")], inputs), emit=level)
        with pytest.raises(UserError, match=r"index 5 is out of range: .*\b3 (elements|rows)"):
            program.run(inputs)
    constant = make([node("Gather", "x i", "y", name="pick")], {"x": inputs["x"]}, i=np.array([-4]))
    with pytest.raises(UserError) as caught:
        npu_mlir.compile(constant)
    assert "node 'pick' (Gather): index -4 is out of range" in caught.value.notes[0].message


def ulps(actual: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """The distance from exact values, in units of the last place of the results' type next to them."""
    unit = np.abs(np.spacing(exact.astype(actual.dtype))).astype(np.float64)
    return np.abs(actual.astype(np.float64) - exact) / unit


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


FUNCTIONS: dict[str, tuple[Any, int, float]] = {
    "Tanh": (np.tanh, 18, -20),
    "Erf": (np.vectorize(math.erf, otypes=[np.float64]), 18, -20),
    "Sigmoid": (lambda x: np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x))), 18, -88),
    "Softplus": (_softplus, 11, -103),
    "Mish": (lambda x: x * np.tanh(_softplus(x)), 22, -80),
    "Exp": (np.exp, 18, -87),
}
"""Exact values, an opset, and from where on."""


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_functions_are_exact_to_the_last_places(operator: str):
    function, opset, low = FUNCTIONS[operator]
    generator = np.random.default_rng(0)
    near = np.exp(generator.uniform(-70, 2, 4000)) * generator.choice([-1, 1], 4000)
    x = np.concatenate([near, generator.uniform(low, 80, 4000)]).astype(np.float32)
    model = make([node(operator, "x", "y")], {"x": x}, opset)
    for level in ("graph", "isa"):
        result = npu_mlir.compile(model, emit=level).run({"x": x})["y"]
        assert ulps(result, function(x.astype(np.float64))).max() <= 4, level


def test_functions_of_numbers_far_below_zero():
    """Where the exponential is subnormal, the bounds are absolute."""
    x = np.array([-87.5, -88.5, -89, -95, -100, -104, -1e30, -np.inf], np.float32)
    for operator, bound in (("Sigmoid", 3e-45), ("Softplus", 3e-45), ("Mish", 1e-43)):
        function, opset, _ = FUNCTIONS[operator]
        model = make([node(operator, "x", "y")], {"x": x[:-2] if operator == "Mish" else x}, opset)
        inputs = {"x": x[:-2] if operator == "Mish" else x}
        for level in ("graph", "isa"):
            result = npu_mlir.compile(model, emit=level).run(inputs)["y"]
            assert np.abs(result - function(inputs["x"].astype(np.float64))).max() <= bound, (operator, level)


@pytest.mark.parametrize("operator", ["Tanh", "Erf", "Sigmoid", "Softplus", "Mish"])
def test_functions_of_half_precision(operator: str):
    """Within one unit in the last place of f16: every number but the largest, whose softplus is infinite."""
    function, opset, _ = FUNCTIONS[operator]
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    x = x[np.abs(x) < 60000].astype(np.float32)
    program = npu_mlir.compile(make([node(operator, "x", "y")], {"x": x}, opset), precision="f16")
    result = program.run({"x": x})["y"].astype(np.float16)
    assert ulps(result, function(x.astype(np.float64))).max() <= 1


def test_a_gate_by_a_tangent_is_exact_as_a_sigmoid():
    """GELU as models spell it, `x / 2 (1 + tanh(v))`: the sum would cancel for negative x, the sigmoid does not."""
    x = np.random.default_rng(0).uniform(-8, 8, 4000).astype(np.float32)
    scale = np.float32(math.sqrt(2 / math.pi))
    v = scale * (x + np.float32(0.044715) * (x * x * x))
    nodes = [
        node("Tanh", "v", "t"),
        node("Add", "t one", "m"),
        node("Mul", "x half", "h"),
        node("Mul", "h m", "y"),
    ]
    constants = {"one": np.float32(1), "half": np.float32(0.5)}
    program = npu_mlir.compile(make(nodes, {"x": x, "v": v}, **constants))
    result = program.run({"x": x, "v": v})["y"]
    exact = x.astype(np.float64) * FUNCTIONS["Sigmoid"][0](2 * v.astype(np.float64))
    assert ulps(result, exact).max() <= 4
    assert "vcmp" not in str(program.module)


def test_scalar_operations_on_constants_are_folded():
    """Casts and comparisons of constants in bodies, and operations that leave a value as it is."""
    x = np.array([-0.0, 1, np.nan, -np.inf], np.float32)
    body = """
        %one = arith.constant 1.0 : f16
        %wide = arith.extf %one : f16 to f32
        %zero = arith.subf %wide, %wide : f32
        %negative = arith.negf %zero : f32
        %less = arith.cmpf olt, %zero, %wide : f32
        %p = arith.mulf %a, %wide : f32
        %q = arith.addf %p, %negative : f32
        %s = arith.subf %q, %zero : f32
        %t = arith.divf %s, %wide : f32
        %r = arith.select %less, %t, %b : f32"""
    text = elementwise(body, 4, ("f32", "f32", "f32"))
    for level in ("linalg", "isa"):
        result = run(text, [x, np.ones(4, np.float32)], level)
        np.testing.assert_array_equal(result.view(np.uint32), x.view(np.uint32))
    module = parse_module(make_context(), text, "test.mlir")
    load_pass("canonicalize")().apply(make_context(), module)
    assert not any(op.name.startswith("arith.") for op in module.walk())


@pytest.mark.parametrize("operator", ["Gemm", "LayerNormalization", "Equal"])
@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_uniform_operands(operator: str, precision: str):
    """Constants whose elements are all the same move into bodies, where casts of them are folded."""
    x = np.random.default_rng(0).integers(-3, 4, (4, 6)).astype(np.float32)
    inputs = {"x": x}
    if operator == "Gemm":
        w = np.random.default_rng(1).integers(-3, 4, (6, 6)).astype(np.float32)
        model = make([node("Gemm", "x w c", "y")], inputs, w=w, c=np.zeros(6, np.float32))
    elif operator == "Equal":
        inputs = {"x": x.astype(np.int32)}
        model = make([node("LessOrEqual", "x x", "y")], inputs)
    else:
        ones = np.ones(6, np.float32)
        model = make([node("LayerNormalization", "x s b", "y")], inputs, s=ones, b=ones * 0)
    expected = reference(model, inputs).astype(np.float64)
    result = npu_mlir.compile(model, precision=precision).run(inputs)["y"].astype(np.float64)
    np.testing.assert_allclose(result, expected, rtol=2e-3, atol=2e-3)


def test_the_operand_that_spans_a_reduced_dim_stays():
    x, w = np.ones((4, 1), np.float32) * 3, np.arange(5, dtype=np.float32)
    expand = make(
        [node("Expand", "x s", "e"), node("Softmax", "e", "y", axis=1)], {"x": x}, s=np.array([4, 5])
    )
    check(expand, {"x": x}, levels=("linalg", "tile", "isa"))
    nodes = [node("ReduceMean", "x a", "m"), node("Expand", "m s", "e"), node("MatMul", "e w", "y")]
    model = make(nodes, {"x": x}, a=np.array([0, 1]), s=np.array([4, 5]), w=w)
    check(model, {"x": x}, levels=("linalg", "tile", "isa"))


UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_arithmetic_without_a_sign(dtype: Any):
    """Values above the largest signed one: orders, quotients, shifts into floats."""
    top = np.iinfo(dtype).max
    inputs = {
        "a": np.array([0, 1, 5, top, top - 1, top // 2, top // 2 + 1, 200], dtype),
        "b": np.array([1, 2, 5, 1, top, top // 2 + 1, top // 2, 7], dtype),
    }
    a, b = inputs["a"], inputs["b"]
    results: dict[str, np.ndarray] = {
        "Add": a + b,
        "Sub": a - b,
        "Mul": a * b,
        "Div": a // b,
        "Less": a < b,
        "GreaterOrEqual": a >= b,
        "Equal": a == b,
        "Max": np.maximum(a, b),
        "Min": np.minimum(a, b),
    }
    for operator, expected in results.items():
        check(make([node(operator, "a b", "y")], inputs), inputs, expected)
    mine = {"a": a}
    clip = make([node("Clip", "a l h", "y")], mine, l=dtype(3), h=dtype(top - 2))
    check(clip, mine, np.clip(a, dtype(3), dtype(top - 2)))
    constant = make([node("Max", "a c", "y")], mine, c=np.full(8, top - 1, dtype))
    check(constant, mine, np.maximum(a, dtype(top - 1)))
    for operator, expected in (("ReduceMax", a.max()), ("ReduceMin", a[1:].min())):
        values = {"a": a if operator == "ReduceMax" else a[1:]}
        model = make([node(operator, "a x", "y", keepdims=0)], values, x=np.array([0]))
        check(model, values, np.asarray(expected))


@pytest.mark.parametrize("source", [np.uint8, np.uint16, np.uint32, np.int8, np.int32, np.float32, np.bool_])
@pytest.mark.parametrize("target", [np.uint8, np.uint16, np.uint32, np.int8, np.int64, np.float32, np.bool_])
def test_casts_without_a_sign(source: Any, target: Any):
    values = np.array([0, 1, 3, 100, 127], np.float64)
    if np.dtype(source).kind in "iu" and np.dtype(target).kind in "iuf":
        values = np.append(values, [np.iinfo(source).max, np.iinfo(source).max - 3])
    x = values.astype(source)
    to = helper.np_dtype_to_tensor_dtype(np.dtype(target))
    check(make([node("Cast", "x", "y", to=to)], {"x": x}), {"x": x}, x.astype(target))


def test_an_image_of_bytes():
    x = np.random.default_rng(0).integers(0, 256, (1, 3, 8, 8)).astype(np.uint8)
    nodes = [
        node("MaxPool", "x", "p", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Cast", "p", "f", to=onnx.TensorProto.FLOAT),
        node("Mul", "f s", "y"),
    ]
    model = make(nodes, {"x": x}, s=np.float32(1 / 255))
    check(model, {"x": x})
    weights = make([node("Add", "x w", "y")], {"x": x}, w=x[:, ::-1].copy())
    check(weights, {"x": x}, x + x[:, ::-1])


EMPTY: dict[str, tuple[list[onnx.NodeProto], tuple[int, ...], dict[str, np.ndarray]]] = {
    "relu": ([node("Relu", "x", "y")], (0, 4), {}),
    "broadcast": ([node("Add", "x w", "y")], (3, 0), {"w": np.ones((3, 1), np.float32)}),
    "product-k": ([node("MatMul", "x w", "y")], (3, 0), {"w": np.ones((0, 5), np.float32)}),
    "product-m": ([node("MatMul", "x w", "y")], (0, 3), {"w": np.ones((3, 5), np.float32)}),
    "product-n": ([node("MatMul", "x w", "y")], (2, 3), {"w": np.ones((3, 0), np.float32)}),
    "product-batch": ([node("MatMul", "x w", "y")], (0, 2, 3), {"w": np.ones((3, 4), np.float32)}),
    "gemm": (
        [node("Gemm", "x w c", "y")],
        (3, 0),
        {"w": np.ones((0, 5), np.float32), "c": np.arange(5, dtype=np.float32)},
    ),
    "sum": ([node("ReduceSum", "x a", "y", keepdims=0)], (0, 4), {"a": np.array([0])}),
    "product": ([node("ReduceProd", "x a", "y", keepdims=1)], (3, 0), {"a": np.array([1])}),
    "sum-then-add": (
        [node("ReduceSum", "x a", "s", keepdims=0), node("Add", "s w", "y")],
        (3, 0, 2),
        {"a": np.array([1]), "w": np.ones(2, np.float32)},
    ),
    "softmax": ([node("Softmax", "x", "y", axis=-1)], (3, 0), {}),
    "concat": ([node("Concat", "x w", "y", axis=0)], (0, 4), {"w": np.ones((2, 4), np.float32)}),
    "transpose": ([node("Transpose", "x", "y", perm=[2, 0, 1])], (2, 0, 3), {}),
    "reshape": ([node("Reshape", "x s", "y", allowzero=1)], (0, 6), {"s": np.array([2, 0, 3, 1])}),
    "slice": (
        [node("Slice", "x s e", "y")],
        (4, 3),
        {"s": np.array([2]), "e": np.array([2])},
    ),
    "pad": ([node("Pad", "x p", "y")], (0, 3), {"p": np.array([1, 0, 1, 0])}),
    "expand": ([node("Expand", "x s", "y")], (1, 3), {"s": np.array([0, 3])}),
    "gather": ([node("Gather", "x i", "y")], (4, 3), {"i": np.zeros(0, np.int64)}),
    "conv": ([node("Conv", "x w", "y")], (0, 2, 5, 5), {"w": np.ones((3, 2, 3, 3), np.float32)}),
    "pool": ([node("MaxPool", "x", "y", kernel_shape=[2, 2])], (0, 2, 4, 4), {}),
    "layer-norm": ([node("LayerNormalization", "x s", "y")], (0, 4), {"s": np.ones(4, np.float32)}),
    "where": ([node("Less", "x x", "c"), node("Where", "c x x", "y")], (0,), {}),
    "cast": ([node("Cast", "x", "y", to=onnx.TensorProto.UINT8)], (2, 0), {}),
}


@pytest.mark.parametrize("name", EMPTY)
def test_tensors_without_elements(name: str):
    nodes, shape, weights = EMPTY[name]
    x = np.ones(shape, np.float32)
    model = make(nodes, {"x": x}, **weights)
    check(model, {"x": x}, levels=LEVELS)
    if name != "cast":
        half = npu_mlir.compile(model, precision="f16").run({"x": x})["y"]
        np.testing.assert_array_equal(half, reference(model, {"x": x}))


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, np.bool_])
def test_extremes_of_nothing(dtype: Any):
    """What never wins: infinities, the ends of the type."""
    x = np.ones((0, 3), dtype)
    ends = (-np.inf, np.inf) if dtype is np.float32 else (0, 1)
    if np.dtype(dtype).kind in "iu":
        ends = (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for operator, end in zip(("ReduceMax", "ReduceMin"), ends, strict=True):
        model = make([node(operator, "x a", "y", keepdims=0)], {"x": x}, 20, a=np.array([0]))
        check(model, {"x": x}, np.full(3, end, dtype))


@pytest.mark.parametrize(
    ("proto", "weights", "message"),
    [
        (
            node("Pad", "x p", "y"),
            {"p": np.array([0, 1 << 40])},
            "its result 1099511627780 fits into no memory",
        ),
        (
            node("Expand", "x s", "y"),
            {"s": np.array([1 << 40, 4])},
            "its result 1099511627776x4 fits into no",
        ),
        (node("ConstantOfShape", "s", "y"), {"s": np.array([1 << 36, 4])}, "has 274877906944 elements"),
        (node("Tile", "w r", "y"), {"w": A, "r": np.array([1 << 38])}, "has 2199023255552 elements"),
        (
            node("Range", "a b c", "y"),
            {"a": np.array(0), "b": np.array(1 << 50), "c": np.array(1)},
            "has 1125899906842624 elements",
        ),
    ],
)
def test_results_that_fit_into_no_memory(proto: onnx.NodeProto, weights: dict[str, Any], message: str):
    with pytest.raises(UserError) as caught:
        npu_mlir.compile(make([proto], {"x": np.ones(4, np.float32)}, **weights))
    assert message in caught.value.notes[0].message


def test_a_padding_of_many_elements_takes_no_longer():
    """What is computed about a kernel doesn't enumerate its elements."""
    model = make([node("Pad", "x p", "y")], {"x": np.ones(4, np.float32)}, p=np.array([0, 1 << 32]))
    assert npu_mlir.compile(model, emit="tile").outputs[0].shape == (4 + (1 << 32),)


def test_an_input_without_a_rank():
    model = make([node("Relu", "x", "y")], {"x": np.ones(4, np.float32)})
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(UserError, match="input 'x' has no declared rank") as caught:
        npu_mlir.compile(model)
    assert caught.value.notes[0].message == "give its shape, like --shape x=1x3x224x224"
    check(model, {"x": -A.astype(np.float32)}, shapes={"x": (8,)})


@pytest.mark.parametrize("extent", [3, 224])
def test_an_epilogue_that_broadcasts(extent: int):
    """A product of vectors that scales an image: in one kernel with it where the image fits, else in its own."""
    generator = np.random.default_rng(0)
    inputs = {
        "s": generator.integers(-2, 3, (1, 4, 1, 1)).astype(np.float32),
        "x": generator.integers(-2, 3, (1, 6, extent, extent)).astype(np.float32),
    }
    w = generator.integers(-2, 3, (6, 4, 1, 1)).astype(np.float32)
    model = make([node("Conv", "s w", "c"), node("Mul", "c x", "y")], inputs, w=w)
    check(model, inputs, levels=("tile", "isa"))
    module = npu_mlir.compile(model, emit="tile").module
    kernels = [op for op in module.ops if op.name == "tile.kernel"]
    assert len(kernels) == (1 if extent == 3 else 2)


@pytest.mark.parametrize("kernel", [(2,), (2, 3), (2, 3, 2)])
@pytest.mark.parametrize("target", ["toy", "ascend-910"])
def test_convolutions_over_lines_images_and_volumes(kernel: tuple[int, ...], target: str):
    generator = np.random.default_rng(0)
    x = generator.integers(-2, 3, (2, 3, *(5 + d for d in range(len(kernel))))).astype(np.float32)
    w = generator.integers(-2, 3, (4, 3, *kernel)).astype(np.float32)
    pads = [1] * (2 * len(kernel))
    check(make([node("Conv", "x w", "y", pads=pads)], {"x": x}, w=w), {"x": x}, target=target)


@pytest.mark.parametrize(
    ("operator", "opset"),
    [
        ("Elu", 7),
        ("Selu", 7),
        ("Softsign", 7),
        ("Softplus", 7),
        ("Shrink", 9),
        ("MeanVarianceNormalization", 9),
        ("ThresholdedRelu", 10),
        ("Celu", 12),
        ("HardSwish", 14),
    ],
)
def test_operators_that_onnx_defines_by_functions(operator: str, opset: int):
    """From the first opset that has them: later bodies mean the same."""
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 4)).astype(np.float32) * 3
    check(make([node(operator, "x", "y")], {"x": x}, opset), {"x": x}, rtol=2e-4)


def test_gelu_is_exact_next_to_its_operand():
    """As ONNX spells it, `x / 2 (1 + erf(x / sqrt(2)))`: the sum cancels for negative x, so it is absolute."""
    x = np.random.default_rng(0).uniform(-8, 8, 4000).astype(np.float32)
    wide = x.astype(np.float64)
    exact = wide / 2 * (1 + FUNCTIONS["Erf"][0](wide / math.sqrt(2)))
    result = npu_mlir.compile(make([node("Gelu", "x", "y")], {"x": x}, 20)).run({"x": x})["y"]
    assert (np.abs(result - exact) <= np.abs(wide) * 2.0**-23).all()
    assert ulps(result, exact)[x > 0].max() <= 4
