"""The table of formulas, and which of them to take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from math import prod
from pkgutil import iter_modules
from typing import Any

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, SSAValue

from npu_mlir.analysis.structured.nest import loop_extents
from npu_mlir.passes.linalg.formulas.price import ELEMENTS, price
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.scalar_code import Code
from npu_mlir.support.accuracy import FAST, FULL
from npu_mlir.targets.target import Target

Build = Callable[..., SSAValue]
"""Called with the code and an operand, and with the parameters of the function by name; returns the result, which has
the type of the operand. Functions of rows are called with a builder of generics, and with all operands."""


@dataclass(frozen=True)
class Error:
    """A result is off by at most `ulp` units in the last place of the exact one, by `absolute`, or by `operand` times
    the operand: by whichever is most."""

    ulp: float
    absolute: float = 0.0
    operand: float = 0.0

    def __str__(self) -> str:
        absolute = f" or {self.absolute:g}" if self.absolute else ""
        return f"within {self.ulp:g} ulp{absolute}" + (f" or {self.operand:g} |x|" if self.operand else "")


@dataclass(frozen=True)
class Formula:
    """How a function is computed on elements of a type."""

    function: str
    element: Attribute
    accuracy: str
    error: Error
    build: Build
    rows: bool = False
    """Whether it is a function of rows, not of elements."""
    fits: Callable[..., bool] | None = None
    """Whether it is good for these parameters; always, without."""

    @property
    def name(self) -> str:
        """The function, the type and the error, for people."""
        return f"{self.function} in {self.element} {self.error}"

    def cost(self, target: Target, *types: Attribute, **parameters: Any) -> float:
        """Cycles that the target's vector unit takes for 128 elements; of a function of rows with operands of these
        types, for all of them, when a reduction costs as much as what it combines by."""
        operands = Block(arg_types=types or [self.element]).args
        if self.rows:
            builder = Builder()
            self.build(builder, *operands, **parameters)
            return sum(
                price(op.body.block.ops, target) * prod(loop_extents(op)) / ELEMENTS
                for op in builder.ops
                if isinstance(op, GenericOp)
            )
        code = Code({})
        self.build(code, *operands, **parameters)
        return price(code.ops, target)


_formulas: list[Formula] = []


def formula(
    function: str,
    *,
    element: Attribute | Sequence[Attribute],
    error: Error,
    accuracy: str = FULL,
    rows: bool = False,
    fits: Callable[..., bool] | None = None,
) -> Callable[[Build], Build]:
    """Register the decorated function as a formula for an element type, or for several."""
    elements = element if isinstance(element, Sequence) else [element]

    def register(build: Build) -> Build:
        _formulas.extend(Formula(function, each, accuracy, error, build, rows, fits) for each in elements)
        return build

    return register


@cache
def _load() -> None:
    """Import the files of this folder, each of which registers its formulas."""
    package = __name__.rpartition(".")[0]
    for module in iter_modules(import_module(package).__path__):
        import_module(f"{package}.{module.name}")


def formulas(function: str | None = None) -> list[Formula]:
    """All formulas, or those of a function."""
    _load()
    return [f for f in _formulas if function in (None, f.function)]


def choose(
    function: str, type_: Attribute, fast: bool, target: Target, *types: Attribute, **parameters: Any
) -> Formula | None:
    """The cheapest formula of a function for a type that the accuracy allows; None if there is none. A function of rows
    has operands of `types`."""
    allowed = (FULL, FAST) if fast else (FULL,)
    found = [
        f
        for f in formulas(function)
        if f.element == type_ and f.accuracy in allowed and (f.fits is None or f.fits(**parameters))
    ]
    if len(found) < 2:
        return found[0] if found else None
    return min(found, key=lambda f: f.cost(target, *types, **parameters))
