"""What upstream scalar, control-flow, tensor and memref operations mean."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters import Interpreter, impl, run_function
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.verification import verify
from npu_mlir.support.diagnostics import UserError


def call(body: str, results: str, *args: Any, params: str = "") -> tuple[Any, ...]:
    """Run a function whose body ends by naming what it returns: `... return %a, %b`."""
    body, _, names = body.rpartition("return")
    text = f"func.func @main({params}) -> ({results}) {{ {body} func.return {names} : {results} }}"
    module = parse_module(make_context(), text, "case.mlir")
    verify(module)
    with np.errstate(all="ignore"):
        return Interpreter(module).call("main", args)


BINARY = [
    ("arith.addi", "i8", 127, 1, -128),
    ("arith.subi", "i8", -128, 1, 127),
    ("arith.muli", "i16", 300, 300, 24464),
    ("arith.divsi", "i32", -7, 2, -3),
    ("arith.remsi", "i32", -7, 2, -1),
    ("arith.floordivsi", "i32", -7, 2, -4),
    ("arith.ceildivsi", "index", 7, 2, 4),
    ("arith.divui", "i8", -1, 2, 127),
    ("arith.remui", "i8", -1, 16, 15),
    ("arith.shli", "i8", 65, 1, -126),
    ("arith.shrsi", "i8", -8, 1, -4),
    ("arith.shrui", "i8", -8, 1, 124),
    ("arith.maxsi", "i8", -1, 1, 1),
    ("arith.maxui", "i8", -1, 1, -1),
    ("arith.minsi", "i8", -1, 1, -1),
    ("arith.minui", "i8", -1, 1, 1),
    ("arith.andi", "i32", 12, 10, 8),
    ("arith.ori", "i32", 12, 10, 14),
    ("arith.xori", "i32", 12, 10, 6),
    ("arith.addf", "f32", 0.5, 0.25, 0.75),
    ("arith.divf", "f32", 1.0, 0.0, np.inf),
    ("arith.maximumf", "f32", np.nan, 1.0, np.nan),
    ("arith.maxnumf", "f32", np.nan, 1.0, 1.0),
    ("arith.minimumf", "f32", -0.5, 1.0, -0.5),
    ("arith.mulf", "f16", 300.0, 300.0, np.inf),
    ("arith.addf", "f16", 2048.0, 1.0, 2048.0),
    ("math.powf", "f32", 2.0, -1.0, 0.5),
    ("math.copysign", "f32", 2.0, -1.0, -2.0),
]
DTYPES = {
    "f16": np.float16,
    "f32": np.float32,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "index": np.int64,
}


@pytest.mark.parametrize(("name", "type_", "a", "b", "expected"), BINARY)
def test_binary(name: str, type_: str, a: Any, b: Any, expected: Any) -> None:
    """On scalars, and on arrays as in the body of a generic."""
    dtype = DTYPES[type_]
    scalars = [int(v) if isinstance(v, int) else dtype(v) for v in (a, b)]
    code = f"%r = {name} %a, %b : {type_} return %r"
    (result,) = call(code, type_, *scalars, params=f"%a: {type_}, %b: {type_}")
    np.testing.assert_equal(result, int(expected) if isinstance(expected, int) else dtype(expected))
    tensor = f"tensor<1x{type_}>"
    same = "affine_map<(d0) -> (d0)>"
    generic = f"""
      %r = linalg.generic {{indexing_maps = [{same}, {same}, {same}], iterator_types = ["parallel"]}}
          ins(%a, %b : {tensor}, {tensor}) outs(%a : {tensor}) {{
      ^bb0(%x: {type_}, %y: {type_}, %o: {type_}):
        %z = {name} %x, %y : {type_}
        linalg.yield %z : {type_}
      }} -> {tensor} return %r"""
    arrays = [np.array([v], dtype) for v in (a, b)]
    (array,) = call(generic, tensor, *arrays, params=f"%a: {tensor}, %b: {tensor}")
    np.testing.assert_array_equal(array, np.array([expected], dtype))


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("eq", 0),
        ("ne", 1),
        ("slt", 1),
        ("sle", 1),
        ("sgt", 0),
        ("sge", 0),
        ("ult", 0),
        ("ule", 0),
        ("ugt", 1),
        ("uge", 1),
    ],
)
def test_integer_comparison(predicate: str, expected: int) -> None:
    assert call(
        f"%r = arith.cmpi {predicate}, %a, %b : i8 return %r", "i1", -1, 1, params="%a: i8, %b: i8"
    ) == (expected,)


@pytest.mark.parametrize("nan", [False, True])
def test_float_comparison(nan: bool) -> None:
    """An ordered predicate fails on NaN, its unordered twin holds."""
    a, b = np.float32(np.nan if nan else 1), np.float32(1)
    for name in ("eq", "gt", "ge", "lt", "le", "ne"):
        truth = {"eq": True, "gt": False, "ge": True, "lt": False, "le": True, "ne": False}[name]
        for prefix, value in (("o", truth and not nan), ("u", truth or nan)):
            code = f"%r = arith.cmpf {prefix}{name}, %a, %b : f32 return %r"
            assert call(code, "i1", a, b, params="%a: f32, %b: f32") == (value,), prefix + name


CASTS = [
    ("arith.extf", "f16", np.float16(0.1), "f32", np.float32(np.float16(0.1))),
    ("arith.truncf", "f32", np.float32(0.1), "f16", np.float16(0.1)),
    ("arith.fptosi", "f32", np.float32(-1.7), "i32", -1),
    ("arith.sitofp", "i8", -3, "f32", np.float32(-3)),
    ("arith.uitofp", "i8", -3, "f32", np.float32(253)),
    ("arith.uitofp", "i1", 1, "f32", np.float32(1)),
    ("arith.sitofp", "i1", 1, "f32", np.float32(-1)),
    ("arith.extsi", "i8", -3, "i32", -3),
    ("arith.extui", "i8", -3, "i32", 253),
    ("arith.extui", "i1", 1, "i8", 1),
    ("arith.trunci", "i32", 300, "i8", 44),
    ("arith.trunci", "i32", 3, "i1", 1),
    ("arith.index_cast", "i32", -3, "index", -3),
    ("arith.bitcast", "f32", np.float32(1), "i32", 0x3F800000),
]


@pytest.mark.parametrize(("name", "source", "value", "target", "expected"), CASTS)
def test_casts(name: str, source: str, value: Any, target: str, expected: Any) -> None:
    (result,) = call(
        f"%r = {name} %a : {source} to {target} return %r", target, value, params=f"%a: {source}"
    )
    assert result == expected
    assert isinstance(result, int) if target.startswith("i") else result.dtype == DTYPES[target]


def test_control_flow() -> None:
    code = """
      %c0 = arith.constant 0 : index %c1 = arith.constant 1 : index %c3 = arith.constant 3 : index
      %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (index) {
        %m = arith.remsi %i, %c3 : index
        %z = arith.cmpi eq, %m, %c0 : index
        %b = scf.if %z -> (index) {
          %t = arith.addi %a, %i : index
          scf.yield %t : index
        } else {
          scf.yield %a : index
        }
        scf.yield %b : index
      }
      %w = scf.while (%x = %n) : (index) -> index {
        %more = arith.cmpi sgt, %x, %c3 : index
        scf.condition(%more) %x : index
      } do {
      ^bb0(%y: index):
        %less = arith.subi %y, %c3 : index
        scf.yield %less : index
      }
      return %s, %w"""
    assert call(code, "index, index", 11, params="%n: index") == (18, 2)


def test_affine() -> None:
    code = """
      %a = affine.apply affine_map<(d0)[s0] -> ((d0 + s0) floordiv 2 + d0 mod 3)>(%n)[%n]
      %b = affine.min affine_map<(d0) -> (d0 ceildiv 2, 4)>(%n)
      return %a, %b"""
    assert call(code, "index, index", 5, params="%n: index") == (7, 3)


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("line", "type_", "expected"),
    [
        ("tensor.extract_slice %x[0, 1, 0] [2, 2, 2] [1, 1, 2]", "tensor<2x2x2xf32>", X[:, 1:, ::2]),
        ("tensor.collapse_shape %x [[0, 1], [2]]", "tensor<6x4xf32>", X.reshape(6, 4)),
        (
            "tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [2, 3, 2, 2]",
            "tensor<2x3x2x2xf32>",
            X.reshape(2, 3, 2, 2),
        ),
    ],
)
def test_tensor_views(line: str, type_: str, expected: np.ndarray) -> None:
    separator = "into" if "shape" in line else "to"
    code = f"%r = {line} : tensor<2x3x4xf32> {separator} {type_} return %r"
    (result,) = call(code, type_, X, params="%x: tensor<2x3x4xf32>")
    np.testing.assert_array_equal(result, expected)


def test_tensors_are_values() -> None:
    """Inserting makes a new tensor and leaves the old one."""
    code = """
      %y = tensor.insert_slice %s into %x[1, 0, 2] [1, 3, 1] [1, 1, 1] : tensor<1x3x1xf32> into tensor<2x3x4xf32>
      %z = arith.constant 7.0 : f32
      %p = tensor.pad %s low[0, 1, 0] high[1, 0, 2] {
      ^bb0(%i: index, %j: index, %k: index):
        tensor.yield %z : f32
      } : tensor<1x3x1xf32> to tensor<2x4x3xf32>
      return %x, %y, %p"""
    small = np.full((1, 3, 1), -1, np.float32)
    types = "tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x4x3xf32>"
    x, y, padded = call(code, types, X, small, params="%x: tensor<2x3x4xf32>, %s: tensor<1x3x1xf32>")
    expected = X.copy()
    expected[1:, :, 2:3] = small
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(padded, np.pad(small, ((0, 1), (1, 0), (0, 2)), constant_values=7))


def test_memrefs_are_places() -> None:
    code = """
      %c1 = arith.constant 1 : index
      %v = memref.load %x[%c1, %c1] : memref<4x6xf32>
      %w = memref.subview %x[1, 2] [2, 2] [1, 2] : memref<4x6xf32> to memref<2x2xf32, strided<[6, 2], offset: 8>>
      %a = memref.alloc() : memref<2x2xf32>
      linalg.fill ins(%v : f32) outs(%a : memref<2x2xf32>)
      "memref.copy"(%a, %w) : (memref<2x2xf32>, memref<2x2xf32, strided<[6, 2], offset: 8>>) -> ()
      memref.store %v, %x[%c1, %c1] : memref<4x6xf32>
      return %v"""
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    expected = x.copy()
    expected[1:3, 2:6:2] = x[1, 1]
    assert call(code, "f32", x, params="%x: memref<4x6xf32>") == (np.float32(7),)
    np.testing.assert_array_equal(x, expected)


def test_values_are_dropped_after_their_last_use() -> None:
    """Only the tensors in use are held, also when a nested region uses them last."""
    text = """
    func.func @main(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
      %a = arith.addf %x, %x : tensor<4xf32>
      %b = arith.addf %a, %x : tensor<4xf32>
      %r = scf.if %c -> (tensor<4xf32>) {
        scf.yield %b : tensor<4xf32>
      } else {
        %n = arith.negf %b : tensor<4xf32>
        scf.yield %n : tensor<4xf32>
      }
      func.return %r : tensor<4xf32>
    }"""
    module = parse_module(make_context(), text, "case.mlir")
    x = np.arange(4, dtype=np.float32)
    for condition, sign in ((True, 3), (False, -3)):
        (result,) = run_function(module, "main", [np.array(condition), x])
        np.testing.assert_array_equal(result, sign * x)


def test_an_operation_without_meaning_is_reported_and_can_be_given_one() -> None:
    text = 'func.func @main(%x: i32) -> i32 { %r = "test.op"(%x) : (i32) -> i32 func.return %r : i32 }'
    context = make_context()
    context.allow_unregistered = True
    module = parse_module(context, text, "case.mlir")
    with pytest.raises(UserError, match=re.escape("cannot be run")):
        Interpreter(module).call("main", [1])
    impl("builtin.unregistered")(lambda interp, op, args: (args[0] + 1,))
    assert Interpreter(module).call("main", [1]) == (2,)


def test_inputs_are_checked() -> None:
    text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { func.return %x : tensor<2xf32> }"
    module = parse_module(make_context(), text, "case.mlir")
    with pytest.raises(UserError, match="takes 1 inputs, got 0"):
        run_function(module, "main", [])
    with pytest.raises(UserError, match=re.escape("input 0 of '@main' is 3xfloat32, expected 2xfloat32")):
        run_function(module, "main", [np.zeros(3, np.float32)])
    with pytest.raises(UserError, match="no symbol '@other'"):
        run_function(module, "other", [])
