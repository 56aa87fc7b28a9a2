"""Functions in processes of their own, forked from one that has everything loaded."""

from __future__ import annotations

import json
import os
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any, NoReturn, TypeVar

MEMORY = 6 << 30
"""Bytes that a process may take: endless lists are a way to be wrong, too."""

SECONDS = 240
"""Seconds of processor time that a process may take: some loops swallow every exception."""

T = TypeVar("T")


@dataclass(frozen=True)
class _Child:
    item: Any
    answer: IO[bytes]
    deadline: float


class Pool:
    """Runs a few forked processes at a time."""

    def __init__(self, jobs: int):
        self.jobs = jobs
        self._children: dict[int, _Child] = {}

    def map(
        self, work: Callable[[T], dict[str, Any]], items: Iterable[T], seconds: Callable[[T], float]
    ) -> Iterator[tuple[T, dict[str, Any] | None]]:
        """What `work` answers for each item, in the order in which they end; None for a crash.

        What takes more than `seconds` is killed: limits of processor time inside of `work` are for loops in Python,
        this one is for what hangs elsewhere.
        """
        for item in items:
            while len(self._children) >= self.jobs:
                yield from self._ended()
            self._start(work, item, seconds(item))
        while self._children:
            yield from self._ended()

    def _start(self, work: Callable[[T], dict[str, Any]], item: T, seconds: float) -> None:
        answer = tempfile.TemporaryFile()  # noqa: SIM115
        child = os.fork()
        if child == 0:
            _be_the_child(work, item, answer)
        self._children[child] = _Child(item, answer, time.monotonic() + seconds)

    def _ended(self) -> Iterator[tuple[Any, dict[str, Any] | None]]:
        time.sleep(0.01)
        for pid, child in list(self._children.items()):
            if not os.waitpid(pid, os.WNOHANG)[0]:
                if time.monotonic() < child.deadline:
                    continue
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            del self._children[pid]
            with child.answer as stream:
                stream.seek(0)
                text = stream.read()
            yield child.item, json.loads(text) if text else None


def _be_the_child(work: Callable[[T], dict[str, Any]], item: T, answer: IO[bytes]) -> NoReturn:
    os.setpgid(0, 0)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    try:
        os.write(answer.fileno(), json.dumps(work(item)).encode())
    finally:
        os._exit(0)
