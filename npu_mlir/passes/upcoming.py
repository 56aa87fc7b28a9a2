"""The passes that run after the one that runs now, for a pass whose decision depends on them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.passes import ModulePass

_upcoming: list[Sequence[ModulePass]] = [()]


def upcoming_passes() -> Sequence[ModulePass]:
    """The passes on modules and kernels that the pass manager runs after the present one; none outside of it."""
    return _upcoming[-1]


@contextmanager
def followed_by(passes: Sequence[ModulePass]) -> Generator[None]:
    """Within, these passes come after what runs."""
    _upcoming.append(passes)
    try:
        yield
    finally:
        _upcoming.pop()
