"""Writing safetensors files entry by entry: the library's `save` makes one string of the whole file.

The file begins with the length of a header (8 bytes, little endian), the header (JSON: for each entry its type, shape
and place) and goes on with the bytes of the entries. https://github.com/huggingface/safetensors#format
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import ml_dtypes
import numpy as np

_TYPES: dict[np.dtype[Any], str] = {
    np.dtype(type_): name
    for type_, name in (
        (np.bool_, "BOOL"),
        (np.uint8, "U8"),
        (np.int8, "I8"),
        (np.int16, "I16"),
        (np.uint16, "U16"),
        (np.float16, "F16"),
        (ml_dtypes.bfloat16, "BF16"),
        (np.int32, "I32"),
        (np.uint32, "U32"),
        (np.float32, "F32"),
        (np.float64, "F64"),
        (np.int64, "I64"),
        (np.uint64, "U64"),
    )
}
"""The types in the order of the library, which writes those that need the largest alignment first."""

_ALIGNMENT = 8

_BYTES = np.dtype(np.uint8)

TYPE_PREFIX = "npu.type."
"""Metadata with this before the name of an entry say its type, where the library reads none such: it holds bytes."""


def _type_of(array: np.ndarray) -> str:
    return _TYPES[array.dtype if array.dtype in _TYPES else _BYTES]


def array_of_type(array: np.ndarray, name: str | None) -> np.ndarray:
    """The array of an entry whose metadata say this type, None for nothing. A `ValueError` for an unknown type."""
    if name is None:
        return array
    if not re.fullmatch(r"u?int[24]|float\d+_\w+", name) or not hasattr(ml_dtypes, name):
        raise ValueError(f"unknown element type '{name}'")
    return array.view(np.dtype(getattr(ml_dtypes, name)))


def parts_of(
    arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None
) -> Iterator[bytes | memoryview]:
    """The file with these entries and metadata, in parts: header, then one entry after the other."""
    order = list(_TYPES.values())
    names = sorted(arrays, key=lambda name: (-order.index(_type_of(arrays[name])), name))
    types = {
        TYPE_PREFIX + name: arrays[name].dtype.name for name in names if arrays[name].dtype not in _TYPES
    }
    metadata = {**(metadata or {}), **types}
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    end = 0
    for name in names:
        array = arrays[name]
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": _type_of(array),
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    yield len(text).to_bytes(8, "little") + text
    for name in names:
        yield np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data
