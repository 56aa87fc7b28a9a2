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
ROWS = "memref<256x8xf32, #tile.space<gm>>"
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
    module = parse_module(make_context(), kernel_text(body), "conflicts.mlir")
    verify(module)
    InsertSync().apply(make_context(), module)
    verify(module)
    return sets_of(module)


def kernel_text(body: str) -> str:
    return f"""
builtin.module attributes {{npu.target = "ascend-910"}} {{
  tile.kernel @k(%A: {GM}, %B: {GM}, %Y: {GM}, %R: {ROWS}) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %big = npu_isa.buffer 1 x 2048 at 1024 : !npu_isa.addr<ub>
    %other = npu_isa.buffer 1 x 2048 at 4096 : !npu_isa.addr<ub>
    %a = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<ub>
    %b = npu_isa.buffer 1 x 64 at 64 : !npu_isa.addr<ub>
    %s = npu_isa.buffer 3 x 32 at 128 : !npu_isa.addr<ub>
    {body}
    tile.return
  }}
}}"""


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


def rows(start: str, count: int) -> tuple[str, str]:
    """A store of rows of %R from a value on, and a load."""
    map_ = "map affine_map<(r, x, y) -> (r + x, y)>"
    store = f"npu_isa.store_ub %big<8, 1> -> %R[{start}] over [{count}, 8] {map_} : {ROWS}"
    load = f"npu_isa.load_ub %R[{start}] -> %other<8, 1> over [{count}, 8] {map_} : {ROWS}"
    return store, load


ORDER = "MTE3 to MTE2 1"


@pytest.mark.parametrize(("count", "expected"), [(64, []), (65, [ORDER])])
def test_rows_of_an_argument(count: int, expected: list[str]):
    """Rows 0 to 63 are stored, rows from 64 on are loaded: that needs no order. One row more does."""
    assert flags(rows("%c0", count)[0], rows("%c64", 64)[1]) == expected
    assert flags(rows("%c0", count)[1], rows("%c64", 64)[0]) == ["MTE2 to MTE3 1" for _ in expected]


TWICE = "%at = arith.muli %i, %c128 : index"
NEXT = "%next = arith.addi %at, %c64 : index"


def test_tiles_that_a_loop_moves():
    """Even tiles of 64 rows are stored and odd ones loaded, in all iterations."""
    assert flags(TWICE, NEXT, rows("%at", 64)[0], rows("%next", 64)[1], loop=True) == []
    overlapping = flags(TWICE, NEXT, rows("%at", 64)[0], rows("%next", 65)[1], loop=True)
    assert set(overlapping) == {ORDER, "MTE2 to MTE3 1"}


def test_a_tile_that_is_the_next_one_of_another_iteration():
    by_one = "%at = arith.muli %i, %c64 : index"
    assert flags(by_one, NEXT, rows("%at", 64)[0], rows("%next", 64)[1], loop=True) != []


def barriers(then: str, otherwise: str) -> int:
    """The barriers in a loop with a conditional whose branches are these."""
    body = f"""%odd = arith.cmpi eq, %i, %c1 : index
    scf.if %odd {{
      {then}
    }} else {{
      {otherwise}
    }}"""
    text = kernel_text(f"scf.for %i = %c0 to %c3 step %c1 {{\n    {TWICE}\n    {NEXT}\n    {body}\n    }}")
    module = parse_module(make_context(), text, "conflicts.mlir")
    InsertSync().apply(make_context(), module)
    return sum(isinstance(op, npu_isa.BarrierOp) for op in module.walk())


def test_branches_are_never_executed_in_the_same_iteration():
    """The same tile in both branches: each iteration takes one of them, and a tile of its own."""
    assert barriers(rows("%at", 64)[0], rows("%at", 64)[1]) == 0
    assert barriers(rows("%at", 128)[0], rows("%next", 128)[1]) == 1


def test_what_is_not_known_may_be_anything():
    """A remainder is no linear value; where the columns are apart, that does not matter."""
    rest = "%rest = arith.remui %i, %c3 : index"
    store, load = rows("%rest", 64)
    assert flags(rest, store, rows("%c128", 64)[1], loop=True) != []
    left, right = store.replace("64, 8", "64, 4"), load.replace("64, 8", "64, 4")
    assert flags(rest, left, right.replace("(r + x, y)", "(r + x, y + 4)"), loop=True) == []
