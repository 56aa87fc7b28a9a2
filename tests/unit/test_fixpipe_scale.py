"""Dequantization behind a product: one instruction of the fixpipe where the machine has its scale, the same values
everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import npu_mlir
from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.context import make_context
from npu_mlir.dialects.tile import Relu, Scale
from npu_mlir.ir.parsing import parse_module
from npu_mlir.simulator import simulate
from npu_mlir.targets.target import Target
from random_linalg import Program
from test_pipeline_random import check

PRODUCT = """
#id = affine_map<(m, n) -> (m, n)>
func.func @main(%x: tensor<{m}x{k}xi8>, %w: tensor<{k}x{n}xi8>) -> tensor<{m}x{n}x{out}> {{
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<{m}x{n}xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  %p = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %w : tensor<{m}x{k}xi8>, tensor<{k}x{n}xi8>) outs(%f : tensor<{m}x{n}xi32>) {{
  ^bb0(%a: i8, %b: i8, %c: i32):
    %0 = arith.extsi %a : i8 to i32
    %1 = arith.extsi %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %c, %2 : i32
    linalg.yield %3 : i32
  }} -> tensor<{m}x{n}xi32>
  %o = tensor.empty() : tensor<{m}x{n}x{out}>
  %r = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%p : tensor<{m}x{n}xi32>) outs(%o : tensor<{m}x{n}x{out}>) {{
  ^bb0(%v: i32, %y: {out}):
    {body}
  }} -> tensor<{m}x{n}x{out}>
  func.return %r : tensor<{m}x{n}x{out}>
}}
"""

HALF = "%h = arith.truncf %s : f32 to f16"
BODIES = {
    "scaled": f"{HALF}\n linalg.yield %h : f16",
    "relu before the cast": """%r = arith.maximumf %s, %zero : f32
    %h = arith.truncf %r : f32 to f16
    linalg.yield %h : f16""",
    "relu behind the cast": f"{HALF}\n %r = arith.maximumf %h, %half : f16\n linalg.yield %r : f16",
}


def dequantized(body: str, factor: float, m: int = 37, k: int = 70, n: int = 41) -> Program:
    """A product of int8, dequantized by `factor`."""
    start = f"""%scale = arith.constant {np.float32(factor):.9e} : f32
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.0 : f16
    %fl = arith.sitofp %v : i32 to f32
    %s = arith.mulf %scale, %fl : f32
    """
    text = PRODUCT.format(m=m, k=k, n=n, out="f16", body=start + body)
    rng = np.random.default_rng(m * k * n)
    inputs = [rng.integers(-128, 128, shape).astype(np.int8) for shape in ((m, k), (k, n))]
    return Program(parse_module(make_context(), text, "main.mlir"), inputs)


def expected(program: Program, factor: float, relu: bool) -> np.ndarray:
    """The exact product, rounded to f32, times the factor in f32, to f16."""
    x, w = (a.astype(np.int64) for a in program.inputs)
    with np.errstate(over="ignore"):
        scaled = (x @ w).astype(np.float32) * np.float32(factor)
        return (np.maximum(scaled, np.float32(0)) if relu else scaled).astype(np.float16)


def drains(program: Program) -> list[npu_isa.FixpipeUbOp | npu_isa.FixpipeGmOp]:
    return [op for op in program.module.walk() if isinstance(op, npu_isa.FixpipeUbOp | npu_isa.FixpipeGmOp)]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("target", ["ascend-910", "ascend-910b"])
def test_it_is_one_instruction(target: str, body: str):
    program = dequantized(BODIES[body], 1e-3)
    check(program, target)
    (drain,) = drains(program)
    relu = "relu" in body
    assert drain.epilogue is not None
    assert drain.epilogue.data == (Scale(float(np.float32(1e-3))), *([Relu()] if relu else []))
    assert not [op for op in program.module.walk() if isinstance(op, npu_isa.VectorInstruction)]
    (found,) = simulate(program.module, program.inputs).outputs
    np.testing.assert_array_equal(found, expected(program, 1e-3, relu))


def test_the_vector_unit_does_it_elsewhere():
    program = dequantized(BODIES["scaled"], 1e-3)
    check(program, "toy")
    assert all(drain.epilogue is None for drain in drains(program))
    (found,) = simulate(program.module, program.inputs).outputs
    np.testing.assert_array_equal(found, expected(program, 1e-3, relu=False))


@pytest.mark.parametrize(
    "body",
    [
        "%t = arith.mulf %s, %scale : f32\n%h = arith.truncf %t : f32 to f16\nlinalg.yield %h : f16",
        "%t = arith.sitofp %v : i32 to f16\n%h = arith.addf %t, %half : f16\nlinalg.yield %h : f16",
        "%d = arith.mulf %fl, %fl : f32\n%h = arith.truncf %d : f32 to f16\nlinalg.yield %h : f16",
        "%q = arith.maxsi %v, %i : i32\n%t = arith.sitofp %q : i32 to f32\n%t2 = arith.mulf %t, %scale : f32\n"
        "%h = arith.truncf %t2 : f32 to f16\nlinalg.yield %h : f16",
    ],
    ids=["two scales", "f16 at once", "squares", "relu first"],
)
@pytest.mark.parametrize("target", ["ascend-910", "ascend-910b"])
def test_other_arithmetic_stays(target: str, body: str):
    program = dequantized("%i = arith.constant 0 : i32\n" + body, 1e-3)
    check(program, target)
    assert all(drain.epilogue is None or drain.epilogue.scale is None for drain in drains(program))


factors = st.one_of(st.floats(-2.0, 2.0, width=32), st.sampled_from([1e-30, 3e38, 2.0**-149])).filter(bool)


@settings(
    max_examples=12,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=False,
)
@given(factors, st.sampled_from(list(BODIES)), st.tuples(*[st.integers(1, 40)] * 3), st.booleans())
def test_any_factor(factor: float, body: str, sides: tuple[int, int, int], split: bool):
    """Values are those of f32, to the bit, on small machines with one core or two."""
    program = dequantized(BODIES[body], factor, *sides)
    toy = Target.load("toy").replace(i32_f16="true")
    if split:
        toy = Target.load("ascend-910b").replace(l1="32KiB", l0c="16KiB", l0a="8KiB", l0b="8KiB")
    check(program, toy)
    (found,) = simulate(program.module, program.inputs).outputs
    np.testing.assert_array_equal(found, expected(program, factor, "relu" in body))


@pytest.mark.parametrize("target", ["ascend-910", "ascend-910b"])
def test_a_model(target: str, tmp_path: Path):
    """MatMulInteger, Cast, Mul, Cast: as in onnxruntime."""
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(3)
    w = numpy_helper.from_array(rng.integers(-128, 128, (48, 33)).astype(np.int8), "w")
    s = numpy_helper.from_array(np.array(0.0123, np.float32), "s")
    nodes = [
        helper.make_node("MatMulInteger", ["x", "w"], ["p"]),
        helper.make_node("Cast", ["p"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "s"], ["d"]),
        helper.make_node("Cast", ["d"], ["y"], to=TensorProto.FLOAT16),
    ]
    x_info = helper.make_tensor_value_info("x", TensorProto.INT8, [20, 48])
    y_info = helper.make_tensor_value_info("y", TensorProto.FLOAT16, [20, 33])
    graph = helper.make_graph(nodes, "g", [x_info], [y_info], [w, s])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "model.onnx"
    onnx.save(model, str(path))
    x = rng.integers(-128, 128, (20, 48)).astype(np.int8)
    (reference,) = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})
    compiled = npu_mlir.compile(str(path), target=target)
    instructions = [op.name for op in compiled.module.walk() if isinstance(op, npu_isa.Instruction)]
    assert not [name for name in instructions if name.startswith("npu_isa.v")]
    np.testing.assert_array_equal(compiled.run({"x": x})["y"], reference)
