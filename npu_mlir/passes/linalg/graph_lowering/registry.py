"""The table of lowerings and what several families share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, ModuleOp, f32
from xdsl.ir import Attribute, Operation, SSAValue

from npu_mlir.ir.constants import dense_array
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.formulas import choose
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.scalar_code import Code
from npu_mlir.passes.linalg.scalar_ops import bit_width
from npu_mlir.passes.linalg.tensor_types import Shape, element_of, shape_of
from npu_mlir.support.accuracy import FAST, is_fast
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import DEFAULT_TARGET, Target, get_target

Lowering: TypeAlias = Callable[[Builder, Any], SSAValue]

LOWERINGS: dict[type[Operation], Lowering] = {}

_F = TypeVar("_F", bound=Lowering)


def lowering(*op_classes: type[Operation]) -> Callable[[_F], _F]:
    """Register the decorated function for these graph ops."""

    def register(function: _F) -> _F:
        for op_class in op_classes:
            LOWERINGS[op_class] = function
        return function

    return register


def scalar_of(value: SSAValue) -> float | None:
    """The number that every element of a constant tensor is, None for any other value."""
    if not isinstance(value.owner, ConstantOp) or not isinstance(value.owner.value, DenseIntOrFPElementsAttr):
        return None
    array = dense_array(value.owner.value)
    if not array.size or not np.array_equal(
        array, np.broadcast_to(array.flat[0], array.shape), equal_nan=False
    ):
        return None
    if array.dtype.kind in "fV" and len(set(np.signbit(array).flat)) > 1:
        return None
    return array.flat[0].item()


def project(b: Builder, value: SSAValue, shape: Shape) -> tuple[SSAValue, list[int]]:
    """The value without the unit dims that broadcast to `shape`, and the dims of `shape` that the others are."""
    own = shape_of(value)
    offset = len(shape) - len(own)
    keep = [d for d, size in enumerate(own) if size == shape[d + offset]]
    return b.reshape(value, tuple(own[d] for d in keep)), [d + offset for d in keep]


def elementwise(
    b: Builder,
    inputs: Sequence[SSAValue],
    shape: Shape,
    element: Attribute,
    build: Callable[..., SSAValue],
    *,
    wide: bool = False,
) -> SSAValue:
    """A generic that applies `build(body, *values)` at every position of `shape`, to which the inputs broadcast.

    Constants with one value become constants of the body; an operand that is given twice is read once. With
    `wide`, narrow floats are computed in f32. What `build` returns is converted to `element`.
    """
    scalars = {value: scalar_of(value) for value in inputs}
    tensors = [value for value, scalar in scalars.items() if scalar is None]
    projected = [project(b, value, shape) for value in tensors]
    maps: list[Map] = [dims for _, dims in projected]

    def fill(body: Body, *args: SSAValue) -> SSAValue:
        known = dict(zip(tensors, args, strict=True))
        for value, scalar in scalars.items():
            if scalar is not None:
                known[value] = body.constant(scalar, element_of(value))
        values = [known[value] for value in inputs]
        if wide:
            values = [body.cast(v, widened(v.type)) for v in values]
        return body.cast(build(body, *values), element)

    return b.map([v for v, _ in projected], maps, shape, element, fill)


def apply_formula(
    b: Builder, op: Operation, body: Body, name: str, x: SSAValue, **parameters: Any
) -> SSAValue:
    """A function of a value of the body, by the formula that the accuracy of `op` and the target call for; types that
    have none are computed in f32."""
    target, fast, type_ = _target(op), is_fast(op), x.type
    found = choose(name, type_, fast, target, **parameters)
    if found is None:
        x = body.cast(x, f32)
        found = choose(name, f32, fast, target, **parameters)
    assert found is not None
    if found.accuracy == FAST:
        b.formulas.add(found.name)
    code = Code({})
    result = found.build(code, x, **parameters)
    for scalar in code.ops:
        body.append(scalar)
    return body.cast(result, type_)


def apply_rows(
    b: Builder, op: Operation, name: str, *operands: SSAValue | None, **parameters: Any
) -> SSAValue:
    """A function of rows, by the formula that the accuracy of `op` and the target call for; types that have none are
    computed in f32."""
    values = [value for value in operands if value is not None]
    target, fast, type_ = _target(op), is_fast(op), element_of(values[0])
    found = choose(name, type_, fast, target, *[v.type for v in values], **parameters)
    if found is None:
        values = [elementwise(b, [v], shape_of(v), f32, lambda body, x: x) for v in values]
        found = choose(name, f32, fast, target, *[v.type for v in values], **parameters)
    assert found is not None
    if found.accuracy == FAST:
        b.formulas.add(found.name)
    result = found.build(b, *values, **parameters)
    if element_of(result) != type_:
        result = elementwise(b, [result], shape_of(result), type_, lambda body, x: x)
    return result


def _target(op: Operation) -> Target:
    """The machine that the module around an op is for."""
    module = op.get_toplevel_object()
    return target_of(module) if isinstance(module, ModuleOp) else get_target(DEFAULT_TARGET)


def widened(type_: Attribute) -> Attribute:
    """The type that narrow floats are computed or accumulated in."""
    return f32 if isinstance(type_, AnyFloat) and bit_width(type_) < 32 else type_


def add_into(body: Body, value: SSAValue, accumulator: SSAValue) -> SSAValue:
    """The body of a sum."""
    return body.apply("add", body.cast(value, accumulator.type), accumulator)


def sum_over(b: Builder, value: SSAValue, axes: Sequence[int]) -> SSAValue:
    """The sum over `axes`, in f32 if the elements are narrow floats."""
    return b.reduce(value, axes, 0, widened(element_of(value)), add_into)
