"""builtin: only the cast that passes leave behind."""

from __future__ import annotations

from typing import Any

from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import Results, impl


@impl("builtin.unrealized_conversion_cast")
def unrealized_conversion_cast(interp: Interpreter, op: Any, args: Results) -> Results:
    return args
