"""builtin: only the cast that passes leave behind."""

from __future__ import annotations

from typing import Any

import numpy as np

from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import Results, impl
from npu_mlir.support.dtypes import numpy_dtype


@impl("builtin.unrealized_conversion_cast")
def unrealized_conversion_cast(interp: Interpreter, op: Any, args: Results) -> Results:
    (value,), type_ = args, op.results[0].type
    # Integers with and without a sign are the same bits.
    return (value.view(numpy_dtype(type_)) if isinstance(value, np.ndarray) else value,)
