"""The scalar body of a structured operation as a Python function of arrays.

Source is generated, so that a call costs no more than the NumPy functions in it::

    def body(a, i):          # a: block arguments, i: one index array per loop
        t0 = f0(a[0], a[1])
        t1 = f1(t0)
        return (t1,)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from npu_mlir.interpreters.arith import constant_value
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import elementwise_function
from npu_mlir.support.dtypes import numpy_dtype

Body = Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]


def compile_values(interp: Interpreter, block: Block, values: Sequence[SSAValue]) -> Body:
    """A function from the block arguments and loop indices to `values`, computing nothing else."""
    source = ["def body(a, i):"]
    scope: dict[str, Any] = {"get": interp.get}
    names: dict[SSAValue, str] = {arg: f"a[{arg.index}]" for arg in block.args}
    for op in slice_of(block, values):
        _compile_op(interp, block, op, names, scope, source)
    results = [_name(value, block, names, scope) for value in values]
    source.append(f"    return ({', '.join(results)},)")
    exec("\n".join(source), scope)
    return scope["body"]


def slice_of(block: Block, values: Iterable[SSAValue]) -> list[Operation]:
    """The operations of the block that `values` depend on, in order."""
    needed: set[Operation] = set()
    work = list(values)
    while work:
        owner = work.pop().owner
        if isinstance(owner, Operation) and owner.parent is block and owner not in needed:
            needed.add(owner)
            work += owner.operands
            work += [v for inner in owner.walk() if inner is not owner for v in inner.operands]
    return [op for op in block.ops if op in needed]


def arguments_of(block: Block, values: Iterable[SSAValue]) -> set[int]:
    """The indices of the block arguments that `values` depend on."""
    values = list(values)
    operands = [v for op in slice_of(block, values) for v in op.operands]
    return {v.index for v in [*values, *operands] if isinstance(v, BlockArgument) and v.owner is block}


def _compile_op(
    interp: Interpreter,
    block: Block,
    op: Operation,
    names: dict[SSAValue, str],
    scope: dict[str, Any],
    source: list[str],
) -> None:
    number = len(names)
    if isinstance(op, IndexOp):
        names[op.result] = f"i[{op.dim.value.data}]"
        return
    if isinstance(op, arith.ConstantOp):
        names[op.result] = f"c{number}"
        value = constant_value(op.value)
        scope[f"c{number}"] = numpy_dtype(op.result.type).type(value) if isinstance(value, int) else value
        return
    args = ", ".join(_name(v, block, names, scope) for v in op.operands)
    function = elementwise_function(op)
    for k, result in enumerate(op.results):
        names[result] = f"t{number}_{k}"
    results = ", ".join(names[result] for result in op.results)
    if function is not None:
        scope[f"f{number}"] = function
        source.append(f"    {results} = f{number}({args})")
    else:
        scope[f"f{number}"] = interp.step(op)
        source.append(f"    {results}, = f{number}(({args},))")


def _name(value: SSAValue, block: Block, names: dict[SSAValue, str], scope: dict[str, Any]) -> str:
    """The Python expression for a value; one that is defined outside of the body is read when the body runs."""
    if value not in names:
        scope[f"v{len(names)}"] = value
        names[value] = f"get(v{len(names)})"
    return names[value]
