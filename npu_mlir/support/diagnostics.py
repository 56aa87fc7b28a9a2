"""Errors of the user and how they are shown.

Code that finds a mistake of the user raises `UserError`; a tool prints it with `render` and exits with status 1:

    in.mlir:2:8: error: 'arith.addi' op requires operands of one type
      %0 = arith.addi %a, %b : i32
           ^
    in.mlir:1:1: note: in the function 'main'

Anything else that is raised is a mistake of ours and keeps its traceback.

What isn't an error is reported with `warn` and `remark`, which print the same way and go on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Attribute, Operation


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

    severity = "error"

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


@contextmanager
def located_errors(op: Operation) -> Generator[None]:
    """Blame `op` for user errors that blame nothing so far."""
    try:
        yield
    except UserError as error:
        error.loc = error.loc or op
        raise


class PassCrash(UserError):
    """A pass raised an exception that isn't for the user: a mistake in the pass."""


@dataclass(frozen=True)
class Diagnostic:
    """A message that doesn't end the work: `severity` is "warning" or "remark"."""

    severity: str
    message: str
    loc: Operation | SourceLocation | None = None
    notes: Sequence[Note] = ()


Handler = Callable[[Diagnostic], None]


def _print(diagnostic: Diagnostic) -> None:
    print(render(diagnostic), file=sys.stderr)


_handlers: list[Handler] = [_print]


def warn(message: str, *, loc: Operation | SourceLocation | None = None, notes: Sequence[Note] = ()) -> None:
    """Tell the user what is probably a mistake, and go on."""
    _handlers[-1](Diagnostic("warning", message, loc, notes))


def remark(
    message: str, *, loc: Operation | SourceLocation | None = None, notes: Sequence[Note] = ()
) -> None:
    """Tell the user what a pass found or decided."""
    _handlers[-1](Diagnostic("remark", message, loc, notes))


@contextmanager
def handling(handler: Handler) -> Generator[None]:
    """Hand warnings and remarks to `handler` instead of printing them."""
    _handlers.append(handler)
    try:
        yield
    finally:
        _handlers.pop()


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
    from difflib import get_close_matches

    matches = get_close_matches(name, list(candidates), n=1, cutoff=0.6)
    return f"; did you mean '{matches[0]}'?" if matches else ""


def location_of(op: Operation) -> SourceLocation | None:
    """Where `op` stands in its source: its own place or that of the closest op around it that has one."""
    around: Operation | None = op
    while around is not None:
        place = place_of(around.location)
        if place is not None:
            return place
        around = around.parent_op()
    return None


def place_of(loc: Attribute) -> SourceLocation | None:
    """The first place in a file that a location attribute names."""
    from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc

    if isinstance(loc, FileLineColLoc):
        return SourceLocation(loc.filename.data, loc.line.data, loc.column.data)
    if isinstance(loc, NameLoc):
        return place_of(loc.location)
    if isinstance(loc, CallSiteLoc):
        return place_of(loc.callee) or place_of(loc.caller)
    if isinstance(loc, FusedLoc) and isinstance(loc.locations, ArrayAttr):
        places = (place_of(part) for part in loc.locations.data)
        return next((place for place in places if place is not None), None)
    return None


def resolve(loc: Operation | SourceLocation | None) -> SourceLocation | None:
    """The place that the location of a message stands for."""
    return loc if loc is None or isinstance(loc, SourceLocation) else location_of(loc)


def printable(text: str) -> str:
    r"""A text of others as a terminal may get it: control characters become escapes, all else stays.

    >>> printable("a\x1b[31mb \u202e c")
    'a\\x1b[31mb \\u202e c'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == " " else _escape(c) for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def render(error: UserError | Diagnostic) -> str:
    """The text of an error as tools print it, one line per part, without a final newline."""
    lines = _render_message(error.severity, error.message, error.loc)
    lines += _provenance(error)
    for note in error.notes:
        lines += _render_message("note", note.message, note.loc)
    return "\n".join(lines)


def _render_message(kind: str, message: str, loc: Operation | SourceLocation | None) -> list[str]:
    place = resolve(loc)
    # A message may have several lines, each of which may quote a name.
    message = "\n".join(map(printable, message.split("\n")))
    if place is None:
        return [f"{kind}: {message}"]
    lines = [f"{printable(str(place))}: {kind}: {message}"]
    source = _sources.line(place)
    if source is not None:
        # Tabs are kept in the caret's indentation, so that it stands below its character.
        indent = "".join("\t" if c == "\t" else " " for c in source[: place.column - 1])
        shown = "\t".join(map(printable, source.split("\t")))
        lines += [shown, indent.ljust(place.column - 1) + "^"]
    return lines


def _provenance(error: UserError | Diagnostic) -> list[str]:
    """The node of the imported model that an op comes from, if a pass recorded it and the message doesn't say so."""
    from npu_mlir.support.locations import node_of
    from npu_mlir.support.node_names import shown

    if error.loc is None or isinstance(error.loc, SourceLocation):
        return []
    node = shown(node_of(error.loc) or "")
    return [] if not node or f"'{node}'" in error.message else [f"note: from the graph op '{node}'"]
