"""Limits on what a case may take: CPU time, and memory."""

from __future__ import annotations

import resource
import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

SECONDS = 20.0
"""CPU time after which a case counts as hanging."""

MEMORY = 3 << 30
"""Bytes that a case may take beyond what the process has."""


class Hang(BaseException):
    """A case takes too long. Not an `Exception`: nobody should catch it on its way."""


@contextmanager
def limited(seconds: float = SECONDS) -> Generator[None]:
    """Raise `Hang` or `MemoryError` within a case that goes beyond the limits. Only in the main thread of a process."""

    def stop(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGVTALRM, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MEMORY, hard))
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
