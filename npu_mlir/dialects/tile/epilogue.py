"""What the fixpipe does to accumulators on their way out of L0C."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, IntegerType, f32, i32
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


@dataclass(frozen=True)
class Scale:
    """The accumulators are rounded to f32, to nearest even, and each is multiplied by `factor` in f32 (one rounding).

    `factor` is the same for the whole tensor: a number that f32 has, finite and not zero.
    """

    factor: float


@dataclass(frozen=True)
class Relu:
    """Negative values become zero."""


Step: TypeAlias = Scale | Relu

STEPS: dict[str, type[Step]] = {"scale": Scale, "relu": Relu}
"""The steps by name, in the order in which the fixpipe takes them; the cast to the destination's type comes behind."""


@irdl_attr_definition
class EpilogueAttr(Data[tuple[Step, ...]]):
    """The steps that the fixpipe takes on accumulators, before it casts them to the destination's element type.

    `#tile.epilogue<relu>` sets negative values to zero, `#tile.epilogue<scale 1.0e-3, relu>` multiplies by a number in
    f32 before. Whatever the steps, the cast rounds once, to nearest even.
    """

    name = "tile.epilogue"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Step, ...]:
        position = parser.pos
        steps = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, lambda: _parse_step(parser))
        order = [list(STEPS.values()).index(type(step)) for step in steps]
        if not steps or order != sorted(set(order)):
            parser.raise_error(
                f"an epilogue has each step at most once, and at least one, in the order {', '.join(STEPS)}",
                position,
                parser.pos,
            )
        return tuple(steps)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(map(_text, self.data)))

    def verify(self) -> None:
        for step in self.data:
            if isinstance(step, Scale) and scale_factor(step.factor) != step.factor:
                raise VerifyException(f"a scale is a number that f32 has, got {step.factor!r}")

    @staticmethod
    def of(steps: Sequence[Step]) -> EpilogueAttr | None:
        """An epilogue of these steps, in their order; None if there are none."""
        return EpilogueAttr(tuple(steps)) if steps else None

    @property
    def scale(self) -> Scale | None:
        """The step that multiplies, None if there is none."""
        return next((step for step in self.data if isinstance(step, Scale)), None)


def steps_of(epilogue: EpilogueAttr | None) -> tuple[Step, ...]:
    """The steps of an epilogue that may be left out."""
    return () if epilogue is None else epilogue.data


def scale_factor(number: float) -> float | None:
    """The f32 nearest to a number, as the factor of a scale; None if that is zero or not finite."""
    try:
        factor = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return None
    return factor if math.isfinite(factor) and factor else None


def check_epilogue(epilogue: EpilogueAttr | None, accumulator: Attribute, result: Attribute) -> None:
    """Raise unless the fixpipe can make `result` of accumulators of a type with these steps.

    Which types it scales on a given machine is `Target.scales`.
    """
    if epilogue is not None and epilogue.scale is not None:
        if accumulator not in (i32, f32) or not isinstance(result, Float16Type | BFloat16Type | Float32Type):
            raise VerifyException(
                f"the fixpipe scales i32 or f32 to f16, bf16 or f32, got {accumulator} to {result}"
            )
    elif isinstance(accumulator, IntegerType) != isinstance(result, IntegerType):
        raise VerifyException(f"the fixpipe makes {result} of {accumulator} by a scale only")


def _parse_step(parser: AttrParser) -> Step:
    position = parser.pos
    name = parser.parse_identifier()
    if name not in STEPS:
        parser.raise_error(
            f"the fixpipe has no step '{name}', expected {', '.join(STEPS)}", position, parser.pos
        )
    if name == "relu":
        return Relu()
    position = parser.pos
    number = parser.parse_number()
    try:
        factor = scale_factor(number)
    except struct.error:
        factor = None
    if factor is None:
        parser.raise_error("a scale is finite in f32, and not zero", position, parser.pos)
    return Scale(factor)


def _text(step: Step) -> str:
    return f"scale {_shortest(step.factor)}" if isinstance(step, Scale) else "relu"


def _shortest(factor: float) -> str:
    """The fewest digits that f32 reads as this number again."""
    texts = (f"{factor:.{digits}e}" for digits in range(1, 10))
    return next(text for text in texts if scale_factor(float(text)) == factor)
