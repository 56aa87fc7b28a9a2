"""What the fixpipe does to accumulators on their way out of L0C."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

STEPS = ("relu",)
"""The steps, in the order in which the fixpipe takes them; the cast to the destination's type comes behind."""


@irdl_attr_definition
class EpilogueAttr(Data[tuple[str, ...]]):
    """The steps that the fixpipe takes on accumulators, before it casts them to the destination's element type:
    `#tile.epilogue<relu>` sets negative values to zero.
    """

    name = "tile.epilogue"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[str, ...]:
        position = parser.pos
        steps = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_identifier)
        for step in steps:
            if step not in STEPS:
                parser.raise_error(
                    f"the fixpipe has no step '{step}', expected {', '.join(STEPS)}", position, parser.pos
                )
        if not steps or steps != [step for step in STEPS if step in steps]:
            parser.raise_error(
                f"an epilogue has each step at most once, and at least one, in the order {', '.join(STEPS)}",
                position,
                parser.pos,
            )
        return tuple(steps)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(self.data))

    @staticmethod
    def of(steps: Sequence[str]) -> EpilogueAttr | None:
        """An epilogue of these steps, in their order; None if there are none."""
        return EpilogueAttr(tuple(step for step in STEPS if step in steps)) if steps else None


def steps_of(epilogue: EpilogueAttr | None) -> tuple[str, ...]:
    """The steps of an epilogue that may be left out."""
    return () if epilogue is None else epilogue.data
