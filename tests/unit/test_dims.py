"""Dimension classes and the roles of a contraction's dims, on plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.analysis.dims import DimKind, LoopNestOp, dim_classes
from npu_mlir.analysis.structured.roles import Contraction, contraction_roles

SIZES = {"b": 2, "h": 3, "w": 5, "m": 6, "n": 4, "k": 8, "s": 7, "o": 9, "x": 3, "y": 3}
"""Extents by the letter of a dim."""


def op(key: str, equation: str, operands: str = "", contraction: bool = False) -> LoopNestOp:
    """`op("c", "mk,kn->mn", "a b")`: reads `a[m, k]` and `b[k, n]`, makes `c[m, n]`; dims that the result lacks are
    reduced. A term of two letters in parentheses is a window: `(hx)` reads at `h + x`."""
    inputs, _, result = equation.partition("->")
    terms = [_terms(side) for side in inputs.split(",")]
    letters = sorted({d for side in terms for term in side for d in term} | set(result))
    letters.sort(key=lambda d: (d not in result, result.find(d)))

    def expression(term: str) -> Linear:
        return Linear(tuple(int(d in term) for d in letters), 0)

    return LoopNestOp(
        key,
        tuple(SIZES[d] for d in letters),
        tuple(d not in result for d in letters),
        tuple(operands.split()),
        tuple(tuple(expression(term) for term in side) for side in terms),
        tuple(letters.index(d) for d in result),
        contraction,
    )


def _terms(side: str) -> list[str]:
    terms: list[str] = []
    while side:
        if side[0] == "(":
            term, _, side = side[1:].partition(")")
        else:
            term, side = side[0], side[1:]
        terms.append(term)
    return terms


def kinds(group: Sequence[LoopNestOp]) -> list[tuple[int, DimKind]] | None:
    """(extent, kind) of the classes, sorted."""
    classes = dim_classes(group)
    return None if classes is None else sorted((c.extent, c.kind) for c in classes.classes)


MATMUL = op("c", "mk,kn->mn", "a b", contraction=True)


def test_product_bias_and_row_sum():
    """The columns are mixed: parallel in the product, reduced in the sum."""
    group = [MATMUL, op("d", "mn,n->mn", "c bias"), op("e", "mn->m", "d")]
    assert kinds(group) == [(4, DimKind.MIXED), (6, DimKind.PAR), (8, DimKind.RED)]


def test_epilogue():
    group = [MATMUL, op("d", "mn,n->mn", "c bias"), op("e", "mn,mn->mn", "d residual")]
    assert kinds(group) == [(4, DimKind.PAR), (6, DimKind.PAR), (8, DimKind.RED)]


def test_classes_of_a_contraction_come_first():
    group = [op("p", "n->n", "q"), MATMUL, op("d", "mn,n->mn", "c p")]
    classes = dim_classes(group)
    assert classes is not None
    assert classes.class_of["c"] == (0, 1, 2)
    assert classes.class_of["p"] == (classes.class_of["d"][1],) == (1,)


def softmax(x: str = "x") -> list[LoopNestOp]:
    return [
        op("top", "mn->m", x),
        op("power", "mn,m->mn", f"{x} top"),
        op("sum", "mn->m", "power"),
        op("y", "mn,m->mn", "power sum"),
    ]


def test_softmax():
    """The maximum alone has dims of its own along the row: it reads the argument, not a value of the group."""
    assert kinds(softmax()) == [(4, DimKind.RED), (4, DimKind.MIXED), (6, DimKind.PAR)] or kinds(
        softmax()
    ) == [
        (4, DimKind.MIXED),
        (4, DimKind.RED),
        (6, DimKind.PAR),
    ]
    assert kinds(softmax()[:1]) == [(4, DimKind.RED), (6, DimKind.PAR)]


def test_layer_norm():
    group = [
        op("sum", "mn->m", "x"),
        op("centred", "mn,m->mn", "x sum"),
        op("squares", "mn->m", "centred"),
        op("y", "mn,m,n->mn", "centred squares gain"),
    ]
    found = kinds(group)
    assert found is not None
    assert (6, DimKind.PAR) in found and (4, DimKind.MIXED) in found and (4, DimKind.RED) in found


def test_attention_scores():
    """Scores and their softmax: rows stay parallel, keys are mixed, depth is the product's own."""
    group = [op("x", "bmk,bnk->bmn", "q keys", contraction=True)]
    group += [
        op("top", "bmn->bm", "x"),
        op("power", "bmn,bm->bmn", "x top"),
        op("sum", "bmn->bm", "power"),
        op("y", "bmn,bm->bmn", "power sum"),
    ]
    assert kinds(group) == [(2, DimKind.PAR), (4, DimKind.MIXED), (6, DimKind.PAR), (8, DimKind.RED)]


def test_no_parallel_class_left():
    assert kinds([op("r", "mn->m", "x"), op("t", "m->", "r")]) == [(4, DimKind.RED), (6, DimKind.MIXED)]


def test_a_value_read_through_a_window_is_no_loop_nest():
    assert dim_classes([op("c", "m->m", "a"), op("d", "(hx)->h", "c")]) is None


def test_a_value_read_twice_in_different_order_is_no_loop_nest():
    square = LoopNestOp("c", (4, 4), (False, False), ("a",), ((linear(0), linear(1)),), (0, 1))
    both = LoopNestOp(
        "d", (4, 4), (False, False), ("c", "c"), ((linear(0), linear(1)), (linear(1), linear(0))), (0, 1)
    )
    assert dim_classes([square, both]) is None


def test_a_diagonal_is_no_loop_nest():
    square = LoopNestOp("c", (4, 4), (False, False), ("a",), ((linear(0), linear(1)),), (0, 1))
    diagonal = LoopNestOp("d", (4,), (False,), ("c",), ((Linear((1,), 0), Linear((1,), 0)),), (0,))
    assert dim_classes([square, diagonal]) is None


def test_a_part_of_a_value_is_no_loop_nest():
    """The reader's dim is shorter than the value's."""
    part = LoopNestOp("d", (3,), (False,), ("c",), ((Linear((1,), 0),),), (0,))
    assert dim_classes([op("c", "m->m", "a"), part]) is None


def linear(dim: int) -> Linear:
    return Linear(tuple(int(d == dim) for d in range(2)), 0)


# ---- contractions ---------------------------------------------------------------------------------------------------


def roles(equation: str) -> dict[str, Any] | None:
    """The roles by letters."""
    inputs, _, result = equation.partition("->")
    compute = op("c", equation, "a b")
    letters = sorted(
        {d for d in inputs if d.isalpha()} | set(result), key=lambda d: (d not in result, result.find(d), d)
    )
    found = contraction_roles(compute)
    if found is None:
        return None
    assert isinstance(found, Contraction)
    named = {key: "".join(letters[d] for d in getattr(found, key)) for key in ("batch", "m", "n", "k")}
    return named | {"swapped": found.swapped}


def test_product():
    assert roles("mk,kn->mn") == {"batch": "", "m": "m", "n": "n", "k": "k", "swapped": False}
    assert roles("km,nk->mn") == {"batch": "", "m": "m", "n": "n", "k": "k", "swapped": False}


def test_result_with_columns_first_exchanges_operands():
    assert roles("mk,kn->nm") == {"batch": "", "m": "n", "n": "m", "k": "k", "swapped": True}


@pytest.mark.parametrize(
    ("rows", "columns", "swapped"),
    # The result has its rows first; dims of one don't count.
    [(5, 2, False), (2, 5, False), (2, 2, False), (5, 1, True), (1, 5, False), (1, 1, False)],
)
def test_what_comes_first_is_rows(rows: int, columns: int, swapped: bool):
    def maps(*dims: int) -> tuple[Linear, ...]:
        return tuple(Linear(tuple(int(d == i) for i in range(3)), 0) for d in dims)

    extents, reduction = (rows, columns, 7), (False, False, True)
    product = LoopNestOp("c", extents, reduction, ("a", "b"), (maps(0, 2), maps(2, 1)), (0, 1))
    found = contraction_roles(product)
    assert found is not None and found.swapped == swapped


def test_batch_product():
    assert roles("bmk,bkn->bmn") == {"batch": "b", "m": "m", "n": "n", "k": "k", "swapped": False}


def test_convolution():
    found = roles("b(hx)(wy)k,xyko->bhwo")
    assert found == {"batch": "", "m": "bhw", "n": "o", "k": "kxy", "swapped": False}


def test_convolution_with_channels_first():
    """The rows of the result are the channels."""
    found = roles("bk(hx)(wy),okxy->bohw")
    assert found is not None
    assert found["k"] == "kxy"
    assert {found["m"], found["n"]} == {"o", "bhw"}


def test_vector_times_matrix_is_a_contraction():
    found = roles("k,kn->n")
    assert found is not None and found["k"] == "k" and found["m"] + found["n"] == "n"


def test_depthwise_is_none():
    assert roles("b(hx)(wy)o,xyo->bhwo") is None


def test_what_only_one_operand_sums_is_none():
    assert roles("mks,kn->mn") is None


def test_scalar_product_is_none():
    assert roles("k,k->") is None
    assert roles("bk,bk->b") is None


def test_elementwise_is_none():
    assert roles("mn,mn->mn") is None


def test_roles_of_a_product_that_is_summed_over_its_first_dim():
    """Loops k, m, n: `result[m, n] += a[m, k] * b[k, n]`."""

    def dims(*loops: int) -> tuple[Linear, ...]:
        return tuple(Linear(tuple(int(i == d) for i in range(3)), 0) for d in loops)

    product = LoopNestOp("c", (8, 6, 4), (True, False, False), ("a", "b"), (dims(1, 0), dims(0, 2)), (1, 2))
    found = contraction_roles(product)
    assert found is not None
    assert (found.m, found.n, found.k) == ((1,), (2,), (0,))
