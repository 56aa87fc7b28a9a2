"""Work grows with the number of nodes, not with its square. What is counted are calls of functions."""

import sys
from collections.abc import Callable
from types import FrameType

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

import npu_mlir
from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.grouping import form_groups
from npu_mlir.api import Program
from npu_mlir.ir.weights import weight_names, weights_of
from npu_mlir.passes import load_pass
from npu_mlir.passes.linalg.fuse_elementwise import FuseElementwise
from npu_mlir.passes.tile.kernel_rules import LARGEST, why_not
from npu_mlir.targets.target import get_target

KINDS = ("Abs", "Neg", "Relu", "Sigmoid", "Tanh")


def chain(length: int) -> ModelProto:
    """Elementwise nodes, each of which reads the one before."""
    kinds = [KINDS[i % len(KINDS)] for i in range(length)]
    nodes = [helper.make_node(kind, [f"v{i}"], [f"v{i + 1}"]) for i, kind in enumerate(kinds)]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 64]) for n in ("v0", f"v{length}")]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def calls(work: Callable[[], object]) -> int:
    """How many functions are called."""
    count = 0

    def on_event(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(on_event)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def unfused(length: int) -> Program:
    """A chain as `linalg-fuse-elementwise` sees it."""
    program = npu_mlir.compile(chain(length), emit="graph")
    for name in ("convert-graph-to-linalg", "linalg-expand-math"):
        load_pass(name)().apply(program.ctx, program.module)
    return program


def test_fusing_a_chain_takes_time_in_proportion_to_its_length() -> None:
    def work(length: int) -> int:
        program = unfused(length)
        return calls(lambda: FuseElementwise().apply(program.ctx, program.module))

    # The first fills caches.
    _, short, long = (work(length) for length in (50, 200, 400))
    assert long < 2.2 * short


def test_compiling_a_chain_takes_time_in_proportion_to_its_length() -> None:
    def work(length: int) -> int:
        return calls(lambda: npu_mlir.compile(chain(length)))

    _, short, long = (work(length) for length in (10, 40, 80))
    assert long < 2.2 * short


def test_a_chain_of_400_nodes_computes_what_its_nodes_do() -> None:
    x = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    expected = x.astype(np.float64)
    for i in range(400):
        expected = {
            "Abs": np.abs,
            "Neg": np.negative,
            "Relu": lambda v: np.maximum(v, 0),
            "Sigmoid": lambda v: 1 / (1 + np.exp(-v)),
            "Tanh": np.tanh,
        }[KINDS[i % len(KINDS)]](expected)
    program = npu_mlir.compile(chain(400))
    np.testing.assert_allclose(program.run({"v0": x})["v400"], expected, rtol=1e-4, atol=1e-6)


def test_a_kernel_has_only_so_many_operations() -> None:
    plain = (Linear((1,), 0),)
    ops = [LoopNestOp(i, (8,), (False,), (i - 1,), (plain,), (0,)) for i in range(LARGEST + 1)]
    target = get_target("toy")
    assert why_not(ops[:LARGEST], target) is None
    objection = why_not(ops, target)
    assert objection is not None
    assert objection.rule == "size"
    groups = form_groups(
        ops, {op.key: list(op.operands) if op.key else [] for op in ops}, lambda g: why_not(g, target) is None
    )
    assert [len(group) for group in groups] == [LARGEST, 1]


def test_weights_that_nothing_reads_any_more_are_given_up() -> None:
    random = np.random.default_rng(0)
    weights = {"w": (32, 4, 3, 3), "s": (32,), "b": (32,), "m": (32,), "v": (32,)}
    arrays = [
        numpy_helper.from_array(random.uniform(1, 2, s).astype(np.float32), n) for n, s in weights.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"]),
        helper.make_node("Conv", ["x", "w"], ["z"]),
    ]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("y", "z")]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 8, 8])
    graph = helper.make_graph(nodes, "bn", [x], ends, arrays)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    module = npu_mlir.compile(model, emit="linalg", precision="f16").module
    assert weights_of(module).names() == set(weight_names(module))
    assert len(weight_names(module)) == 3
