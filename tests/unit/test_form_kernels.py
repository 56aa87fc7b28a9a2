"""Which groups of operations may be one kernel: the limits, worked out by hand on the toy machine.

Its vector unit has 8 lanes of f32, its cube is 4 x 4, and rows are padded to 32 B.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters.framework import run_function
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.verification import verify
from npu_mlir.passes.tile.form_kernels import FormKernels
from npu_mlir.passes.tile.kernel_rules import is_legal, why_not
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.target import get_target

TOY = replace(get_target("toy"), ub=1 << 20, l0a=1 << 20, l0b=1 << 20, l0c=1 << 20)
"""With room for everything; each test takes away some."""

Coordinate = int | dict[int, int]
"""A loop dim, or the coefficients of several."""


def op(
    key: str,
    extents: Sequence[int],
    reduced: Sequence[int],
    operands: dict[Hashable, Sequence[Coordinate]],
    result: Sequence[int],
    contraction: bool = False,
) -> LoopNestOp:
    """An operation that reads `operands`, each by its coordinates."""
    rank = len(extents)

    def linear(c: Coordinate) -> Linear:
        terms = {c: 1} if isinstance(c, int) else c
        return Linear(tuple(terms.get(d, 0) for d in range(rank)), 0)

    maps = tuple(tuple(linear(c) for c in coordinates) for coordinates in operands.values())
    reduction = tuple(d in reduced for d in range(rank))
    return LoopNestOp(key, tuple(extents), reduction, tuple(operands), maps, tuple(result), contraction)


def softmax(rows: int, columns: int, source: str = "x") -> list[LoopNestOp]:
    """The maximum of each row, exponentials, their sums, quotients."""
    sizes = (rows, columns)
    return [
        op("max", sizes, [1], {source: [0, 1]}, [0]),
        op("exp", sizes, [], {source: [0, 1], "max": [0]}, [0, 1]),
        op("sum", sizes, [1], {"exp": [0, 1]}, [0]),
        op("div", sizes, [], {"exp": [0, 1], "sum": [0]}, [0, 1]),
    ]


def product(rows: int, columns: int, k: int = 9) -> LoopNestOp:
    operands: dict[Hashable, Sequence[Coordinate]] = {"a": [0, 2], "b": [2, 1]}
    return op("x", (rows, columns, k), [2], operands, [0, 1], contraction=True)


def least(group: Sequence[LoopNestOp], memory: str) -> int:
    """The bytes of a memory from which the group is legal."""
    low, high = 0, 1 << 20
    assert is_legal(group, replace(TOY, **{memory: high}))
    while low < high:
        middle = (low + high) // 2
        if is_legal(group, replace(TOY, **{memory: middle})):
            high = middle
        else:
            low = middle + 1
    return low


def test_rows_that_have_to_be_whole_fit():
    # A row of 6 takes 8, and so does an element. Maximum and sum, exponentials and quotients; x is read by two
    # operations in two slots each.
    assert least(softmax(20, 6), "ub") == 4 * (2 * 8 + 2 * 8 + 4 * 8)


def test_columns_that_have_to_be_whole_fill_the_vector_unit():
    def columns(count: int) -> list[LoopNestOp]:
        sizes = (6, count)
        return [
            op("exp", sizes, [], {"x": [0, 1]}, [0, 1]),
            op("sum", sizes, [0], {"exp": [0, 1]}, [1]),
            op("div", sizes, [], {"exp": [0, 1], "sum": [1]}, [0, 1]),
        ]

    # 8 of 20 columns of 6 elements: exponentials, quotients, the operand in two slots; a sum for each.
    assert least(columns(20), "ub") == 4 * (8 + 4 * 6 * 8)
    # Five columns are what there is; they take 8.
    assert least(columns(5), "ub") == 4 * (8 + 4 * 6 * 8)


def test_windows_are_read_whole():
    pool = op("pool", (20, 10, 3), [2], {"x": [{0: 1, 2: 1}, 1]}, [0, 1])
    rows = op("rows", (20, 10), [1], {"pool": [0, 1]}, [0])
    # A row of 10, which takes 16, out of 3 rows; its sum.
    assert least([pool, rows], "ub") == 4 * (16 + 2 * 3 * 16 + 8)
    # 8 columns of 18 rows pooled out of 20; with a stride of two, out of 37.
    columns = op("columns", (18, 10), [0], {"pool": [0, 1]}, [1])
    for stride, rows_read in ((1, 20), (2, 37)):
        pooled = op("pool", (18, 10, 3), [2], {"x": [{0: stride, 2: 1}, 1]}, [0, 1])
        scaled = op("scaled", (18, 10), [], {"pool": [0, 1], "columns": [1]}, [0, 1])
        group = [pooled, columns, scaled]
        assert least(group, "ub") == 4 * (2 * 18 * 8 + 2 * rows_read * 8 + 8)
    # What is reduced by itself comes chunk by chunk: one element of each row, which takes 8.
    other = op("other", (20, 50), [1], {"y": [0, 1]}, [0])
    both = op("both", (20,), [], {"rows": [0], "other": [0]}, [0])
    assert least([pool, rows, other, both], "ub") == 4 * (16 + 2 * 3 * 16 + 8 + 8 + 2 * 8 + 8)


def test_a_scalar_takes_an_element():
    power = op("y", (10,), [], {"x": [0]}, [0])
    total = op("sum", (10,), [0], {"y": [0]}, [])
    scaled = op("scaled", (10,), [], {"y": [0], "sum": []}, [0])
    # Rows of 16: the operand in two slots, two results; one element for the sum.
    assert least([power, total, scaled], "ub") == 4 * (2 * 16 + 2 * 16 + 1)


@pytest.mark.parametrize(
    ("memory", "size"),
    [
        # 20 rows, and 12 columns that stay whole: 4 x 12 accumulators.
        ("l0c", 4 * 4 * 12),
        # Chunks of 16, a step of the cube in each of two slots.
        ("l0a", 2 * 4 * 16),
        ("l0b", 2 * 12 * 16),
        # Three tiles of one row in f32.
        ("ub", 4 * 12 * 3),
    ],
)
def test_columns_of_a_product_that_have_to_be_whole_fit(memory: str, size: int):
    assert least([product(20, 12), *softmax(20, 12)], memory) == size
    # Ten columns take as many accumulators, but less of UB.
    padded = 4 * 10 * 3 if memory == "ub" else size
    assert least([product(20, 10), *softmax(20, 10)], memory) == padded


@pytest.mark.parametrize(
    ("memory", "size"),
    [("l0c", 4 * 20 * 12), ("l0a", 2 * 20 * 16), ("l0b", 2 * 12 * 16), ("ub", 4 * 20 * 12 * 3)],
)
def test_a_product_that_has_to_be_whole_fits(memory: str, size: int):
    total = op("total", (20, 12), [0, 1], {"x": [0, 1]}, [])
    assert least([product(20, 12), total], memory) == size


def test_without_a_parallel_class_groups_are_small():
    def group(n: int) -> list[LoopNestOp]:
        return [op("y", (n,), [], {"x": [0]}, [0]), op("sum", (n,), [0], {"y": [0]}, [])]

    assert is_legal(group(4096), TOY)
    assert not is_legal(group(4097), TOY)
    assert is_legal(group(4097)[:1], TOY) and is_legal(group(4097)[1:], TOY)


def test_a_batch_is_not_whole():
    operands: dict[Hashable, Sequence[Coordinate]] = {"a": [0, 1, 3], "b": [0, 3, 2]}
    batch = op("x", (3, 8, 8, 5), [3], operands, [0, 1, 2], contraction=True)
    assert is_legal([batch, op("sum", (3, 8, 8), [2], {"x": [0, 1, 2]}, [0, 1])], TOY)
    assert not is_legal([batch, op("sum", (3, 8, 8), [0], {"x": [0, 1, 2]}, [1, 2])], TOY)


def test_a_product_comes_first():
    behind = op("relu", (20, 12), [], {"x": [0, 1]}, [0, 1])
    assert is_legal([product(20, 12), behind], TOY)
    before = op("a", (20, 9), [], {"y": [0, 1]}, [0, 1])
    assert not is_legal([before, product(20, 12)], TOY)
    # What does not depend on it would be computed beside it.
    beside = op("bias", (12,), [], {"y": [0]}, [0])
    added = op("add", (20, 12), [], {"x": [0, 1], "bias": [1]}, [0, 1])
    assert not is_legal([beside, product(20, 12), added], TOY)
    assert is_legal([product(20, 12), added], TOY)


def second(first: Hashable = "x") -> LoopNestOp:
    operands: dict[Hashable, Sequence[Coordinate]] = {first: [0, 2], "c": [2, 1]}
    return op("z", (20, 7, 12), [2], operands, [0, 1], contraction=True)


def test_two_products_in_a_chain():
    pathless = replace(TOY, rates={path: rate for path, rate in TOY.rates.items() if path != "ub_l1"})
    assert is_legal([product(20, 12)], TOY) and is_legal([second()], TOY)
    assert is_legal([product(20, 12), second()], TOY)
    assert not is_legal([product(20, 12), second()], pathless)
    assert not is_legal([product(20, 12), second()], replace(TOY, split_cores=True))
    # A softmax of what the second sums is between the two; one of its result needs whole rows of both.
    assert is_legal([product(20, 12), *softmax(20, 12), second("div")], TOY)
    assert not is_legal([product(20, 12), second(), *softmax(20, 7, "z")], TOY)
    # A third would read what the second has become; the first has another reader; both operands are made.
    third = op("u", (20, 5, 7), [2], {"z": [0, 2], "d": [2, 1]}, [0, 1], contraction=True)
    assert not is_legal([product(20, 12), second(), third], TOY)
    relu = op("relu", (20, 12), [], {"x": [0, 1]}, [0, 1])
    reader = op("reader", (20, 12, 7), [1, 2], {"relu": [0, 1], "z": [0, 2]}, [0])
    assert is_legal([product(20, 12), relu, second("relu")], TOY)
    assert not is_legal([product(20, 12), relu, second("relu"), reader], TOY)
    square = op("z", (20, 20, 12), [2], {"x": [0, 2], "relu": [1, 2]}, [0, 1], contraction=True)
    assert not is_legal([product(20, 12), relu, square], TOY)


def test_each_rule_gives_its_reason():
    other = op("w", (20, 12, 9), [2], {"c": [0, 2], "d": [2, 1]}, [0, 1], contraction=True)
    both = op("both", (20, 12), [], {"x": [0, 1], "w": [0, 1]}, [0, 1])
    before, beside = op("a", (20, 9), [], {"y": [0, 1]}, [0, 1]), op("bias", (12,), [], {"y": [0]}, [0])
    added = op("add", (20, 12), [], {"x": [0, 1], "bias": [1]}, [0, 1])
    long = [op("y", (5000,), [], {"x": [0]}, [0]), op("sum", (5000,), [0], {"y": [0]}, [])]
    batch = op("x", (3, 8, 8, 5), [3], {"a": [0, 1, 3], "b": [0, 3, 2]}, [0, 1, 2], contraction=True)
    total = op("total", (20, 12), [0, 1], {"x": [0, 1]}, [])
    cases: dict[str, tuple[list[LoopNestOp], dict[str, int], str]] = {
        "one-contraction": ([product(20, 12), other, both], {}, "of which none reads"),
        "contraction-first": ([before, product(20, 12)], {}, "one would be computed in the kernel"),
        "depends-on-contraction": ([beside, product(20, 12), added], {}, "repeated for its tiles"),
        "parallel-class": (long, {}, "5000 elements, more than 4096"),
        "rows-fit-ub": (softmax(20, 6), {"ub": 100}, "256 bytes of ub; there are 100"),
        "batch-is-not-whole": (
            [batch, op("sum", (3, 8, 8), [0], {"x": [0, 1, 2]}, [1, 2])],
            {},
            "L0 holds one product at a time",
        ),
        "accumulator-fits": ([product(20, 12), total], {"l0c": 100}, "960 bytes of l0c; there are 100"),
    }
    for rule, (group, memories, reason) in cases.items():
        objection = why_not(group, replace(TOY, **memories))
        assert objection is not None and objection.rule == rule and reason in objection.reason


@pytest.mark.parametrize(
    ("consumer", "reason"),
    [
        (op("y", (6,), [], {"x": [{0: 2}]}, [0]), "in windows, strided"),
        (op("y", (10,), [], {"x": [0]}, [0]), "a loop of 10 and one of 12 would have to be one"),
    ],
)
def test_why_loops_are_no_nest(consumer: LoopNestOp, reason: str):
    objection = why_not([op("x", (12,), [], {"a": [0]}, [0]), consumer], TOY)
    assert objection is not None and objection.rule == "one-loop-nest" and reason in objection.reason


def test_what_is_no_loop_nest():
    doubled = op("y", (6,), [], {"x": [{0: 2}]}, [0])
    assert not is_legal([op("x", (12,), [], {"a": [0]}, [0]), doubled], TOY)


# ---- the host function ----------------------------------------------------------------------------------------------


def elementwise(result: str, source: str, name: str, node: str | None = None) -> str:
    """A unary operation as a `linalg.generic`, which came from a `node` of the graph."""
    t, maps = "tensor<4x6xf32>", "affine_map<(m, n) -> (m, n)>"
    attributes = f'attrs = {{npu.node = "{node}"}}' if node is not None else ""
    return f"""
  %e{result} = tensor.empty() : {t}
  %{result} = linalg.generic {{indexing_maps = [{maps}, {maps}], iterator_types = ["parallel", "parallel"]}}
      ins(%{source} : {t}) outs(%e{result} : {t}) {attributes} {{
  ^bb0(%0: f32, %1: f32):
    %2 = {name} %0 : f32
    linalg.yield %2 : f32
  }} -> {t}"""


def formed(body: str, returned: str, types: str) -> ModuleOp:
    """The function with its kernels, which computes what it did before."""
    text = (
        f"func.func @main(%x: tensor<4x6xf32>) -> ({types}) {{{body}\n  func.return {returned} : {types}\n}}"
    )
    module = parse_module(make_context(), text, "host.mlir")
    verify(module)
    inputs = [np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6)]
    expected = run_function(module, "main", inputs)
    FormKernels().apply(make_context(), module)
    verify(module)
    for got, wanted in zip(run_function(module, "main", inputs), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    return module


def host_ops(module: ModuleOp) -> list[str]:
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    return [op.name for op in function.body.block.ops]


T = "tensor<4x6xf32>"
VIEW = "tensor.collapse_shape {} [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>"


def test_a_view_of_what_a_kernel_makes_comes_behind_its_launch():
    body = (
        elementwise("a", "x", "math.exp")
        + f"\n  %v = {VIEW.format('%a')}"
        + elementwise("b", "a", "math.absf")
    )
    module = formed(body, "%b, %v", "tensor<4x6xf32>, tensor<24xf32>")
    assert host_ops(module) == ["tile.launch", "tensor.collapse_shape", "func.return"]


def test_what_need_not_move_stays():
    body = (
        f"\n  %v = {VIEW.format('%x')}" + elementwise("a", "x", "math.exp") + f"\n  %w = {VIEW.format('%a')}"
    )
    module = formed(body, "%v, %w", "tensor<24xf32>, tensor<24xf32>")
    assert host_ops(module) == [
        "tensor.collapse_shape",
        "tile.launch",
        "tensor.collapse_shape",
        "func.return",
    ]


def test_equal_kernels_are_made_once():
    """Names of values don't count, operations do."""
    split = f"\n  %v = {VIEW.format('%a')}\n  %y = tensor.expand_shape %v [[0, 1]] output_shape [4, 6] "
    split += ": tensor<24xf32> into tensor<4x6xf32>"
    for second, count in (("math.exp", 1), ("math.absf", 2)):
        body = elementwise("a", "x", "math.exp") + split + elementwise("b", "y", second)
        module = formed(body, "%b", "tensor<4x6xf32>")
        assert sum(isinstance(op, tile.KernelOp) for op in module.ops) == count
        assert host_ops(module).count("tile.launch") == 2


def test_names_in_bodies_do_not_count():
    split = f"\n  %v = {VIEW.format('%a')}\n  %y = tensor.expand_shape %v [[0, 1]] output_shape [4, 6] "
    split += f": tensor<24xf32> into {T}"
    first = (
        elementwise("a", "x", "math.exp")
        .replace("%0", "%one")
        .replace("%1", "%start")
        .replace("%2", "%power")
    )
    second = elementwise("b", "y", "math.exp").replace("%0", "%other").replace("%1", "%out")
    module = formed(first + split + second, "%b", T)
    assert sum(isinstance(op, tile.KernelOp) for op in module.ops) == 1


def test_every_function_is_formed():
    body = elementwise("a", "x", "math.exp")
    functions = [
        f"func.func @{name}(%x: {T}) -> {T} {{{body}\n func.return %a : {T}\n}}" for name in ("f", "g")
    ]
    text = "\n".join([f"func.func private @declared({T}) -> {T}", *functions])
    module = parse_module(make_context(), text, "host.mlir")
    FormKernels().apply(make_context(), module)
    verify(module)
    assert sum(isinstance(op, tile.LaunchOp) for op in module.walk()) == 2
    assert sum(isinstance(op, tile.KernelOp) for op in module.ops) == 1


@pytest.mark.parametrize("order", ["%x, %d", "%d, %x"])
def test_dynamic_operands_are_an_error(order: str):
    dynamic, maps = "tensor<?x6xf32>", "affine_map<(m, n) -> (m, n)>"
    types = ", ".join(T if name == "%x" else dynamic for name in order.split(", "))
    text = f"""func.func @main(%x: {T}, %d: {dynamic}) -> {T} {{
  %e = tensor.empty() : {T}
  %r = linalg.generic {{indexing_maps = [{maps}, {maps}, {maps}], iterator_types = ["parallel", "parallel"]}}
      ins({order} : {types}) outs(%e : {T}) {{
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.addf %0, %1 : f32
    linalg.yield %3 : f32
  }} -> {T}
  func.return %r : {T}
}}"""
    module = parse_module(make_context(), text, "host.mlir")
    with pytest.raises(UserError, match="kernels need static shapes"):
        FormKernels().apply(make_context(), module)


def test_what_nothing_reads_is_not_launched():
    body = elementwise("a", "x", "math.exp") + elementwise("b", "x", "math.absf")
    module = formed(body, "%a", "tensor<4x6xf32>")
    assert host_ops(module) == ["tile.launch", "func.return"]


@pytest.mark.parametrize(
    ("nodes", "name", "location"),
    [
        (["fc"], "k0_fc", "fc"),
        (["fc", "relu"], "k0_fc", "fc+relu"),
        (["a", "b", "a", "c", "d"], "k0_a", "a+b+c"),
        (["block.0/add"], "k0_block_0_add", "block.0/add"),
        (["abcdefghijklmnopqrstuvwxyz"], "k0_cdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"),
        (["/a/"], "k0_a", "/a/"),
        ([None, "fc"], "k0_fc", "fc"),
        ([None], "k0", ""),
    ],
)
def test_kernels_are_called_after_nodes(nodes: list[str | None], name: str, location: str):
    values = ["x", *(f"v{i}" for i in range(len(nodes)))]
    steps = zip(values[1:], values, nodes, strict=False)
    body = "".join(elementwise(result, source, "math.absf", node) for result, source, node in steps)
    module = formed(body, f"%{values[-1]}", "tensor<4x6xf32>")
    (kernel,) = (op for op in module.ops if isinstance(op, tile.KernelOp))
    assert (kernel.sym_name.data, kernel.attributes["npu.node"]) == (name, StringAttr(location))
