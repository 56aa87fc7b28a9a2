"""NumPy arrays from and to `.npy` and `.npz` files."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.files import read_bytes, write_atomically


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


def _load(path: str) -> np.ndarray | dict[str, np.ndarray]:
    try:
        loaded = np.load(io.BytesIO(read_bytes(path)), allow_pickle=False)
        return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except (ValueError, OSError, EOFError) as error:
        raise UserError(f"'{path}' is not a NumPy file: {error}") from error
