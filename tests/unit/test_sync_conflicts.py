"""Which pairs of instructions need flags: addresses, slots and arguments, case by case."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.verification import verify
from npu_mlir.passes.npu_isa.insert_sync import InsertSync

GM = "memref<8xf32, #tile.space<gm>>"
MAP = "map affine_map<(x) -> (x)>"
LOAD = f"npu_isa.load_ub %A[] -> {{}}<1> over [8] {MAP} : {GM}"
STORE = f"npu_isa.store_ub {{}}<1> -> %Y[] over [8] {MAP} : {GM}"
EXP = "npu_isa.vunary exp {}<1>, {}<1> over [8] : f32"
AT = "{} = npu_isa.at {} + {} : !npu_isa.addr<ub>"
SLOT = "{} = npu_isa.slot {}[{}] : !npu_isa.addr<ub>"


def flags(*lines: str, loop: bool = False) -> list[str]:
    """The flags of a kernel with buffers of 64 B at 0 (%a) and 64 (%b), and three slots of 32 B at 128 (%s)."""
    body = "\n    ".join(lines)
    if loop:
        body = f"scf.for %i = %c0 to %c3 step %c1 {{\n    {body}\n    }}"
    text = f"""
builtin.module attributes {{npu.target = "ascend-910"}} {{
  tile.kernel @k(%A: {GM}, %B: {GM}, %Y: {GM}) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %a = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
    %b = npu_isa.buffer 1 x 64 at 64 : !npu_isa.addr<ub>
    %s = npu_isa.buffer 3 x 32 at 128 : !npu_isa.addr<ub>
    {body}
    tile.return
  }}
}}"""
    module = parse_module(make_context(), text, "conflicts.mlir")
    verify(module)
    InsertSync().apply(make_context(), module)
    verify(module)
    return sets_of(module)


def sets_of(module: ModuleOp) -> list[str]:
    return [
        f"{op.pipes[0]} to {op.pipes[1]} {op.slots.value.data}"
        for op in module.walk()
        if isinstance(op, npu_isa.SetFlagOp)
    ]


def test_the_same_address():
    assert flags(LOAD.format("%a"), EXP.format("%b", "%a")) == ["MTE2 to V 1"]
    assert flags(LOAD.format("%a"), EXP.format("%b", "%b")) == []


@pytest.mark.parametrize(
    ("offsets", "count"),
    [
        pytest.param([32], 0, id="the second half"),
        pytest.param([28], 1, id="four bytes of the first"),
        pytest.param([16, 16], 0, id="in two steps"),
        pytest.param([16, 12], 1, id="four bytes too few"),
    ],
)
def test_parts_of_a_buffer(offsets: list[int], count: int):
    names = ["%a", *(f"%p{i}" for i in range(len(offsets)))]
    moves = [AT.format(new, old, n) for old, new, n in zip(names, names[1:], offsets, strict=False)]
    # 32 B are loaded to its start.
    assert len(flags(LOAD.format("%a"), *moves, EXP.format("%b", names[-1]))) == count
    # And to what follows, while its start is read.
    assert len(flags(*moves, LOAD.format(names[-1]), EXP.format("%b", "%a"))) == count


def test_a_part_that_is_not_known_may_be_anywhere():
    moved = AT.format("%p", "%a", "%c0"), AT.format("%q", "%p", 32)
    assert len(flags(*moved, LOAD.format("%q"), EXP.format("%b", "%a"))) == 1


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [("%c0", "%c0", 1), ("%c0", "%c1", 0), ("%c0", "%c3", 1), ("%c1", "%c3", 0)],
)
def test_slots_by_number(one: str, other: str, count: int):
    """Three slots: the number three is the first again."""
    slots = SLOT.format("%x", "%s", one), SLOT.format("%y", "%s", other)
    assert len(flags(*slots, LOAD.format("%x"), EXP.format("%b", "%y"))) == count


def test_a_slot_in_the_middle_is_part_of_the_whole():
    slot = SLOT.format("%x", "%s", "%c1")
    assert len(flags(slot, LOAD.format("%x"), EXP.format("%b", "%s"))) == 0
    part = AT.format("%p", "%s", 32)
    assert len(flags(slot, part, LOAD.format("%x"), EXP.format("%b", "%p"))) == 1


def test_slots_of_a_loop_have_an_id_each():
    found = flags(SLOT.format("%x", "%s", "%i"), LOAD.format("%x"), EXP.format("%b", "%x"), loop=True)
    # Three before the loop, and those in it.
    assert found == ["V to MTE2 1"] * 3 + ["MTE2 to V 3", "V to MTE2 3"]


def test_a_buffer_with_one_slot_has_one_id():
    found = flags(SLOT.format("%x", "%a", "%i"), LOAD.format("%x"), EXP.format("%b", "%x"), loop=True)
    assert found == ["V to MTE2 1", "MTE2 to V 1", "V to MTE2 1"]


def test_what_is_read_only_needs_no_order():
    assert flags(STORE.format("%a"), EXP.format("%b", "%a")) == []


def test_arguments_that_are_written():
    load = LOAD.replace("%A", "%Y").format("%b")
    assert flags(STORE.format("%a"), load) == ["MTE3 to MTE2 1"]
    assert flags(STORE.format("%a"), LOAD.format("%b")) == []
