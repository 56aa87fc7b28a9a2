"""graph-set-precision{precision=f16}: compute in another float type than the model was written in.

    func.func @main(%x: tensor<1x8xf32>) -> tensor<1x4xf32> {
      %w = graph.weight @w : tensor<8x4xf32>
      %0 = graph.matmul %x, %w : (tensor<1x8xf32>, tensor<8x4xf32>) -> tensor<1x4xf32>
      func.return %0 : tensor<1x4xf32>
    }
  becomes
    func.func @main(%x: tensor<1x8xf32>) -> tensor<1x4xf32> {
      %0 = graph.cast %x : (tensor<1x8xf32>) -> tensor<1x8xf16>
      %w = graph.weight @w.f16 : tensor<8x4xf16>
      %1 = graph.matmul %0, %w : (tensor<1x8xf16>, tensor<8x4xf16>) -> tensor<1x4xf16>
      %2 = graph.cast %1 : (tensor<1x4xf16>) -> tensor<1x4xf32>
      func.return %2 : tensor<1x4xf32>
    }

The signature stays, and so do the operands of calls of the host; functions that a `graph.repeat` runs take and return
f16. Sums along axes, functions that amplify rounding (exp, pow, sqrt, ...) and casts of integers of more than 8 bits
stay in f32, and with them the elementwise ops that only feed them or that take their results: this is what keeps a
layer norm or softmax written in small steps exact enough, and sums of quantized products finite. Convolutions,
products, pools, softmax and normalisation are f16 outside and accumulate in f32 inside. Constants beyond the range of
f16 are limited to it.

Does not handle: f64 and integer tensors (they stay as they are), types other than f32 and f16.

Changes values: by about 2**-11 of the largest operand of each op.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    FloatAttr,
    FunctionType,
    IntegerType,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from npu_mlir.dialects.graph import (
    CastOp,
    ConcatOp,
    DequantizeOp,
    ElementwiseOp,
    ExpandOp,
    ExpOp,
    GraphOp,
    HostCallOp,
    LogOp,
    PadOp,
    PowOp,
    QuantizeOp,
    ReciprocalOp,
    ReduceKind,
    ReduceOp,
    RepeatOp,
    RequantizeOp,
    ReshapeOp,
    SliceOp,
    SqrtOp,
    TransposeOp,
    WeightOp,
)
from npu_mlir.dialects.graph.base import element_of
from npu_mlir.ir.constants import constant_of
from npu_mlir.ir.functions import body_of
from npu_mlir.ir.weights import WeightStore, weights_of
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.graph.rewriting import (
    WeightReleaser,
    functions,
    graph_ops,
    insert_before,
    insert_constant,
    replace,
)
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.dtypes import numpy_dtype
from npu_mlir.support.tolerance import TOLERANCES, Tolerance

WIDE, NARROW = Float32Type(), Float16Type()

SENSITIVE = (ExpOp, LogOp, PowOp, SqrtOp, ReciprocalOp, DequantizeOp, QuantizeOp, RequantizeOp)
"""Elementwise functions that amplify the rounding of their operands, or whose range exceeds that of f16."""

SUMMING = (ReduceKind.SUM, ReduceKind.MEAN, ReduceKind.PROD)

FOLLOWING = (ElementwiseOp, ReduceOp, ReshapeOp, TransposeOp, ExpandOp, ConcatOp, SliceOp, PadOp)
"""Ops that are f32 where an operand is."""


@dataclass(frozen=True)
class SetPrecision(ModulePass):
    """Compute in f16 what is f32."""

    name = "graph-set-precision"

    precision: str = "f32"
    """`f16`, or `f32` to leave everything as it is."""

    tolerance: ClassVar[Tolerance] = TOLERANCES["f16"]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.precision not in ("f32", "f16"):
            raise UserError(f"unknown precision '{self.precision}'; there are f32 and f16")
        if self.precision == "f32":
            return
        releaser = WeightReleaser(op)
        steps = {o.callee.string_value() for o in op.walk() if isinstance(o, RepeatOp)}
        for function in functions(op):
            if function.sym_name.data in steps:
                _narrow_signature(function)
            _Narrower(function, weights_of(op), releaser).run()
        erase_dead_ops(op)
        releaser.finish()


class _Narrower:
    """Converts one function, in program order."""

    def __init__(self, function: FuncOp, store: WeightStore, releaser: WeightReleaser):
        self.function = function
        self.block = body_of(function)
        self.store = store
        self.releaser = releaser
        self.wide_ops = _wide_ops(graph_ops(self.block))
        self.wide_values: set[SSAValue] = set()
        self.converted: dict[tuple[SSAValue, Attribute], SSAValue] = {}
        self.calls: dict[Operation, list[Attribute]] = {
            op: [value.type for value in op.operands] for op in self.block.ops if isinstance(op, HostCallOp)
        }
        """What calls of the host take, which keeps its type."""

    def run(self) -> None:
        """Convert all ops, and the results back to the types of the signature."""
        for op in list(self.block.ops):
            if op in self.calls:
                self._keep_types(op, self.calls[op])
            elif isinstance(op, RepeatOp):
                self._narrow(op)
            elif isinstance(op, GraphOp) and not isinstance(op, WeightOp):
                self._convert(op)
        terminator = self.block.last_op
        assert isinstance(terminator, ReturnOp)
        self._keep_types(terminator, self.function.function_type.outputs.data)

    def _narrow(self, op: RepeatOp) -> None:
        """Run the same function, which takes and returns f16 now."""
        for index, value in enumerate(op.operands):
            op.operands[index] = self._as_type(value, NARROW, op)
        for result in op.results:
            Rewriter.replace_value_with_new_type(result, _narrowed(result.type))

    def _keep_types(self, op: Operation, types: Sequence[Attribute]) -> None:
        """Give an op operands of these types."""
        for index, type_ in enumerate(types):
            if isinstance(type_, TensorType):
                op.operands[index] = self._as_type(op.operands[index], type_.element_type, op)

    def _convert(self, op: GraphOp) -> None:
        target = self._target(op)
        if isinstance(op, CastOp):
            new = self._new_cast(op, target)
        else:
            operands = [self._as_type(value, target, op) for value in op.operands]
            new = _rebuilt(op, operands, target) if any(map(_is_float, (*operands, op.result))) else op
        result = new.results[0] if isinstance(new, Operation) else new
        if new is not op:
            read = list(op.operands)
            replace(op, insert_before(op, new) if isinstance(new, Operation) else new)
            self.releaser.release(read)
        if target == WIDE and element_of(result) == WIDE:
            self.wide_values.add(result)

    def _target(self, op: GraphOp) -> Attribute:
        """The float type that the op computes in."""
        follows = isinstance(op, FOLLOWING) and any(value in self.wide_values for value in op.operands)
        return WIDE if follows or op in self.wide_ops else NARROW

    def _new_cast(self, op: CastOp, target: Attribute) -> GraphOp | SSAValue:
        """A cast to f32 becomes one to the type that the op computes in; its operand keeps its type."""
        to = target if element_of(op.result) == WIDE else element_of(op.result)
        if to == element_of(op.input):
            return op.input
        return op if to == element_of(op.result) else CastOp(op.input, to)

    def _as_type(self, value: SSAValue, target: Attribute, anchor: Operation) -> SSAValue:
        """A float value in the given type: a converted constant, what it was cast from, or a new cast."""
        if not _is_float(value) or element_of(value) == target:
            return value
        if isinstance(value.owner, CastOp) and element_of(value.owner.input) == target == WIDE:
            return value.owner.input
        if (value, target) not in self.converted:
            self.converted[value, target] = self._converted(value, target, anchor)
        return self.converted[value, target]

    def _converted(self, value: SSAValue, target: Attribute, anchor: Operation) -> SSAValue:
        array = constant_of(value, self.store)
        if array is None:
            return insert_before(anchor, CastOp(value, target))
        entry = getattr(value.owner, "entry_name", "constant")
        return insert_constant(anchor, self.store, in_type(array, numpy_dtype(target)), f"{entry}.{target}")


def _narrow_signature(function: FuncOp) -> None:
    """Make the floats that a function takes and returns f16; its ops are converted later."""
    for arg in function.body.block.args:
        Rewriter.replace_value_with_new_type(arg, _narrowed(arg.type))
    types = function.function_type
    function.function_type = FunctionType.from_lists(
        [_narrowed(type_) for type_ in types.inputs], [_narrowed(type_) for type_ in types.outputs]
    )


def _narrowed(type_: Attribute) -> Attribute:
    """The type with f16 elements, if they are f32."""
    if isinstance(type_, TensorType) and type_.element_type == WIDE:
        return TensorType(NARROW, type_.get_shape())
    return type_


def _is_float(value: SSAValue) -> bool:
    return element_of(value) in (WIDE, NARROW)


def in_type(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The array in another float type, finite values limited to its range."""
    with np.errstate(over="ignore"):
        converted = array.astype(dtype)
    if not np.isfinite(converted).all():
        beyond = np.isinf(converted) & np.isfinite(array)
        converted[beyond] = np.copysign(np.finfo(dtype).max, array[beyond])
    return converted


def _rebuilt(op: GraphOp, operands: list[SSAValue], target: Attribute) -> GraphOp:
    if isinstance(op, PadOp) and isinstance(op.value, FloatAttr):
        value: Any = FloatAttr(op.value.value.data, cast(Float16Type | Float32Type, target))
        return op.rebuilt(operands, {"value": value})
    return op.rebuilt(operands)


def _wide_ops(ops: list[GraphOp]) -> set[Operation]:
    """The ops that have to stay f32, and the elementwise ops whose results go to such ops only."""
    wide: set[Operation] = set()
    for op in reversed(ops):
        if element_of(op.result) != WIDE and not isinstance(op, QuantizeOp | RequantizeOp):
            continue
        users = [use.operation for use in op.result.uses]
        feeds_wide = isinstance(op, ElementwiseOp) and bool(users) and all(user in wide for user in users)
        if (
            feeds_wide
            or _counts(op)
            or isinstance(op, SENSITIVE)
            or (isinstance(op, ReduceOp) and op.kind.data in SUMMING)
        ):
            wide.add(op)
    return wide


def _counts(op: GraphOp) -> bool:
    """Whether an op makes floats of integers that f16 has no room for: sums of products of quantized values, say."""
    if not isinstance(op, CastOp):
        return False
    element = element_of(op.input)
    return isinstance(element, IntegerType) and element.width.data > 8
