"""Ops that equal one that was checked before are checked no further than that they do; all others are."""

import pytest
from xdsl.dialects.arith import AddfOp, ConstantOp
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, StringAttr, f16, f32, i32
from xdsl.irdl import OpDef

from npu_mlir.ir.verification import verify
from npu_mlir.support.diagnostics import UserError


def module() -> ModuleOp:
    one, two = ConstantOp(FloatAttr(1.0, f32)), ConstantOp(FloatAttr(1.0, f32))
    return ModuleOp([one, two, AddfOp(one, two), AddfOp(one, two), AddfOp(two, one)])


def test_what_is_right_is_accepted() -> None:
    check = OpDef.verify
    verify(module())
    assert OpDef.verify is check


@pytest.mark.parametrize("at", [3, 4])
def test_a_type_that_is_wrong_is_found_behind_equal_ops(at: int) -> None:
    wrong = module()
    add = list(wrong.body.block.ops)[at]
    assert isinstance(add, AddfOp)
    narrow = ConstantOp(FloatAttr(1.0, f16))
    wrong.body.block.insert_op_before(narrow, add)
    add.operands[1] = narrow.result
    check = OpDef.verify
    with pytest.raises(UserError, match="'arith.addf' op"):
        verify(wrong)
    assert OpDef.verify is check


def test_properties_that_are_wrong_missing_or_unknown_are_found_behind_equal_ops() -> None:
    for name, attr in (("fastmath", IntegerAttr(1, i32)), ("unknown", StringAttr("x"))):
        wrong = module()
        last = wrong.body.block.last_op
        assert last is not None
        last.properties[name] = attr
        with pytest.raises(UserError, match="'arith.addf' op"):
            verify(wrong)
    wrong = module()
    second = list(wrong.body.block.ops)[1]
    del second.properties["value"]
    with pytest.raises(UserError, match="'arith.constant' op"):
        verify(wrong)
