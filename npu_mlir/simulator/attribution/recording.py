"""Every entry of one run of a kernel, for pictures: an array per property, so that a million entries fit."""

from __future__ import annotations

from array import array


class Recording:
    """When each entry held its pipe. Index i of every array is the i-th entry issued."""

    def __init__(self) -> None:
        self.site = array("i")
        """The site of the observer."""
        self.start = array("q")
        """When the entry began: an instruction to execute, a wait to hold up its pipe."""
        self.end = array("q")
        self.setter = array("i")
        """For a wait, the entry that set its flag; else -1."""
        self.slots: list[tuple[int, ...]] = []
        """The addresses of the slots that an instruction uses, in the order of its address operands."""
        self._tuples: dict[tuple[int, ...], tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self.site)

    @property
    def last(self) -> int:
        """The newest entry."""
        return len(self.site) - 1

    def part(self, first: int, stop: int, site: int, time: int) -> Recording:
        """The entries from `first` up to `stop` alone, with sites that count from `site` on and times from `time`."""
        part = Recording()
        part.site = array("i", (number - site for number in self.site[first:stop]))
        part.start = array("q", (at - time for at in self.start[first:stop]))
        part.end = array("q", (at - time for at in self.end[first:stop]))
        part.setter = array("i", (s - first if s >= first else -1 for s in self.setter[first:stop]))
        part.slots = self.slots[first:stop]
        return part

    def add(self, site: int, start: int, end: int, setter: int, slots: tuple[int, ...]) -> None:
        """Keep an entry."""
        self.site.append(site)
        self.start.append(start)
        self.end.append(end)
        self.setter.append(setter)
        self.slots.append(self._tuples.setdefault(slots, slots))
