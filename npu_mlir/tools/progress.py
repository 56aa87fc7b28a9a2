"""A progress bar for what takes long, on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

DELAY = 2.0
"""Seconds before it appears."""


@contextmanager
def progress_bar(what: str) -> Generator[Callable[[int, int], None] | None]:
    """The function `(done, all)` that moves the bar; None where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return

    from rich.console import Console
    from rich.progress import Progress

    begin = time.monotonic()
    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None)

    def move(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        if not bar.live.is_started and time.monotonic() - begin > DELAY:
            bar.start()

    try:
        yield move
    finally:
        bar.stop()
