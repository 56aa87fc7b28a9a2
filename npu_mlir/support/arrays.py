"""NumPy arrays from and to `.npy` and `.npz` files.

The format knows NumPy's own types. An array of another one (`bfloat16`, `int4`, `float8_e5m2`, ...) is written as
records with one unsigned field, which has the name of the type: reading them gives the type back, here, and elsewhere
with `numpy.load(file).view(ml_dtypes.bfloat16)`. What NumPy itself writes for such an array says how many bytes an
element has and no more: there the type that a program declares decides (`declared_as`).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.files import read_bytes, write_atomically

MOST_BYTES = 200
"""Of a name that becomes that of a file."""


def read_npy(path: str) -> np.ndarray:
    """The array in an `.npy` file."""
    loaded = _load(path)
    if not isinstance(loaded, np.ndarray):
        raise UserError(f"'{path}' holds several arrays: give it without NAME=")
    return loaded


def read_npz(path: str) -> dict[str, np.ndarray]:
    """The arrays in an `.npz` file, by name."""
    loaded = _load(path)
    if isinstance(loaded, np.ndarray):
        raise UserError(f"'{path}' is a single array: give it as NAME={path}")
    return loaded


def write_npy(path: Path, array: np.ndarray) -> None:
    """Write an array to an `.npy` file, whole or not at all."""
    stream = io.BytesIO()
    np.save(stream, _records(array), allow_pickle=False)
    write_atomically(str(path), stream.getvalue())


def declared_as(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """An array whose elements are bytes without a type, as elements of the type declared for it; others as they are.

    >>> import ml_dtypes
    >>> declared_as(np.array([b"\\x80\\x3f"], "V2"), np.dtype(ml_dtypes.bfloat16))
    array([1], dtype=bfloat16)
    """
    untyped = array.dtype.type is np.void and array.dtype.names is None
    return array.view(dtype) if untyped and _is_foreign(dtype, array.dtype.itemsize) else array


def file_names(names: Sequence[str]) -> list[str]:
    """A file name for each of several names: the name itself where it can be one, and never the same twice.

    >>> file_names(["y", "a/b", "a_b"])
    ['y', 'a_b', 'a_b_1']
    """
    result: list[str] = []
    for name in names:
        plain = "".join("_" if c == "/" or not c.isprintable() else c for c in name)
        # Names of files have at most 255 bytes.
        plain = plain.encode(errors="replace")[:MOST_BYTES].decode(errors="ignore") or "_"
        candidates = (plain if n == 0 else f"{plain}_{n}" for n in count())
        result.append(next(name for name in candidates if name not in result))
    return result


def _load(path: str) -> np.ndarray | dict[str, np.ndarray]:
    try:
        loaded = np.load(io.BytesIO(read_bytes(path)), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return _typed(loaded)
        return {name: _typed(loaded[name]) for name in loaded.files}
    except (ValueError, OSError, EOFError) as error:
        raise UserError(f"'{path}' is not a NumPy file: {error}") from error


def _records(array: np.ndarray) -> np.ndarray:
    """An array of a type that is not NumPy's own, as records that name it."""
    dtype = array.dtype
    if not _is_foreign(dtype, dtype.itemsize):
        return array
    return np.ascontiguousarray(array).view([(dtype.name, f"<u{dtype.itemsize}")]).reshape(array.shape)


def _typed(array: np.ndarray) -> np.ndarray:
    """The opposite of `_records`."""
    import ml_dtypes

    names = array.dtype.names or ()
    scalar = getattr(ml_dtypes, names[0], None) if len(names) == 1 else None
    if not isinstance(scalar, type):
        return array
    try:
        dtype = np.dtype(scalar)
    except TypeError:
        return array
    return array.view(dtype) if _is_foreign(dtype, array.dtype.itemsize) else array


def _is_foreign(dtype: np.dtype[Any], size: int) -> bool:
    """Whether a type is of those that other packages add to NumPy, and its elements have so many bytes."""
    return dtype.isbuiltin == 2 and dtype.itemsize == size
