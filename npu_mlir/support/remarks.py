"""What passes did, what they left undone and why: remarks, shown only when they are asked for, as those of MLIR.

    from npu_mlir.support.remarks import RemarkKind, remark

    remark(RemarkKind.MISSED, "my-pass", "unroll", loop, "not unrolled", reason="17 trips are more than 16", Trips=17)

    in.mlir:8:3: remark: [Missed] unroll | Category:my-pass | Function=main | Reason="17 trips are more than 16", ...

`--remarks-filter=my-pass` shows it. Where making the text of a remark costs something, ask `wanted` first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from npu_mlir.support import diagnostics
from npu_mlir.support.diagnostics import SourceLocation, UserError

if TYPE_CHECKING:
    from xdsl.ir import Operation


class RemarkKind(StrEnum):
    """What a remark tells: something done, something left undone, something that failed, or something found out."""

    PASSED = "Passed"
    MISSED = "Missed"
    FAILURE = "Failure"
    ANALYSIS = "Analysis"


@dataclass(frozen=True)
class Remark:
    """A remark: `name` is what was done or not done, `category` the pass, `function` the symbol around the place."""

    kind: RemarkKind
    category: str
    name: str
    function: str
    arguments: Mapping[str, str]
    """Remark, Reason, Suggestion and numbers, by their names."""
    op: Operation

    def __str__(self) -> str:
        """The text in the format of mlir-opt."""
        parts = [f"[{self.kind}] {self.name}", f"Category:{self.category}"]
        parts += [f"Function={self.function}"] if self.function else []
        parts.append(", ".join(f"{key}={_quoted(value)}" for key, value in sorted(self.arguments.items())))
        return " | ".join(parts)


def _quoted(value: str) -> str:
    return f'"{value}"' if any(c in value for c in " ,{}") else value


Sink = Callable[[Remark], None]


@dataclass(frozen=True)
class _Listener:
    filters: Mapping[RemarkKind, re.Pattern[str]]
    sink: Sink


_listeners: list[_Listener | None] = [None]


def wanted(kind: RemarkKind, category: str) -> bool:
    """Whether anybody asks for such remarks."""
    listener = _listeners[-1]
    return (
        listener is not None and kind in listener.filters and bool(listener.filters[kind].fullmatch(category))
    )


def remark(
    kind: RemarkKind,
    category: str,
    name: str,
    op: Operation,
    message: str = "",
    *,
    reason: str = "",
    suggestion: str = "",
    **values: object,
) -> None:
    """Make a remark about `op`, if it is asked for."""
    if not wanted(kind, category):
        return
    texts = {"Remark": message, "Reason": reason, "Suggestion": suggestion}
    arguments = {key: text for key, text in texts.items() if text} | {k: str(v) for k, v in values.items()}
    listener = _listeners[-1]
    assert listener is not None
    listener.sink(Remark(kind, category, name, _symbol_around(op), arguments, op))


def _symbol_around(op: Operation) -> str:
    """The name of the innermost function or kernel around an operation, or of the operation itself."""
    from xdsl.dialects.builtin import StringAttr

    around: Operation | None = op
    while around is not None:
        name = around.properties.get("sym_name")
        if isinstance(name, StringAttr):
            return name.data
        around = around.parent_op()
    return ""


@contextmanager
def reporting(filters: Mapping[RemarkKind, str], sink: Sink | None = None) -> Generator[None]:
    """Hand the remarks whose category matches the regular expression for their kind, as a whole, to `sink`; without
    one, print them as diagnostics. Raises UserError if an expression is none."""
    try:
        patterns = {kind: re.compile(text) for kind, text in filters.items()}
    except re.error as error:
        raise UserError(f"'{error.pattern}' is not a regular expression: {error.msg}") from error
    _listeners.append(_Listener(patterns, sink or _print))
    try:
        yield
    finally:
        _listeners.pop()


@contextmanager
def muted() -> Generator[None]:
    """Without remarks: what is done here is only tried."""
    _listeners.append(None)
    try:
        yield
    finally:
        _listeners.pop()


def _print(remark_: Remark) -> None:
    diagnostics.remark(str(remark_), loc=remark_.op)


def yaml_document(remark_: Remark) -> str:
    """The remark as a document of LLVM's YAML format for remarks."""
    place = diagnostics.resolve(remark_.op) or SourceLocation("<unknown file>", 0, 0)
    lines = [
        f"--- !{remark_.kind}",
        f"Pass:            {_scalar(remark_.category)}",
        f"Name:            {_scalar(remark_.name)}",
        f"DebugLoc:        {{ File: {_scalar(place.file)}, Line: {place.line}, Column: {place.column} }}",
        f"Function:        {_scalar(remark_.function)}",
        "Args:",
        *(f"  - {key + ':':<16} {_scalar(value)}" for key, value in remark_.arguments.items()),
        "...",
    ]
    return "\n".join(lines) + "\n"


def _scalar(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
