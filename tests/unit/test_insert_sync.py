"""Random kernels of instructions get their flags and run with the simulator's checks for races and misused flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from isa_programs import gemm, parse
from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.verification import verify
from npu_mlir.passes.npu_isa.cleanup import Cleanup
from npu_mlir.passes.npu_isa.insert_sync import InsertSync
from npu_mlir.simulator import simulate
from npu_mlir.simulator.errors import SimulationError

GM = "memref<8xf32, #tile.space<gm>>"
HALF = "memref<16x16xf16, #tile.space<gm>>"
SIZES = {"ub": 64, "l1": 512, "l0a": 512, "l0b": 512, "l0c": 1024}
TILE = "over [16, 16]"


@dataclass
class Kernel:
    """The text of a kernel being made: buffers by memory, lines so far, names of the loop variables around."""

    draw: Any
    buffers: dict[str, list[tuple[str, int, str]]] = field(
        default_factory=dict[str, list[tuple[str, int, str]]]
    )
    lines: list[str] = field(default_factory=list[str])
    loops: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    names: int = 0

    def name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def index(self, preferred: str) -> str:
        """A value to choose a slot by: a count over all loops or the first of them, one loop's variable, a constant."""
        kinds = ["count", "outer", "inner", "constant"]
        kind = self.draw(st.sampled_from([preferred] * 8 + kinds))
        if kind == "constant" or not self.loops:
            return self.draw(st.sampled_from(["%c0", "%c1"]))
        loops = {"count": self.loops, "outer": self.loops[:1], "inner": self.loops[-1:]}[kind]
        total = loops[0][0]
        for iv, trips in loops[1:]:
            product, total_ = self.name(), self.name()
            self.emit(f"{product} = arith.muli {total}, %c{trips} : index")
            self.emit(f"{total_} = arith.addi {product}, {iv} : index")
            total = total_
        return total

    def address(self, space: str) -> str:
        """A buffer in a memory, one of its slots, perhaps the second half of it, or a half chosen by a loop."""
        buffer, slots, preferred = self.draw(st.sampled_from(self.buffers[space]))
        if slots > 1:
            slot = self.name()
            self.emit(f"{slot} = npu_isa.slot {buffer}[{self.index(preferred)}] : !npu_isa.addr<{space}>")
            buffer = slot
        if space != "ub":
            return buffer
        part = self.draw(st.sampled_from(["first", "first", "second", "dynamic"]))
        at = self.name()
        if part == "second":
            self.emit(f"{at} = npu_isa.at {buffer} + 32 : !npu_isa.addr<ub>")
            return at
        if part == "dynamic" and self.loops:
            half, offset = self.name(), self.name()
            self.emit(f"{half} = arith.remui {self.loops[-1][0]}, %c2 : index")
            self.emit(f"{offset} = arith.muli {half}, %c32 : index")
            self.emit(f"{at} = npu_isa.at {buffer} + {offset} : !npu_isa.addr<ub>")
            return at
        return buffer

    def instruction(self) -> None:
        kind = self.draw(
            st.sampled_from(
                [
                    "load_ub",
                    "vunary",
                    "vbinary",
                    "store_ub",
                    "reload",
                    "store_part",
                    "reload_part",
                    "fixpipe",
                    "copy_l1",
                    "copy_ub",
                    "load_l1",
                    "l0a",
                    "l0b",
                    "mmad",
                ]
            )
        )
        at = self.address
        match kind:
            case "load_ub" | "reload":
                gm = "%A" if kind == "load_ub" else "%Y"
                self.emit(
                    f"npu_isa.load_ub {gm}[] -> {at('ub')}<1> over [8] map affine_map<(x) -> (x)> : {GM}"
                )
            case "vunary":
                self.emit(f"npu_isa.vunary exp {at('ub')}<1>, {at('ub')}<1> over [8] : f32")
            case "vbinary":
                self.emit(f"npu_isa.vbinary add {at('ub')}<1>, {at('ub')}<1>, {at('ub')}<1> over [8] : f32")
            case "store_ub":
                self.emit(
                    f"npu_isa.store_ub {at('ub')}<1> -> %Y[] over [8] map affine_map<(x) -> (x)> : {GM}"
                )
            case "store_part":
                self.emit(f"npu_isa.store_ub {at('ub')}<1> -> {self.part()}")
            case "reload_part":
                place, _, over = self.part().partition(" ")
                self.emit(f"npu_isa.load_ub {place} -> {at('ub')}<1> {over}")
            case "fixpipe":
                self.emit(f"npu_isa.fixpipe_ub {at('l0c')}<1> -> {at('ub')}<1> over [8] : f32")
            case "copy_l1":
                self.emit(f"npu_isa.copy_l1 {at('ub')}<1> -> {at('l1')}<1> over [8] : f32")
            case "copy_ub":
                self.emit(f"npu_isa.copy_ub {at('l1')}<1> -> {at('ub')}<1> over [8] : f32")
            case "mmad":
                self.emit(
                    f"npu_isa.mmad {at('l0a')}, {at('l0b')} -> {at('l0c')} over [16, 16, 16] : f16 -> f32"
                )
            case "load_l1":
                self.load_l1(at("l1"))
            case _:
                self.emit(f"npu_isa.load_{kind} {at('l1')}<16, 1> -> {at(kind)} {TILE} rows 1 : f16")

    def part(self) -> str:
        """Some elements of the result: from a constant on, or from where a loop or a count over all of them leads."""
        start = self.draw(st.sampled_from(["%c0", "%c3", "%c1"]))
        if self.loops and self.draw(st.booleans()):
            moved, start_ = self.name(), self.name()
            iv = self.index(self.draw(st.sampled_from(["inner", "outer", "count"])))
            self.emit(f"{moved} = arith.muli {iv}, %c{self.draw(st.sampled_from([1, 2, 3]))} : index")
            self.emit(f"{start_} = arith.addi {moved}, {start} : index")
            start = start_
        count, step = self.draw(st.sampled_from([(1, 1), (2, 1), (3, 1), (4, 1), (3, 2)]))
        map_ = f"affine_map<(i, x) -> (i + {step} * x)>"
        return f"%Y[{start}] over [{count}] map {map_} : {GM}"

    def load_l1(self, address: str) -> None:
        self.emit(
            f"npu_isa.load_l1 %H[] -> {address}<16, 1> {TILE} map affine_map<(x, y) -> (x, y)> : {HALF}"
        )

    def body(self, depth: int) -> None:
        for _ in range(self.draw(st.integers(1, 4))):
            kind = self.draw(st.sampled_from(["instruction", "instruction", "instruction", "loop", "if"]))
            if kind == "instruction" or depth == 3:
                self.instruction()
            elif kind == "loop":
                trips = self.draw(st.sampled_from([0, 1, 2, 3, 12] if depth < 2 else [0, 1, 2, 3]))
                iv = self.name()
                self.emit(f"scf.for {iv} = %c0 to %c{trips} step %c1 {{")
                self.loops.append((iv, trips))
                self.body(depth + 1)
                self.loops.pop()
                self.emit("}")
            elif self.loops:
                half, odd = self.name(), self.name()
                self.emit(f"{half} = arith.remui {self.loops[-1][0]}, %c2 : index")
                self.emit(f"{odd} = arith.cmpi eq, {half}, %c1 : index")
                self.emit(f"scf.if {odd} {{")
                self.body(depth + 1)
                if self.draw(st.booleans()):
                    self.emit("} else {")
                    self.body(depth + 1)
                self.emit("}")

    def add_buffers(self) -> None:
        """Buffers of one to three slots; they follow each other or lie anywhere near the start of their memory."""
        for space, size in SIZES.items():
            self.buffers[space] = []
            end = 0
            for i in range(self.draw(st.integers(1, 3 if space == "ub" else 2))):
                slots = self.draw(st.sampled_from([1, 2, 2, 3]))
                address = 32 * self.draw(st.integers(0, 8)) if self.draw(st.integers(0, 3)) == 0 else end
                self.emit(
                    f"%{space}{i} = npu_isa.buffer {slots} x {size} at {address} : !npu_isa.addr<{space}>"
                )
                preferred = self.draw(st.sampled_from(["count", "count", "outer", "inner"]))
                self.buffers[space].append((f"%{space}{i}", slots, preferred))
                end = max(end, address + slots * size)

    def fill_buffers(self) -> None:
        """Write every slot once, so that nothing is read that was not written."""
        for space in SIZES:
            for buffer, slots, _ in self.buffers[space]:
                for n in range(slots):
                    slot = self.name()
                    self.emit(f"{slot} = npu_isa.slot {buffer}[%c{n}] : !npu_isa.addr<{space}>")
                    if space == "ub":
                        self.emit(f"npu_isa.vdup {slot}<1>, imm 0.0 : f32 over [16] : f32")
                    elif space == "l1":
                        self.load_l1(slot)
                    elif space == "l0c":
                        self.emit(f"npu_isa.mmad %l0a0, %l0b0 -> {slot} over [16, 16, 16] zero : f16 -> f32")
                    else:
                        self.emit(f"npu_isa.load_{space} %l10<16, 1> -> {slot} {TILE} rows 1 : f16")
        self.emit(f"npu_isa.store_ub %ub0<1> -> %Y[] over [8] map affine_map<(x) -> (x)> : {GM}")


@st.composite
def kernels(draw: Any) -> str:
    """The text of a module with one kernel."""
    kernel = Kernel(draw)
    for n in (0, 1, 2, 3, 12, 32):
        kernel.emit(f"%c{n} = arith.constant {n} : index")
    kernel.add_buffers()
    kernel.fill_buffers()
    kernel.body(0)
    text = "\n    ".join(kernel.lines)
    return f"""
builtin.module attributes {{npu.target = "ascend-910"}} {{
  func.func @main(%a: tensor<8xf32>, %h: tensor<16x16xf16>) -> tensor<8xf32> {{
    %y = tile.launch @k(%a, %h) : (tensor<8xf32>, tensor<16x16xf16>) -> tensor<8xf32>
    func.return %y : tensor<8xf32>
  }}
  tile.kernel @k(%A: {GM}, %H: {HALF}, %Y: {GM}) {{
    {text}
    tile.return
  }}
}}"""


def with_flags(text: str) -> ModuleOp:
    ctx = make_context()
    module = parse_module(ctx, text, "test.mlir")
    verify(module)
    for pass_ in (InsertSync(), Cleanup()):
        pass_.apply(ctx, module)
        verify(module)
    return module


@settings(max_examples=100, deadline=None)
@given(kernels())
def test_random_kernels_have_no_race(text: str) -> None:
    simulate(with_flags(text), values=False, check=True)


def flags_of(module: ModuleOp) -> list[list[npu_isa.FlagInstruction]]:
    """The flags by what belongs together: sets and waits of one range of ids."""
    flags = [op for op in module.walk() if isinstance(op, npu_isa.FlagInstruction)]
    ranges: dict[Any, list[npu_isa.FlagInstruction]] = {}
    for flag in sorted(flags, key=lambda f: -f.slots.value.data):
        event = flag.event.value.data
        owner = next(
            ((p, e, n) for p, e, n in ranges if p == flag.pipes and e <= event < e + n),
            (flag.pipes, event, flag.slots.value.data),
        )
        ranges.setdefault(owner, []).append(flag)
    return list(ranges.values())


def is_caught(text: str, pair: int) -> bool:
    """Whether the simulator finds a mistake when one pair is taken away."""
    module = with_flags(text)
    for op in flags_of(module)[pair]:
        op.detach()
        op.erase()
    try:
        simulate(module, values=False, check=True)
    except SimulationError:
        return True
    return False


PING_PONG = f"""
builtin.module attributes {{npu.target = "ascend-910"}} {{
  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {{
    %y = tile.launch @k(%a) : (tensor<8xf32>) -> tensor<8xf32>
    func.return %y : tensor<8xf32>
  }}
  tile.kernel @k(%A: {GM}, %Y: {GM}) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %xs = npu_isa.buffer 2 x 32 at 0 : !npu_isa.addr<ub>
    %ys = npu_isa.buffer 2 x 32 at 64 : !npu_isa.addr<ub>
    scf.for %i = %c0 to %c3 step %c1 {{
      scf.for %j = %c0 to %c3 step %c1 {{
        %row = arith.muli %i, %c3 : index
        %count = arith.addi %row, %j : index
        %x = npu_isa.slot %xs[%count] : !npu_isa.addr<ub>
        npu_isa.load_ub %A[] -> %x<1> over [8] map affine_map<(x) -> (x)> : {GM}
        %y = npu_isa.slot %ys[%count] : !npu_isa.addr<ub>
        npu_isa.vunary exp %y<1>, %x<1> over [8] : f32
        npu_isa.vbinary add %y<1>, %y<1>, %x<1> over [8] : f32
        npu_isa.store_ub %y<1> -> %Y[] over [8] map affine_map<(x) -> (x)> : {GM}
      }}
    }}
    tile.return
  }}
}}"""


def test_every_pair_of_a_vector_loop_is_needed() -> None:
    module = with_flags(PING_PONG)
    simulate(module, values=False, check=True)
    pairs = flags_of(module)
    assert len(pairs) == 4
    assert all(is_caught(PING_PONG, i) for i in range(len(pairs)))


def test_a_product_is_as_fast_as_with_flags_by_hand() -> None:
    module = parse(gemm(512, 512, 512))
    by_hand = simulate(module, values=False, check=True).cycles
    flags = [op for op in module.walk() if isinstance(op, npu_isa.FlagInstruction)]
    for op in flags:
        op.detach()
        op.erase()
    InsertSync().apply(make_context(), module)
    assert simulate(module, values=False, check=True).cycles == by_hand
    assert sum(isinstance(op, npu_isa.FlagInstruction) for op in module.walk()) == len(flags)
