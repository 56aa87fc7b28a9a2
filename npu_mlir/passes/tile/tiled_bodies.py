"""Bodies that were tiled for a try, kept for the kernels themselves.

A schedule is tried on a copy of the kernel. `tile-apply-schedule` would tile the kernel once more in the same way, so
the tiled body of the copy is kept, beside what it was made from: if a pass has changed the schedule or the body in
between, it does not fit any more, and the kernel is tiled anew. Locations and names of values do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from xdsl.ir import Block, Region

from npu_mlir.dialects import tile


@dataclass(frozen=True)
class _Tiling:
    """A tiled body and what it was made from."""

    schedule: tile.ScheduleAttr
    before: Region
    after: Region

    def fits(self, kernel: tile.KernelOp) -> bool:
        """Whether the kernel would be tiled to this body."""
        return kernel.schedule == self.schedule and kernel.body.is_structurally_equivalent(self.before)


_kept: WeakKeyDictionary[tile.KernelOp, _Tiling] = WeakKeyDictionary()
_tries: list[list[_Tiling]] = []


@contextmanager
def kept_for(kernel: tile.KernelOp) -> Generator[Callable[[], None]]:
    """Within, what is tiled is a copy of the kernel; the function that is given keeps its tiled body."""
    tilings: list[_Tiling] = []

    def keep() -> None:
        if len(tilings) == 1:
            _kept[kernel] = tilings[0]

    _tries.append(tilings)
    try:
        yield keep
    finally:
        _tries.pop()


def replace_body(kernel: tile.KernelOp, make: Callable[[], Block]) -> None:
    """Put the body that `make` gives in place of a kernel's, or the one that is kept for it."""
    kept = _kept.pop(kernel, None)
    tiled = make() if kept is None or not kept.fits(kernel) else kept.after.detach_block(0)
    before = Region(kernel.body.detach_block(0))
    kernel.body.add_block(tiled)
    if _tries:
        assert kernel.schedule is not None
        _tries[-1].append(_Tiling(kernel.schedule, before, kernel.body.clone()))
