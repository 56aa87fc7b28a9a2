"""affine: index arithmetic by maps, and loops."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import affine
from xdsl.ir.affine import AffineMap

from npu_mlir.analysis.affine_maps import python_expression
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import Results, Step, impl, prepare


def compiled(map_: AffineMap) -> Callable[[Results], tuple[int, ...]]:
    """The map as a Python function of its dims and symbols, given as one tuple."""
    names = [f"v[{i}]" for i in range(map_.num_dims + map_.num_symbols)]
    dims, symbols = names[: map_.num_dims], names[map_.num_dims :]
    results = [python_expression(expr, dims, symbols) for expr in map_.results]
    return eval(f"lambda v: ({', '.join(results)},)")


@prepare("affine.apply")
def apply(interp: Interpreter, op: affine.ApplyOp) -> Step:
    evaluate = compiled(op.map.data)
    return lambda args: (evaluate(args)[0],)


@prepare("affine.min")
def min_(interp: Interpreter, op: affine.MinOp) -> Step:
    evaluate = compiled(op.map.data)
    return lambda args: (min(evaluate(args)),)


@impl("affine.for")
def for_(interp: Interpreter, op: affine.ForOp, args: Results) -> Results:
    lower, upper = op.lowerBoundMap.data, op.upperBoundMap.data
    split = lower.num_dims + lower.num_symbols
    split_end = split + upper.num_dims + upper.num_symbols
    start = max(compiled(lower)(args[:split]))
    stop = min(compiled(upper)(args[split:split_end]))
    values = args[split_end:]
    for i in range(start, stop, op.step.value.data):
        values = interp.run_block(op.body.block, (i, *values))
    return values
