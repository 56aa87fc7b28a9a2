"""Functions of addresses, prepared once for each combination of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Run = Callable[..., Any]
"""An instruction: its operands are addresses, GM arrays, indices, and the condition of an mmad; it returns its result
if it has one."""

Thunk = Callable[[], Any]

CACHE_LIMIT = 4096
"""Addresses per instruction whose views are kept."""


def cached(prepare: Callable[..., Thunk]) -> Run:
    """Run what `prepare` makes of the addresses, made once for each combination of them."""
    cache: dict[Any, Thunk] = {}

    def run(*addresses: int) -> None:
        thunk = cache.get(addresses)
        if thunk is None:
            if len(cache) >= CACHE_LIMIT:
                cache.clear()
            thunk = cache[addresses] = prepare(*addresses)
        thunk()

    return run
