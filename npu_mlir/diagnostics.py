"""Errors of the user and how they are shown.

Code that finds a mistake of the user raises `UserError`; a tool prints it with `render` and exits with status 1:

    in.mlir:2:8: error: 'arith.addi' op requires operands of one type
      %0 = arith.addi %a, %b : i32
           ^
    in.mlir:1:1: note: in the function 'main'

Anything else that is raised is a mistake of ours and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Operation


@dataclass(frozen=True)
class SourceLocation:
    """A place in a text; lines and columns count from one."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Note:
    """An addition to an error, at a place of its own if it has one."""

    message: str
    loc: Operation | SourceLocation | None = None


class UserError(Exception):
    """A mistake of the user: `message` says what is wrong and, where possible, what to do.

    `loc` is the operation or the place in a file that is to blame, `notes` are strings or `Note`s.
    """

    def __init__(
        self,
        message: str,
        *,
        notes: Sequence[str | Note] = (),
        loc: Operation | SourceLocation | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.notes = [note if isinstance(note, Note) else Note(note) for note in notes]
        self.loc = loc


@dataclass
class _Sources:
    """The texts that locations point into, by file name: caret lines are taken from here."""

    texts: dict[str, str] = field(default_factory=dict[str, str])

    def line(self, loc: SourceLocation) -> str | None:
        lines = self.texts.get(loc.file, "").split("\n")
        return lines[loc.line - 1].rstrip("\r") if 0 < loc.line <= len(lines) else None


_sources = _Sources()


def register_source(name: str, text: str) -> None:
    """Remember the text of the file `name`, so that errors in it can show the line."""
    _sources.texts[name] = text


def closest(name: str, candidates: Iterable[str]) -> str:
    """`"; did you mean 'x'?"` for the candidate most like `name`, or nothing if none is."""
    matches = get_close_matches(name, list(candidates), n=1, cutoff=0.6)
    return f"; did you mean '{matches[0]}'?" if matches else ""


def location_of(op: Operation) -> SourceLocation | None:
    """Where `op` stands in its source: its own place or that of the closest op around it that has one."""
    from xdsl.dialects.builtin import FileLineColLoc

    around: Operation | None = op
    while around is not None:
        loc = around.location
        if isinstance(loc, FileLineColLoc):
            return SourceLocation(loc.filename.data, loc.line.data, loc.column.data)
        around = around.parent_op()
    return None


def render(error: UserError) -> str:
    """The text of an error as tools print it, one line per part, without a final newline."""
    lines = _render_message("error", error.message, error.loc)
    lines += _provenance(error.loc)
    for note in error.notes:
        lines += _render_message("note", note.message, note.loc)
    return "\n".join(lines)


def _render_message(kind: str, message: str, loc: Operation | SourceLocation | None) -> list[str]:
    place = loc if loc is None or isinstance(loc, SourceLocation) else location_of(loc)
    if place is None:
        return [f"{kind}: {message}"]
    lines = [f"{place}: {kind}: {message}"]
    source = _sources.line(place)
    if source is not None:
        # Tabs are kept in the caret's indentation, so that it stands below its character.
        indent = "".join("\t" if c == "\t" else " " for c in source[: place.column - 1])
        lines += [source, indent.ljust(place.column - 1) + "^"]
    return lines


def _provenance(loc: Operation | SourceLocation | None) -> list[str]:
    """The node of the imported model that an op comes from, if a pass recorded it."""
    from xdsl.dialects.builtin import StringAttr

    if loc is None or isinstance(loc, SourceLocation):
        return []
    origin = loc.attributes.get("npu.loc")
    return [f"note: from the graph op '{origin.data}'"] if isinstance(origin, StringAttr) else []
