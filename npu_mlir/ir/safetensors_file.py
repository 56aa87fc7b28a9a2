"""Writing safetensors files entry by entry: the library's `save` makes one string of the whole file.

The file begins with the length of a header (8 bytes, little endian), the header (JSON: for each entry its type, shape
and place) and goes on with the bytes of the entries. https://github.com/huggingface/safetensors#format
"""

from __future__ import annotations

import json
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
        (ml_dtypes.float8_e5m2, "F8_E5M2"),
        (ml_dtypes.float8_e4m3fn, "F8_E4M3"),
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


def parts_of(
    arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None
) -> Iterator[bytes | memoryview]:
    """The file with these entries and metadata, in parts: header, then one entry after the other."""
    order = list(_TYPES.values())
    names = sorted(arrays, key=lambda name: (-order.index(_TYPES[arrays[name].dtype]), name))
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for name in names:
        array = arrays[name]
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": _TYPES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    yield len(text).to_bytes(8, "little") + text
    for name in names:
        yield np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data
