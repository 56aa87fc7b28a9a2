"""What each instruction computes, against NumPy; and the decoded form against the plain interpreter."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    AffineMapAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    UnitAttr,
    bf16,
    f16,
    f32,
    i1,
    i8,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap

from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.tile import EpilogueAttr, Relu, Scale, Space, SpaceAttr
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.npu_isa.core import Core
from npu_mlir.interpreters.registry import find
from npu_mlir.simulator.execution.values import Decoder
from npu_mlir.support.dtypes import numpy_dtype
from npu_mlir.targets.target import get_target

TOY = get_target("toy")
GM = SpaceAttr(Space.GM)


def addr(space: Space) -> SSAValue:
    return npu_isa.BufferOp(SpaceAttr(space), 0, 32).result


UB = addr(Space.UB)


class Machine:
    """A core on which one instruction at a time runs, in the plain or in the decoded form."""

    def __init__(self, decoded: bool):
        self.core = Core(TOY)
        self.decoder = Decoder(self.core) if decoded else None
        self.interp: Any = Interpreter.__new__(Interpreter)
        self.interp.state = {"npu_isa.core": self.core}

    def run(self, op: npu_isa.Instruction, *args: Any) -> None:
        op.verify()
        with np.errstate(all="ignore"):
            if self.decoder is not None:
                self.decoder.decode(op)(*args)
            else:
                function = find(op)[0]
                assert function is not None
                function(self.interp, op, args)

    def put(self, space: Space, address: int, array: np.ndarray) -> None:
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self.core.memory[space][address : address + data.size] = data

    def get(self, space: Space, address: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
        return self.core.view(space, address, shape, strides, np.dtype(dtype)).copy()


@pytest.fixture(params=[False, True], ids=["plain", "decoded"])
def machine(request: pytest.FixtureRequest) -> Machine:
    return Machine(request.param)


def memref(shape: tuple[int, ...], element: Attribute) -> SSAValue:
    return test.TestOp(result_types=[MemRefType(element, shape, NoneAttr(), GM)]).results[0]


def index() -> SSAValue:
    from xdsl.dialects.builtin import IndexType

    return test.TestOp(result_types=[IndexType()]).results[0]


def affine(function: Any) -> AffineMapAttr:
    return AffineMapAttr(AffineMap.from_callable(function))


# ---- data movement ---------------------------------------------------------------------------------------------------


def test_load_pads_outside_of_the_source(machine: Machine):
    source = np.arange(30, dtype=np.float32).reshape(5, 6)
    map_ = affine(lambda i, a, b: (i + a, b - 1))
    op = npu_isa.LoadUbOp(memref((5, 6), f32), [index()], UB, map_, (4, 8), (8, 1), FloatAttr(7.0, f32))
    machine.run(op, source, 3, 64)
    expected = np.full((4, 8), 7, np.float32)
    expected[:2, 1:7] = source[3:]
    np.testing.assert_array_equal(machine.get(Space.UB, 64, (4, 8), np.float32), expected)


def test_load_strides_and_transposes(machine: Machine):
    source = np.arange(60, dtype=np.float16).reshape(6, 10)
    map_ = affine(lambda a, b: (b + 1, a * 3))
    op = npu_isa.LoadL1Op(memref((6, 10), f16), [], addr(Space.L1), map_, (3, 4), (16, 1))
    machine.run(op, source, 0)
    result = machine.get(Space.L1, 0, (3, 16), np.float16)[:, :4]
    np.testing.assert_array_equal(result, source[1:5, 0:9:3].T)


def test_load_broadcasts_a_dim_without_coordinate(machine: Machine):
    source = np.arange(4, dtype=np.int32)
    op = npu_isa.LoadUbOp(memref((4,), i32), [], UB, affine(lambda a, b: (b,)), (3, 4), (4, 1))
    machine.run(op, source, 0)
    np.testing.assert_array_equal(machine.get(Space.UB, 0, (3, 4), np.int32), np.tile(source, (3, 1)))


def test_load_completely_outside_is_padding(machine: Machine):
    op = npu_isa.LoadUbOp(
        memref((4,), f32), [index()], UB, affine(lambda i, a: (i + a,)), (4,), (1,), FloatAttr(1.0, f32)
    )
    machine.run(op, np.zeros(4, np.float32), 9, 0)
    np.testing.assert_array_equal(machine.get(Space.UB, 0, (4,), np.float32), np.ones(4))


def test_store_clips(machine: Machine):
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    machine.put(Space.UB, 32, values)
    dest = np.zeros((6, 5), np.float32)
    map_ = affine(lambda i, a, b: (a - 1, i + b))
    op = npu_isa.StoreUbOp(UB, memref((6, 5), f32), [index()], map_, (4, 4), (4, 1))
    machine.run(op, 32, dest, 3)
    expected = np.zeros((6, 5), np.float32)
    expected[:3, 3:] = values[1:, :2]
    np.testing.assert_array_equal(dest, expected)


def test_fixpipe_casts_accumulators(machine: Machine):
    values = np.array([[0.1, 2049.0], [65504.0, 1e-8]], np.float32)
    machine.put(Space.L0C, 0, np.pad(values, ((0, 0), (0, 2))))
    dest = np.zeros((2, 2), np.float16)
    op = npu_isa.FixpipeGmOp(
        addr(Space.L0C), memref((2, 2), f16), [], affine(lambda a, b: (a, b)), (2, 2), (4, 1)
    )
    machine.run(op, 0, dest)
    np.testing.assert_array_equal(dest, values.astype(np.float16))


SCALED = [
    # Odd above 2**24: it is rounded before the multiplication, to even.
    (i32, f32, 1.5, 2**24 + 1, np.float32(2**24) * np.float32(1.5)),
    # 3 * 0.1 in f32 is 0.30000001, not the 0.3 that f64 would round to.
    (i32, f32, 0.1, 3, np.float32(3) * np.float32(0.1)),
    # Half way between 1 and the next f16 in f64; f32 has rounded the factor up by then.
    (
        i32,
        f16,
        0.00048828125 * (1 + 2**-23),
        2049,
        np.float16(np.float32(2049) * np.float32(2**-11 * (1 + 2**-23))),
    ),
    (i32, f16, -1.0, -(2**31), np.float16(np.inf)),
    (i32, bf16, 0.5, 257, ml_dtypes.bfloat16(128.5)),
    (f32, f16, 0.25, 1e-3, np.float16(np.float32(1e-3) * np.float32(0.25))),
]


@pytest.mark.parametrize(("accumulator", "result", "factor", "number", "expected"), SCALED)
def test_fixpipe_scales(
    machine: Machine, accumulator: Attribute, result: Attribute, factor: float, number: float, expected: Any
):
    """In f32: accumulators are rounded to it, the product is, and the cast rounds once more."""
    values = np.array([number, 0], numpy_dtype(accumulator))
    machine.put(Space.L0C, 0, values)
    epilogue = EpilogueAttr.of([Scale(float(np.float32(factor)))])
    op = npu_isa.FixpipeUbOp(addr(Space.L0C), UB, (2,), (1,), (1,), accumulator, result, epilogue)
    machine.run(op, 0, 0)
    found = machine.get(Space.UB, 0, (2,), numpy_dtype(result))
    np.testing.assert_array_equal(found.astype(np.float64), [np.float64(expected), 0])
    dest = np.ones(2, numpy_dtype(result))
    map_ = affine(lambda a: (a,))
    op = npu_isa.FixpipeGmOp(
        addr(Space.L0C), memref((2,), result), [], map_, (2,), (1,), accumulator, epilogue
    )
    op.verify_()
    machine.run(op, 0, dest)
    np.testing.assert_array_equal(dest.astype(np.float64), [np.float64(expected), 0])


@pytest.mark.parametrize("factor", [0.5, -0.5])
def test_fixpipe_takes_relu_behind_the_scale(machine: Machine, factor: float):
    values = np.array([-4, 0, 6], np.int32)
    machine.put(Space.L0C, 0, values)
    epilogue = EpilogueAttr.of([Scale(factor), Relu()])
    machine.run(npu_isa.FixpipeUbOp(addr(Space.L0C), UB, (3,), (1,), (1,), i32, f16, epilogue), 0, 0)
    found = machine.get(Space.UB, 0, (3,), np.float16)
    np.testing.assert_array_equal(found, np.maximum(values * factor, 0).astype(np.float16))
    dest = np.full(2, 9, np.float16)
    map_ = affine(lambda a: (a,))
    # The third element lies outside.
    machine.run(
        npu_isa.FixpipeGmOp(addr(Space.L0C), memref((2,), f16), [], map_, (3,), (1,), i32, epilogue), 0, dest
    )
    np.testing.assert_array_equal(dest, found[:2])


def test_fixpipe_to_ub_moves_a_strided_block(machine: Machine):
    values = np.arange(32, dtype=np.float32).reshape(4, 8)
    machine.put(Space.L0C, 0, values)
    op = npu_isa.FixpipeUbOp(addr(Space.L0C), UB, (3, 5), (8, 1), (1, 3), f32)
    machine.run(op, 32, 0)
    np.testing.assert_array_equal(machine.get(Space.UB, 0, (5, 3), np.float32), values[1:, :5].T)


@pytest.mark.parametrize(
    ("kind", "source", "dest"),
    [(npu_isa.CopyL1Op, Space.UB, Space.L1), (npu_isa.CopyUbOp, Space.L1, Space.UB)],
)
def test_copies_between_l1_and_ub_move_a_strided_block(
    machine: Machine, kind: type[npu_isa.LocalCopy], source: Space, dest: Space
):
    values = np.arange(32, dtype=np.float32).reshape(4, 8)
    machine.put(source, 0, values)
    machine.run(kind(addr(source), addr(dest), (3, 5), (8, 1), (1, 3), f32), 32, 0)
    np.testing.assert_array_equal(machine.get(dest, 0, (5, 3), np.float32), values[1:, :5].T)


# ---- cube ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("element", "accumulator"), [(f32, f32), (f16, f32), (i8, i32)])
def test_mmad_accumulates_padded_matrices(machine: Machine, element: Attribute, accumulator: Attribute):
    rng = np.random.default_rng(1)
    dtype, wide = numpy_dtype(element), numpy_dtype(accumulator)
    a = rng.integers(-4, 5, (6, 5)).astype(dtype)
    b = rng.integers(-4, 5, (5, 7)).astype(dtype)
    machine.put(Space.L1, 0, a)
    machine.put(Space.L1, 256, b)
    l0a, l0b, l0c, l1 = (addr(s) for s in (Space.L0A, Space.L0B, Space.L0C, Space.L1))
    machine.run(npu_isa.LoadL0AOp(l1, l0a, (6, 5), (5, 1), 1, element), 0, 0)
    machine.run(npu_isa.LoadL0BOp(l1, l0b, (5, 7), (7, 1), 1, element), 256, 64)
    zero = npu_isa.MmadOp(l0c, l0a, l0b, (6, 5, 7), element, accumulator, zero=UnitAttr())
    init = test.TestOp(result_types=[i1]).results[0]
    add = npu_isa.MmadOp(l0c, l0a, l0b, (6, 5, 7), element, accumulator, init=init)
    product = a.astype(wide) @ b.astype(wide)
    for op, args, times in ((zero, (), 1), (add, (False,), 2), (add, (False,), 3), (add, (True,), 1)):
        machine.run(op, 128, 0, 64, *args)
        result = machine.get(Space.L0C, 128, (8, 8), wide)
        np.testing.assert_array_equal(result[:6, :7], times * product)
        assert not result[6:].any() and not result[:, 7:].any()


def test_l0_load_reads_windows(machine: Machine):
    """im2col: rows are the positions of a 3x3 result, columns a 2x2 window of 2 channels, with stride 2."""
    image = np.arange(6 * 6 * 2, dtype=np.float32).reshape(6, 6, 2)
    machine.put(Space.L1, 0, image)
    load = npu_isa.LoadL0AOp(addr(Space.L1), addr(Space.L0A), (3, 3, 2, 2, 2), (24, 4, 12, 2, 1), 2, f32)
    machine.run(load, 0, 0)
    windows = [image[2 * y : 2 * y + 2, 2 * x : 2 * x + 2].reshape(-1) for y in range(3) for x in range(3)]
    machine.put(Space.L1, 512, np.eye(8, dtype=np.float32))
    machine.run(npu_isa.LoadL0BOp(addr(Space.L1), addr(Space.L0B), (8, 8), (8, 1), 1, f32), 512, 0)
    l0c = addr(Space.L0C)
    mmad = npu_isa.MmadOp(l0c, addr(Space.L0A), addr(Space.L0B), (9, 8, 8), f32, f32, zero=UnitAttr())
    machine.run(mmad, 0, 0, 0)
    np.testing.assert_array_equal(machine.get(Space.L0C, 0, (12, 8), np.float32)[:9], windows)


def test_loads_to_l0_see_all_that_was_written_to_l1():
    """L1 is kept as f32 numbers too, which has to follow writes of every type and kind."""
    l1, l0a = addr(Space.L1), addr(Space.L0A)
    halves = npu_isa.LoadL0AOp(l1, l0a, (4, 6), (6, 1), 1, f16)
    core = Core(TOY)
    decoder = Decoder(core, ModuleOp([halves]))
    assert decoder.l0.near is not None
    rng = np.random.default_rng(0)

    def loaded() -> np.ndarray:
        decoder.decode(halves)(4, 0)
        return decoder.l0.matrix(Space.L0A, 0, (4, 6), f16)[:4, :6]

    def held() -> np.ndarray:
        return core.view(Space.L1, 4, (4, 6), (6, 1), np.dtype(np.float16)).astype(np.float32)

    def load(element: Any, count: int) -> npu_isa.LoadL1Op:
        return npu_isa.LoadL1Op(memref((count,), element), [], l1, affine(lambda a: (a,)), (count,), (1,))

    decoder.decode(load(f16, 32))(rng.standard_normal(32).astype(np.float16), 0)
    np.testing.assert_array_equal(loaded(), held())
    decoder.decode(load(f32, 5))(rng.standard_normal(5).astype(np.float32), 8)
    np.testing.assert_array_equal(loaded(), held())
    core.view(Space.UB, 0, (8,), (1,), np.dtype(np.float16))[...] = rng.standard_normal(8)
    decoder.decode(npu_isa.CopyL1Op(UB, l1, (2, 4), (4, 1), (8, 1), f16))(0, 10)
    np.testing.assert_array_equal(loaded(), held())
    assert np.isfinite(held()).sum() > 15


# ---- vector ----------------------------------------------------------------------------------------------------------

X = np.array([[0.5, -2.0, 3.25, 0.0], [1.5, 8.0, -0.125, 100.0]])
Y = np.array([[2.0, 4.0, -1.0, 1.0], [0.25, -8.0, 3.0, 7.0]])
FLOATS = [(f32, np.float32), (f16, np.float16), (bf16, ml_dtypes.bfloat16)]


def vector(machine: Machine, op: npu_isa.VectorInstruction, *sources: np.ndarray, into: Any) -> np.ndarray:
    """The destination, at address 0, of an instruction whose sources stand behind one another."""
    into = np.asarray(into)
    machine.put(Space.UB, 0, into)
    addresses = [0]
    for i, source in enumerate(sources):
        addresses.append(256 * (i + 1))
        machine.put(Space.UB, addresses[-1], source)
    machine.run(op, *addresses)
    return machine.get(Space.UB, 0, into.shape, into.dtype)


@pytest.mark.parametrize(("type_", "dtype"), FLOATS)
@pytest.mark.parametrize(
    ("kind", "function"),
    [
        ("copy", np.positive),
        ("exp", np.exp),
        ("log", np.log),
        ("sqrt", np.sqrt),
        ("abs", np.abs),
        ("neg", np.negative),
        ("relu", lambda x: np.maximum(x, 0)),
    ],
)
def test_unary(machine: Machine, kind: str, function: Any, type_: Attribute, dtype: Any):
    x = np.abs(X).astype(dtype) if kind in ("log", "sqrt") else X.astype(dtype)
    op = npu_isa.VUnaryOp(kind, UB, [UB], (2, 4), [(4, 1), (4, 1)], [type_, type_])
    with np.errstate(all="ignore"):
        expected = function(x.astype(np.float32)).astype(dtype)
    np.testing.assert_array_equal(vector(machine, op, x, into=np.zeros((2, 4), dtype)), expected)


@pytest.mark.parametrize(("type_", "dtype"), FLOATS)
@pytest.mark.parametrize(
    ("kind", "function"),
    [
        ("add", np.add),
        ("sub", np.subtract),
        ("mul", np.multiply),
        ("div", np.divide),
        ("max", np.maximum),
        ("min", np.minimum),
    ],
)
def test_binary(machine: Machine, kind: str, function: Any, type_: Attribute, dtype: Any):
    x, y = X.astype(dtype), Y[0].astype(dtype)
    op = npu_isa.VBinaryOp(kind, UB, [UB, UB], (2, 4), [(4, 1), (4, 1), (0, 1)], [type_] * 3)
    expected = function(x.astype(np.float32), y.astype(np.float32)).astype(dtype)
    np.testing.assert_array_equal(vector(machine, op, x, y, into=np.zeros((2, 4), dtype)), expected)


@pytest.mark.parametrize(
    ("kind", "x", "y", "expected"),
    [
        ("add", 2**31 - 1, 1, -(2**31)),
        ("div", -7, 2, -3),
        ("div", 7, -2, -3),
        ("div", -8, 2, -4),
        ("and", 12, 10, 8),
        ("or", 12, 10, 14),
        ("xor", 12, 10, 6),
    ],
)
def test_integers(machine: Machine, kind: str, x: int, y: int, expected: int):
    op = npu_isa.VBinaryOp(kind, UB, [UB, UB], (2,), [(1,)] * 3, [i32] * 3)
    result = vector(machine, op, np.full(2, x, np.int32), np.full(2, y, np.int32), into=np.zeros(2, np.int32))
    assert result.tolist() == [expected] * 2


@pytest.mark.parametrize(("position", "expected"), [(0, 3.0 - X), (1, X - 3.0)])
def test_immediate(machine: Machine, position: int, expected: np.ndarray):
    imm = FloatAttr(3.0, f16)
    op = npu_isa.VBinaryOp("sub", UB, [UB], (2, 4), [(4, 1)] * 2, [f16] * 2, imm, position)
    result = vector(machine, op, X.astype(np.float16), into=np.zeros((2, 4), np.float16))
    np.testing.assert_array_equal(result, expected.astype(np.float16))


@pytest.mark.parametrize(
    ("kind", "function"),
    [
        ("eq", np.equal),
        ("ne", np.not_equal),
        ("lt", np.less),
        ("le", np.less_equal),
        ("gt", np.greater),
        ("ge", np.greater_equal),
    ],
)
def test_compare_and_select(machine: Machine, kind: str, function: Any):
    x = np.array([1, 2, np.nan, 3], np.float32)
    y = np.array([1, 3, 0, 2], np.float32)
    op = npu_isa.VCmpOp(kind, UB, [UB, UB], (4,), [(1,)] * 3, [i1, f32, f32])
    mask = vector(machine, op, x, y, into=np.zeros(4, np.bool_))
    np.testing.assert_array_equal(mask, function(x, y))
    select = npu_isa.VSelectOp(
        "select", UB, [UB, UB], (4,), [(1,)] * 3, [f32, i1, f32], FloatAttr(9.0, f32), 2
    )
    result = vector(machine, select, mask, x, into=np.zeros(4, np.float32))
    np.testing.assert_array_equal(result, np.where(mask, x, np.float32(9)))


@pytest.mark.parametrize(
    ("kind", "source", "type_", "values", "expected"),
    [
        ("cast", f32, f16, [0.1, 70000.0], np.array([0.1, np.inf], np.float16)),
        ("cast", f16, f32, [0.1, -2.0], np.array([0.1, -2.0], np.float16).astype(np.float32)),
        ("cast", f32, i32, [2.9, -2.9], np.array([2, -2], np.int32)),
        ("cast", i32, f32, [7, -7], np.array([7, -7], np.float32)),
        ("cast", i8, i32, [-1, 5], np.array([-1, 5], np.int32)),
        ("ucast", i8, i32, [-1, 5], np.array([255, 5], np.int32)),
        ("cast", i32, i8, [300, -1], np.array([44, -1], np.int8)),
        ("ucast", i1, f32, [1, 0], np.array([1, 0], np.float32)),
        ("cast", i1, i32, [1, 0], np.array([-1, 0], np.int32)),
        ("cast", i32, i1, [3, 2], np.array([True, False])),
    ],
)
def test_cast(
    machine: Machine,
    kind: str,
    source: Attribute,
    type_: Attribute,
    values: list[float],
    expected: np.ndarray,
):
    op = npu_isa.VCastOp(kind, UB, [UB], (2,), [(1,), (1,)], [type_, source])
    result = vector(machine, op, np.array(values).astype(numpy_dtype(source)), into=np.zeros_like(expected))
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("kind", "function"), [("sum", np.sum), ("prod", np.prod), ("max", np.max), ("min", np.min)]
)
@pytest.mark.parametrize(("type_", "dtype"), FLOATS[:2])
@pytest.mark.parametrize("axis", [0, 1])
def test_reduce_accumulates(
    machine: Machine, kind: str, function: Any, type_: Attribute, dtype: Any, axis: int
):
    x = X.astype(dtype)
    steps = (0, 1) if axis == 0 else (1, 0)
    op = npu_isa.VReduceOp(kind, UB, [UB], (2, 4), [steps, (4, 1)], [type_] * 2)
    start = np.full(x.shape[1 - axis], 1.5, dtype)
    both = np.concatenate([np.expand_dims(start, axis), x], axis).astype(np.float32)
    expected = function(both, axis=axis).astype(dtype)
    np.testing.assert_array_equal(vector(machine, op, x, into=start), expected)


def test_multiply_add_widens(machine: Machine):
    x, y = X.astype(np.float16), Y.astype(np.float16)
    op = npu_isa.VMaddOp("madd", UB, [UB, UB], (2, 4), [(1, 0), (4, 1), (4, 1)], [f32, f16, f16])
    start = np.array([1.0, 2.0], np.float32)
    products = x.astype(np.float32) * y.astype(np.float32)
    np.testing.assert_allclose(vector(machine, op, x, y, into=start), start + products.sum(axis=1), rtol=1e-6)


def test_fill_leaves_the_gaps(machine: Machine):
    op = npu_isa.VDupOp("dup", UB, [], (2, 3), [(4, 1)], [i32], IntegerAttr(5, i32), 0)
    result = vector(machine, op, into=np.zeros((2, 4), np.int32))
    assert result.tolist() == [[5, 5, 5, 0], [5, 5, 5, 0]]


# ---- decoded == plain ------------------------------------------------------------------------------------------------

TYPES = {f32: np.float32, f16: np.float16, i32: np.int32}
REGION = 512
"""Bytes of UB of each operand of a random instruction; operands may also coincide."""


class Step:
    """An instruction and its operands, shown as text when a test fails."""

    def __init__(self, op: npu_isa.VectorInstruction, addresses: list[int]):
        self.op = op
        self.addresses = addresses

    def __repr__(self) -> str:
        return f"{self.op} at {self.addresses}"


@st.composite
def vector_steps(draw: st.DrawFn) -> Step:
    return Step(*draw(vector_instructions()))


@st.composite
def vector_instructions(draw: st.DrawFn) -> tuple[npu_isa.VectorInstruction, list[int]]:
    # At most 48 elements, 8 bytes apart, and up to 12 bytes in front of them fit a region.
    shapes = st.lists(st.integers(1, 4), min_size=0, max_size=4).filter(lambda shape: math.prod(shape) <= 48)
    shape = tuple(draw(shapes))
    type_ = draw(st.sampled_from([f32, f16]))
    size = np.dtype(TYPES[type_]).itemsize

    def dense() -> tuple[int, ...]:
        order = draw(st.permutations(range(len(shape))))
        steps, step = [0] * len(shape), draw(st.integers(1, 2)) if shape else 1
        for d in order:
            steps[d] = step
            step *= shape[d]
        return tuple(steps)

    def source() -> tuple[int, ...]:
        return tuple(draw(st.sampled_from([0, s])) for s in dense())

    addresses = [REGION * i + size * draw(st.integers(0, 3)) for i in range(3)]
    form = draw(st.sampled_from(["unary", "binary", "imm", "reduce", "madd", "cast"]))
    if form == "unary":
        kind = draw(st.sampled_from(sorted(npu_isa.VUnaryOp.KINDS - {"not"})))
        return npu_isa.VUnaryOp(kind, UB, [UB], shape, [dense(), source()], [type_] * 2), addresses[:2]
    kind = draw(st.sampled_from(sorted(npu_isa.VBinaryOp.KINDS - {"and", "or", "xor"})))
    if form == "binary":
        strides = [dense(), source(), source()]
        return npu_isa.VBinaryOp(kind, UB, [UB, UB], shape, strides, [type_] * 3), addresses
    if form == "imm":
        imm, position = FloatAttr(draw(st.sampled_from([0.0, 1.5, -3.0])), type_), draw(st.integers(0, 1))
        op = npu_isa.VBinaryOp(kind, UB, [UB], shape, [dense(), source()], [type_] * 2, imm, position)
        return op, addresses[:2]
    if form == "cast":
        other = draw(st.sampled_from([f32, f16]))
        return npu_isa.VCastOp("cast", UB, [UB], shape, [dense(), source()], [other, type_]), addresses[:2]
    dest = tuple(draw(st.sampled_from([0, s])) for s in dense())
    if form == "reduce":
        kind = draw(st.sampled_from(sorted(npu_isa.VReduceOp.KINDS)))
        return npu_isa.VReduceOp(kind, UB, [UB], shape, [dest, source()], [type_] * 2), addresses[:2]
    strides = [dest, source(), source()]
    return npu_isa.VMaddOp("madd", UB, [UB, UB], shape, strides, [f32, type_, type_]), addresses


@settings(max_examples=300, deadline=None)
@given(program=st.lists(vector_steps(), min_size=1, max_size=4), seed=st.integers(0, 2**32 - 1))
def test_decoded_vector_programs_equal_plain_ones(program: list[Step], seed: int):
    plain, decoded = Machine(False), Machine(True)
    rng = np.random.default_rng(seed)
    for step in program:
        # Small integers, because the order of a sum is open.
        values = [-1, 1] if step.op.kind.data == "prod" else [-2, -1, 1, 2, 3]
        for address, type_ in zip(step.addresses, step.op.types.data, strict=True):
            block = rng.choice(values, 100).astype(numpy_dtype(type_))
            for machine in (plain, decoded):
                machine.put(Space.UB, address, block)
        plain.run(step.op, *step.addresses)
        decoded.run(step.op, *step.addresses)
        dtype = numpy_dtype(step.op.types.data[0])
        got, wanted = (m.core.memory[Space.UB].view(dtype) for m in (decoded, plain))
        # NaNs may differ in their bits.
        np.testing.assert_array_equal(got, wanted)


@st.composite
def transfers(draw: st.DrawFn) -> tuple[Any, list[int], tuple[int, ...]]:
    """A load or store class's arguments: GM shape, map coefficients, iteration shape, indices."""
    rank = draw(st.integers(1, 3))
    gm = tuple(draw(st.integers(1, 6)) for _ in range(rank))
    shape = tuple(draw(st.integers(1, 4)) for _ in range(draw(st.integers(1, 3))))
    dims = draw(st.permutations([*range(len(shape)), *([None] * rank)]))[:rank]
    steps = [draw(st.integers(1, 3)) for _ in range(rank)]
    shifts = [draw(st.integers(-3, 3)) for _ in range(rank)]
    indices = [draw(st.integers(-2, 4))]

    def map_(*args: Any) -> tuple[Any, ...]:
        i, *d = args
        return tuple(
            (d[dim] * step if dim is not None else 0 * i) + i + shift
            for dim, step, shift in zip(dims, steps, shifts, strict=True)
        )

    from xdsl.ir.affine import AffineDimExpr

    exprs = map_(*[AffineDimExpr(n) for n in range(1 + len(shape))])
    return AffineMapAttr(AffineMap(1 + len(shape), 0, exprs)), indices, (gm, shape)  # type: ignore[return-value]


@settings(max_examples=300, deadline=None)
@given(transfer=transfers(), store=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_decoded_transfers_equal_plain_ones(transfer: Any, store: bool, seed: int):
    map_, indices, (gm, shape) = transfer
    rng = np.random.default_rng(seed)
    array = rng.standard_normal(gm).astype(np.float32)
    strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    results: list[tuple[np.ndarray, np.ndarray]] = []
    for decoded in (False, True):
        machine, there = Machine(decoded), array.copy()
        machine.put(Space.UB, 0, np.arange(512, dtype=np.float32))
        if store:
            # Elements that go to one place would be in an undefined order.
            missing = [n for d, n in enumerate(shape) if f"d{d + 1}" not in str(map_) and n > 1]
            if missing:
                return
            machine.run(
                npu_isa.StoreUbOp(UB, memref(gm, f32), [index()], map_, shape, strides), 0, there, *indices
            )
        else:
            op = npu_isa.LoadUbOp(memref(gm, f32), [index()], UB, map_, shape, strides, FloatAttr(9.0, f32))
            machine.run(op, there, *indices, 0)
        results.append((machine.core.memory[Space.UB].copy(), there))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])
