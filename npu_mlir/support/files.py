"""Reading and writing files the way every tool does it: `-` is a standard stream, no half-written file."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from npu_mlir.support.diagnostics import UserError

STDIN_NAME = "<stdin>"


def read_text(path: str) -> tuple[str, str]:
    """The text of the file `path` (`-`: standard input) and the name that messages give it."""
    if path == "-":
        return _decode(sys.stdin.buffer.read(), STDIN_NAME), STDIN_NAME
    return _decode(read_bytes(path), path), path


def read_bytes(path: str) -> bytes:
    """The contents of a file, or a `UserError` that says why there are none."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"cannot read '{path}': {_reason(error)}") from error


def write_atomically(path: str, data: str | bytes | Iterable[bytes | memoryview]) -> None:
    """Write a whole file or nothing, in parts if `data` has several; `-` is standard output, and devices are written in
    place."""
    parts = [data.encode()] if isinstance(data, str) else [data] if isinstance(data, bytes) else data
    if path == "-":
        sys.stdout.buffer.writelines(parts)
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                stream.writelines(parts)
        else:
            _replace(target, parts)
    except OSError as error:
        raise UserError(f"cannot write '{path}': {_reason(error)}") from error


def check_writable(path: str) -> None:
    """Fail early, before minutes of work, if `path` can't be written."""
    if path == "-":
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise UserError(f"cannot write '{path}': it is a directory")
    if not target.parent.is_dir():
        raise UserError(f"cannot write '{path}': the directory '{target.parent}' does not exist")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UserError(f"cannot write '{path}': permission denied")


def _replace(target: Path, parts: Iterable[bytes | memoryview]) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.writelines(parts)
        # mkstemp makes private files: give the file the mode that an ordinary open would.
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"'{name}' is not a text file (byte {error.start} is not UTF-8)") from error


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
