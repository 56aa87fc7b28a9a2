"""Where the results of launches lie in GM, and what overlaps on chip, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from xdsl.dialects.builtin import ModuleOp

from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.verification import verify
from npu_mlir.passes.tile.plan_memory import PlanMemory, overflow_error, try_plan
from npu_mlir.targets.target import Target, get_target

T, GM = "tensor<8xf32>", "memref<8xf32, #tile.space<gm>>"
HEAD = f"""
tile.kernel @one(%a: {GM}, %b: {GM}) {{ tile.return }}
tile.kernel @two(%a: {GM}, %b: {GM}, %c: {GM}) {{ tile.return }}
"""


def offsets(body: str, returned: str = "%x") -> list[int]:
    """Where the results of the launches of a function lie, in units of 512 B."""
    text = f"{HEAD}func.func @main(%x: {T}) -> {T} {{\n{body}\nfunc.return {returned} : {T}\n}}"
    module = parse_module(make_context(), text, "memory.mlir")
    verify(module)
    PlanMemory().apply(make_context(), module)
    return [
        offset // 512
        for op in module.walk()
        if isinstance(op, tile.LaunchOp) and op.result_offsets is not None
        for offset in op.result_offsets.get_values()
    ]


def launch(result: str, *operands: str) -> str:
    kernel = "one" if len(operands) == 1 else "two"
    return f"{result} = tile.launch @{kernel}({', '.join(operands)}) : ({', '.join([T] * len(operands))}) -> {T}\n"


def view(result: str, operand: str) -> str:
    return (
        f"{result}s = tensor.expand_shape {operand} [[0, 1]] output_shape [2, 4] : {T} into tensor<2x4xf32>\n"
        f"{result} = tensor.collapse_shape {result}s [[0, 1]] : tensor<2x4xf32> into {T}\n"
    )


def test_a_chain_takes_two_places():
    chain = launch("%a", "%x") + launch("%b", "%a") + launch("%c", "%b") + launch("%d", "%c")
    assert offsets(chain, "%d") == [0, 1, 0, 1]


def test_the_last_of_several_uses_counts():
    uses = launch("%a", "%x") + launch("%b", "%a") + launch("%c", "%b")
    assert offsets(uses + launch("%d", "%a", "%c"), "%d") == [0, 1, 2, 1]
    assert offsets(uses + launch("%d", "%c", "%a"), "%d") == [0, 1, 2, 1]


def test_a_view_keeps_what_it_views():
    one = launch("%a", "%x") + view("%v", "%a") + launch("%b", "%a") + launch("%c", "%b")
    assert offsets(one + launch("%d", "%v", "%c"), "%d") == [0, 1, 2, 1]
    two = launch("%a", "%x") + launch("%b", "%a") + view("%v", "%a") + view("%w", "%v") + launch("%c", "%b")
    assert offsets(two + launch("%d", "%w", "%c"), "%d") == [0, 1, 2, 1]


def test_what_nobody_reads_has_a_place_while_it_is_written():
    unread = launch("%a", "%x") + launch("%b", "%x") + launch("%c", "%b")
    assert offsets(unread, "%c") == [0, 0, 1]


def test_what_is_returned_stays():
    assert offsets(launch("%a", "%x") + launch("%b", "%x") + launch("%c", "%b"), "%a") == [0, 1, 2]


# ---- on chip --------------------------------------------------------------------------------------------------------

TOY = get_target("toy")
BUFFER = "memref<8xf32, #tile.space<ub>>"


def kernel(body: str) -> tile.KernelOp:
    """A kernel over buffers of 32 B."""
    text = f"""
tile.kernel @k(%x: {GM}, %y: {GM}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  {body}
  tile.return
}}"""
    module = parse_module(make_context(), text, "memory.mlir")
    assert isinstance(module, ModuleOp)
    verify(module)
    (op,) = (op for op in module.ops if isinstance(op, tile.KernelOp))
    module.body.block.detach_op(op)
    return op


def alloc(name: str, slots: int = 1) -> str:
    many = f" {{slots = {slots}}}" if slots > 1 else ""
    return f"%{name} = tile.alloc{many} : {BUFFER}\n"


def load(name: str) -> str:
    return f"tile.load %x[] into %{name} map affine_map<(i) -> (i)> : {GM}, {BUFFER}\n"


def store(name: str) -> str:
    return f"tile.store %{name}, %y[] map affine_map<(i) -> (i)> : {BUFFER}, {GM}\n"


def loop(body: str, variable: str = "i") -> str:
    return f"scf.for %{variable} = %c0 to %c4 step %c1 {{\n{body}}}\n"


def machine(ub: int) -> Target:
    return replace(TOY, ub=ub)


def least(body: str) -> int:
    """The least bytes of UB that the kernel can be planned for."""
    return next(ub for ub in range(32, 1024, 32) if try_plan(kernel(body), machine(ub)) is None)


BOTH = alloc("a") + alloc("b")


@pytest.mark.parametrize(
    ("body", "buffers"),
    [
        pytest.param(BOTH + load("a") + store("a") + load("b") + store("b"), 1, id="one after the other"),
        pytest.param(BOTH + load("a") + load("b") + store("a") + store("b"), 2, id="at the same time"),
        pytest.param(BOTH + loop(load("a") + store("a") + load("b") + store("b")), 1, id="in turn in a loop"),
        pytest.param(
            BOTH + load("a") + loop(load("b") + store("b") + store("a")), 2, id="filled before a loop"
        ),
        pytest.param(
            BOTH + loop(load("a") + store("a")) + loop(load("b") + store("b"), "j"), 1, id="two loops"
        ),
        pytest.param(
            BOTH + loop(load("a")) + load("b") + store("b") + store("a"), 2, id="read behind a loop"
        ),
        pytest.param(
            BOTH + loop(loop(load("a") + store("a"), "j") + load("b") + store("b")), 1, id="an inner loop"
        ),
        pytest.param(
            BOTH + loop(load("b") + loop(load("a") + store("a"), "j") + store("b")),
            2,
            id="around an inner loop",
        ),
        pytest.param(BOTH + load("a") + store("a"), 1, id="one that is not used"),
        pytest.param(
            alloc("a", 2)
            + alloc("b")
            + loop(f"%s = tile.slot %a[%i] : {BUFFER}\n" + load("s") + store("s") + load("b") + store("b")),
            3,
            id="slots live throughout the loop",
        ),
        pytest.param(
            alloc("a", 2)
            + alloc("b")
            + loop(f"%s = tile.slot %a[%i] : {BUFFER}\n" + load("s") + store("s"))
            + load("b")
            + store("b"),
            2,
            id="but not behind it",
        ),
    ],
)
def test_what_lives_at_once(body: str, buffers: int):
    assert least(body) == 32 * buffers


def test_an_overflow_lists_what_lives_then():
    late = alloc("c") + alloc("d") + load("c") + load("d") + store("c") + store("d")
    overflow = try_plan(kernel(alloc("a", 3) + load("a") + store("a") + late), machine(64))
    assert overflow is not None and (overflow.needed, overflow.capacity) == (96, 64)
    assert [alloc.num_slots for alloc in overflow.buffers] == [3]
    overflow = try_plan(kernel(alloc("a") + load("a") + store("a") + late), machine(32))
    assert overflow is not None and (overflow.needed, len(overflow.buffers)) == (64, 2)


def test_the_message_of_an_overflow_lists_five_buffers():
    names = "abcdefg"
    body = (
        "".join(alloc(n, 1 + i) for i, n in enumerate(names))
        + "".join(map(load, names))
        + "".join(map(store, names))
    )
    small = machine(64)
    overflow = try_plan(kernel(body), small)
    assert overflow is not None
    error = overflow_error(kernel(body), overflow, small)
    assert "needs 896 bytes of ub, 'toy' has 64" in error.message
    assert [note.message.split(" bytes")[0] for note in error.notes] == ["224", "192", "160", "128", "96"]
    assert "7 slots" in error.notes[0].message


def test_one_slot_is_not_mentioned():
    body = alloc("a") + alloc("b") + load("a") + load("b") + store("a") + store("b")
    overflow = try_plan(kernel(body), machine(32))
    assert overflow is not None
    notes = [note.message for note in overflow_error(kernel(body), overflow, machine(32)).notes]
    assert len(notes) == 2 and not any("slots" in note for note in notes)
