"""Whole kernels, decoded and by the plain interpreter: random nests of loops, conditions and index arithmetic."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isa_programs import gemm, interpret, parse
from npu_mlir.dialects.tile import KernelOp
from npu_mlir.simulator import simulate
from npu_mlir.simulator.codegen.generator import generate
from npu_mlir.simulator.execution.values import Values
from npu_mlir.simulator.program import blocks
from npu_mlir.simulator.program.blocks import Blocks
from npu_mlir.targets.target import get_target

GM = "memref<4x16xf32, #tile.space<gm>>"
SIZES = "f32, #tile.space<gm>>"


class Writer:
    """Writes the body of a kernel; `indices` and `conditions` are the values in scope."""

    def __init__(self, draw: st.DrawFn):
        self.draw = draw
        self.lines: list[str] = []
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def pick(self, values: list[str]) -> str:
        return self.draw(st.sampled_from(values))

    def block(self, indices: list[str], conditions: list[str], depth: int) -> list[str]:
        """Statements; returns the indices in scope at the end."""
        indices, conditions = list(indices), list(conditions)
        for _ in range(self.draw(st.integers(1, 4))):
            kinds = ["scalar", "scalar", "compare", "vector", "vector", "load", "mmad"]
            kind = self.pick(kinds + (["for", "if"] if depth else []))
            getattr(self, f"write_{kind}")(indices, conditions, depth)
        self.observe(indices[-1], len(self.lines))
        return indices

    def observe(self, index: str, amount: int) -> None:
        """Make the value of an index visible in UB."""
        offset, place = self.name(), self.name()
        self.lines += [
            f"{offset} = arith.muli {index}, %c4 : index",
            f"{place} = npu_isa.at %seen + {offset} : !npu_isa.addr<ub>",
            f"npu_isa.vbinary add {place}<1>, {place}<1>, imm {amount}.0 : f32 over [1] : f32",
        ]

    def write_scalar(self, indices: list[str], conditions: list[str], depth: int) -> None:
        result, a, b = self.name(), self.pick(indices), self.pick(indices)
        op = self.pick(["addi", "muli", "maxsi", "minsi", "divui", "remui", "apply", "select", "floordivsi"])
        if op == "apply":
            text = f"affine.apply affine_map<(a)[b] -> (a * 3 + b mod 5 + 1)>({a})[{b}]"
        elif op == "select":
            text = f"arith.select {self.pick(conditions)}, {a}, {b} : index"
        elif op in ("divui", "remui", "floordivsi"):
            text = f"arith.{op} {a}, %c3 : index"
        else:
            text = f"arith.{op} {a}, {b} : index"
        # Kept small, so that products of products stay far from overflow.
        self.lines += [f"{result}x = {text}", f"{result} = arith.remui {result}x, %c97 : index"]
        indices.append(result)

    def write_compare(self, indices: list[str], conditions: list[str], depth: int) -> None:
        result = self.name()
        predicate = self.pick(["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
        a, b = self.pick(indices), self.pick(indices)
        self.lines.append(f"{result} = arith.cmpi {predicate}, {a}, {b} : index")
        conditions.append(result)

    def address(self, indices: list[str], buffer: str) -> str:
        """Somewhere in a slot, with room for 16 elements behind it."""
        slot, offset, place = self.name(), self.name(), self.name()
        self.lines += [
            f"{slot} = npu_isa.slot %{buffer}[{self.pick(indices)}] : !npu_isa.addr<{buffer}>",
            f"{offset}x = arith.remui {self.pick(indices)}, %c3 : index",
            f"{offset} = arith.muli {offset}x, %c32 : index",
            f"{place} = npu_isa.at {slot} + {offset} : !npu_isa.addr<{buffer}>",
        ]
        return place

    def write_vector(self, indices: list[str], conditions: list[str], depth: int) -> None:
        kind = self.pick(["add", "max", "min", "sub"])
        d, a, b = (self.address(indices, "ub") for _ in range(3))
        self.lines.append(f"npu_isa.vbinary {kind} {d}<1>, {a}<1>, {b}<1> over [16] : f32")

    def write_load(self, indices: list[str], conditions: list[str], depth: int) -> None:
        dest, i, j = self.address(indices, "ub"), self.pick(indices), self.pick(indices)
        map_ = "affine_map<(i, j, a, b) -> (i mod 5 + a - 1, j floordiv 2 + b - 3)>"
        self.lines.append(
            f"npu_isa.load_ub %X[{i}, {j}] -> {dest}<8, 1> over [2, 8] map {map_} pad 2.0 : f32 : {GM}"
        )

    def write_mmad(self, indices: list[str], conditions: list[str], depth: int) -> None:
        source = self.address(indices, "l1")
        self.lines += [
            f"npu_isa.load_l0a {source}<4, 1> -> %a over [4, 4] rows 1 : f32",
            f"npu_isa.load_l0b {source}<1, 4> -> %b over [4, 4] rows 1 : f32",
            f"npu_isa.mmad %a, %b -> %c over [4, 4, 4] init {self.pick(conditions)} : f32 -> f32",
            f"npu_isa.fixpipe_ub %c<4, 1> -> {self.address(indices, 'ub')}<4, 1> over [4, 4] : f32",
            f"npu_isa.copy_l1 {self.address(indices, 'ub')}<4, 1> -> {source}<1, 4> over [4, 4] : f32",
        ]

    def write_for(self, indices: list[str], conditions: list[str], depth: int) -> None:
        iv, carried, result = self.name(), self.name(), self.name()
        trips = self.pick(["%c0", "%c1", "%c3"])
        init = self.pick(indices)
        self.lines.append(
            f"{result} = scf.for {iv} = %c0 to {trips} step %c1 iter_args({carried} = {init}) -> (index) {{"
        )
        inside = self.block([*indices, iv, carried], conditions, depth - 1)
        self.lines += [f"scf.yield {self.pick(inside)} : index", "}"]
        indices.append(result)

    def write_if(self, indices: list[str], conditions: list[str], depth: int) -> None:
        result = self.name()
        self.lines.append(f"{result} = scf.if {self.pick(conditions)} -> (index) {{")
        for end in ("} else {", "}"):
            inside = self.block(indices, conditions, depth - 1)
            self.lines += [f"scf.yield {self.pick(inside)} : index", end]
        indices.append(result)


@st.composite
def kernels(draw: st.DrawFn) -> str:
    writer = Writer(draw)
    writer.block(["%c0", "%c1", "%c3"], ["%true", "%false"], 2)
    body = "\n".join("    " + line for line in writer.lines)
    constants = "\n".join(f"    %c{n} = arith.constant {n} : index" for n in (0, 1, 3, 4, 32, 97))
    return f"""
builtin.module attributes {{"npu.target" = "toy"}} {{
  func.func @main(%x: tensor<4x16xf32>) -> tensor<512xf32> {{
    %y = tile.launch @k(%x) : (tensor<4x16xf32>) -> tensor<512xf32>
    func.return %y : tensor<512xf32>
  }}
  tile.kernel @k(%X: {GM}, %Y: memref<512x{SIZES}) {{
{constants}
    %true = arith.constant true
    %false = arith.constant false
    %ub = npu_isa.buffer 2 x 160 at 0 : !npu_isa.addr<ub>
    %all = npu_isa.buffer 1 x 2048 at 0 : !npu_isa.addr<ub>
    %seen = npu_isa.buffer 1 x 512 at 1024 : !npu_isa.addr<ub>
    %l1 = npu_isa.buffer 2 x 160 at 0 : !npu_isa.addr<l1>
    %start = npu_isa.buffer 1 x 1024 at 0 : !npu_isa.addr<l1>
    %a = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l0a>
    %b = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l0b>
    %c = npu_isa.buffer 1 x 64 at 0 : !npu_isa.addr<l0c>
    npu_isa.vdup %all<1>, imm 1.0 : f32 over [512] : f32
    npu_isa.load_l1 %X[] -> %start<16, 1> over [4, 16] map affine_map<(a, b) -> (a, b)> : {GM}
    npu_isa.load_l0a %start<4, 1> -> %a over [4, 4] rows 1 : f32
    npu_isa.load_l0b %start<4, 1> -> %b over [4, 4] rows 1 : f32
    npu_isa.mmad %a, %b -> %c over [4, 4, 4] zero : f32 -> f32
{body}
    npu_isa.store_ub %all<1> -> %Y[] over [512] map affine_map<(a) -> (a)> : memref<512x{SIZES}
    tile.return
  }}
}}
"""


@settings(max_examples=60, deadline=None)
@given(text=kernels(), seed=st.integers(0, 1000))
def test_decoded_kernels_equal_plain_ones(text: str, seed: int):
    module = parse(text)
    x = np.random.default_rng(seed).integers(-4, 5, (4, 16)).astype(np.float32)
    result = simulate(module, [x], check=False)
    np.testing.assert_array_equal(result.outputs[0], interpret(module, [x])[0])
    with patch.object(blocks, "INLINED_FROM", 0):
        assert simulate(module, values=False, check=False).kernels == result.kernels
        assert simulate(module, [x], check=False).kernels == result.kernels


def test_a_kernel_becomes_a_python_function():
    module = parse(gemm(16, 16, 32, tile=(8, 8, 16), k0=8, element="f32", target="toy"))
    kernel = next(op for op in module.walk() if isinstance(op, KernelOp))
    target = get_target("toy")
    generated = generate(Blocks(kernel, target), [Values(lambda op: lambda *args: None)])
    loops = [line.strip() for line in generated.source.splitlines() if "range(" in line]
    assert [text.partition(" = ")[2] for text in loops] == [
        "range(0, 16, 8)",
        "range(0, 16, 8)",
        "range(0, 32, 16)",
        "range(0, 16, 8)",
    ]
    assert "S +=" not in generated.source
    _, executions = generated.run([None] * 3, 10_000)
    assert executions == [1, 2, 4, 8, 16]
