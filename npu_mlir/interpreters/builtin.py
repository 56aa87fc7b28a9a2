"""builtin: only the cast that passes leave behind."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType

from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import Results, impl
from npu_mlir.support.dtypes import is_narrow_integer, numpy_dtype


@impl("builtin.unrealized_conversion_cast")
def unrealized_conversion_cast(interp: Interpreter, op: Any, args: Results) -> Results:
    (value,), type_ = args, op.results[0].type
    if not isinstance(type_, TensorType):
        return (value,)
    value = np.asarray(value)
    dtype = numpy_dtype(type_)
    if is_narrow_integer(value.dtype) or is_narrow_integer(dtype):
        # In memory an integer of fewer bits is a number of a whole byte.
        return (value.astype(dtype),)
    # Integers with and without a sign are the same bits.
    return (value.view(dtype),)
