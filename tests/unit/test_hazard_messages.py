"""What a hazard's message names: both instructions, their locations and graph ops, the bytes, the pipes and the fix."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest

from isa_programs import parse
from npu_mlir.simulator import SimulationError, simulate
from npu_mlir.support.diagnostics import register_source, render

GM = "memref<8x8xf32, #tile.space<gm>>"
MAP = "map affine_map<(a, b) -> (a, b)>"


def load(dest: str, node: str = "load", source: str = "%X") -> str:
    return f'npu_isa.load_ub {source}[] -> {dest}<8, 1> over [8, 8] {MAP} {{"npu.node" = "{node}"}} : {GM}'


def exp(dest: str, source: str, node: str = "exp") -> str:
    return f'npu_isa.vunary exp {dest}<1>, {source}<1> over [64] {{"npu.node" = "{node}"}} : f32'


def store(source: str, node: str = "store") -> str:
    return f'npu_isa.store_ub {source}<8, 1> -> %Y[] over [8, 8] {MAP} {{"npu.node" = "{node}"}} : {GM}'


def flag(kind: str, src: str, dst: str, event: str = "0", node: str = "flag") -> str:
    return f'npu_isa.{kind}_flag [{src}, {dst}, {event}] {{"npu.node" = "{node}"}}'


def part(op: str, ub: str, gm: str, first: int, node: str) -> str:
    """A transfer of four rows."""
    sides = f"{gm}[] -> {ub}<8, 1>" if op == "load_ub" else f"{ub}<8, 1> -> {gm}[]"
    map_ = f"map affine_map<(a, b) -> (a + {first}, b)>"
    return f'npu_isa.{op} {sides} over [4, 8] {map_} {{"npu.node" = "{node}"}} : {GM}'


def pair(src: str, dst: str, event: str = "0") -> list[str]:
    return [flag("set", src, dst, event), flag("wait", src, dst, event)]


HEADER = f"""builtin.module attributes {{"npu.target" = "toy"}} {{
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {{
%y = tile.launch @k(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
func.return %y : tensor<8x8xf32>
}}
tile.kernel @k(%X: {GM}, %Y: {GM}) {{
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c2 = arith.constant 2 : index
%u = npu_isa.buffer 2 x 256 at 512 : !npu_isa.addr<ub>
%w = npu_isa.buffer 1 x 256 at 1024 : !npu_isa.addr<ub>
%s = npu_isa.slot %u[%c1] : !npu_isa.addr<ub>
"""
FIRST = HEADER.count("\n") + 1
"""The line of the first instruction."""


@dataclass
class Hazard:
    """A kernel, what is wrong with it, where (lines from the first instruction on), and what is to be said."""

    name: str
    body: list[str]
    message: str
    line: int
    other: int | None
    graph_ops: tuple[str, ...]
    fix: str


HAZARDS = [
    Hazard(
        "a read of what is still being written",
        [load("%s"), store("%s")],
        r"race between MTE2 and MTE3: bytes 768 to 1024 of ub, which MTE2 writes, are read by MTE3",
        1, 0, ("load", "store"),
        "npu_isa.set_flag [MTE2, MTE3, 0] behind the former, npu_isa.wait_flag [MTE2, MTE3, 0] before the latter",
    ),
    Hazard(
        "a write to a slot that is still being read",
        [load("%s"), *pair("MTE2", "MTE3"), store("%s"), load("%s", "again")],
        r"race between MTE3 and MTE2: bytes 768 to 1024 of ub, which MTE3 reads, are overwritten by MTE2",
        4, 3, ("again", "store"),
        "npu_isa.set_flag [MTE3, MTE2, 0] behind the former, npu_isa.wait_flag [MTE3, MTE2, 0] before the latter",
    ),
    Hazard(
        "two writes",
        [load("%w"), *pair("MTE2", "V"), exp("%s", "%w"), load("%s", "again")],
        r"race between V and MTE2: bytes 768 to 1024 of ub, which V writes, are written again by MTE2",
        4, 3, ("again", "exp"),
        "npu_isa.set_flag [V, MTE2, 0] behind the former, npu_isa.wait_flag [V, MTE2, 0] before the latter",
    ),
    Hazard(
        "a later iteration",
        ["scf.for %i = %c0 to %c2 step %c1 {", load("%s"), *pair("MTE2", "MTE3", "3"), store("%s"), "}"],
        r"race between MTE3 and MTE2: bytes 768 to 1024 of ub",
        1, 4, ("load", "store"),
        "in a later iteration: so another set before the loop, and another wait behind it",
    ),
    Hazard(
        "ids that are taken",
        [load("%s"), *pair("MTE2", "V", "7"), load("%w", "again"), exp("%s", "%w")],
        r"race between MTE2 and V: bytes 1024 to 1280 of ub",
        4, 3, ("again", "exp"),
        "npu_isa.barrier between the two; no id from MTE2 to V is free",
    ),
    Hazard(
        "memory that two buffers share",
        ["%o = npu_isa.buffer 1 x 256 at 896 : !npu_isa.addr<ub>", load("%o"), load("%s"), *pair("MTE2", "V"),
         exp("%w", "%s"), load("%o", "again")],
        r"race between V and MTE2: bytes 896 to 1024 of ub, which V reads, are overwritten by MTE2",
        6, 5, ("again", "exp"), "npu_isa.set_flag [V, MTE2, 0]",
    ),
    Hazard(
        "a race in GM",
        [load("%s"), *pair("MTE2", "MTE3"), store("%s"), load("%w", "again", "%Y")],
        r"race between MTE3 and MTE2 in GM: elements \[0:8, 0:8\] of argument 1, part of which MTE3 writes, are read",
        4, 3, ("again", "store"), "npu_isa.set_flag [MTE3, MTE2, 0]",
    ),
    Hazard(
        "a race in GM with the first of two",
        [load("%s"), *pair("MTE2", "MTE3"), part("store_ub", "%s", "%Y", 0, "low"),
         part("store_ub", "%s", "%Y", 4, "high"), part("load_ub", "%w", "%Y", 0, "again")],
        r"race between MTE3 and MTE2 in GM: elements \[0:4, 0:8\] of argument 1, part of which MTE3 writes, are read",
        5, 3, ("again", "low"), "npu_isa.set_flag [MTE3, MTE2, 0]",
    ),
    Hazard(
        "a race in GM with one that a flag covers before",
        ["scf.for %i = %c0 to %c2 step %c1 {", load("%s"), *pair("MTE2", "MTE3"),
         part("store_ub", "%s", "%Y", 4, "high"), *pair("MTE3", "MTE2", "1"),
         part("store_ub", "%s", "%Y", 0, "low"), part("load_ub", "%w", "%Y", 1, "again"), "}"],
        r"race between MTE3 and MTE2 in GM: elements \[1:5, 0:8\] of argument 1, part of which MTE3 writes, are read",
        8, 7, ("again", "low"), "npu_isa.set_flag [MTE3, MTE2, 2]",
    ),
    Hazard(
        "a wait without a set",
        [flag("set", "MTE2", "V", "1", "other"), flag("wait", "MTE2", "V", "0", "waits"), exp("%w", "%s")],
        r"V waits for flag 0 of MTE2, which nothing before sets",
        1, 0, ("other", "waits", "exp"), "npu_isa.set_flag [MTE2, V, 0] behind what MTE2 has to do first",
    ),
    Hazard(
        "a second wait",
        [*pair("MTE2", "V"), flag("wait", "MTE2", "V", "0", "waits")],
        r"V waits for flag 0 of MTE2, which nothing before sets",
        2, 1, ("flag", "waits"), "npu_isa.set_flag [MTE2, V, 0]",
    ),
    Hazard(
        "a flag that is set twice",
        [flag("set", "MTE2", "V", "0", "once"), flag("set", "MTE2", "V", "0", "twice")],
        r"flag 0 from MTE2 to V is set while it is still pending",
        1, 0, ("once", "twice"), "npu_isa.wait_flag [MTE2, V, 0] between the two, or another id",
    ),
    Hazard(
        "a flag that may not have been consumed",
        [*pair("MTE2", "V"), flag("set", "MTE2", "V", "0", "again"), flag("wait", "MTE2", "V")],
        r"flag 0 from MTE2 to V is set again while the last wait may not have consumed it",
        2, 1, ("flag", "again"), "npu_isa.set_flag [V, MTE2, 0] behind that wait, npu_isa.wait_flag [V, MTE2, 0]",
    ),
    Hazard(
        "a flag that nobody waits for",
        [load("%s"), *pair("MTE2", "MTE3"), store("%s"), flag("set", "MTE2", "MTE3", "1", "left")],
        r"flag 1 from MTE2 to MTE3 is still set at the end of the kernel",
        4, 2, ("left",), "npu_isa.wait_flag [MTE2, MTE3, 1] behind it",
    ),
    Hazard(
        "an id that the machine lacks",
        [flag("set", "MTE2", "V", "8", "eight")],
        r"toy has 8 event ids per pair of pipes, not 8", 0, None, ("eight",), "one from 0 to 7",
    ),
    Hazard(
        "bytes that were never written",
        [load("%u", "elsewhere"), *pair("MTE2", "MTE3"), store("%s")],
        r"MTE3 reads 256 bytes that no instruction wrote, among bytes 768 to 1024 of ub",
        3, 0, ("elsewhere", "store"), "write them before, or let MTE3 read what is written",
    ),
    Hazard(
        "poison that is handed on",
        [exp("%w", "%s"), *pair("V", "MTE3"), store("%w")],
        r"MTE3 reads 256 bytes that no instruction wrote, among bytes 1024 to 1280 of ub",
        3, 0, ("exp", "store"), "write them before",
    ),
    Hazard(
        "bytes outside of the slot",
        ["%p = npu_isa.at %s + 32 : !npu_isa.addr<ub>", load("%p")],
        r"MTE2 writes bytes 32 to 288 of a buffer whose slots have 256", 1, -3, ("load",),
        "an address from 0 to 0 bytes behind the slot's start",
    ),
    Hazard(
        "an early read of a result",
        [load("%s", "early", "%Y"), *pair("MTE2", "MTE3"), store("%s")],
        r"MTE2 reads elements \[0:8, 0:8\] of argument 1, a result, before they are written",
        0, 3, ("early", "store"), "write them before MTE2 reads them",
    ),
]  # fmt: skip


@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda hazard: hazard.name.replace(" ", "-"))
def test_a_hazard_is_described(hazard: Hazard) -> None:
    text = HEADER + "\n".join([*hazard.body, "tile.return", "}", "}"])
    register_source("test.mlir", text)
    with pytest.raises(SimulationError, match=hazard.message) as caught:
        simulate(parse(text), [np.ones((8, 8), np.float32)])
    said = render(caught.value)
    places = [FIRST + hazard.line] + ([FIRST + hazard.other] if hazard.other is not None else [])
    assert re.search(rf"^test.mlir:{places[0]}:\d+: error: ", said)
    assert all(re.search(rf"^test.mlir:{line}:\d+: (error|note): ", said, re.MULTILINE) for line in places)
    assert all(f'"npu.node" = "{name}"' in said or f"graph op '{name}'" in said for name in hazard.graph_ops)
    assert re.search(rf"^note: fix: .*{re.escape(hazard.fix)}", said, re.MULTILINE), said


def test_the_graph_op_around_is_named() -> None:
    text = HEADER.replace(
        "f32, #tile.space<gm>>) {", 'f32, #tile.space<gm>>) attributes {"npu.node" = "conv1"} {', 1
    )
    text += "\n".join([load("%s"), store("%s"), "tile.return", "}", "}"]).replace(
        ' {"npu.node" = "store"}', ""
    )
    with pytest.raises(SimulationError, match="store_ub .* [(]of 'conv1'[)]"):
        simulate(parse(text), [np.ones((8, 8), np.float32)])
