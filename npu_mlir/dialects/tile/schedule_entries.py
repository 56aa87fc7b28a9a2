"""The entries of a schedule: what they may be, and their syntax."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.parser import AttrParser

from npu_mlir.dialects.tile.spaces import Space
from npu_mlir.support.diagnostics import closest

SIZE_LEVELS = ("l1", "l0", "ub")
"""The levels at which classes are cut, as a schedule names them."""

ROLES: Mapping[str, tuple[str, ...]] = {
    Space.L1: ("a", "b", "init", "link"),
    Space.UB: ("in", "acc", "out"),
}
"""What buffers are for, in the memories where that differs: an operand of the cube in L0A or L0B, what accumulators
start from, or an operand that the kernel made; what came from GM, what came from L0C, what the vector unit made."""

VIA = ("whole", "tile")
"""How what a kernel makes reaches a contraction that reads it, through L1: all that a tile of the contraction reads, or
one chunk of the sum after the other, each made when its turn comes."""

OP_ENTRIES = (*SIZE_LEVELS, "via")
"""The entries of single operations."""

ENTRIES = (*SIZE_LEVELS, "order", "slots", "keep", "bypass_ub", "ops")
KEPT = ("a", "b")
"""The roles of buffers in L1 that may stay there."""

SLOT_SPACES = tuple(space.value for space in Space if space is not Space.GM)


def array(values: Iterable[int]) -> DenseArrayBase[IntegerType]:
    """Integers as an attribute."""
    return DenseArrayBase.from_list(i64, list(values))


def integers(value: Attribute | None) -> tuple[int, ...]:
    """The integers of such an attribute; none for None."""
    if value is None:
        return ()
    return tuple(int(v) for v in cast("DenseArrayBase[IntegerType]", value).get_values())


def names(value: Attribute | None) -> tuple[str, ...]:
    """The names in such an attribute; none for None."""
    if value is None:
        return ()
    return tuple(name.data for name in cast("ArrayAttr[StringAttr]", value))


def integer(value: Attribute) -> int:
    """The integer of an attribute."""
    return cast("IntegerAttr[IntegerType]", value).value.data


# ---- what is wrong with an entry ------------------------------------------------------------------------------------


def problem_of(key: str, value: Attribute, known: Sequence[str]) -> str | None:
    """What is wrong with an entry, as parsed or as built."""
    if key not in known:
        return _unknown("entry of a schedule", key, known)
    match key:
        case "bypass_ub":
            return None if isinstance(value, UnitAttr) else "'bypass_ub' takes no value"
        case "slots":
            return _slots_problem(value)
        case "ops":
            return _ops_problem(value)
        case "keep":
            return _keep_problem(value)
        case "via":
            known_ways = isinstance(value, StringAttr) and value.data in VIA
            return None if known_ways else f"'via' is one of {', '.join(VIA)}"
        case _:
            return _listproblem_of(key, value)


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    hint = closest(name, known) or f"; expected one of {', '.join(known)}"
    return f"unknown {what} '{name}'{hint}"


def _listproblem_of(key: str, value: Attribute) -> str | None:
    if not isinstance(value, DenseArrayBase):
        return f"'{key}' is a list of integers"
    numbers = integers(cast("Attribute", value))
    if any(n < 0 for n in numbers):
        what = "the number of a class" if key == "order" else "a size"
        return f"'{key}': {what} can't be negative, got {min(numbers)}"
    if key == "order" and len(set(numbers)) != len(numbers):
        return f"'order' names a class twice: {list(numbers)}"
    return None


def _slots_problem(value: Attribute) -> str | None:
    if not isinstance(value, DictionaryAttr):
        return "'slots' gives a number for memories: {l1 = 2, ub = 2}"
    for space, entry in value.data.items():
        if space not in SLOT_SPACES:
            return _unknown("memory", space, SLOT_SPACES)
        roles = ROLES.get(space, ())
        counts = {space: entry}
        if isinstance(entry, DictionaryAttr):
            wrong = next((role for role in entry.data if role not in roles), None)
            if wrong is not None and not roles:
                return f"the buffers of '{space}' have no roles: give one number of slots"
            if wrong is not None:
                return f"'{space}': {_unknown('role', wrong, roles)}"
            counts = {f"{space}.{role}": count for role, count in entry.data.items()}
        for name, count in counts.items():
            if not isinstance(count, IntegerAttr) or integer(cast("Attribute", count)) < 1:
                return f"'{name}' needs at least one slot"
    return None


def _keep_problem(value: Attribute) -> str | None:
    if not isinstance(value, ArrayAttr) or not all(isinstance(name, StringAttr) for name in value):
        return "'keep' is a list of operands: [a, b]"
    kept = names(cast("Attribute", value))
    wrong = next((name for name in kept if name not in KEPT), None)
    if wrong is not None:
        return f"'keep': {_unknown('operand', wrong, KEPT)}"
    return f"'keep' names an operand twice: {', '.join(kept)}" if len(set(kept)) != len(kept) else None


def _ops_problem(value: Attribute) -> str | None:
    if not isinstance(value, DictionaryAttr):
        return "'ops' gives sizes for operations by their position: {1 = {l0 = [0, 0, 32]}}"
    for op, own in value.data.items():
        if not op.isdecimal() or not isinstance(own, DictionaryAttr):
            return "'ops' gives sizes for operations by their position: {1 = {l0 = [0, 0, 32]}}"
        for key, entry in own.data.items():
            problem = problem_of(key, entry, OP_ENTRIES)
            if problem is not None:
                return problem
    return None


# ---- syntax ---------------------------------------------------------------------------------------------------------


def parse_entry(parser: AttrParser, entries: dict[str, Attribute], known: Sequence[str]) -> None:
    """Parse `key = value`, or `bypass_ub`, into `entries`."""
    start = parser.pos
    key = parser.parse_identifier()
    value: Attribute = UnitAttr()
    if key in entries:
        parser.raise_error(f"'{key}' is given twice", start, parser.pos)
    if parser.parse_optional_punctuation("=") is not None:
        value = _parse_value(parser)
    problem = problem_of(key, value, known)
    if problem is not None:
        parser.raise_error(problem, start, parser.pos)
    entries[key] = value


def _parse_value(parser: AttrParser) -> Attribute:
    """A list of integers or of names, an integer, a name, or a dictionary of such."""
    delimiter = parser.Delimiter
    listed = parser.parse_optional_comma_separated_list(delimiter.SQUARE, lambda: _parse_element(parser))
    if listed is not None:
        named = [StringAttr(element) for element in listed if isinstance(element, str)]
        numbers = [element for element in listed if isinstance(element, int)]
        if named and numbers:
            parser.raise_error("a list has either numbers or names")
        return ArrayAttr(named) if named else array(numbers)
    pairs: dict[str, Attribute] = {}
    if (
        parser.parse_optional_comma_separated_list(delimiter.BRACES, lambda: _parse_pair(parser, pairs))
        is not None
    ):
        return DictionaryAttr(pairs)
    word = parser.parse_optional_identifier()
    if word is not None:
        return StringAttr(word)
    return IntegerAttr(parser.parse_integer(), i64)


def _parse_element(parser: AttrParser) -> int | str:
    name = parser.parse_optional_identifier()
    return parser.parse_integer() if name is None else name


def _parse_pair(parser: AttrParser, pairs: dict[str, Attribute]) -> None:
    start = parser.pos
    number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
    key = parser.parse_identifier() if number is None else str(number)
    if key in pairs:
        parser.raise_error(f"'{key}' is given twice", start, parser.pos)
    parser.parse_punctuation("=")
    pairs[key] = _parse_value(parser)


def entries_text(entries: DictionaryAttr) -> str:
    """The entries as they stand in `#tile.schedule<...>`."""
    return ", ".join(
        key if isinstance(value, UnitAttr) else f"{key} = {_value_text(value)}"
        for key, value in entries.data.items()
    )


def _value_text(value: Attribute) -> str:
    if isinstance(value, DictionaryAttr):
        return f"{{{entries_text(value)}}}"
    if isinstance(value, StringAttr):
        return value.data
    if isinstance(value, IntegerAttr):
        return str(integer(cast("Attribute", value)))
    elements = names(value) if isinstance(value, ArrayAttr) else map(str, integers(value))
    return f"[{', '.join(elements)}]"
