"""The console that tables are printed on: names are shown as they are, markup and control characters included."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from npu_mlir.support.diagnostics import printable


class PlainConsole(Console):
    """A console on which no text is more than a text: names of a model may be anything."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:  # type: ignore[override]
        """The text without what a terminal would obey."""
        return super().render_str("\n".join(map(printable, text.split("\n"))), **options)
