"""`--verify-diagnostics`: messages are compared with what comments in the input expect, as mlir-opt does.

    // expected-error @+1 {{requires operands of one type}}
    %0 = arith.addi %a, %b : i32

    expectation ::= `expected-` kind `-re`? place? `{{` text `}}`          at the end of a line
    kind        ::= `error` | `warning` | `note` | `remark`
    place       ::= `@` (`+` N | `-` N | `above` | `below` | `unknown`)    its own line if missing

The text is a part of the message; with `-re`, what is in `{{}}` within it is a regular expression. `above` and `below`
are the closest lines that have no expectation, `unknown` is a message without a place in the file. A note that has no
place of its own stands at the place of its message, and only that kind of message may be left unexpected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npu_mlir.support.diagnostics import Diagnostic, Note, SourceLocation, UserError, render, resolve

_EXPECTATION = re.compile(
    r"expected-(error|note|remark|warning)(-re)? *(@(?:[+-][0-9]+|above|below|unknown))? *\{\{(.*)\}\}\s*$"
)
_ATTEMPT = re.compile(r"//\s*(expected-(?:error|note|remark|warning)(?:-re)? *[@{])")


@dataclass(frozen=True)
class Message:
    """A message that was produced, as plain text."""

    kind: str
    text: str
    place: SourceLocation | None
    required: bool = True
    """Whether it has to be expected."""


@dataclass(frozen=True)
class Expectation:
    """A comment that expects a message in a line; None is a message without a place."""

    kind: str
    pattern: re.Pattern[str]
    text: str
    line: int | None
    place: SourceLocation

    def matches(self, message: Message) -> bool:
        """Whether the message is what is expected."""
        line = None if message.place is None or message.place.file != self.place.file else message.place.line
        return self.kind == message.kind and self.line == line and bool(self.pattern.search(message.text))


class DiagnosticVerifier:
    """Collects the messages about one part of the input and compares them with its expectations."""

    def __init__(self, text: str, name: str, only_expected: bool = False) -> None:
        self._expectations = list(find_expectations(text, name))
        self._only_expected = only_expected
        self._messages: list[Message] = []

    def add(self, diagnostic: UserError | Diagnostic) -> None:
        """Take in an error, a warning or a remark, with its notes."""
        place = resolve(diagnostic.loc)
        self._messages.append(Message(diagnostic.severity, diagnostic.message, place))
        self._messages += [_message_of_note(note, place) for note in diagnostic.notes]

    def mismatches(self) -> list[UserError]:
        """Messages that nobody expected and expectations without a message, in this order."""
        open_ = list(self._expectations)
        unexpected: list[UserError] = []
        for message in self._messages:
            match = next((e for e in open_ if e.matches(message)), None)
            if match is not None:
                open_.remove(match)
            elif message.required and not self._only_expected:
                unexpected.append(UserError(f"unexpected {message.kind}: {message.text}", loc=message.place))
        missing = [UserError(f'expected {e.kind} "{e.text}" was not produced', loc=e.place) for e in open_]
        return unexpected + missing


def render_mismatches(mismatches: Sequence[UserError]) -> str:
    """The text that tells the user about them."""
    return "\n".join(render(error) for error in mismatches)


def find_expectations(text: str, name: str) -> Iterator[Expectation]:
    """The expectations in the comments of `text`; one that cannot be read is an error."""
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        match = _EXPECTATION.search(line)
        if match is None:
            attempt = _ATTEMPT.search(line)
            if attempt is not None:
                raise UserError(
                    "cannot read this expectation; write 'expected-error @+1 {{text}}' at the end of the line",
                    loc=SourceLocation(name, number, attempt.start(1) + 1),
                )
            continue
        kind, is_pattern, where, expected = match.groups()
        place = SourceLocation(name, number, match.start() + 1)
        pattern = _pattern(expected, place) if is_pattern else re.compile(re.escape(expected))
        yield Expectation(kind, pattern, expected, _line(where, number, lines), place)


def _line(where: str | None, number: int, lines: list[str]) -> int | None:
    """The line that an expectation in line `number` is about."""
    if where == "@unknown":
        return None
    if where in ("@above", "@below"):
        step = -1 if where == "@above" else 1
        number += step
        while 0 < number <= len(lines) and _EXPECTATION.search(lines[number - 1]):
            number += step
        return number
    return number + int(where[1:]) if where else number


def _pattern(text: str, place: SourceLocation) -> re.Pattern[str]:
    """The pattern of an expectation with `-re`: plain text but for what stands in double braces."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    source = "".join(f"(?:{part})" if i % 2 else re.escape(part) for i, part in enumerate(parts))
    try:
        return re.compile(source)
    except re.error as error:
        raise UserError(f"this is not a regular expression: {error}", loc=place) from error


def _message_of_note(note: Note, around: SourceLocation | None) -> Message:
    if note.loc is None:
        return Message("note", note.message, around, required=False)
    return Message("note", note.message, resolve(note.loc))
