"""The weight store of a module: the data behind `graph.weight`.

    store = weights_of(module)
    store.get("conv1.w")            an array, read on first use from the file that `npu.weights` names
    store.set("conv1.w_hwio", x)    a new entry, kept in memory until a tool saves the module

A store belongs to one `ModuleOp` object and lives as long as it does. Files are safetensors; `npu.weights` is
relative to the directory of the `.mlir` file, which whoever parses the file says by `store.directory = ...`.

Does not handle: resources inside the `.mlir` file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr

from npu_mlir.dialects.graph.weight import WeightOp
from npu_mlir.support.diagnostics import UserError, closest
from npu_mlir.support.files import Data, note_input, write_atomically

WEIGHTS = "npu.weights"
"""The module attribute that names the weight file."""

WEIGHTS_HASH = "npu.weights_hash"
"""The module attribute with the hash of the weights, which stands in the metadata of their file as well."""


class WeightStore:
    """Arrays by name: those set in memory, over those of a safetensors file."""

    def __init__(self, directory: str | Path = "."):
        self.directory = Path(directory)
        self.path: Path | None = None
        self.hash: str | None = None
        """What the file's metadata have to say, None for a module that does not know."""
        self._new: dict[str, np.ndarray] = {}
        self._discarded: set[str] = set()
        self._read: dict[str, np.ndarray] = {}
        self._file: _SafetensorsFile | None = None

    def get(self, name: str) -> np.ndarray:
        """The array called `name`; a `UserError` when there is none. Not to be written."""
        if name in self._new:
            return self._new[name]
        if name not in self._read:
            self._read[name] = self._from_file(name)
        return self._read[name]

    def set(self, name: str, array: np.ndarray) -> None:
        """Add or replace an entry, in memory."""
        self._new[name] = array

    def discard(self, name: str) -> None:
        """Give up an entry's memory; its name stays taken, and an entry of the file can be read again."""
        self._new.pop(name, None)
        self._read.pop(name, None)
        self._discarded.add(name)

    def fresh(self, name: str) -> str:
        """`name`, or `name_1`, `name_2`, ... if that is taken."""
        taken, candidate, count = self.names() | self._discarded, name, 0
        while candidate in taken:
            count += 1
            candidate = f"{name}_{count}"
        return candidate

    def names(self) -> set[str]:
        """The names of all entries."""
        return self._new.keys() | (self._open().names() if self.path else set())

    def new_names(self) -> set[str]:
        """The names of the entries in memory."""
        return set(self._new)

    def saved(self, path: Path, arrays: dict[str, np.ndarray]) -> None:
        """Take note that `path` now holds exactly these entries."""
        self.directory, self.path, self._file = path.parent, Path(path.name), None
        self._read = arrays
        self._new = {name: array for name, array in self._new.items() if name not in arrays}

    def copy(self) -> WeightStore:
        """A store with the same entries, to which new ones can be added."""
        copy = WeightStore(self.directory)
        copy.path, copy.hash, copy._file = self.path, self.hash, self._file
        copy._new, copy._read = dict(self._new), dict(self._read)
        copy._discarded = set(self._discarded)
        return copy

    def is_new(self, name: str) -> bool:
        """Whether an entry exists in memory only, or replaces that of the file."""
        return name in self._new

    def _open(self) -> _SafetensorsFile:
        if self.path is None:
            raise UserError("the module names no weight file (attribute 'npu.weights')")
        if self._file is None:
            self._file = _SafetensorsFile(self.directory / self.path, self.hash)
        return self._file

    def _from_file(self, name: str) -> np.ndarray:
        if self.path is None:
            raise UserError(f"no weight '{name}': the module names no weight file (attribute '{WEIGHTS}')")
        return self._open().read(name)


class _SafetensorsFile:
    """A memory-mapped weight file."""

    def __init__(self, path: Path, expected: str | None):
        from safetensors import SafetensorError, safe_open

        self._path = path
        note_input(path)
        try:
            handle: Any = safe_open(str(path), framework="numpy")
        except FileNotFoundError as error:
            raise UserError(f"weight file '{path}' does not exist") from error
        except (OSError, SafetensorError) as error:
            raise UserError(f"'{path}' is not a readable safetensors file: {error}") from error
        self._metadata: dict[str, str] = handle.metadata() or {}
        found = self._metadata.get(WEIGHTS_HASH)
        if expected is not None and found != expected:
            raise UserError(
                f"the weights in '{path}' are not those of the module: their hash is "
                f"{found or 'missing'}, the module has {expected}",
                notes=["the file is from another run, or of another model: make both again"],
            )
        self._names: set[str] = set(handle.keys())
        self._get: Callable[[str], np.ndarray] = handle.get_tensor

    def names(self) -> set[str]:
        return self._names

    def read(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise UserError(f"weight file '{self._path}' has no entry '{name}'{closest(name, self._names)}")
        from npu_mlir.ir.safetensors_file import TYPE_PREFIX, array_of_type

        try:
            return array_of_type(self._get(name), self._metadata.get(TYPE_PREFIX + name))
        except ValueError as error:
            raise UserError(
                f"the entry '{name}' of weight file '{self._path}' is damaged: {error}"
            ) from error


_stores: WeakKeyDictionary[ModuleOp, WeightStore] = WeakKeyDictionary()


def weights_of(module: ModuleOp) -> WeightStore:
    """The weight store of this module object, made on first use."""
    store = _stores.get(module)
    if store is None:
        store = _stores[module] = WeightStore()
    attribute = module.attributes.get(WEIGHTS)
    store.path = Path(attribute.data) if isinstance(attribute, StringAttr) else None
    attribute = module.attributes.get(WEIGHTS_HASH)
    store.hash = attribute.data if isinstance(attribute, StringAttr) else None
    return store


def share_weights(source: ModuleOp, target: ModuleOp) -> None:
    """Give `target`, for instance a clone of `source`, the same store."""
    _stores[target] = weights_of(source)


def copy_weights(source: ModuleOp, target: ModuleOp) -> None:
    """Give `target`, a clone of `source`, a store of its own with the same entries."""
    _stores[target] = weights_of(source).copy()


def weight_names(module: ModuleOp) -> list[str]:
    """The entries in use, in order of their first `graph.weight`."""
    return list(dict.fromkeys(op.entry_name for op in module.walk() if isinstance(op, WeightOp)))


def has_new_weights(module: ModuleOp) -> bool:
    """Whether the module uses entries that its weight file does not have."""
    store = weights_of(module)
    return any(store.is_new(name) for name in weight_names(module))


def save_weights(module: ModuleOp, path: str | Path) -> None:
    """Write the entries in use to the safetensors file `path` and make the module name it."""
    data, saved = weights_data(module, Path(path))
    write_atomically(str(path), data)
    saved()


def weights_data(module: ModuleOp, path: Path) -> tuple[Data, Callable[[], None]]:
    """The contents of a safetensors file with the entries in use, after making the module name it by `path`.

    What is returned beside it is to be called when the file is there.
    """
    from npu_mlir.ir.safetensors_file import parts_of

    store = weights_of(module)
    arrays = {name: store.get(name) for name in weight_names(module)}
    digest = _hash(arrays)
    module.attributes[WEIGHTS] = StringAttr(path.name)
    module.attributes[WEIGHTS_HASH] = StringAttr(digest)
    return parts_of(arrays, {WEIGHTS_HASH: digest}), lambda: store.saved(path, arrays)


def forget_weights(module: ModuleOp) -> None:
    """Make the module name no weight file."""
    module.attributes.pop(WEIGHTS, None)
    module.attributes.pop(WEIGHTS_HASH, None)


def _hash(arrays: Mapping[str, np.ndarray]) -> str:
    """64 bits of what the entries are called and hold, in hexadecimal."""
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(f"{name}\0{array.dtype}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]


def check_weight(op: WeightOp, array: np.ndarray) -> None:
    """`UserError` unless the array has the shape and element type that `op` declares."""
    from npu_mlir.support.dtypes import numpy_dtype

    if array.shape != op.infer_shape() or array.dtype != numpy_dtype(op.infer_element_type()):
        found = "x".join([*map(str, array.shape), str(array.dtype)])
        raise UserError(f"weight '{op.entry_name}' is {found} in the file, declared {op.result.type}", loc=op)
