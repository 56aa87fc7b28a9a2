"""Rows put into a tensor at indices that only a run knows: the same as NumPy's at every level and on every machine, in
a time that no index changes, in place where nothing else reads what was there, and an error for an index that is none.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from xdsl.dialects.builtin import ModuleOp

import npu_mlir
from isa_programs import parse
from npu_mlir import api
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.simulator import simulate
from npu_mlir.simulator.errors import SimulationError
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.levels import LEVELS
from operators import check, model, node, reference
from test_rows import INDICES, TABLES, TARGETS, on_device, table_of

Array = np.ndarray[Any, Any]


def scatter_text(x: Array, indices: Array, updates: Array, axis: int) -> str:
    """A module at the level graph with one scatter."""
    names = {"float32": "f32", "float16": "f16", "int32": "i32", "int64": "i64", "int8": "i8", "bool": "i1"}

    def type_(array: Array) -> str:
        return f"tensor<{''.join(f'{n}x' for n in array.shape)}{names[array.dtype.name]}>"

    types = ", ".join(map(type_, (x, indices, updates)))
    return f"""
func.func @main(%x: {type_(x)}, %i: {type_(indices)}, %u: {type_(updates)}) -> {type_(x)}
    attributes {{input_names = ["x", "i", "u"], output_names = ["y"]}} {{
  %y = graph.scatter %x, %i, %u axis {axis} : ({types}) -> {type_(x)}
  func.return %y : {type_(x)}
}}
"""


def scattered(x: Array, indices: Array, updates: Array, axis: int) -> Array:
    """What it computes, said in NumPy: the last of equal indices wins."""
    result = np.moveaxis(x.copy(), axis, 0)
    flat = updates.reshape(*x.shape[:axis], indices.size, *x.shape[axis + 1 :])
    for index, row in zip(indices.reshape(-1), np.moveaxis(flat, axis, 0), strict=True):
        result[index] = row
    return np.moveaxis(result, 0, axis)


@st.composite
def scatters(draw: st.DrawFn) -> tuple[Array, Array, Array, int]:
    """A tensor, indices (equal ones among them), rows and an axis; extents may be zero."""
    rank = draw(st.integers(1, 4))
    axis = draw(st.integers(0, rank - 1))
    extents = [draw(st.sampled_from((1, 2, 3, 5, 33))) for _ in range(rank)]
    extents[axis] = draw(st.sampled_from((1, 2, 7, 40)))
    if rank > 1 and draw(st.integers(0, 9)) == 0:
        extents[(axis + 1) % rank] = 0
    shape = tuple(draw(st.lists(st.sampled_from((1, 2, 3, 17)), max_size=2)))
    if draw(st.integers(0, 9)) == 0:
        shape = (0,)
    seed, dtype = draw(st.integers(0, 2**16)), draw(st.sampled_from(TABLES))
    x = table_of(tuple(extents), dtype, seed)
    updates = table_of((*extents[:axis], *shape, *extents[axis + 1 :]), dtype, seed + 1)
    among = np.random.default_rng(seed + 2).integers(-extents[axis], extents[axis], shape)
    return x, np.asarray(among, draw(st.sampled_from(INDICES))), updates, axis


@settings(max_examples=40, deadline=None)
@given(scatters(), st.sampled_from(TARGETS))
def test_scatter_is_assignment(case: tuple[Array, Array, Array, int], target: str):
    x, indices, updates, axis = case
    wanted = scattered(x, indices, updates, axis)
    inputs = {"x": x, "i": indices, "u": updates}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scatter.mlir")
        path.write_text(scatter_text(x, indices, updates, axis))
        for level in LEVELS:
            program = api.load(path, target=target).lower(level)
            assert on_device(program)
            (result,) = program.run(inputs).values()
            assert result.dtype == wanted.dtype
            np.testing.assert_array_equal(result, wanted, err_msg=level)
            if level == "isa":
                np.testing.assert_array_equal(program.simulate(inputs).outputs[0], wanted)


@pytest.mark.parametrize(
    ("extents", "axis", "count", "dtype"),
    [((2,), 0, 289, np.bool_), ((7, 3), 1, 500, np.float32), ((3, 5, 8), 1, 31, np.float16)],
)
def test_more_indices_than_have_room(
    extents: tuple[int, ...], axis: int, count: int, dtype: Any, tmp_path: Path
):
    """The machine has 2,048 bytes for them and for rows."""
    x = table_of(extents, dtype, 0)
    updates = table_of((*extents[:axis], count, *extents[axis + 1 :]), dtype, 1)
    indices = np.random.default_rng(2).integers(-extents[axis], extents[axis], (count,))
    path = tmp_path / "scatter.mlir"
    path.write_text(scatter_text(x, indices, updates, axis))
    program = api.load(path, target="toy").lower("isa")
    (result,) = program.run({"x": x, "i": indices, "u": updates}).values()
    np.testing.assert_array_equal(result, scattered(x, indices, updates, axis))


# ---- operators of ONNX -----------------------------------------------------------------------------------------------


def test_scatter_nd():
    rng = np.random.default_rng(0)
    x, u = (
        rng.standard_normal((30, 4, 5)).astype(np.float32),
        rng.standard_normal((2, 3, 4, 5)).astype(np.float32),
    )
    i = np.array([[[1], [-1], [7]], [[0], [29], [-20]]])
    check(model([node("ScatterND", "x i u")], {"x": x, "i": i, "u": u}), {"x": x, "i": i, "u": u})


def kv_append(target: str) -> tuple[npu_mlir.Program, Any]:
    """Keys of new tokens appended to a cache that a kernel has made, as runtimes write it; then read."""
    rng = np.random.default_rng(1)
    inputs = {
        "cache": rng.standard_normal((512, 64)).astype(np.float32),
        "new": rng.standard_normal((2, 64)).astype(np.float32),
        "at": np.array([[100], [101]]),
    }
    graph = model([node("Neg", "cache", "old"), node("ScatterND", "old at new", "y")], inputs)
    return npu_mlir.compile(graph, target=target), (graph, inputs)


@pytest.mark.parametrize("target", TARGETS)
def test_kv_append_touches_only_new_rows(target: str):
    """In place, in as many cycles wherever the rows go."""
    program, (graph, inputs) = kv_append(target)
    assert on_device(program)
    kernel = next(op for op in program.module.ops if isinstance(op, tile.KernelOp) and op.reuses is not None)
    assert kernel.reused == (0,)
    stores = [op for op in kernel.walk() if isinstance(op, npu_isa.GmStore)]
    assert [type(op) for op in stores] == [npu_isa.ScatterUbOp]
    times: set[int] = set()
    for first in (0, 100, 510, -2):
        inputs["at"] = np.array([[first], [first + 1]])
        result = program.simulate(inputs)
        np.testing.assert_array_equal(result.outputs[0], reference(graph, inputs)[0])
        times.add(result.cycles)
    times.add(simulate(program.module, values=False, check=False).cycles)
    assert len(times) == 1
    # Two rows, two reads and one load are no work: what is moved is next to nothing of the cache.
    append = next(k for k in result.kernels if k.name == kernel.sym_name.data)
    assert append.cycles * 3 < result.cycles or target != "toy"


def test_an_operand_that_is_needed_is_copied():
    rng = np.random.default_rng(2)
    x, u = rng.standard_normal((20, 3)).astype(np.float32), rng.standard_normal((2, 3)).astype(np.float32)
    inputs = {"x": x, "u": u, "i": np.array([[3], [-1]])}
    nodes = [
        node("Neg", "x", "n"),
        node("ScatterND", "n i u", "s"),
        node("MatMul", "s w", "t"),
        node("Add", "t n"),
    ]
    graph = model(nodes, inputs, w=np.eye(3, dtype=np.float32))
    program = npu_mlir.compile(graph)
    assert not any(op.reuses is not None for op in program.module.ops if isinstance(op, tile.KernelOp))
    result = program.simulate(inputs).outputs[0]
    np.testing.assert_allclose(result, reference(graph, inputs)[0], rtol=1e-6)
    np.testing.assert_array_equal(inputs["x"], x)


def test_rows_are_put_one_behind_the_other_in_one_place():
    """Views between the launches are the same bytes."""
    rng = np.random.default_rng(3)
    inputs = {
        "x": rng.standard_normal((4, 5, 6)).astype(np.float32),
        "i": np.array([[3], [-1]]),
        "u": rng.standard_normal((2, 5, 6)).astype(np.float32),
        "j": np.array([[7]]),
        "v": rng.standard_normal((1, 6)).astype(np.float32),
    }
    nodes = [
        node("Neg", "x", "n"),
        node("ScatterND", "n i u", "s"),
        node("Reshape", "s shape", "r"),
        node("ScatterND", "r j v", "t"),
        node("Neg", "t"),
    ]
    graph = model(nodes, inputs, shape=np.array([20, 6]))
    program = npu_mlir.compile(graph)
    offsets = [op.result_offsets for op in program.module.walk() if isinstance(op, tile.LaunchOp)]
    assert offsets[0] == offsets[1] == offsets[2] != offsets[3]
    for level in LEVELS:
        (result,) = npu_mlir.compile(graph, emit=level).run(inputs).values()
        np.testing.assert_array_equal(result, reference(graph, inputs)[0], err_msg=level)
    np.testing.assert_array_equal(program.simulate(inputs).outputs[0], reference(graph, inputs)[0])


@pytest.mark.parametrize("index", [0, 7, -8])
def test_indices_that_are_the_same_along_a_row_are_those_of_rows(index: int):
    """As exporters spell out the append to a cache: ScatterElements with an index that is expanded."""
    rng = np.random.default_rng(4)
    inputs = {
        "x": rng.standard_normal((3, 8, 5)).astype(np.float32),
        "u": rng.standard_normal((3, 2, 5)).astype(np.float32),
        "i": np.array([index, 2]).reshape(1, 2, 1),
    }
    for operator, names in (("ScatterElements", "x j u"), ("GatherElements", "x j")):
        graph = model(
            [node("Expand", "i s", "j"), node(operator, names, axis=1)], inputs, s=np.array([3, 2, 5])
        )
        check(graph, inputs)
        text = str(npu_mlir.compile(graph, emit="graph").module)
        assert ("graph.scatter" in text) or ("graph.gather" in text), "rows, not elements"


def test_tensor_scatter():
    """The cache of each member of a batch goes on where it ends, behind heads that have it in common."""
    rng = np.random.default_rng(5)
    inputs = {
        "x": rng.standard_normal((2, 3, 8, 4)).astype(np.float32),
        "u": rng.standard_normal((2, 3, 2, 4)).astype(np.float32),
        "at": np.array([6, 1]),
    }
    for mode in ("linear", "circular"):
        first = inputs["at"] if mode == "linear" else np.array([7, 1])
        wanted = inputs["x"].copy()
        for b, start in enumerate(first):
            wanted[b][:, [(start + j) % 8 for j in range(2)]] = inputs["u"][b]
        graph = model([node("TensorScatter", "x u at", mode=mode)], inputs, opset=24)
        check(graph, inputs | {"at": first}, expected=[wanted])
    late = npu_mlir.compile(model([node("TensorScatter", "x u at")], inputs, opset=24))
    with pytest.raises(UserError, match="is out of range: there are 48 rows"):
        late.simulate(inputs | {"at": np.array([7, 1])})


@pytest.mark.parametrize(
    ("graph", "inputs"),
    [
        (node("GatherND", "x i"), {"i": np.array([[0, 3], [1, 4]])}),
        (node("GatherND", "x i"), {"i": np.array([[0, 3], [-3, 0]])}),
        (node("GatherND", "x i", batch_dims=1), {"i": np.array([[3], [4]])}),
        (node("ScatterND", "x i u"), {"i": np.array([[0, 4]]), "u": np.zeros((1, 5), np.float32)}),
        (node("ScatterND", "x i u"), {"i": np.array([[2, -1]]), "u": np.zeros((1, 5), np.float32)}),
        (node("ScatterND", "x i u"), {"i": np.array([[2**32, 0]]), "u": np.zeros((1, 5), np.float32)}),
        (
            node("ScatterND", "x i u", reduction="add"),
            {"i": np.array([[0, 4]]), "u": np.zeros((1, 5), np.float32)},
        ),
    ],
)
def test_tuples_of_indices_out_of_range(graph: Any, inputs: dict[str, Array]):
    """No index of a tuple reaches into what another one counts."""
    inputs = {"x": np.zeros((2, 4, 5), np.float32), **inputs}
    program = npu_mlir.compile(model([graph], inputs))
    with pytest.raises(UserError, match="index 8 is out of range: there are 8 rows"):
        program.simulate(inputs)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("index", [5, -6])
def test_an_index_out_of_range(level: str, index: int):
    inputs = {
        "x": np.zeros((5, 4), np.float32),
        "i": np.array([[0], [index]]),
        "u": np.ones((2, 4), np.float32),
    }
    chosen = helper.make_node("ScatterND", ["x", "i", "u"], ["y"], name="append")
    program = npu_mlir.compile(model([chosen], inputs), emit=level)
    with pytest.raises(UserError, match=f"index {index} is out of range: .* 5 .*'append'"):
        program.run(inputs)
    if level == "isa":
        with pytest.raises(UserError, match=f"index {index} is out of range: there are 5 rows .of 'append'"):
            program.simulate(inputs)


@pytest.mark.parametrize("index", [4, -5, 2**32])
@pytest.mark.parametrize(
    "graph",
    [
        node("GatherElements", "x i", axis=1),
        node("ScatterElements", "x i u", axis=1),
        node("ScatterElements", "x i u", axis=1, reduction="add"),
    ],
)
def test_what_selects_by_indices_checks_them(graph: Any, index: int):
    """Nothing moves there: the least and the largest index are looked up."""
    inputs = {"x": np.zeros((2, 4), np.float32), "i": np.array([[0, 3, -4], [1, index, 2]])}
    if graph.op_type != "GatherElements":
        inputs["u"] = np.ones((2, 3), np.float32)
    for level in ("graph", "isa"):
        program = npu_mlir.compile(model([graph], inputs), emit=level)
        assert on_device(program)
        with pytest.raises(UserError, match=f"index {index} is out of range: .* 4 "):
            program.run(inputs)


@pytest.mark.parametrize(
    "graph", [node("GatherElements", "x i"), node("GatherND", "x i"), node("ScatterND", "x i u")]
)
def test_indices_into_nothing_are_refused(graph: Any):
    inputs = {"x": np.zeros((0, 3), np.float32), "i": np.zeros((2, 1), np.int64)}
    if graph.op_type == "ScatterND":
        inputs["u"] = np.zeros((2, 3), np.float32)
    if graph.op_type == "GatherElements":
        inputs["i"] = np.zeros((1, 2), np.int64)
    with pytest.raises(UserError) as caught:
        npu_mlir.compile(model([graph], inputs))
    assert "2 indices are out of range: there are 0 elements" in caught.value.notes[0].message


# ---- checks ----------------------------------------------------------------------------------------------------------

PROGRAM = """
builtin.module attributes {{"npu.target" = "toy"}} {{
  func.func @main(%x: tensor<8x4xf32>, %i: tensor<1xi32>) -> tensor<8x4xf32> {{
    %y = tile.launch @k(%x, %i) : (tensor<8x4xf32>, tensor<1xi32>) -> tensor<8x4xf32>
    func.return %y : tensor<8x4xf32>
  }}
  tile.kernel @k(%X: memref<8x4xf32, #tile.space<gm>>, %I: memref<1xi32, #tile.space<gm>>,
                 %Y: memref<8x4xf32, #tile.space<gm>>) {reuses} {{
    %i = npu_isa.buffer 1 x 16 at 0 : !npu_isa.addr<ub>
    %y = npu_isa.buffer 1 x 128 at 32 : !npu_isa.addr<ub>
    npu_isa.load_ub %I[] -> %i<1> over [1] map affine_map<(a) -> (a)> : memref<1xi32, #tile.space<gm>>
    npu_isa.load_ub %X[] -> %y<4, 1> over [8, 4] map affine_map<(a, b) -> (a, b)> : memref<8x4xf32, #tile.space<gm>>
    npu_isa.set_flag [MTE2, S, 0]
    npu_isa.wait_flag [MTE2, S, 0]
    %r = npu_isa.read_index %i of 8 : i32
    {stores}
    tile.return
  }}
}}
"""
ROW = """npu_isa.scatter_ub %y<1> -> %Y[%r] over [4] map affine_map<(r, a) -> (r, a)> axis 0
  : memref<8x4xf32, #tile.space<gm>>"""
ALL = """npu_isa.store_ub %y<4, 1> -> %Y[] over [8, 4] map affine_map<(a, b) -> (a, b)>
  : memref<8x4xf32, #tile.space<gm>>"""


def program_with(stores: str, reuses: str = "") -> ModuleOp:
    return parse(PROGRAM.format(stores=stores, reuses=reuses))


def test_rows_go_into_a_result_that_is_complete():
    """Which rows are written, no check may depend on: they count as read, not as written."""
    x, i = np.arange(32, dtype=np.float32).reshape(8, 4), np.array([-2], np.int32)
    wanted = x.copy()
    wanted[6] = x[0]
    for module in (program_with(f"{ALL}\n{ROW}"), program_with(ROW, "reuses [0]")):
        np.testing.assert_array_equal(simulate(module, [x, i]).outputs[0], wanted)
    with pytest.raises(SimulationError, match="result"):
        simulate(program_with(ROW), values=False)
    with pytest.raises(SimulationError, match="result"):
        simulate(program_with(f"{ROW}\n{ALL}"), values=False)


def test_a_race_with_a_row_is_one_with_all_rows():
    """MTE2 reads one row of what MTE3 may write to."""
    load = """npu_isa.load_ub %Y[] -> %y<1> over [4] map affine_map<(a) -> (7, a)> : memref<8x4xf32, #tile.space<gm>>"""
    flags = "npu_isa.set_flag [MTE3, MTE2, 0]\nnpu_isa.wait_flag [MTE3, MTE2, 0]"
    with pytest.raises(SimulationError, match=r"race between MTE3 and MTE2 in GM|race between MTE3 and MTE2"):
        simulate(program_with(f"{ROW}\n{load}", "reuses [0]"), values=False)
    simulate(program_with(f"{ROW}\n{flags}\n{load}", "reuses [0]"), values=False)
