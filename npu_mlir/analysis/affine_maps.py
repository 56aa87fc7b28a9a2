"""Affine maps as plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)


class Linear(NamedTuple):
    """The expression `sum(coefficients[d] * d) + constant` over the dims of a map."""

    coefficients: tuple[int, ...]
    constant: int

    def dim(self) -> int | None:
        """The dim that the expression is, None when it is not a plain dim."""
        used = self.dims()
        return used[0] if not self.constant and len(used) == 1 and self.coefficients[used[0]] == 1 else None

    def dims(self) -> list[int]:
        """The dims that the expression depends on."""
        return [d for d, c in enumerate(self.coefficients) if c]


def linear(expr: AffineExpr, num_dims: int) -> Linear | None:
    """The expression as coefficients, None when it has a symbol, `floordiv`, `ceildiv` or `mod`."""
    match expr:
        case AffineConstantExpr():
            return Linear((0,) * num_dims, expr.value)
        case AffineDimExpr():
            return Linear(tuple(int(d == expr.position) for d in range(num_dims)), 0)
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add):
            lhs, rhs = linear(expr.lhs, num_dims), linear(expr.rhs, num_dims)
            if lhs is None or rhs is None:
                return None
            sums = tuple(a + b for a, b in zip(lhs.coefficients, rhs.coefficients, strict=True))
            return Linear(sums, lhs.constant + rhs.constant)
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul):
            lhs, rhs = linear(expr.lhs, num_dims), linear(expr.rhs, num_dims)
            if lhs is None or rhs is None or (lhs.dims() and rhs.dims()):
                return None
            factor, other = (lhs.constant, rhs) if not lhs.dims() else (rhs.constant, lhs)
            return Linear(tuple(c * factor for c in other.coefficients), other.constant * factor)
        case _:
            return None


def affine_expression(value: Linear) -> AffineExpr:
    """The shortest expression with these coefficients."""
    result: AffineExpr | None = None
    for d, c in enumerate(value.coefficients):
        if c:
            term = AffineDimExpr(d) if c == 1 else AffineDimExpr(d) * c
            result = term if result is None else result + term
    if result is None:
        return AffineConstantExpr(value.constant)
    return result + value.constant if value.constant else result


def linear_map(map_: AffineMap) -> list[Linear] | None:
    """Each result of the map as coefficients, None when one is not linear."""
    results = [linear(expr, map_.num_dims) for expr in map_.results]
    return None if None in results else [r for r in results if r is not None]


def dense_rows(exprs: Sequence[Linear]) -> list[Linear]:
    """The coordinates in a tile that holds only what is read: strides go where a coordinate is a multiple of one dim.

    The innermost coordinate keeps its stride: rows are moved whole.

    >>> dense_rows([Linear((2, 0), 0), Linear((0, 2), 0)])
    [Linear(coefficients=(1, 0), constant=0), Linear(coefficients=(0, 2), constant=0)]
    """
    last = len(exprs) - 1
    return [
        e._replace(coefficients=tuple(min(c, 1) for c in e.coefficients))
        if i != last and len(e.dims()) == 1 and max(e.coefficients) > 1
        else e
        for i, e in enumerate(exprs)
    ]


def plain_dims(exprs: Sequence[AffineExpr]) -> list[int] | None:
    """The dims that expressions are, None when one is not a plain dim."""
    dims = [expr.position for expr in exprs if isinstance(expr, AffineDimExpr)]
    return dims if len(dims) == len(exprs) else None


def projection(map_: AffineMap) -> list[int] | None:
    """The dims that the results of a map are, None when one is not a plain dim."""
    return plain_dims(map_.results)


_PYTHON = {
    AffineBinaryOpKind.Add: "({} + {})",
    AffineBinaryOpKind.Mul: "({} * {})",
    AffineBinaryOpKind.Mod: "({} % {})",
    AffineBinaryOpKind.FloorDiv: "({} // {})",
    AffineBinaryOpKind.CeilDiv: "(-(-{} // {}))",
}


def python_expression(expr: AffineExpr, dims: Sequence[str], symbols: Sequence[str] = ()) -> str:
    """The expression as Python source, with names for dims and symbols."""
    match expr:
        case AffineConstantExpr():
            return str(expr.value)
        case AffineDimExpr():
            return dims[expr.position]
        case AffineSymExpr():
            return symbols[expr.position]
        case AffineBinaryOpExpr():
            lhs, rhs = (python_expression(e, dims, symbols) for e in (expr.lhs, expr.rhs))
            return _PYTHON[expr.kind].format(lhs, rhs)
        case _:
            raise TypeError(f"unknown affine expression {expr}")
