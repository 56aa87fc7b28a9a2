"""graph.host_call: nodes of an ONNX model, run by onnxruntime where it is installed, else by the reference evaluator.

What onnxruntime cannot run (a type that it lacks, say) the reference evaluator is asked for as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx

from npu_mlir.dialects.graph.host import HostCallOp, nodes_of
from npu_mlir.interpreters.registry import Results, Step
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.dtypes import numpy_dtype, static_shape

Evaluator: TypeAlias = Callable[[Mapping[str, np.ndarray]], Sequence[Any]]


def runner(op: HostCallOp) -> Step:
    """The call made ready to run; what runs it is made at the first execution."""
    model = nodes_of(op)
    names = [value.name for value in model.graph.input]
    made: dict[Callable[[onnx.ModelProto], Evaluator], Evaluator] = {}

    def step(args: Results) -> Results:
        feeds = {name: np.asarray(arg, order="C") for name, arg in zip(names, args, strict=True)}
        errors: list[Exception] = []
        for make in (_onnxruntime, _reference):
            try:
                if make not in made:
                    made[make] = make(model)
                values = made[make](feeds)
            except Exception as error:
                if not isinstance(error, ImportError):
                    errors.append(error)
                continue
            return _checked(op, values)
        reason = " ".join(str(errors[0]).split())
        raise UserError(f"the host cannot run {_names(op)}: {reason}", loc=op) from errors[0]

    return step


def _onnxruntime(model: onnx.ModelProto) -> Evaluator:
    from npu_mlir.support.onnx_session import session

    made = session(model.SerializeToString(), severity=4)
    return lambda feeds: made.run(None, dict(feeds))


def _reference(model: onnx.ModelProto) -> Evaluator:
    from onnx.reference import ReferenceEvaluator

    evaluator: Any = ReferenceEvaluator(model)
    return lambda feeds: evaluator.run(None, dict(feeds))


def _checked(op: HostCallOp, values: Sequence[Any]) -> Results:
    """The results as arrays of their own; a `UserError` unless they are of the types that the op says."""
    results: list[np.ndarray] = []
    for value, type_ in zip(values, op.result_types, strict=True):
        array = np.array(value)
        shape, dtype = static_shape(type_), numpy_dtype(type_)
        fits = len(shape) == array.ndim and all(
            n < 0 or n == m for n, m in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype != dtype:
            found = "x".join([*map(str, array.shape), str(array.dtype)])
            raise UserError(f"{_names(op)} gave {found} on the host, the result is {type_}", loc=op)
        results.append(array)
    return tuple(results)


def _names(op: HostCallOp) -> str:
    return ", ".join(name.data for name in op.operators)
