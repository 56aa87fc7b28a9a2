"""NumPy arrays from and to `.npy` and `.npz` files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import count
from pathlib import Path

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
    np.save(stream, array, allow_pickle=False)
    write_atomically(str(path), stream.getvalue())


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
        return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except (ValueError, OSError, EOFError) as error:
        raise UserError(f"'{path}' is not a NumPy file: {error}") from error
