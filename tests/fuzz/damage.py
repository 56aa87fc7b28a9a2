"""Damaging bytes, protobuf messages and texts, at random, a little at a time."""

from __future__ import annotations

import random
import re
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    5,
    7,
    16,
    255,
    1000,
    -5,
    1 << 31,
    (1 << 31) - 1,
    1 << 40,
    (1 << 63) - 1,
    -(1 << 63),
    1 << 64,
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, 3e38, float("inf"), float("-inf"), float("nan"))
TYPES = (
    "f32",
    "f16",
    "bf16",
    "f64",
    "i1",
    "i8",
    "i32",
    "i64",
    "ui8",
    "index",
    "f8E4M3FN",
    "i4",
    "none",
    "tensor<2xf32>",
)
JUNK = (
    "",
    " ",
    "\n",
    "\0",
    "\u202e",
    "é",
    "%",
    "}",
    "{",
    '"',
    "->",
    "//",
    "#",
    "!",
    "@x",
    "[[",
    "]",
    "😀",
    "..",
    "=",
)
TOKEN = re.compile(r"\s+|[A-Za-z_][\w.]*|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|[^\w\s]")


def damaged_bytes(random: random.Random, data: bytes) -> bytes:
    """Bytes with a few changed, inserted, taken out or doubled, or cut off."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        place = random.randrange(len(changed) + 1)
        match random.randrange(6):
            case 0:
                del changed[place:]
            case 1:
                changed[place:place] = random.randbytes(random.randint(1, 8))
            case 2:
                del changed[place : place + random.randint(1, 16)]
            case 3:
                changed[place:place] = changed[place : place + random.randint(1, 64)]
            case _:
                if place < len(changed):
                    changed[place] = random.choice(
                        (0, 1, 0x7F, 0x80, 0xFF, changed[place] ^ 1 << random.randrange(8))
                    )
    return bytes(changed)


def damaged_text(random: random.Random, text: str) -> str:
    """A text with a few tokens or lines changed, taken out, doubled or swapped."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        text = _damaged_lines(random, text) if random.random() < 0.25 else _damaged_tokens(random, text)
    return text


def _damaged_lines(random: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    place, other = (random.randrange(len(lines)) for _ in range(2))
    match random.randrange(4):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[other])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case _:
            del lines[place:]
    return "".join(lines)


def _damaged_tokens(random: random.Random, text: str) -> str:
    tokens = TOKEN.findall(text)
    places = [i for i, token in enumerate(tokens) if not token.isspace()]
    if not places:
        return text
    place, other = random.choice(places), random.choice(places)
    if random.random() < 0.5:
        # Numbers and names are what still makes sense.
        telling = [i for i in places if tokens[i][0].isdigit() or tokens[i][0].isalpha()]
        place = random.choice(telling or places)
    token = tokens[place]
    match random.randrange(8):
        case 0:
            tokens[place] = ""
        case 1:
            tokens[place] += " " + token
        case 2:
            tokens[place], tokens[other] = tokens[other], token
        case 3:
            tokens[place] = random.choice(JUNK)
        case 4:
            tokens[place] = tokens[other]
        case _ if token in TYPES:
            tokens[place] = random.choice(TYPES)
        case _ if token.lstrip("-")[:1].isdigit():
            tokens[place] = str(random.choice(NUMBERS))
        case _:
            alike = [other for other in tokens if other[:1].isalpha()]
            tokens[place] = random.choice(alike or [token])
    return "".join(tokens)


def damage_message(random: random.Random, message: Any) -> None:
    """Change a few fields of a protobuf message, or of those inside it."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        inner = random.choice([*_messages(message)])
        _damage_field(random, inner, random.choice(inner.DESCRIPTOR.fields))


def _messages(message: Any) -> Any:
    """The message and all inside it."""
    yield message
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in value if _is_repeated(field) else [value]:
                yield from _messages(inner)


def _is_repeated(field: Any) -> bool:
    return bool(field.is_repeated) if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED


def _damage_field(random: random.Random, message: Any, field: Any) -> None:
    if not _is_repeated(field):
        if field.type == FieldDescriptor.TYPE_MESSAGE or random.random() < 0.2:
            message.ClearField(field.name)
        else:
            _set(random, message, field)
        return
    entries = getattr(message, field.name)
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        if not entries:
            entries.add()
        elif random.random() < 0.5:
            del entries[random.randrange(len(entries))]
        else:
            entries.add().CopyFrom(random.choice(entries))
        return
    kept = list(entries)
    value = _scalar(random, field, kept)
    place = random.randrange(len(kept) + 1)
    match random.randrange(3):
        case 0:
            kept.insert(place, value)
        case 1 if kept:
            del kept[place - 1]
        case _ if kept:
            kept[place - 1] = value
        case _:
            kept = [value]
    del entries[:]
    entries.extend(kept)


def _set(random: random.Random, message: Any, field: Any) -> None:
    try:
        setattr(message, field.name, _scalar(random, field, [getattr(message, field.name)]))
    except ValueError:
        message.ClearField(field.name)


def _scalar(random: random.Random, field: Any, others: list[Any]) -> Any:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
            return random.choice(FLOATS)
        case FieldDescriptor.CPPTYPE_STRING:
            text = random.choice(("", "x", "in0", "v0", "Add", "Constant", "é\n[b]", "a" * 300, *others))
            if field.type != FieldDescriptor.TYPE_BYTES:
                return text if isinstance(text, str) else ""
            data = text if isinstance(text, bytes) else text.encode()
            return damaged_bytes(random, data)
        case FieldDescriptor.CPPTYPE_ENUM:
            return random.choice(field.enum_type.values).number
        case _:
            bits = (
                32
                if field.cpp_type in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32)
                else 64
            )
            low = (
                0
                if field.cpp_type in (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64)
                else -1 << bits - 1
            )
            return random.choice([n for n in NUMBERS if low <= n < 1 << bits - 1])
