"""linalg: structured operations, on tensors (a new array) and memrefs (written in place)."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg import Linalg
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import FillOp

from npu_mlir.interpreters.dtypes import numpy_dtype, static_shape
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import Results, Step, prepare
from npu_mlir.interpreters.structured.evaluate import structured_step

for _op in Linalg.operations:
    if issubclass(_op, LinalgStructuredOperation):
        prepare(_op.name)(structured_step)


@prepare("linalg.fill")
def fill(interp: Interpreter, op: FillOp) -> Step:
    type_ = op.outputs[0].type
    if isinstance(type_, MemRefType):

        def store(args: Results) -> Results:
            args[1][...] = args[0]
            return ()

        return store
    dtype: np.dtype[Any] = numpy_dtype(type_)
    shape = static_shape(type_)
    if min(shape, default=0) < 0:
        return lambda args: (np.full(args[1].shape, args[0], dtype),)
    return lambda args: (np.broadcast_to(np.asarray(args[0], dtype), shape),)
