"""Read `.mlir` text: xDSL's parser, with source locations on ops and errors as `UserError`s."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AnyFloat,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    i1,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.parser import AttrParser, Parser, ParserState, UnresolvedOperand
from xdsl.utils.exceptions import DiagnosticException, MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

from npu_mlir.support.diagnostics import Note, SourceLocation, UserError, closest, register_source

if TYPE_CHECKING:
    from xdsl.context import Context


T = TypeVar("T")


class _BitPattern(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """A hexadecimal literal, which stands for the bits of a float. xDSL prints what has no exact decimal form this
    way (infinities, NaN, 2**24), but reads it as an integer."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        if not isinstance(type, AnyFloat) or not isinstance(self.value, int):
            return super().to_type(parser, type)
        try:
            return type.unpack(self.value.to_bytes(type.compile_time_size, "little"), 1)[0]
        except OverflowError:
            parser.raise_error(f"more bits than {type} has", at_position=self.span)


class _Lexer(MLIRLexer):
    """xDSL takes a string with escapes beyond ASCII for bytes; in MLIR it is a string like any other.

    And its expression for strings takes exponential time for one that doesn't end: this one never goes back.
    """

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def _lex_string_literal(self, start_pos: int) -> MLIRToken:
        token = super()._lex_string_literal(start_pos)
        if token.kind is MLIRTokenKind.BYTES_LIT:
            try:
                StringLiteral.from_span(token.span).bytes_contents.decode()
            except UnicodeDecodeError:
                return token
            return MLIRToken(MLIRTokenKind.STRING_LIT, token.span)
        return token


class LocatingParser(Parser):
    """xDSL's parser, which also records where each op and each not yet defined value stands."""

    def __init__(self, ctx: Context, text: str, name: str) -> None:
        # The text is for our own lexer alone: xDSL would read the first word at once.
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(_Lexer(Input(text, name)))
        self._file = StringAttr(name)
        self._line_starts = [0]
        self._line_starts += [i + 1 for i, c in enumerate(text) if c == "\n"]
        self._first_uses: dict[str, Span] = {}
        self._location_aliases: dict[str, LocationAttr] = {}
        self.open_ops: list[int] = []
        """Positions of the ops being parsed, outermost first; they stay when an exception passes."""
        self.implicit_module = False
        """Whether the module that was parsed isn't in the text."""

    def line_and_column(self, position: int) -> tuple[int, int]:
        """Line and column of a position in the text, both counted from 1."""
        line = bisect_right(self._line_starts, position)
        return line, position - self._line_starts[line - 1] + 1

    def parse_operation(self) -> Operation:
        position = self._current_token.span.start
        self.open_ops.append(position)
        op = super().parse_operation()
        self.open_ops.pop()
        if op.location is UNKNOWN_LOC:
            op.location = self._location(position)
        return op

    def _location(self, position: int) -> FileLineColLoc:
        line, column = self.line_and_column(position)
        return FileLineColLoc(self._file, IntAttr(line), IntAttr(column))

    def _parse_location(self) -> LocationAttr:
        """mlir-opt says what location aliases mean behind the module, and gives fused ones metadata."""
        token = self._current_token
        if token.kind is MLIRTokenKind.HASH_IDENT and token.text not in self.attribute_aliases:
            self._consume_token()
            return self._location_alias(token.text, token.span)
        if token.kind is MLIRTokenKind.BARE_IDENT and token.text == "fused":
            self._consume_token()
            metadata: Attribute = NoneAttr()
            if self.parse_optional_punctuation("<"):
                metadata = self.parse_attribute()
                self.parse_punctuation(">")
            parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
            return FusedLoc(ArrayAttr[Attribute](parts), metadata)
        return super()._parse_location()

    def _location_alias(self, name: str, use: Span) -> LocationAttr:
        """The location that an alias stands for, wherever in the text that is said."""
        if name not in self._location_aliases:
            text = self.lexer.input.content
            definition = re.search(rf"^{re.escape(name)}\s*=(?=\s*loc\()", text, re.MULTILINE)
            if definition is None:
                self.raise_error(f"undefined location alias '{name}'", use)
            state, position = self._parser_state.current_token, self.lexer.pos
            self._resume_from(definition.end())
            location = self.parse_optional_location()
            self._parser_state.current_token, self.lexer.pos = state, position
            assert location is not None
            self._location_aliases[name] = location
        return self._location_aliases[name]

    def parse_optional_region(self, arguments: Sequence[Parser.Argument] | None = None) -> Region | None:
        for argument in arguments or ():
            if argument.location is None:
                argument.location = self._location(argument.name.start)
        return super().parse_optional_region(arguments)

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:  # pyright: ignore[reportPrivateUsage]
        element = super()._parse_tensor_literal_element()
        if element.span.text[:2] in ("0x", "0X"):
            return _BitPattern(element.is_negative, element.value, element.span)
        return element

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> DenseIntOrFPElementsAttr[Any]:
        start = self._current_token.span.start
        packed = self._parse_packed(type)
        if packed is not None:
            return packed
        self._resume_from(start)
        return super().parse_dense_int_or_fp_elements_attr(type)

    def _parse_packed(self, type: Any) -> DenseIntOrFPElementsAttr[Any] | None:
        """Hexadecimal digits for i1, eight elements to a byte, the first in the lowest bit; xDSL takes a byte each."""
        place = self._current_token.span
        if self.parse_optional_punctuation("<") is None:
            return None
        digits = self.parse_optional_str_literal()
        if digits is None or self.parse_optional_punctuation(">") is None:
            return None
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_dense_literal_type()
        if type.element_type != i1:
            return None
        try:
            data = bytes.fromhex(digits.removeprefix("0x"))
        except ValueError:
            self.raise_error("Hex string in denseAttr is invalid", place)
        count = prod(type.get_shape())
        if data in (b"\x00", b"\xff"):
            return DenseIntOrFPElementsAttr.from_list(type, [data[0] & 1] * count)
        if len(data) != -(-count // 8):
            self.raise_error(f"{count} elements of i1 are {-(-count // 8)} bytes, got {len(data)}", place)

        import numpy as np

        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:count]
        return DenseIntOrFPElementsAttr.from_list(type, bits.tolist())

    def parse_comma_separated_list(
        self, delimiter: Parser.Delimiter, parse: Callable[[], T], context_msg: str = ""
    ) -> list[T]:
        """mlir-opt, and xDSL itself, print the results of a `linalg.generic` with more than one in parentheses; xDSL
        reads them without."""
        is_bare = delimiter is self.Delimiter.NONE and parse == self.parse_attribute
        if is_bare and self._current_token.kind is MLIRTokenKind.L_PAREN:
            state, position = self._parser_state.current_token, self.lexer.pos
            types = super().parse_comma_separated_list(self.Delimiter.PAREN, parse, context_msg)
            if self._current_token.text != "->":
                return types
            self._parser_state.current_token, self.lexer.pos = state, position  # A function type.
        return super().parse_comma_separated_list(delimiter, parse, context_msg)

    def _parse_dialect_resource_handle(self, dialect_name: str, interface: Any) -> str:
        # xDSL takes identifiers alone, and gives a name that an earlier file had another one.
        return self.parse_identifier_or_str_literal()

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:
        name = operand.operand_name
        if name not in self.ssa_values:
            self._first_uses.setdefault(name, operand.span)
        return super().resolve_operand(operand, type)

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        position = self._current_token.span.start
        if self._current_token.kind is MLIRTokenKind.EOF:
            return ModuleOp([])
        try:
            module = super().parse_module(allow_implicit_module)
        except ParseError:
            self._raise_for_undefined_values()
            raise
        if module.location is UNKNOWN_LOC:
            # Nothing in the text stands for the module: it is where its contents begin.
            self.implicit_module = True
            module.location = self._location(position)
        return module

    def _raise_for_undefined_values(self) -> None:
        """xDSL reports values that nothing defines at the end of the file: say where they are used."""
        if self._current_token.kind is not MLIRTokenKind.EOF:
            return
        for name in self.forward_ssa_references:
            if name in self._first_uses:
                raise ParseError(self._first_uses[name], f"use of the undefined value '%{name}'")

    def _get_op_by_name(self, name: str) -> type[Operation]:
        op_type = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op_type is not None:
            return op_type
        start = self.lexer.input.content.index(name, self.open_ops[-1])
        span = Span(start, start + len(name), self.lexer.input)
        dialect = name.partition(".")[0]
        if "." in name and self.ctx.get_optional_dialect(dialect) is None:
            hint = closest(dialect, self.ctx.registered_dialect_names)
            self.raise_error(f"unknown dialect '{dialect}' of operation '{name}'{hint}", span)
        hint = closest(name, [op.name for op in self.ctx.loaded_ops])
        self.raise_error(f"unknown operation '{name}'{hint}", span)


_MALFORMED = (
    DiagnosticException,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
)
"""What verifiers of attributes and custom parsers of xDSL raise on malformed text; others are our mistakes."""


def parse_module(ctx: Context, text: str, name: str, *, implicit_module: bool = True) -> ModuleOp:
    """Parse `text`, the contents of the file `name`; a mistake in it is a located `UserError`.

    Without `implicit_module` there has to be one op at the top, which is put into a module if it is none itself. The
    module isn't verified.
    """
    register_source(name, text)
    position = 0
    parser: LocatingParser | None = None
    try:
        parser = LocatingParser(ctx, text, name)
        module = parser.parse_module()
        if parser.implicit_module and not implicit_module:
            _check_single_op(module)
        return module
    except MultipleSpansParseError as error:
        notes = [Note(message or error.ref_text or "", _locate(span)) for span, message in error.refs]
        raise UserError(_first_line(error.msg), loc=_locate(error.span), notes=notes) from error
    except ParseError as error:
        raise UserError(_first_line(error.msg), loc=_locate(error.span)) from error
    except RecursionError as error:
        raise UserError("the operations are nested too deeply", loc=SourceLocation(name, 1, 1)) from error
    except _MALFORMED as error:
        # The op being parsed is the best location there is.
        if parser is not None and parser.open_ops:
            position = parser.open_ops[-1]
        line = text.count("\n", 0, position) + 1
        column = position - text.rfind("\n", 0, position)
        message = _first_line(str(error)) or type(error).__name__
        raise UserError(message, loc=SourceLocation(name, line, column)) from error


def _check_single_op(module: ModuleOp) -> None:
    """With --no-implicit-module, only one op can stand at the top."""
    for op in list(module.body.block.ops)[1:]:
        raise UserError("--no-implicit-module: expected one operation at the top, found another", loc=op)


def _locate(span: Span[str] | Span[bytes]) -> SourceLocation:
    return SourceLocation(*span.get_location())


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0]
