"""What every graph op shares: static shape inference, the verifier built on it, and attribute shorthands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, SSAValues
from xdsl.irdl import IRDLOperation, result_def, traits_def
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait, Pure
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.graph import shapes
from npu_mlir.dialects.graph.shapes import Shape, ShapeError

Value = SSAValue | Operation

LOCATION = "npu.node"
"""Discardable attribute that names the model node an op came from."""

ANY_TENSOR = TensorType.constr()
INTS = DenseArrayBase.constr(i64)
"""A list of integers, printed as `[1, 2]`."""
INT = IntegerAttr.constr(i64)
FLOAT = FloatAttr.constr(f64)


def ints(values: Sequence[int]) -> DenseArrayBase[Any]:
    """The attribute for a list of integers."""
    return DenseArrayBase.from_list(i64, [int(value) for value in values])


def int_attr(value: int) -> IntegerAttr[Any]:
    """The attribute for one integer property."""
    return IntegerAttr(int(value), i64)


def float_attr(value: float) -> FloatAttr[Any]:
    """The attribute for one float property."""
    return FloatAttr(float(value), f64)


def tensor_of(value: SSAValue) -> TensorType[Attribute]:
    """The type of a value that the op definition constrains to a tensor."""
    return cast(TensorType[Attribute], value.type)


def shape_of(value: SSAValue) -> Shape:
    """The extents of a tensor value."""
    return tensor_of(value).get_shape()


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return tensor_of(value).element_type


def is_static(value: SSAValue) -> bool:
    """Whether no extent of a tensor value is open."""
    return all(extent >= 0 for extent in shape_of(value))


class GraphCanonicalization(HasCanonicalizationPatternsTrait):
    """The patterns of `npu_mlir.passes.canonicalization_patterns.graph`, loaded when `canonicalize` asks for them."""

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        from npu_mlir.passes.canonicalization_patterns.graph import patterns_for

        return patterns_for(op)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return ()


class GraphOp(IRDLOperation, ABC):
    """An operator on static tensors with one result whose type follows from operands and properties.

    Subclasses say how in `infer_shape` and, where the element type is not that of the first operand, in
    `infer_element_type`. A result may be declared with open extents (`?`) until `graph-infer-shapes` has run.
    """

    result = result_def(ANY_TENSOR)

    traits = traits_def(Pure(), GraphCanonicalization())

    def __init__(
        self,
        operands: Sequence[Value | Sequence[Value] | None],
        properties: Mapping[str, Attribute | None] | None = None,
        result_type: TensorType[Attribute] | None = None,
    ):
        placeholder = result_type or TensorType(f64, [])
        super().__init__(operands=operands, result_types=[placeholder], properties=properties)
        if result_type is None:
            self.results = SSAValues((OpResult(self.infer_type(), self, 0),))

    def rebuilt(
        self, operands: Sequence[SSAValue], properties: Mapping[str, Attribute] | None = None
    ) -> Self:
        """The same op on other operands and with some properties changed; the result's shape is inferred anew."""
        new = self.create(
            operands=operands,
            result_types=[self.result.type],
            properties=dict(self.properties) | dict(properties or {}),
            attributes=dict(self.attributes),
        )
        new.results = SSAValues((OpResult(new.infer_type(), new, 0),))
        return new

    @abstractmethod
    def infer_shape(self) -> Shape:
        """The result's shape, from static operand shapes; `ShapeError` when they do not fit."""

    def infer_element_type(self) -> Attribute:
        """The result's element type; by default all operands have one element type, and so has the result."""
        first, *rest = (element_of(operand) for operand in self.operands)
        for other in rest:
            if other != first:
                raise ShapeError(f"operand element types {first} and {other} differ")
        return first

    def infer_type(self) -> TensorType[Attribute]:
        """The result type that operands and properties imply."""
        return TensorType(self.infer_element_type(), self.infer_shape())

    def verify_(self) -> None:
        """The declared result type must be the inferred one."""
        try:
            element = self.infer_element_type()
            if element != element_of(self.result):
                raise ShapeError(f"result element type is {element_of(self.result)}, inferred {element}")
            if all(map(is_static, self.operands)):
                self._verify_shape(self.infer_shape())
        except ShapeError as error:
            raise VerifyException(str(error)) from error

    def _verify_shape(self, inferred: Shape) -> None:
        declared = shape_of(self.result)
        fits = len(declared) == len(inferred) and all(
            extent < 0 or extent == actual for extent, actual in zip(declared, inferred, strict=True)
        )
        if not fits:
            raise ShapeError(f"result shape is {shapes.text(declared)}, inferred {shapes.text(inferred)}")


def require_float(op: GraphOp) -> Attribute:
    """The common element type of an op that computes on floats only."""
    element = GraphOp.infer_element_type(op)
    if not isinstance(element, AnyFloat):
        raise ShapeError(f"element type must be a float, got {element}")
    return element


def location_of(op: Operation) -> str | None:
    """The name of the model node that `op` came from."""
    location = op.attributes.get(LOCATION)
    return location.data if isinstance(location, StringAttr) else None
