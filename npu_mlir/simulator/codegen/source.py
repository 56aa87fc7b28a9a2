"""The text of a function that is being generated, and the globals that it refers to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class SourceWriter:
    """Lines at an indentation that grows and shrinks with the control flow."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self.indent = 1
        self._fresh = 0

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.indent + text)

    def insert(self, position: int, *texts: str) -> None:
        """Put lines before the one at `position`, indented as the current one."""
        self.lines[position:position] = ["    " * self.indent + text for text in texts]

    def name(self, prefix: str) -> str:
        """A name that nothing has so far."""
        self._fresh += 1
        return f"{prefix}{self._fresh}"

    def bind(self, prefix: str, value: Any) -> str:
        """A global of the function that holds `value`."""
        name = self.name(prefix)
        self.names[name] = value
        return name

    def call(self, prefix: str, function: Callable[..., Any], *arguments: str) -> None:
        """Add a call of a function on these expressions."""
        self.line(f"{self.bind(prefix, function)}({', '.join(arguments)})")
