"""The schedule of a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    i64,
)
from xdsl.ir import (
    Attribute,
    ParametrizedAttribute,
)
from xdsl.irdl import (
    irdl_attr_definition,
    param_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@irdl_attr_definition
class ScheduleAttr(ParametrizedAttribute):
    """How a kernel is tiled: `#tile.schedule<{tile = array<i64: 64, 128>, ...}>`.

    The entries, written by `tile-choose-schedule` (or by hand) and obeyed by `tile-apply-schedule`:

    - `tile`: for every dimension class of the kernel, the size of one tile in the outer loops (parallel classes) or of
      one chunk brought on chip (reductions: to L1 for a contraction, to UB for the vector unit);
    - `inner`: for every class, the size of a chunk of K in L0, and of the piece of an accumulator that passes through
      UB at once; it divides `tile`;
    - `order`: the tiled parallel classes from the outermost loop to the innermost;
    - `direct`: a unit attribute: results leave L0C for GM without passing through UB, cast on the way if need be;
    - `slots`: number of ping-pong copies of the buffers of each space.
    """

    name = "tile.schedule"
    entries: DictionaryAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [parser.parse_attribute()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.entries)

    def sizes(self, key: str) -> tuple[int, ...]:
        """The integers listed under `key`; empty when it is absent."""
        value = self.entries.data.get(key)
        if value is None:
            return ()
        return tuple(int(v) for v in cast("DenseArrayBase[IntegerType]", value).get_values())

    def slots(self) -> dict[str, int]:
        """Number of ping-pong copies by space name; a space not named has one."""
        value = self.entries.data.get("slots")
        if not isinstance(value, DictionaryAttr):
            return {}
        return {k: v.value.data for k, v in value.data.items() if isinstance(v, IntegerAttr)}

    @property
    def direct(self) -> bool:
        """Whether results go from L0C to GM directly."""
        return "direct" in self.entries.data

    @staticmethod
    def of(slots: Mapping[str, int], *, direct: bool = False, **sizes: Iterable[int]) -> ScheduleAttr:
        """Build a schedule from plain integers."""
        entries: dict[str, Attribute] = {k: DenseArrayBase.from_list(i64, list(v)) for k, v in sizes.items()}
        if direct:
            entries["direct"] = UnitAttr()
        entries["slots"] = DictionaryAttr({k: IntegerAttr(v, i64) for k, v in slots.items()})
        return ScheduleAttr(DictionaryAttr(entries))
