"""What is known about a pass that raised something unexpected: the exception, the op it was looking at, and the line
of Python that failed."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import FrameType, TracebackType

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from npu_mlir.ir.printing import op_line
from npu_mlir.support.diagnostics import Note, PassCrash, SourceLocation, location_of, register_source

CALLER = "npu_mlir.pass_infra.pass_manager"
"""The module that calls passes."""


def describe_crash(pass_: ModulePass, error: Exception) -> PassCrash:
    """The error to show for an exception that came out of `pass_`."""
    frames = _frames(error.__traceback__)
    what = " ".join(str(error).split())
    message = f"pass '{pass_.name}' failed with an unexpected {type(error).__name__}"
    notes = [Note("raised here", _place(*(_blamed(frames, pass_) or frames[-1])))] if frames else []
    op = _latest_op(frames)
    if op is not None:
        notes.insert(0, Note(f"while it looked at {op_line(op)}"))
    attached = op is not None and location_of(op) is not None
    return PassCrash(f"{message}: {what}" if what else message, loc=op if attached else None, notes=notes)


def _frames(traceback: TracebackType | None) -> list[tuple[FrameType, int]]:
    """Frames with their lines, the innermost last; not ours, which called the pass."""
    frames: list[tuple[FrameType, int]] = []
    while traceback is not None:
        frames.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return [frame for frame in frames if frame[0].f_globals.get("__name__") != CALLER]


def _blamed(frames: list[tuple[FrameType, int]], pass_: ModulePass) -> tuple[FrameType, int] | None:
    """The innermost frame in the file of the pass: what it called is rarely to blame."""
    module = sys.modules.get(type(pass_).__module__)
    file = getattr(module, "__file__", None)
    return next((frame for frame in reversed(frames) if frame[0].f_code.co_filename == file), None)


def _place(frame: FrameType, line: int) -> SourceLocation:
    path = frame.f_code.co_filename
    text = linecache.getline(path, line)
    shown = path
    if Path(path).is_relative_to(Path.cwd()):
        shown = str(Path(path).relative_to(Path.cwd()))
    register_source(shown, "".join(linecache.getlines(path)))
    return SourceLocation(shown, line, len(text) - len(text.lstrip()) + 1)


def _latest_op(frames: list[tuple[FrameType, int]]) -> Operation | None:
    """The op in a variable of the innermost frame that has one: the innermost of its ops, the matched one if there are
    several."""
    for frame, _ in reversed(frames):
        ops = {name: value for name, value in frame.f_locals.items() if isinstance(value, Operation)}
        if ops:
            return max(ops.items(), key=lambda item: (_depth(item[1]), item[0] == "op"))[1]
    return None


def _depth(op: Operation) -> int:
    """How many ops are around `op`."""
    depth = 0
    while (parent := op.parent_op()) is not None:
        op, depth = parent, depth + 1
    return depth
