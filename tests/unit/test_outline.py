"""Kernels that are found equal by their outlines are those that are equal when they are built.

Random programs stand in a module several times, with a small change each: operands exchanged, another constant, place,
operation, attribute or result. What changes a kernel has to change the key of its outline.
"""

from __future__ import annotations

import os
from random import Random
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue

from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.verification import verify
from npu_mlir.passes.tile import form_kernels
from npu_mlir.support.diagnostics import UserError
from random_linalg import Program, programs

EXAMPLES = os.environ.get("NPU_MLIR_EXAMPLES")

FLOATS = (arith.AddfOp, arith.MulfOp, arith.SubfOp, arith.MaximumfOp)


# ---- changes: each says whether it could change an op ----------------------------------------------------------------


def exchange_operands(op: Operation, random: Random) -> bool:
    """Exchange two operands of one type."""
    pairs = [
        (i, j) for j, b in enumerate(op.operands) for i, a in enumerate(op.operands[:j]) if a.type == b.type
    ]
    if pairs:
        i, j = random.choice(pairs)
        op.operands[i], op.operands[j] = op.operands[j], op.operands[i]
    return bool(pairs)


def read_another(op: Operation, random: Random) -> bool:
    """Read another value of the same type that the block has already."""
    block = op.parent
    if block is None or not op.operands:
        return False
    index = random.randrange(len(op.operands))
    known: list[SSAValue] = list(block.args)
    for other in block.ops:
        if other is op:
            break
        known += other.results
    fitting = [v for v in known if v.type == op.operands[index].type and v is not op.operands[index]]
    if fitting:
        op.operands[index] = random.choice(fitting)
    return bool(fitting)


def change_constant(op: Operation, random: Random) -> bool:
    value = op.value if isinstance(op, arith.ConstantOp) else None
    if isinstance(value, FloatAttr):
        op.properties["value"] = FloatAttr(random.choice([0.0, -0.0, 1.0, 3.0]), value.type)
    return isinstance(value, FloatAttr)


def move_window(op: Operation, random: Random) -> bool:
    """Pad on the other side, slice at the start."""
    if isinstance(op, tensor.PadOp):
        op.properties |= {"static_low": op.static_high, "static_high": op.static_low}
    elif isinstance(op, tensor.ExtractSliceOp):
        op.properties["static_offsets"] = DenseArrayBase.from_list(i64, [0] * len(op.static_offsets))
    return isinstance(op, tensor.PadOp | tensor.ExtractSliceOp)


def change_operation(op: Operation, random: Random) -> bool:
    block = op.parent
    if not isinstance(op, FLOATS) or block is None:
        return False
    new = random.choice([kind for kind in FLOATS if kind is not type(op)])(op.operands[0], op.operands[1])
    block.insert_op_before(new, op)
    op.results[0].replace_all_uses_with(new.results[0])
    block.erase_op(op)
    return True


def exchange_maps(op: Operation, random: Random) -> bool:
    """Exchange the maps of two operands of one type."""
    if not isinstance(op, GenericOp):
        return False
    maps, types = list(op.indexing_maps.data), [value.type for value in op.inputs]
    pairs = [(i, j) for j in range(len(types)) for i in range(j) if types[i] == types[j]]
    if pairs:
        i, j = random.choice(pairs)
        maps[i], maps[j] = maps[j], maps[i]
        op.properties["indexing_maps"] = ArrayAttr(maps)
    return bool(pairs)


def add_attribute(op: Operation, random: Random) -> bool:
    op.attributes[random.choice(["some", "npu.node"])] = StringAttr(random.choice("ab"))
    return True


def return_more(op: Operation, random: Random) -> bool:
    """Store a value that the kernel may have kept to itself."""
    last = op.parent.last_op if op.parent is not None else None
    function = last.parent_op() if last is not None else None
    if not isinstance(last, ReturnOp) or not isinstance(function, FuncOp) or not isinstance(op, GenericOp):
        return False
    last.operands = [*last.operands, op.results[0]]
    function.update_function_type()
    return True


def move_constant_in(op: Operation, random: Random) -> bool:
    """What the body reads from outside stands in it: the kernel is the same."""
    if not isinstance(op, GenericOp):
        return False
    body = op.body.block
    for inner in body.ops:
        for i, value in enumerate(inner.operands):
            if isinstance(value.owner, arith.ConstantOp) and value.owner.parent is not body:
                copy = value.owner.clone()
                body.insert_op_before(copy, inner)
                inner.operands[i] = copy.result
                return True
    return False


def move_constants_out(op: Operation, random: Random) -> bool:
    """The body reads a constant from outside, another one in each variant."""
    constants = (
        [c for c in op.body.block.ops if isinstance(c, arith.ConstantOp)] if isinstance(op, GenericOp) else []
    )
    for constant in constants:
        constant.detach()
        cast("Block", op.parent).insert_op_before(constant, op)
        change_constant(constant, random)
    return bool(constants)


CHANGES = (
    exchange_operands,
    read_another,
    change_constant,
    move_window,
    change_operation,
    exchange_maps,
    add_attribute,
    return_more,
    move_constant_in,
    move_constants_out,
)


def formed(module: ModuleOp) -> str:
    """The module with its kernels, or why there are none."""
    module = module.clone()
    try:
        form_kernels.FormKernels().apply(make_context(), module)
    except UserError as error:
        return str(error)
    return str(module)


def formed_by_building(module: ModuleOp, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same, with every kernel built before it is compared."""
    with monkeypatch.context() as patch:
        patch.setattr(form_kernels, "outline_key", lambda outline, keys: object())  # pyright: ignore
        return formed(module)


def with_variants(module: ModuleOp, random: Random, count: int) -> ModuleOp:
    """The functions of a module, equal copies of them, and copies with a change each."""
    functions = [f for f in module.ops if isinstance(f, FuncOp)]
    copies: list[FuncOp] = []
    for number in range(count):
        for function in functions:
            copy = function.clone()
            copy.properties["sym_name"] = StringAttr(f"{function.sym_name.data}{number}")
            if number:
                change(copy, random)
            copies.append(copy)
    module.body.block.add_ops(copies)
    return module


def change(function: FuncOp, random: Random) -> None:
    """Change one op of a function, in one of the ways that are possible."""
    ops = [op for op in function.body.walk() if not isinstance(op, ReturnOp)]
    for kind in random.sample(CHANGES, len(CHANGES)):
        for op in random.sample(ops, len(ops)):
            if kind(op, random):
                return


@settings(
    max_examples=int(EXAMPLES or 25),
    derandomize=EXAMPLES is None,
    deadline=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(program=programs(), seed=st.integers(0, 1 << 20))
def test_kernels_of_random_programs(program: Program, seed: int):
    module = with_variants(program.module, Random(seed), 10)
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert formed(module) == formed_by_building(module, monkeypatch)


def sum_of_slices(
    name: str, sources: str, offsets: tuple[int, int, int] = (0, 1, 2), fill: str = "0.0"
) -> str:
    """A function of two tensors that adds slices of its arguments, and of the first one of them padded."""
    reads = "".join(
        f"  %s{i} = tensor.extract_slice %{source}[{offset}] [6] [1] : tensor<8xf32> to tensor<6xf32>\n"
        for i, (source, offset) in enumerate(zip(sources, offsets, strict=True))
    )
    maps = ", ".join(["affine_map<(d) -> (d)>"] * 5)
    return f"""func.func @{name}(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<5xf32>) -> tensor<6xf32> {{
{reads}
  %f = arith.constant {fill} : f32
  %p = tensor.pad %z low[1] high[0] {{
  ^bb0(%i: index):
    tensor.yield %f : f32
  }} : tensor<5xf32> to tensor<6xf32>
  %e = tensor.empty() : tensor<6xf32>
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
      ins(%s0, %s1, %s2, %p : {", ".join(["tensor<6xf32>"] * 4)}) outs(%e : tensor<6xf32>) {{
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = arith.addf %1, %d : f32
    linalg.yield %2 : f32
  }} -> tensor<6xf32>
  func.return %r : tensor<6xf32>
}}"""


@pytest.mark.parametrize(
    ("other", "count"),
    [
        (sum_of_slices("g", "xxy"), 1),
        # The first argument that is loaded is the kernel's first.
        (sum_of_slices("g", "yyx"), 1),
        (sum_of_slices("g", "xyx"), 2),
        (sum_of_slices("g", "xyy"), 2),
        (sum_of_slices("g", "xxy", offsets=(0, 2, 2)), 2),
        (sum_of_slices("g", "xxy", fill="-0.0"), 2),
    ],
)
def test_what_is_loaded_counts(other: str, count: int):
    module = parse_module(make_context(), sum_of_slices("f", "xxy") + other, "slices.mlir")
    verify(module)
    form_kernels.FormKernels().apply(make_context(), module)
    assert sum(isinstance(op, tile.KernelOp) for op in module.ops) == count
