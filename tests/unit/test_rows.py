"""Rows of a table taken by indices that only a run knows: the same as NumPy's at every level and on every machine, in
a time that no index changes, and an error for an index that is none."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

import npu_mlir
from isa_programs import parse
from npu_mlir.dialects import npu_isa
from npu_mlir.simulator import simulate
from npu_mlir.simulator.errors import SimulationError
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.levels import LEVELS
from operators import model, node, reference

TARGETS = ("toy", "ascend-910", "ascend-910b")
TABLES = (np.float32, np.float16, np.int32, np.int8, np.bool_)
INDICES = (np.int32, np.int64)


def table_of(shape: tuple[int, ...], dtype: Any, seed: int) -> np.ndarray[Any, Any]:
    values = np.random.default_rng(seed).integers(0, 2 if dtype is np.bool_ else 100, shape)
    return values.astype(dtype)


def on_device(program: npu_mlir.Program) -> bool:
    return not any(op.name == "tile.host" for op in program.module.walk())


@st.composite
def gathers(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
    """A table, indices and an axis; extents of everything but the axis may be zero."""
    rank = draw(st.integers(1, 4))
    axis = draw(st.integers(0, rank - 1))
    extents = [draw(st.sampled_from((1, 2, 3, 5, 8, 33))) for _ in range(rank)]
    extents[axis] = draw(st.sampled_from((1, 2, 7, 40)))
    if rank > 1 and draw(st.integers(0, 9)) == 0:
        extents[(axis + 1) % rank] = 0
    shape = tuple(draw(st.lists(st.sampled_from((1, 2, 3, 17)), max_size=2)))
    if draw(st.integers(0, 9)) == 0:
        shape = (0,)
    seed = draw(st.integers(0, 2**16))
    table = table_of(tuple(extents), draw(st.sampled_from(TABLES)), seed)
    among = np.random.default_rng(seed + 1).integers(-extents[axis], extents[axis], shape)
    return table, np.asarray(among, draw(st.sampled_from(INDICES))), axis


@settings(max_examples=60, deadline=None)
@given(gathers(), st.sampled_from(TARGETS))
def test_gather_is_take(case: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int], target: str):
    table, indices, axis = case
    inputs = {"t": table, "i": indices}
    wanted = np.take(table, indices, axis)
    graph = model([node("Gather", "t i", axis=axis)], inputs)
    for level in LEVELS:
        program = npu_mlir.compile(graph, emit=level, target=target)
        if level == "isa":
            np.testing.assert_array_equal(program.simulate(inputs).outputs[0], wanted)
        assert on_device(program)
        (result,) = program.run(inputs).values()
        assert result.dtype == wanted.dtype
        np.testing.assert_array_equal(result, wanted, err_msg=level)


@pytest.mark.parametrize("count", [256, 289, 1000])
def test_more_indices_than_have_room(count: int):
    """The machine has 2,048 bytes for them and for rows."""
    inputs = {"t": table_of((7, 3), np.float32, 0), "i": np.random.default_rng(1).integers(-7, 7, count)}
    program = npu_mlir.compile(model([node("Gather", "t i")], inputs), target="toy")
    (result,) = program.run(inputs).values()
    np.testing.assert_array_equal(result, inputs["t"][inputs["i"]])


@pytest.fixture(scope="module")
def embedding() -> npu_mlir.Program:
    inputs = {"t": np.zeros((1000, 64), np.float32), "i": np.zeros(128, np.int64)}
    return npu_mlir.compile(model([node("Gather", "t i")], inputs))


@pytest.mark.parametrize("target", TARGETS)
def test_embedding(target: str):
    """As onnxruntime has it, in as many cycles for any indices, counted or extrapolated."""
    table = np.random.default_rng(0).standard_normal((1000, 64)).astype(np.float32)
    times: set[int] = set()
    graph = model([node("Gather", "t i")], {"t": table, "i": np.zeros(128, np.int64)})
    program = npu_mlir.compile(graph, target=target)
    assert on_device(program)
    for seed in range(3):
        indices = np.random.default_rng(seed).integers(-1000, 1000, 128)
        inputs = {"t": table, "i": indices if seed else np.zeros(128, np.int64)}
        result = program.simulate(inputs)
        np.testing.assert_array_equal(result.outputs[0], reference(graph, inputs)[0])
        times.add(result.cycles)
    times.add(simulate(program.module, values=False, check=False).cycles)
    times.add(simulate(program.module, values=False, check=False, extrapolate=False).cycles)
    times.add(simulate(program.module, values=False, explain=True).cycles)
    assert len(times) == 1


def test_a_long_list_of_indices_is_skipped_through():
    """Iterations that repeat are not counted one by one, and come to the same."""
    inputs = {"t": np.zeros((50, 4), np.float32), "i": np.zeros(6000, np.int32)}
    program = npu_mlir.compile(model([node("Gather", "t i")], inputs), target="toy")
    counted = simulate(program.module, values=False, check=False, extrapolate=False)
    for explain in (False, True):
        skipped = simulate(program.module, values=False, check=False, explain=explain)
        assert skipped.cycles == counted.cycles
        assert skipped.kernels[0].pipe_busy == counted.kernels[0].pipe_busy


def test_every_cycle_of_an_embedding_is_explained(embedding: npu_mlir.Program):
    result = simulate(embedding.module, values=False, record=True)
    (kernel,) = result.kernels
    assert kernel.attribution is not None and kernel.recording is not None
    scalar = kernel.attribution.pipes["S"]
    assert scalar.total() == result.cycles
    assert scalar.waiting > 0
    reads = [site for site in kernel.attribution.sites if "read_index" in site.text]
    assert [(site.pipe, site.count, site.busy) for site in reads] == [("S", 128, 128 * 16)]


def test_rows_are_gathered_into_the_kernel_that_reads_them():
    rng = np.random.default_rng(3)
    inputs = {
        "t": rng.standard_normal((100, 32)).astype(np.float32),
        "i": rng.integers(0, 100, 20),
        "p": rng.standard_normal((20, 32)).astype(np.float32),
    }
    graph = model([node("Gather", "t i", "r"), node("Add", "r p", "s"), node("Relu", "s")], inputs)
    program = npu_mlir.compile(graph)
    assert sum(op.name == "tile.kernel" for op in program.module.walk()) == 1
    assert sum(op.name == "npu_isa.vunary" for op in program.module.walk()) == 1, "rows need no copy"
    (result,) = program.simulate(inputs).outputs
    np.testing.assert_array_equal(result, reference(graph, inputs)[0])


def test_indices_and_tables_that_are_parts_of_others():
    """What lies behind the end of a slice is no index, even where a tile would reach there."""
    inputs = {"t": np.arange(60, dtype=np.float32).reshape(20, 3), "i": np.full(40, 10**6)}
    inputs["i"][3:20] = np.arange(-10, 7)
    graph = model(
        [node("Slice", "i b e", "j"), node("Slice", "t b e", "u"), node("Gather", "u j")],
        inputs,
        b=np.array([3]),
        e=np.array([20]),
    )
    program = npu_mlir.compile(graph, target="toy")
    assert on_device(program)
    np.testing.assert_array_equal(program.simulate(inputs).outputs[0], reference(graph, inputs)[0])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("index", [5, -6])
def test_an_index_out_of_range(level: str, index: int):
    inputs = {"t": np.zeros((5, 4), np.float32), "i": np.array([0, -5, 4, index])}
    chosen = helper.make_node("Gather", ["t", "i"], ["y"], name="pick")
    program = npu_mlir.compile(model([chosen], inputs), emit=level)
    # In the body of a generic, what counts from the end has been counted from the start.
    shown = index + 5 if level == "linalg" and index < 0 else index
    with pytest.raises(UserError, match=f"index {shown} is out of range: .* 5 .*'pick'") as caught:
        program.run(inputs)
    assert caught.value.loc is not None
    if level == "isa":
        with pytest.raises(UserError, match=f"index {index} is out of range: there are 5 rows .of 'pick'"):
            program.simulate(inputs)


def test_the_error_names_the_node_of_the_launch():
    """Two lookups of one shape share a kernel."""
    inputs = {"t": np.zeros((5, 4), np.float32), "i": np.array([0, 1]), "j": np.array([1, 7])}
    nodes = [
        helper.make_node("Gather", ["t", "i"], ["a"], name="first"),
        helper.make_node("Gather", ["t", "j"], ["b"], name="second"),
        helper.make_node("MatMul", ["a", "c"], ["d"]),
        helper.make_node("MatMul", ["d", "b"], ["y"]),
    ]
    graph = model(nodes, inputs, c=np.ones((4, 2), np.float32))
    for level in ("tile", "isa"):
        program = npu_mlir.compile(graph, emit=level)
        assert sum("gather" in str(op) for op in program.module.ops if op.name == "tile.kernel") == 1
        with pytest.raises(UserError, match=r"index 7 is out of range.*'second'"):
            program.run(inputs)
    with pytest.raises(UserError, match=r"index 7 is out of range.*'second'"):
        program.simulate(inputs)


# ---- order -----------------------------------------------------------------------------------------------------------


def test_a_read_of_an_index_needs_its_flag(embedding: npu_mlir.Program):
    """Without the wait of the scalar unit the index may not be there yet."""
    module = embedding.module.clone()
    for op in list(module.walk()):
        if isinstance(op, npu_isa.FlagInstruction) and npu_isa.Pipe.S in op.pipes:
            op.detach()
            op.erase()
    with pytest.raises(
        SimulationError, match="race between MTE2 and S: bytes .* of ub, which MTE2 writes, are read"
    ):
        simulate(module, values=False)


PROGRAM = """
builtin.module attributes {{"npu.target" = "toy"}} {{
  func.func @main(%t: tensor<8x4xf32>, %i: tensor<4xi32>) -> tensor<4x4xf32> {{
    %y = tile.launch @k(%t, %i) : (tensor<8x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
    func.return %y : tensor<4x4xf32>
  }}
  tile.kernel @k(%T: memref<8x4xf32, #tile.space<gm>>, %I: memref<4xi32, #tile.space<gm>>,
                 %Y: memref<4x4xf32, #tile.space<gm>>) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %i = npu_isa.buffer 1 x 16 at 0 : !npu_isa.addr<ub>
    %y = npu_isa.buffer 1 x 64 at 32 : !npu_isa.addr<ub>
    npu_isa.load_ub %I[] -> %i<1> over [4] map affine_map<(a) -> (a)> : memref<4xi32, #tile.space<gm>>
    npu_isa.set_flag [MTE2, S, 0]
    npu_isa.wait_flag [MTE2, S, 0]
    scf.for %k = %c0 to %c4 step %c1 {{
      %a = arith.muli %k, %c4 : index
      %p = npu_isa.at %i + %a : !npu_isa.addr<ub>
      %r = npu_isa.read_index %p of 8 : i32
      %b = arith.muli %k, %c16 : index
      %q = npu_isa.at %y + %b : !npu_isa.addr<ub>
      npu_isa.gather_ub %T[%r] -> %q<1> over [4] map affine_map<(r, a) -> (r, a)> axis 0
        : memref<8x4xf32, #tile.space<gm>>
    }}
    {behind}
    npu_isa.set_flag [MTE2, MTE3, 0]
    npu_isa.wait_flag [MTE2, MTE3, 0]
    npu_isa.store_ub %y<4, 1> -> %Y[] over [4, 4] map affine_map<(a, b) -> (a, b)> : memref<4x4xf32, #tile.space<gm>>
    tile.return
  }}
}}
"""


def test_what_is_issued_behind_a_read_needs_no_flag():
    """The scalar unit issues nothing before it has the index: the vector unit may overwrite it, and read what the
    scalar unit has waited for."""
    behind = """npu_isa.vunary neg %i<1>, %i<1> over [4] : i32"""
    module = parse(PROGRAM.format(behind=behind))
    table = np.arange(32, dtype=np.float32).reshape(8, 4)
    result = simulate(module, [table, np.array([7, -8, 0, -1], np.int32)])
    np.testing.assert_array_equal(result.outputs[0], table[[7, 0, 0, 7]])


def test_time_by_hand():
    """load 4 + 2 (16 B at 8) busy and 20 latent from 1 on; the read follows the flag; then a row every 5 + 5 + 1."""
    module = parse(PROGRAM.format(behind=""))
    result = simulate(module, values=False, record=True)
    recording, sites = result.kernels[0].recording, result.kernels[0].attribution
    assert recording is not None and sites is not None
    of = {number: site.text.split(" map")[0] for number, site in enumerate(sites.sites)}
    reads = [
        (start, end)
        for site, start, end in zip(recording.site, recording.start, recording.end, strict=True)
        if "read_index" in of[site]
    ]
    assert len(reads) == 4
    assert all(end - start == 5 for start, end in reads)
    load = next(end for site, end in zip(recording.site, recording.end, strict=True) if "load_ub" in of[site])
    # Raised 20 behind the load; the wait takes 1; the loop, the offset and the address 1 each.
    assert reads[0][0] == load + 20 + 1 + 3
    # Behind a read: offset, address, the row's issue, and the next iteration's three.
    assert {b[0] - a[1] for a, b in pairwise(reads)} == {2 + 1 + 3}
