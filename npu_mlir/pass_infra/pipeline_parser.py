"""Pass pipelines as text: `builtin.module(func.func(canonicalize,cse),graph-set-precision{precision=f16})`.

    pipeline ::= anchor `(` list? `)`
    list     ::= element (`,` element)*
    element  ::= anchor `(` list? `)` | pass-name (`{` options `}`)?
    options  ::= (name (`=` value)?)*          separated by blanks; a value may be quoted or in braces

An anchor is the name of an op; the passes in its parentheses run on each such op directly within the one around
it.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from npu_mlir.dialects import DIALECTS, dialect_factory
from npu_mlir.passes import PASSES, is_pass, load_pass
from npu_mlir.support.diagnostics import SourceLocation, UserError, closest, register_source, warn

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

ROOT_ANCHOR = "builtin.module"


@dataclass(frozen=True)
class PassNest:
    """Run `elements` on every op named `anchor`."""

    anchor: str
    elements: tuple[PassNest | ModulePass, ...]

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(str(element) for element in self.elements)})"

    def describe(self) -> str:
        """The pipeline as --dump-pass-pipeline shows it: one pass in each line."""
        return f"Pass Manager with {len(self.elements)} passes:\n{self._indented('')}\n"

    def _indented(self, indent: str) -> str:
        inner = indent + "  "
        lines = [e._indented(inner) if isinstance(e, PassNest) else f"{inner}{e}" for e in self.elements]
        return f"{indent}{self.anchor}(\n" + ",\n".join(lines) + f"\n{indent})"


def parse_pipeline(text: str, source: str = "--pass-pipeline", *, any_root: bool = False) -> PassNest:
    """Parse a pipeline, whose outermost anchor has to be `builtin.module`; `source` names it in messages.

    With `any_root`, another outermost anchor is put into one for the module around it.
    """
    register_source(source, text)
    parser = _PipelineParser(text, source)
    start = parser.skip_blanks()
    element = parser.element()
    if parser.skip_blanks() < len(text):
        parser.fail("expected the end of the pipeline")
    if isinstance(element, PassNest) and any_root and element.anchor != ROOT_ANCHOR:
        return PassNest(ROOT_ANCHOR, (element,))
    if not isinstance(element, PassNest) or element.anchor != ROOT_ANCHOR:
        parser.fail(f"expected '{ROOT_ANCHOR}(...)' around the pipeline", start)
    return element


def parse_pass(name: str, options: str, source: str) -> ModulePass:
    """The pass `name` with the options in `options` (without braces)."""
    register_source(source, options)
    parser = _PipelineParser(options, source)
    return make_pass(name, parser.options(end=len(options)), parser.fail)


Fail = Callable[[str, int], typing.NoReturn]
"""Raises a `UserError` with a message, at a position of the pipeline's text."""


@dataclass(frozen=True)
class Option:
    """One `name=value` of a pass; `value` is None if there is only a name. Positions are for messages."""

    name: str
    value: str | None
    name_at: int
    value_at: int


def make_pass(name: str, options: list[Option], fail: Fail) -> ModulePass:
    """An instance of the pass `name`, its options converted to the types of its fields."""
    pass_class = load_pass(name)
    types = typing.get_type_hints(pass_class)
    known = {field.name.replace("_", "-"): field for field in fields(pass_class) if field.init}
    values: dict[str, Any] = {}
    for option in options:
        key = option.name.replace("_", "-")
        if key not in known:
            suggestion = closest(key, known) or _list_of_options(list(known))
            fail(f"pass '{name}' has no option '{option.name}'{suggestion}", option.name_at)
        try:
            values[known[key].name] = _convert(option.value, types[known[key].name])
        except ValueError as error:
            fail(f"option '{key}' of pass '{name}': {error}", option.value_at)
    for key, field in known.items():
        required = field.default is MISSING and field.default_factory is MISSING
        if required and field.name not in values:
            fail(f"pass '{name}' needs the option '{key}'", 0)
    return pass_class(**values)


def _list_of_options(names: list[str]) -> str:
    return f"; it has {', '.join(names)}" if names else "; it has no options"


def _convert(text: str | None, wanted: Any) -> Any:
    """The value of an option as the type of its field; a ValueError says what was expected."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, UnionType):
        return _convert_union(text, arguments)
    if wanted is bool:
        return _choose(text or "true", {"true": True, "1": True, "false": False, "0": False})
    if text is None:
        raise ValueError("a value is missing")
    if origin is Literal:
        return _choose(text, {str(argument): argument for argument in arguments})
    if origin is tuple:
        return tuple(_convert(item.strip(), arguments[0]) for item in text.split(",") if item.strip())
    if wanted in (int, float):
        try:
            return wanted(text)
        except ValueError:
            kind = "an integer" if wanted is int else "a number"
            raise ValueError(f"expected {kind}, got '{text}'") from None
    return text


def _convert_union(text: str | None, members: tuple[Any, ...]) -> Any:
    if text is None and NoneType in members and bool not in members:
        return None
    error = ValueError("a value is missing")
    for member in members:
        if member is NoneType:
            continue
        try:
            return _convert(text, member)
        except ValueError as failure:
            error = failure
    raise error


def _choose(text: str, choices: dict[str, Any]) -> Any:
    if text not in choices:
        raise ValueError(f"expected one of {', '.join(choices)}, got '{text}'{closest(text, choices)}")
    return choices[text]


_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_OPTION_NAME = re.compile(r"[A-Za-z_][\w-]*")


class _PipelineParser:
    """A recursive descent parser; `position` is where it stands in `text`."""

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.position = 0

    def fail(self, message: str, position: int | None = None) -> typing.NoReturn:
        raise UserError(message, loc=self.location(self.position if position is None else position))

    def location(self, position: int) -> SourceLocation:
        line = self.text.count("\n", 0, position) + 1
        return SourceLocation(self.source, line, position - self.text.rfind("\n", 0, position))

    def skip_blanks(self) -> int:
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
        return self.position

    def accept(self, character: str) -> bool:
        found = self.text.startswith(character, self.skip_blanks())
        self.position += found
        return found

    def expect(self, character: str, where: str) -> None:
        if not self.accept(character):
            self.fail(f"expected '{character}' {where}")

    def element(self) -> PassNest | ModulePass:
        start = self.skip_blanks()
        match = _NAME.match(self.text, start)
        if match is None:
            self.fail("expected the name of a pass or of an op")
        name, self.position = match.group(), match.end()
        if self.accept("("):
            self.check_anchor(name, start)
            return PassNest(name, tuple(self.elements(name)))
        if not is_pass(name):
            self.fail(f"unknown pass '{name}'{closest(name, PASSES)}", start)
        options: list[Option] = []
        if self.accept("{"):
            options = self.options(end=self.closing_brace())
            self.position += 1
        return make_pass(name, options, self.fail)

    def check_anchor(self, name: str, start: int) -> None:
        """Passes on ops that cannot exist would silently never run."""
        if name in PASSES:
            self.fail(f"'{name}' is a pass, which others cannot be nested in", start)
        dialect, dot, _ = name.partition(".")
        if not dot:
            self.fail(f"expected the name of an op before '(', as in 'func.func(...)', not '{name}'", start)
        if dialect not in DIALECTS:
            # It may be in a file of IRDL, or not be registered at all.
            hint = closest(dialect, DIALECTS)
            warn(f"the dialect '{dialect}' is not known{hint}", loc=self.location(start))
            return
        ops = [op.name for op in dialect_factory(dialect)().operations]
        if name not in ops:
            self.fail(f"unknown op '{name}'{closest(name, ops)}", start)

    def elements(self, anchor: str) -> Iterator[PassNest | ModulePass]:
        if self.accept(")"):
            return
        yield self.element()
        while self.accept(","):
            yield self.element()
        self.expect(")", f"after the passes of '{anchor}'")

    def closing_brace(self) -> int:
        """Where the braces close that were opened before `position`."""
        depth = 1
        for i in range(self.position, len(self.text)):
            depth += (self.text[i] == "{") - (self.text[i] == "}")
            if depth == 0:
                return i
        self.fail("expected '}' after the options")

    def options(self, end: int) -> list[Option]:
        """The options up to the position `end`."""
        found: list[Option] = []
        while self.skip_blanks() < end:
            match = _OPTION_NAME.match(self.text, self.position, end)
            if match is None:
                self.fail("expected the name of an option")
            self.position = value_at = match.end()
            value = None
            if self.position < end and self.text[self.position] == "=":
                self.position += 1
                value_at = self.position
                value = self.option_value(end)
            found.append(Option(match.group(), value, match.start(), value_at))
        return found

    def option_value(self, end: int) -> str:
        """A value: up to the next blank, or what stands in quotes or braces."""
        opening = self.text[self.position : self.position + 1]
        closing = {'"': '"', "'": "'", "{": "}"}.get(opening)
        start = self.position
        if closing is not None:
            stop = self.text.find(closing, start + 1, end)
            if stop < 0:
                self.fail(f"expected {closing} after the value", start)
            self.position = stop + 1
            return self.text[start + 1 : stop]
        while self.position < end and not self.text[self.position].isspace():
            self.position += 1
        return self.text[start : self.position]
