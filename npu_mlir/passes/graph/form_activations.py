"""graph-form-activations: say gated functions that are spelled out as what they are: GELU, swish and hard swish.

    %0 = graph.div %x, %root                     // %root = dense<1.41421354>
    %1 = graph.erf %0
    %2 = graph.add %1, %one
    %3 = graph.mul %x, %2
    %4 = graph.mul %3, %half
  becomes
    %4 = graph.gelu %x

and `x sigmoid(p(x))` becomes `graph.gelu tanh` where p is `2 sqrt(2 / pi) (x + 0.044715 x^3)`, `graph.swish` where it
is a multiple of x, and `x clip(x + 3, 0, 6) / 6`, or x times the hard sigmoid that is the same, `graph.hard_swish`.
What the function is of is read as a polynomial in x (sums, products, whole powers, quotients by constants), so it may
be spelled in any way; factors may come in any order. As one op it is computed by one formula, with the accuracy of the
whole: `1 + erf(x / sqrt(2))` cancels for negative x.

Constants agree if they do to 2 ulp of f16 in f16, else to 1e-5: models have the root of 2 with a few digits only.
Leaves alone: steps that something else reads too, and other polynomials.
Does not handle: GELU of a sum written with separate products of its parts.
Changes values: by the rounding of the steps, to more exact ones.
"""

from __future__ import annotations

from math import pi, sqrt

from xdsl.context import Context
from xdsl.dialects.builtin import Float16Type, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects.graph import (
    AddOp,
    ClipOp,
    DivOp,
    ErfOp,
    GeluOp,
    GraphOp,
    HardSigmoidOp,
    HardSwishOp,
    MulOp,
    NegOp,
    PowOp,
    SigmoidOp,
    SubOp,
    SwishOp,
    element_of,
    shape_of,
)
from npu_mlir.ir.constants import constant_of
from npu_mlir.ir.functions import body_of
from npu_mlir.ir.weights import WeightStore, weights_of
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.graph.rewriting import (
    functions,
    graph_ops,
    insert_before,
    join_locations,
    only_user,
    replace,
)

Gate = ErfOp | SigmoidOp | HardSigmoidOp | ClipOp
"""What functions that are looked for have in them."""

Polynomial = dict[int, float]
"""Coefficients by power."""

DEEPEST = 8
"""Operations in a row that a polynomial may consist of."""

HIGHEST = 3
"""The highest power that is looked for."""


class FormActivations(ModulePass):
    """Turn spelled-out GELU and swish into one op."""

    name = "graph-form-activations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = weights_of(op)
        for function in functions(op):
            for candidate in graph_ops(body_of(function)):
                if candidate.parent is None:
                    continue
                if isinstance(candidate, ErfOp):
                    _form(candidate, candidate.result, 0.5, store)
                elif isinstance(candidate, SigmoidOp | HardSigmoidOp):
                    _form(candidate, candidate.result, 1.0, store)
                elif isinstance(candidate, ClipOp):
                    _form(candidate, candidate.result, 1 / 6, store)
        erase_dead_ops(op)


def _form(inner: Gate, value: SSAValue, scale: float, store: WeightStore) -> None:
    """Replace the product that ends a gated function of which `inner` is the gate; `scale` is the constant in it."""
    if isinstance(inner, ErfOp):
        more = only_user(value)
        if not isinstance(more, AddOp) or _number(_other(more, value), store) != 1:
            return
        value = more.result
    factors = 1.0
    gated: SSAValue | None = None
    while shape_of(value) == shape_of(inner.result):
        product = only_user(value)
        if isinstance(product, DivOp) and product.lhs is value:
            number = _number(product.rhs, store)
            factors = factors / number if number else 0.0
        elif isinstance(product, MulOp) and product.lhs is not product.rhs:
            other = _other(product, value)
            number = _number(other, store)
            if number is not None:
                factors *= number
            elif gated is None:
                gated, constant = _unscaled(other, store)
                factors *= constant
            else:
                return
        else:
            return
        value = product.result
        if gated is not None and abs(factors - scale) <= _tolerance(gated) * scale:
            break
    else:
        return
    found = _function(inner, gated, store)
    if found is None or shape_of(found.result) != shape_of(value):
        return
    end = value.owner
    assert isinstance(end, GraphOp)
    join_locations(found, inner, end)
    replace(end, insert_before(end, found))


def _unscaled(value: SSAValue, store: WeightStore) -> tuple[SSAValue, float]:
    """A value without the constant that it is multiplied by for this one use."""
    owner = value.owner
    if isinstance(owner, MulOp) and only_user(value) is not None:
        for rest, constant in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)):
            number = _number(constant, store)
            if number is not None and shape_of(rest) == shape_of(value):
                return rest, number
    return value, 1.0


def _tolerance(value: SSAValue) -> float:
    """How far constants may be from what they are for."""
    return 2.0**-9 if isinstance(element_of(value), Float16Type) else 1e-5


def _function(inner: Gate, x: SSAValue, store: WeightStore) -> GeluOp | SwishOp | HardSwishOp | None:
    """What x times the gate is."""
    tolerance = _tolerance(x)
    polynomial = _polynomial(inner.input, x, store, DEEPEST)
    if polynomial is None:
        return None
    if isinstance(inner, HardSigmoidOp):
        line = {0: inner.beta.value.data, 1: inner.alpha.value.data}
        return (
            HardSwishOp(x) if polynomial == {1: 1.0} and _agree(line, {0: 0.5, 1: 1 / 6}, tolerance) else None
        )
    if isinstance(inner, ClipOp):
        limits = tuple(None if limit is None else limit.value.data for limit in (inner.min, inner.max))
        return HardSwishOp(x) if limits == (0, 6) and polynomial == {0: 3.0, 1: 1.0} else None
    if isinstance(inner, ErfOp):
        return GeluOp(x) if _agree(polynomial, {1: sqrt(0.5)}, tolerance) else None
    if _agree(polynomial, {1: 2 * sqrt(2 / pi), 3: 2 * sqrt(2 / pi) * 0.044715}, tolerance):
        return GeluOp(x, tanh=True)
    if list(polynomial) == [1]:
        return SwishOp(x, polynomial[1])
    return None


def _agree(found: Polynomial, wanted: Polynomial, tolerance: float) -> bool:
    return found.keys() == wanted.keys() and all(
        abs(found[power] - wanted[power]) <= tolerance * abs(wanted[power]) for power in wanted
    )


def _polynomial(value: SSAValue, x: SSAValue, store: WeightStore, depth: int) -> Polynomial | None:
    """A value as a polynomial in x, None if it is none that can be read off."""
    if value is x:
        return {1: 1.0}
    number = _number(value, store)
    if number is not None:
        return {0: number} if number else {}
    op = value.owner
    if depth == 0 or not isinstance(op, AddOp | SubOp | MulOp | DivOp | PowOp | NegOp):
        return None
    parts = list[Polynomial]()
    for operand in op.operands:
        part = _polynomial(operand, x, store, depth - 1)
        if part is None or max(part, default=0) > HIGHEST:
            return None
        parts.append(part)
    return _combined(op, parts)


def _combined(op: Operation, parts: list[Polynomial]) -> Polynomial | None:
    left, right = parts[0], parts[-1]
    match op:
        case NegOp():
            return {power: -c for power, c in left.items()}
        case AddOp() | SubOp():
            sign = -1.0 if isinstance(op, SubOp) else 1.0
            total = {p: left.get(p, 0.0) + sign * right.get(p, 0.0) for p in sorted({*left, *right})}
            return {power: c for power, c in total.items() if c}
        case MulOp():
            return _product(left, right)
        case DivOp() if list(right) == [0]:
            return {power: c / right[0] for power, c in left.items()}
        case PowOp() if list(right) == [0] and right[0] in (1, 2, 3):
            result = left
            for _ in range(int(right[0]) - 1):
                result = _product(result, left)
            return result
        case _:
            return None


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    result = Polynomial()
    for p, a in left.items():
        for q, b in right.items():
            result[p + q] = result.get(p + q, 0.0) + a * b
    return result


def _other(op: AddOp | MulOp, value: SSAValue) -> SSAValue:
    return op.rhs if op.lhs is value else op.lhs


def _number(value: SSAValue, store: WeightStore) -> float | None:
    """The number that a constant with a single element is, None for any other value."""
    array = constant_of(value, store)
    return float(array.item()) if array is not None and array.size == 1 else None
