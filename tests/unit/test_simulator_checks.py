"""The simulator finds what is wrong with programs whose values come out right in program order."""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pytest

from isa_programs import gemm, interpret, parse
from npu_mlir.dialects import npu_isa
from npu_mlir.simulator import SimulationError, simulate

GEMM = gemm(16, 16, 32, tile=(8, 8, 16), k0=8, element="f32", target="toy")
FLAG_LINES = [i for i, line in enumerate(GEMM.splitlines()) if "_flag" in line]


def inputs() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(s).astype(np.float32) for s in ((16, 32), (32, 16))]


def test_the_gemm_is_clean_and_equals_the_plain_interpreter():
    module = parse(GEMM)
    np.testing.assert_array_equal(simulate(module, inputs()).outputs[0], interpret(module, inputs())[0])


@pytest.mark.parametrize("line", FLAG_LINES)
def test_every_removed_flag_instruction_is_caught(line: int):
    lines = GEMM.splitlines()
    del lines[line]
    with pytest.raises(SimulationError):
        simulate(parse("\n".join(lines)), inputs())


PAIRS = sorted(set(re.findall(r"_flag \[(\w+, \w+),", GEMM)))


@pytest.mark.parametrize("pair", PAIRS)
def test_every_removed_pair_of_pipes_is_a_race(pair: str):
    lines = [line for line in GEMM.splitlines() if f"_flag [{pair}," not in line]
    src, dst = pair.split(", ")
    with pytest.raises(SimulationError, match=f"race between {src} and {dst}") as caught:
        simulate(parse("\n".join(lines)), inputs())
    assert f"set_flag [{src}, {dst}, 0]" in caught.value.notes[1].message


@pytest.mark.parametrize("buffer", ["la", "lb", "l0a", "l0b", "l0c"])
def test_one_slot_under_flags_for_two_is_a_race(buffer: str):
    text = re.sub(rf"(%{buffer} = npu_isa.buffer) 2 x", r"\1 1 x", GEMM)
    with pytest.raises(SimulationError, match="race"):
        simulate(parse(text), inputs())


def test_overlapping_buffers_are_a_race():
    text = re.sub(r"(%lb = .* at) \d+", r"\1 512", GEMM)
    with pytest.raises(SimulationError, match="race between MTE1 and MTE2"):
        simulate(parse(text), inputs())


def test_a_wrong_slot_reads_unwritten_memory():
    text = GEMM.replace(
        "%a = npu_isa.slot %la[%x2]", "%x9 = arith.addi %x2, %c1 : index\n%a = npu_isa.slot %la[%x9]"
    )
    # The slot is consistent, only the flags are not: the load fills slot 1 under flag 0.
    simulate(parse(text), inputs())
    text = GEMM.replace(
        "%ap = npu_isa.at %a ", "%wrong = npu_isa.slot %la[%c1] : !npu_isa.addr<l1>\n%ap = npu_isa.at %wrong "
    )
    with pytest.raises(SimulationError, match="that no instruction wrote"):
        simulate(parse(text), inputs())


# ---- small programs --------------------------------------------------------------------------------------------------

GM = "memref<8x6xf32, #tile.space<gm>>"
MAP = "map affine_map<(a, b) -> (a, b)>"
LOAD = f"npu_isa.load_ub %X[] -> %u<8, 1> over [8, 6] {MAP} : {GM}"
STORE = f"npu_isa.store_ub %u<8, 1> -> %Y[] over [8, 6] {MAP} : {GM}"
BARRIER = "npu_isa.barrier"


def run(*body: str, buffers: str = "", check: bool = True) -> np.ndarray:
    """The result of a kernel on the toy machine with one buffer of rows of 8 elements."""
    code = "\n".join(body)
    module = parse(f"""
builtin.module attributes {{"npu.target" = "toy"}} {{
  func.func @main(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {{
    %y = tile.launch @k(%x) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    func.return %y : tensor<8x6xf32>
  }}
  tile.kernel @k(%X: {GM}, %Y: {GM}) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    %w = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
    {buffers}
    {code}
    tile.return
  }}
}}
""")
    return simulate(module, [np.ones((8, 6), np.float32)], check=check).outputs[0]


def flags(src: str, dst: str, event: int = 0) -> str:
    return f"npu_isa.set_flag [{src}, {dst}, {event}]\nnpu_isa.wait_flag [{src}, {dst}, {event}]"


def test_flags_and_barriers_order():
    assert (run(LOAD, flags("MTE2", "MTE3"), STORE) == 1).all()
    assert (run(LOAD, BARRIER, STORE) == 1).all()


def test_flags_order_transitively():
    exp = "npu_isa.vunary exp %w<1>, %w<1> over [8] : f32"
    fill = "npu_isa.vdup %w<1>, imm 0.0 : f32 over [8] : f32"
    run(fill, LOAD, flags("MTE2", "V"), exp, flags("V", "MTE3"), STORE)


def test_a_race_names_both_instructions_and_their_graph_ops():
    load = LOAD.replace(" :", ' {"npu.node" = "conv1"} :')
    with pytest.raises(SimulationError) as caught:
        run(load, STORE)
    error = caught.value
    assert "race between MTE2 and MTE3" in error.message
    assert "npu_isa.store_ub" in error.message
    assert "npu_isa.load_ub" in error.notes[0].message and "conv1" in error.notes[0].message
    assert isinstance(error.loc, npu_isa.StoreUbOp)


def test_disjoint_strided_accesses_do_not_race():
    left = f"npu_isa.load_ub %X[] -> %u<8, 1> over [8, 3] {MAP} : {GM}"
    right = (
        "%r = npu_isa.at %u + 12 : !npu_isa.addr<ub>\nnpu_isa.vdup %r<8, 1>, imm 2.0 : f32 over [8, 3] : f32"
    )
    result = run(left, right, BARRIER, STORE)
    assert (result[:, :3] == 1).all() and (result[:, 3:] == 2).all()
    wider = right.replace("over [8, 3]", "over [8, 6]").replace("+ 12", "+ 8")
    with pytest.raises(SimulationError, match="race between MTE2 and V"):
        run(left, wider, BARRIER, STORE)


def test_a_wait_without_a_set():
    with pytest.raises(SimulationError, match="V waits for flag 3 of MTE2, which no"):
        run("npu_isa.wait_flag [MTE2, V, 3]", check=True)
    with pytest.raises(SimulationError, match="V waits for flag 3 of MTE2, which no"):
        run("npu_isa.wait_flag [MTE2, V, 3]", check=False)


def test_a_set_over_a_pending_flag():
    with pytest.raises(SimulationError, match="flag 0 from MTE2 to V is set while it is still pending"):
        run("npu_isa.set_flag [MTE2, V, 0]", "npu_isa.set_flag [MTE2, V, 0]")


def test_a_set_that_may_come_before_the_last_wait():
    with pytest.raises(SimulationError, match="set again while the last wait may not have consumed it"):
        run(flags("MTE2", "V"), flags("MTE2", "V"))
    run(LOAD, flags("MTE2", "V"), flags("V", "MTE2"), flags("MTE2", "V"), BARRIER, STORE)


def test_a_flag_left_pending():
    with pytest.raises(SimulationError, match="flag 2 from MTE2 to V is still set at the end"):
        run(LOAD, BARRIER, STORE, "npu_isa.set_flag [MTE2, V, 2]")


def test_an_event_that_the_target_lacks():
    with pytest.raises(SimulationError, match="toy has 8 event ids per pair of pipes, not 8"):
        run(flags("MTE2", "V", 8))


def test_unwritten_memory_in_a_store():
    with pytest.raises(
        SimulationError, match="MTE3 reads 192 bytes that no instruction wrote, among bytes 0 to 248 of ub"
    ):
        run(STORE)


def test_memory_of_another_buffer_counts_as_unwritten():
    buffers = "%v = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>"
    with pytest.raises(SimulationError, match="that no instruction wrote"):
        run(LOAD, BARRIER, STORE.replace("%u", "%v"), buffers=buffers)


PADDED = "npu_isa.vunary exp %w<1>, %u<1> over [64] : f32"


def test_padding_lanes_may_be_computed_on():
    run(LOAD, BARRIER, PADDED, BARRIER, STORE.replace("%u", "%w"))


@pytest.mark.parametrize(
    "use",
    [
        "npu_isa.vreduce sum %s<0>, %w<1> over [64] : f32",
        STORE.replace("%u", "%w").replace("<8, 1>", "<6, 1>"),
    ],
)
def test_padding_lanes_may_not_reach_results(use: str):
    start = "%s = npu_isa.buffer 1 x 32 at 512 : !npu_isa.addr<ub>\nnpu_isa.vdup %s<1>, imm 0.0 : f32 over [8] : f32"
    with pytest.raises(SimulationError, match="that no instruction wrote"):
        run(start, LOAD, BARRIER, PADDED, BARRIER, use, BARRIER, STORE)


def test_poison_spoils_what_was_written_before():
    fill = "npu_isa.vdup %w<1>, imm 0.0 : f32 over [64] : f32"
    reduce = "npu_isa.vreduce sum %u<0>, %w<1> over [64] : f32"
    run(LOAD, fill, BARRIER, reduce, BARRIER, STORE)
    with pytest.raises(SimulationError, match="that no instruction wrote"):
        run(LOAD, fill, BARRIER, PADDED, BARRIER, reduce, BARRIER, STORE)


def test_clipped_lanes_of_a_store_may_be_unwritten():
    wider = STORE.replace("over [8, 6]", "over [8, 8]")
    run(LOAD, BARRIER, wider)
    shifted = wider.replace("(a, b) -> (a, b)", "(a, b) -> (a, b - 1)")
    with pytest.raises(SimulationError, match="that no instruction wrote"):
        run(LOAD, BARRIER, shifted)


def test_an_accumulator_that_starts_from_nothing():
    with pytest.raises(SimulationError, match="that no instruction wrote"):
        run(LOAD, BARRIER, "npu_isa.vreduce sum %w<1>, %u<1> over [6] : f32", BARRIER, STORE)


@pytest.mark.parametrize(
    ("offset", "message"), [("64", "writes bytes 64 to 312 of a buffer"), ("-4", "bytes -4 to")]
)
def test_outside_of_a_buffer(offset: str, message: str):
    code = f"%o = arith.constant {offset} : index\n%p = npu_isa.at %u + %o : !npu_isa.addr<ub>"
    with pytest.raises(SimulationError, match=message):
        run(code, LOAD.replace("%u", "%p"))


def test_a_buffer_outside_of_its_memory():
    with pytest.raises(SimulationError, match="the buffer ends at byte 2080 of ub, which has 2048 on toy"):
        run(LOAD, BARRIER, STORE, buffers="%v = npu_isa.buffer 1 x 32 at 2048 : !npu_isa.addr<ub>")


def test_a_result_that_is_not_complete():
    part = STORE.replace("over [8, 6]", "over [8, 5]")
    with pytest.raises(
        SimulationError, match=r"8 of 48 elements of result 0 of '@k' are never written.*\[0, 5\]"
    ):
        run(LOAD, BARRIER, part)


def test_a_result_is_read_before_it_is_written():
    with pytest.raises(
        SimulationError, match=r"reads elements \[0:8, 0:6\] of argument 1, a result, before they are written"
    ):
        run(LOAD.replace("%X", "%Y"), BARRIER, STORE)


def test_races_in_gm():
    again = LOAD.replace("%X", "%Y").replace("%u", "%w")
    with pytest.raises(SimulationError, match="race between MTE3 and MTE2 in GM"):
        run(LOAD, BARRIER, STORE, again)
    run(LOAD, BARRIER, STORE, flags("MTE3", "MTE2"), again)


def test_an_endless_program_is_stopped():
    text = GEMM.replace("arith.constant 16 : index", "arith.constant 16000000000 : index", 1)
    with pytest.raises(SimulationError, match="more than 1000000000 steps"):
        simulate(parse(text), inputs())


def peak_of_checks(trips: int) -> tuple[int, int]:
    """Instructions of a GEMM with so many steps of its sum, and the most bytes that its checks take."""
    module = parse(gemm(8, 8, 16 * trips, tile=(8, 8, 16), k0=8, element="f32", target="toy"))
    simulate(module, values=False)
    tracemalloc.start()
    try:
        result = simulate(module, values=False)
        return result.kernels[0].instructions, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_checks_take_no_more_memory_in_longer_runs():
    few, small = peak_of_checks(1000)
    many, large = peak_of_checks(2500)
    assert many > 2.4 * few and large < 1.02 * small


def test_another_target_is_an_error():
    from npu_mlir.support.diagnostics import UserError

    with pytest.raises(UserError, match="compiled for the target 'toy' and can't be used with 'ascend-910'"):
        simulate(parse(GEMM), inputs(), target="ascend-910")


def test_a_result_over_an_operand_in_the_arena():
    text = """
builtin.module attributes {"npu.target" = "toy"} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = tile.launch @k(%x) {result_offsets = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
    %z = tile.launch @k(%y) {result_offsets = array<i64: OFFSET>} : (tensor<4xf32>) -> tensor<4xf32>
    func.return %z : tensor<4xf32>
  }
  tile.kernel @k(%X: memref<4xf32, #tile.space<gm>>, %Y: memref<4xf32, #tile.space<gm>>) {
    %u = npu_isa.buffer 1 x 32 at 0 : !npu_isa.addr<ub>
    npu_isa.load_ub %X[] -> %u<1> over [4] map affine_map<(a) -> (a)> : memref<4xf32, #tile.space<gm>>
    npu_isa.barrier
    npu_isa.store_ub %u<1> -> %Y[] over [4] map affine_map<(a) -> (a)> : memref<4xf32, #tile.space<gm>>
    tile.return
  }
}
"""
    x = np.arange(4, dtype=np.float32)
    result = simulate(parse(text.replace("OFFSET", "32")), [x])
    np.testing.assert_array_equal(result.outputs[0], x)
    assert result.kernels[0].launches == 2
    with pytest.raises(SimulationError, match="still needed"):
        simulate(parse(text.replace("OFFSET", "8")), [x])
    # Time alone needs no arena, wherever its end lies.
    far = parse(text.replace("OFFSET", str(1 << 60)))
    assert simulate(far, values=False).cycles == result.cycles


def test_a_path_that_the_target_lacks():
    text = """
builtin.module attributes {"npu.target" = "ascend-910b"} {
  func.func @main() -> tensor<4xf32> {
    %y = tile.launch @k() : () -> tensor<4xf32>
    func.return %y : tensor<4xf32>
  }
  tile.kernel @k(%Y: memref<4xf32, #tile.space<gm>>) {
    %c = npu_isa.buffer 1 x 32 at 0 : !npu_isa.addr<l0c>
    %u = npu_isa.buffer 1 x 32 at 0 : !npu_isa.addr<ub>
    npu_isa.fixpipe_ub %c<1> -> %u<1> over [4] : f32
    tile.return
  }
}
"""
    with pytest.raises(SimulationError, match="ascend-910b has no path from l0c to ub: npu_isa.fixpipe_ub"):
        simulate(parse(text))


@pytest.mark.parametrize(
    "instruction",
    [
        "npu_isa.fixpipe_ub %c<1> -> %u<1> over [4] epilogue <scale 2.0> : f32 -> f16",
        "npu_isa.fixpipe_gm %c<1> -> %Y[] over [4] map affine_map<(a) -> (a)> epilogue <scale 2.0>"
        " : memref<4xf16, #tile.space<gm>>",
    ],
)
def test_a_scale_that_the_target_lacks(instruction: str):
    text = f"""
builtin.module attributes {{"npu.target" = "ascend-910"}} {{
  func.func @main() -> tensor<4xf16> {{
    %y = tile.launch @k() : () -> tensor<4xf16>
    func.return %y : tensor<4xf16>
  }}
  tile.kernel @k(%Y: memref<4xf16, #tile.space<gm>>) {{
    %c = npu_isa.buffer 1 x 32 at 0 : !npu_isa.addr<l0c>
    %u = npu_isa.buffer 1 x 32 at 0 : !npu_isa.addr<ub>
    {instruction}
    tile.return
  }}
}}
"""
    message = "the fixpipe of ascend-910 does not scale f32 to f16: npu_isa.fixpipe"
    with pytest.raises(SimulationError, match=message):
        simulate(parse(text))


def test_memory_that_does_not_exist_without_checks():
    from npu_mlir.support.diagnostics import UserError

    code = "%o = arith.constant 4096 : index\n%p = npu_isa.at %u + %o : !npu_isa.addr<ub>"
    with pytest.raises(UserError, match="are not inside ub, which has 2048 bytes"):
        run(code, LOAD.replace("%u", "%p"), check=False)
