"""Reading and writing files the way every tool does it: `-` is a standard stream, no half-written file."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from npu_mlir.support.diagnostics import UserError

STDIN_NAME = "<stdin>"

STDOUT_NAMES = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def read_text(path: str) -> tuple[str, str]:
    """The text of the file `path` (`-`: standard input) and the name that messages give it."""
    if path == "-":
        if sys.stdin is None:
            raise UserError("cannot read standard input: it is closed")
        return _decode(sys.stdin.buffer.read(), STDIN_NAME), STDIN_NAME
    return _decode(read_bytes(path), path), path


def read_bytes(path: str) -> bytes:
    """The contents of a file, or a `UserError` that says why there are none."""
    note_input(path)
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"cannot read '{path}': {_reason(error)}") from error


Data = str | bytes | Iterable[bytes | memoryview]
"""What is written to a file, in parts if it is large."""


def write_atomically(path: str, data: Data) -> None:
    """Write a whole file or nothing; `-` is standard output, and devices are written in place."""
    write_together({path: data})


def write_together(files: Mapping[str, Data]) -> None:
    """Write several files: all of them, each whole, or none; what is no file (see `is_stream`) is written last."""
    contents = {path: _parts(data) for path, data in files.items()}
    streams = {path: contents.pop(path) for path in list(contents) if is_stream(path)}
    for path in contents:
        _check_not_used(path)
    staged: list[tuple[str, Path, Path]] = []
    try:
        for path, data in contents.items():
            with _reported(path):
                target = Path(os.path.realpath(path))
                staged.append((path, target, _stage(target, data)))
        _replace_all(staged)
    finally:
        for _, _, temporary in staged:
            temporary.unlink(missing_ok=True)
    for path, data in streams.items():
        _write_stream(path, data)


def is_stream(path: str) -> bool:
    """Whether a path stands for something that has no contents to replace: a stream, a device or a pipe."""
    if path == "-" or _is_descriptor(path):
        return True
    try:
        return not stat.S_ISREG(mode := os.stat(path).st_mode) and not stat.S_ISDIR(mode)
    except OSError:
        return False


def check_writable(path: str) -> None:
    """Fail early, before minutes of work, if `path` can't be written."""
    if is_stream(path):
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise UserError(f"cannot write '{path}': it is a directory")
    if not target.parent.is_dir():
        raise UserError(f"cannot write '{path}': the directory '{target.parent}' does not exist")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UserError(f"cannot write '{path}': permission denied")


def check_outputs(outputs: Mapping[str, str | None], inputs: Iterable[str | None] = ()) -> None:
    """Fail early if a file to write, by the option that names it, can't be written, is an input or another output."""
    taken: dict[str, str] = {}
    read = {os.path.realpath(path) for path in inputs if path is not None and not is_stream(path)}
    for option, path in outputs.items():
        if path is None:
            continue
        check_writable(path)
        if is_stream(path):
            continue
        target = os.path.realpath(path)
        if target in read:
            raise UserError(f"{option}: '{path}' is read, and would be overwritten: name another file")
        other = taken.setdefault(target, option)
        if other != option:
            raise UserError(f"{other} and {option} would write the same file '{path}'")


@dataclass
class _Used:
    """The files that a tool has read and written so far, by their real paths."""

    read: set[str] = field(default_factory=set[str])
    written: set[str] = field(default_factory=set[str])


_used: list[_Used] = []


@contextmanager
def protecting_inputs() -> Generator[None]:
    """Within, no file is overwritten that was read or written before: what a run of a tool is held to."""
    _used.append(_Used())
    try:
        yield
    finally:
        _used.pop()


def note_input(path: str | Path) -> None:
    """Take note that a file is read; needed for those that are not read by the functions here."""
    if _used:
        _used[-1].read.add(os.path.realpath(path))


def _check_not_used(path: str) -> None:
    target = os.path.realpath(path)
    if not _used:
        return
    if target in _used[-1].read:
        raise UserError(f"cannot write '{path}': it is an input, and would be overwritten")
    if target in _used[-1].written:
        raise UserError(f"cannot write '{path}': it was just written with something else")
    _used[-1].written.add(target)


def _parts(data: Data) -> Iterable[bytes | memoryview]:
    return [data.encode()] if isinstance(data, str) else [data] if isinstance(data, bytes) else data


def _stage(target: Path, parts: Iterable[bytes | memoryview]) -> Path:
    """The contents in a new file beside the target."""
    # The name may be as long as names can be.
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:32]}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.writelines(parts)
        # mkstemp makes private files: give the file the mode that an ordinary open would.
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        os.chmod(temporary, mode)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return Path(temporary)


def _replace_all(staged: Sequence[tuple[str, Path, Path]]) -> None:
    """Put all staged files in their places; if one cannot be put there, those before it are taken back."""
    undo: list[tuple[Path, Path | None]] = []
    try:
        for path, target, temporary in staged:
            with _reported(path):
                undo.append((target, _backup(target) if len(staged) > 1 else None))
                try:
                    os.replace(temporary, target)
                except BaseException:
                    _, backup = undo.pop()
                    if backup is not None:
                        backup.unlink()
                    raise
    except BaseException:
        for target, backup in undo:
            if backup is None:
                target.unlink()
            else:
                os.replace(backup, target)
        raise
    for _, backup in undo:
        if backup is not None:
            backup.unlink()


def _backup(target: Path) -> Path | None:
    """Another name for the target's contents, None if there is no such file."""
    if not target.is_file():
        return None
    backup = target.with_name(f".{target.name[:32]}.{os.getpid()}.old")
    os.link(target, backup)
    return backup


def _write_stream(path: str, parts: Iterable[bytes | memoryview]) -> None:
    name = "standard output" if path in ("-", *STDOUT_NAMES) else f"'{path}'"
    try:
        if name == "standard output":
            if sys.stdout is None:
                raise UserError("cannot write to standard output: it is closed")
            sys.stdout.buffer.writelines(parts)
            sys.stdout.flush()
        else:
            with open(path, "wb") as stream:
                stream.writelines(parts)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UserError(f"cannot write to {name}: {_reason(error)}") from error


def _is_descriptor(path: str) -> bool:
    return path in (*STDOUT_NAMES, "/dev/stderr") or path.startswith(("/dev/fd/", "/proc/self/fd/"))


@contextmanager
def _reported(path: str) -> Generator[None]:
    """An error of the file system as one of the user."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write '{path}': {_reason(error)}") from error


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
