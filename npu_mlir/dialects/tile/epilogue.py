"""What the fixpipe does to accumulators on their way out of L0C."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IntegerType,
    MemRefType,
    TensorType,
    f32,
    i8,
    i32,
)
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
class Scales:
    """As `Scale`, with a factor of f32 for each column of the accumulators: a row that lies in L1."""


@dataclass(frozen=True)
class Relu:
    """Negative values become zero."""


@dataclass(frozen=True)
class Offset:
    """`number` is added to values that have been rounded to integers: the zero point of the result."""

    number: int


Step: TypeAlias = Scale | Scales | Relu | Offset

STEPS: dict[str, type[Step]] = {"scale": Scale, "scales": Scales, "relu": Relu, "offset": Offset}
"""The steps by name, in the order in which the fixpipe takes them; the cast to the destination's type comes behind."""

OFFSETS = range(-256, 256)
"""The numbers that an offset may be: 9 bits."""


@irdl_attr_definition
class EpilogueAttr(Data[tuple[Step, ...]]):
    """The steps that the fixpipe takes on accumulators, before it casts them to the destination's element type.

    `#tile.epilogue<relu>` sets negative values to zero, `#tile.epilogue<scale 1.0e-3, relu>` multiplies by a number in
    f32 before. Whatever the steps, the cast rounds once, to nearest even. To integers, it rounds before the offset of
    `#tile.epilogue<scales, relu, offset -3>` is added, and limits the sum to the range of the type.
    """

    name = "tile.epilogue"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Step, ...]:
        position = parser.pos
        steps = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, lambda: _parse_step(parser))
        order = [list(STEPS.values()).index(type(step)) for step in steps]
        if not steps or order != sorted(set(order)) or order[:2] == [0, 1]:
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
            if isinstance(step, Offset) and step.number not in OFFSETS:
                raise VerifyException(f"an offset has 9 bits, got {step.number}")

    @staticmethod
    def of(steps: Sequence[Step]) -> EpilogueAttr | None:
        """An epilogue of these steps, in their order; None if there are none."""
        return EpilogueAttr(tuple(steps)) if steps else None

    @property
    def scale(self) -> Scale | Scales | None:
        """The step that multiplies, None if there is none."""
        return next((step for step in self.data if isinstance(step, Scale | Scales)), None)

    @property
    def has_scales(self) -> bool:
        """Whether it multiplies by a row in L1."""
        return isinstance(self.scale, Scales)


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
    offset = any(isinstance(step, Offset) for step in steps_of(epilogue))
    if offset and (result != i8 or epilogue is None or epilogue.scale is None):
        raise VerifyException(f"only a scale to i8 has an offset, got {accumulator} to {result}")
    if epilogue is not None and epilogue.scale is not None:
        floats = isinstance(result, Float16Type | BFloat16Type | Float32Type)
        if accumulator not in (i32, f32) or not (floats or result == i8):
            raise VerifyException(
                f"the fixpipe scales i32 or f32 to f16, bf16, f32 or i8, got {accumulator} to {result}"
            )
    elif isinstance(accumulator, IntegerType) != isinstance(result, IntegerType):
        raise VerifyException(f"the fixpipe makes {result} of {accumulator} by a scale only")


def check_scales(
    epilogue: EpilogueAttr | None, row: Attribute | None, along: Sequence[int], shape: Sequence[int]
) -> None:
    """Raise unless a row of factors is there if the epilogue has `scales`, and has one for each position of a tile of
    this shape along some of its dims."""
    if (epilogue is not None and epilogue.has_scales) != (row is not None):
        raise VerifyException("an epilogue has scales if there is a row of them, and only then")
    if row is None:
        return
    assert isinstance(row, TensorType | MemRefType)
    if row.get_element_type() != f32:
        raise VerifyException(f"scales are f32, got {row}")
    if not all(0 <= d < len(shape) for d in along) or row.get_shape() != tuple(shape[d] for d in along):
        raise VerifyException(f"scales of type {row} along dims {list(along)} of a tile of {list(shape)}")


def _parse_step(parser: AttrParser) -> Step:
    position = parser.pos
    name = parser.parse_identifier()
    if name not in STEPS:
        parser.raise_error(
            f"the fixpipe has no step '{name}', expected {', '.join(STEPS)}", position, parser.pos
        )
    if name in ("relu", "scales"):
        return Relu() if name == "relu" else Scales()
    if name == "offset":
        return Offset(parser.parse_integer())
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
    match step:
        case Scale(factor):
            return f"scale {_shortest(factor)}"
        case Offset(number):
            return f"offset {number}"
        case _:
            return "relu" if isinstance(step, Relu) else "scales"


def _shortest(factor: float) -> str:
    """The fewest digits that f32 reads as this number again."""
    texts = (f"{factor:.{digits}e}" for digits in range(1, 10))
    return next(text for text in texts if scale_factor(float(text)) == factor)
