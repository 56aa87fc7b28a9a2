"""`--mlir-timing`: how long parsing, each pass, the verifier and printing take.

===-------------------------------------------------------------------------===
                         ... Execution time report ...
===-------------------------------------------------------------------------===
  Total Execution Time: 0.0312 seconds

  ----Wall Time----  ----Name----
    0.0111 ( 35.6%)  Parser
    0.0083 ( 26.6%)  'func.func' Pipeline
    0.0061 ( 19.6%)    canonicalize
    0.0022 (  7.1%)      (V) Verifier
    ...
    0.0312 (100.0%)  Total
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from json import dumps
from time import perf_counter
from typing import Any

_RULE = f"==={'-' * 73}==="


@dataclass
class _Node:
    name: str
    seconds: float = 0.0
    children: dict[Hashable, _Node] = field(default_factory=dict[Hashable, "_Node"])


class Timing:
    """A tree of named times, built by entering scopes."""

    def __init__(self) -> None:
        self._start = perf_counter()
        self._root = _Node("root")
        self._stack = [self._root]

    @contextmanager
    def scope(self, name: str, key: Hashable = None) -> Generator[None]:
        """Measure what runs within; scopes of one key (or name) in the same place add up."""
        node = self._stack[-1].children.setdefault(key or name, _Node(name))
        self._stack.append(node)
        start = perf_counter()
        try:
            yield
        finally:
            node.seconds += perf_counter() - start
            self._stack.pop()

    def report(self, display: str = "tree") -> str:
        """The table: a "tree" in the order of the work, or a "list" by name, the longest first."""
        rows = list(_tree(self._root, 0)) if display == "tree" else _list(self._root)
        rest = self._rest()
        total = rest[-1][1]
        rows += rest
        lines = [_RULE, "... Execution time report ...".center(79).rstrip(), _RULE]
        lines += [f"  Total Execution Time: {total:.4f} seconds", "", "  ----Wall Time----  ----Name----"]
        lines += [f"  {s:8.4f} ({100 * s / total:5.1f}%)  {name}" for name, s in rows]
        return "\n".join(lines)

    def json(self, display: str = "tree") -> str:
        """The same as JSON, a row on each line, as mlir-opt has it but for the user time."""
        rest = self._rest()
        total = rest[-1][1]
        if display == "tree":
            rows = [_entry(child, total) for child in self._root.children.values()]
        else:
            rows = [_row(name, seconds, total) for name, seconds in _list(self._root)]
        rows += [_row(name, seconds, total) for name, seconds in rest]
        return "[\n" + ",\n".join(dumps(row) for row in rows) + "\n]"

    def _rest(self) -> list[tuple[str, float]]:
        """The rows at the end."""
        total = perf_counter() - self._start
        return [("Rest", total - sum(c.seconds for c in self._root.children.values())), ("Total", total)]


def _entry(node: _Node, total: float) -> dict[str, Any]:
    inner = [_entry(child, total) for child in node.children.values()]
    return _row(node.name, node.seconds, total) | {"passes": inner}


def _row(name: str, seconds: float, total: float) -> dict[str, Any]:
    share = round(100 * seconds / total, 1)
    return {"wall": {"duration": round(seconds, 4), "percentage": share}, "name": name}


def _tree(node: _Node, depth: int) -> Iterator[tuple[str, float]]:
    for child in node.children.values():
        yield "  " * depth + child.name, child.seconds
        yield from _tree(child, depth + 1)


def _list(root: _Node) -> list[tuple[str, float]]:
    times: dict[str, float] = {}
    for name, seconds in _tree(root, 0):
        times[name.strip()] = times.get(name.strip(), 0.0) + seconds
    return sorted(times.items(), key=lambda row: -row[1])
