"""The schedule of a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.tile.schedule_entries import (
    ENTRIES,
    SIZE_LEVELS,
    VIA,
    array,
    entries_text,
    integer,
    integers,
    names,
    parse_entry,
    problem_of,
)

Slots = Mapping[str, "int | Mapping[str, int]"]
"""Ping-pong copies by memory: of all buffers in it, or by the role of a buffer."""


@irdl_attr_definition
class ScheduleAttr(ParametrizedAttribute):
    """How a kernel is tiled: `#tile.schedule<l1 = [64, 32, 128], l0 = [0, 0, 64], order = [0, 1], slots = {l1 = 2}>`.

    The entries, written by `tile-choose-schedule` (or by hand) and obeyed by `tile-apply-schedule`. Lists of sizes have
    a number for every dimension class of the kernel; 0 says that the class is not cut at this level, and a list that is
    left out says so of all classes.

    - `l1`: what of a contraction's classes is on chip at once: the tile of the outer loops (parallel classes), the
      chunk that is brought to L1 (summed classes);
    - `l0`: the chunk of the summed classes in L0A and L0B;
    - `ub`: in UB at once: of a contraction's parallel classes the piece of the accumulators that passes through UB, of
      all others the tile of the outer loops, or the chunk of a reduction;
    - `order`: the parallel classes that are cut, from the outermost loop to the innermost;
    - `slots`: the number of ping-pong copies of the buffers of each memory, 1 if it is not named; or by role, as in
      `l1 = {a = 2, b = 3}` (see `ROLES`);
    - `keep`: the operands, `a` in L0A and `b` in L0B, whose chunks stay in L1 while the innermost loops run that they
      do not depend on: loaded in the first iteration alone, into as many slots as there are chunks;
    - `bypass_ub`: results leave L0C for GM without passing through UB, cast on the way if need be;
    - `ops`: sizes of single operations, by their position among those of the kernel, where they differ from the lists
      above: `ops = {1 = {l0 = [0, 0, 32]}}`. A 0 stands for the size above. A contraction that reads what another one
      has made has sizes of its own for the classes that it sums (without them, whole), and `via` (see `VIA`).
    """

    name = "tile.schedule"
    entries: DictionaryAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        entries: dict[str, Attribute] = {}
        parser.parse_comma_separated_list(
            parser.Delimiter.ANGLE, lambda: parse_entry(parser, entries, ENTRIES), " in a schedule"
        )
        return [DictionaryAttr(entries)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(entries_text(self.entries))

    def verify(self) -> None:
        for key, value in self.entries.data.items():
            problem = problem_of(key, value, ENTRIES)
            if problem is not None:
                raise VerifyException(problem)

    def sizes(self, level: str, op: int | None = None) -> tuple[int, ...]:
        """The sizes listed for a level, of an operation's own if `op` says which; empty when there are none."""
        entries = self.entries if op is None else self._ops.get(str(op), DictionaryAttr({}))
        return integers(entries.data.get(level))

    @property
    def own_sizes(self) -> dict[int, dict[str, tuple[int, ...]]]:
        """Sizes of single operations by level, by the position of the operation."""
        return {
            int(op): {k: integers(v) for k, v in own.data.items() if k in SIZE_LEVELS}
            for op, own in self._ops.items()
        }

    def via(self, op: int) -> str:
        """How what the kernel makes reaches a contraction, by its position: one of `VIA`."""
        entry = self._ops.get(str(op), DictionaryAttr({})).data.get("via")
        return cast("StringAttr", entry).data if entry is not None else VIA[0]

    @property
    def _ops(self) -> Mapping[str, DictionaryAttr]:
        ops = self.entries.data.get("ops", DictionaryAttr({}))
        return cast("Mapping[str, DictionaryAttr]", cast("DictionaryAttr", ops).data)

    @property
    def order(self) -> tuple[int, ...]:
        """The classes that outer loops go over, from the outermost to the innermost."""
        return integers(self.entries.data.get("order"))

    @property
    def bypass_ub(self) -> bool:
        """Whether results go from L0C to GM without passing through UB."""
        return "bypass_ub" in self.entries.data

    @property
    def slots(self) -> dict[str, int | dict[str, int]]:
        """Ping-pong copies by the name of the memory, or by the name of the memory and the role of the buffer."""
        value = cast("DictionaryAttr", self.entries.data.get("slots", DictionaryAttr({})))
        return {
            space: integer(entry)
            if isinstance(entry, IntegerAttr)
            else {role: integer(n) for role, n in cast("DictionaryAttr", entry).data.items()}
            for space, entry in value.data.items()
        }

    @property
    def keep(self) -> tuple[str, ...]:
        """The roles of the operands whose chunks stay in L1."""
        return names(self.entries.data.get("keep"))

    def slots_of(self, space: str, role: str = "") -> int:
        """The ping-pong copies of a buffer by its memory and its role."""
        entry = self.slots.get(space, 1)
        return entry if isinstance(entry, int) else entry.get(role, 1)

    def replaced(
        self,
        sizes: Mapping[str, Iterable[int]] | None = None,
        *,
        order: Iterable[int] | None = None,
        slots: Slots | None = None,
        keep: Iterable[str] | None = None,
        bypass_ub: bool | None = None,
    ) -> ScheduleAttr:
        """The schedule with other entries: sizes by level, order, slots, `keep`, `bypass_ub`."""
        new = ScheduleAttr.of(
            slots or {}, sizes or {}, order=order or (), keep=keep or (), bypass_ub=bool(bypass_ub)
        ).entries.data
        changed = {*(sizes or ())}
        changed |= {
            key
            for key, value in (("order", order), ("slots", slots), ("keep", keep), ("bypass_ub", bypass_ub))
            if value is not None
        }
        kept = {key: value for key, value in self.entries.data.items() if key not in changed}
        return ScheduleAttr(DictionaryAttr(_ordered({**kept, **new})))

    @staticmethod
    def of(
        slots: Slots,
        sizes: Mapping[str, Iterable[int]],
        *,
        order: Iterable[int] = (),
        keep: Iterable[str] = (),
        bypass_ub: bool = False,
        ops: Mapping[int, Mapping[str, Iterable[int] | str]] | None = None,
    ) -> ScheduleAttr:
        """Build a schedule from plain integers, `sizes` by level; what is empty is left out."""
        lists = {level: list(values) for level, values in sizes.items()} | {"order": list(order)}
        entries: dict[str, Attribute] = {key: array(values) for key, values in lists.items() if values}
        if slots:
            entries["slots"] = DictionaryAttr({space: _slots_attribute(n) for space, n in slots.items()})
        if kept := [StringAttr(role) for role in keep]:
            entries["keep"] = ArrayAttr(kept)
        if bypass_ub:
            entries["bypass_ub"] = UnitAttr()
        if ops:
            entries["ops"] = DictionaryAttr(
                {
                    str(op): DictionaryAttr(
                        {k: StringAttr(v) if isinstance(v, str) else array(v) for k, v in own.items()}
                    )
                    for op, own in ops.items()
                }
            )
        return ScheduleAttr(DictionaryAttr(_ordered(entries)))


def _slots_attribute(slots: int | Mapping[str, int]) -> Attribute:
    if isinstance(slots, int):
        return IntegerAttr(slots, i64)
    return DictionaryAttr({role: IntegerAttr(count, i64) for role, count in slots.items()})


def _ordered(entries: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """The entries in the order in which they are printed."""
    known = {key: entries[key] for key in ENTRIES if key in entries}
    return {**known, **{key: value for key, value in entries.items() if key not in known}}
