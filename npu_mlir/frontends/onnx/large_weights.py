"""Reading an ONNX file without its large weights, and those one by one.

Parsed as a whole, weights are in memory three times for a while: in the file's bytes, in the message, in arrays. So
what stands in the field `raw_data` of large initializers is cut out of the bytes before they are parsed, and read from
the file into arrays. What has to be known for it of the wire format: a message is a row of fields, each a tag (its
number and how its value is coded) and a value; messages and bytes begin with their length.
https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from io import BufferedReader
from math import prod
from typing import Any, NamedTuple

import numpy as np
import onnx

LARGE = 4096
"""Bytes from which on a weight is read apart."""

_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
"""Numbers of fields: of a model, a graph and a tensor."""

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
"""How values are coded."""


class FilePlace(NamedTuple):
    """The bytes of a weight in the file."""

    start: int
    end: int


class _Field(NamedTuple):
    number: int
    coding: int
    start: int
    """Of the tag."""
    value: int
    """Where the value starts, behind its length if it has one."""
    end: int


def without_large_weights(data: mmap.mmap) -> tuple[bytes, dict[int, FilePlace]]:
    """The bytes of a model without the data of large initializers, and where they are, by the initializer's number.

    Raises ValueError or IndexError for what is no message.
    """
    places: dict[int, FilePlace] = {}
    count = 0
    parts: list[bytes] = []
    for field in _fields(data, 0, len(data)):
        if (field.number, field.coding) != (_GRAPH, _LENGTH):
            parts.append(data[field.start : field.end])
            continue
        inner: list[bytes] = []
        for entry in _fields(data, field.value, field.end):
            if (entry.number, entry.coding) != (_INITIALIZER, _LENGTH):
                inner.append(data[entry.start : entry.end])
                continue
            tensor, place = _tensor(data, entry)
            inner.append(_message(_INITIALIZER, tensor))
            if place is not None:
                places[count] = place
            count += 1
        parts.append(_message(_GRAPH, b"".join(inner)))
    return b"".join(parts), places


def _tensor(data: mmap.mmap, entry: _Field) -> tuple[bytes, FilePlace | None]:
    """The bytes of an initializer, without its data if they are large, and where those are."""
    fields = list(_fields(data, entry.value, entry.end))
    large = [f for f in fields if (f.number, f.coding) == (_RAW_DATA, _LENGTH) and f.end - f.value >= LARGE]
    if len(large) != 1:
        return data[entry.value : entry.end], None
    rest = b"".join(data[f.start : f.end] for f in fields if f is not large[0])
    return rest, FilePlace(large[0].value, large[0].end)


def read_weight(file: BufferedReader, place: FilePlace, tensor: onnx.TensorProto) -> np.ndarray | None:
    """The array of an initializer whose data were cut out; None (and the data back in the tensor) if it is of no plain
    type, or doesn't have the elements that its shape says."""
    dtype = _PLAIN.get(tensor.data_type)
    if dtype is None or prod(tensor.dims) * dtype.itemsize != place.end - place.start:
        file.seek(place.start)
        tensor.raw_data = file.read(place.end - place.start)
        return None
    array = np.empty(tuple(tensor.dims), dtype)
    file.seek(place.start)
    if file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
        raise OSError("the file has become shorter")
    return array


_PLAIN: dict[int, np.dtype[Any]] = {
    number: onnx.helper.tensor_dtype_to_np_dtype(number)
    for number in (
        onnx.TensorProto.FLOAT,
        onnx.TensorProto.FLOAT16,
        onnx.TensorProto.DOUBLE,
        onnx.TensorProto.INT8,
        onnx.TensorProto.UINT8,
        onnx.TensorProto.INT16,
        onnx.TensorProto.UINT16,
        onnx.TensorProto.INT32,
        onnx.TensorProto.UINT32,
        onnx.TensorProto.INT64,
        onnx.TensorProto.UINT64,
    )
}
"""Types whose elements stand in the file as they do in arrays."""


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[_Field]:
    while start < end:
        tag, value = _varint(data, start)
        coding = tag & 7
        if coding == _VARINT:
            stop = _varint(data, value)[1]
        elif coding == _LENGTH:
            length, value = _varint(data, value)
            stop = value + length
        elif coding in (_FIXED64, _FIXED32):
            stop = value + (8 if coding == _FIXED64 else 4)
        else:
            raise ValueError("no field is coded like this")
        if stop > end:
            raise ValueError("a field ends behind its message")
        yield _Field(tag >> 3, coding, start, value, stop)
        start = stop


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """An integer in groups of seven bits, the lowest first, and where it ends."""
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7


def _message(number: int, contents: bytes) -> bytes:
    """A message as a field."""
    return _coded(number << 3 | _LENGTH) + _coded(len(contents)) + contents


def _coded(value: int) -> bytes:
    coded = bytearray()
    while value >= 0x80:
        coded.append(value & 0x7F | 0x80)
        value >>= 7
    coded.append(value)
    return bytes(coded)
