"""Building `linalg.generic` and what surrounds it, directly and fast: cached types and maps, `Op.create`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    IndexType,
    StringAttr,
    TensorType,
)
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from npu_mlir.analysis.reshapes import reshape_groups
from npu_mlir.passes.linalg.body import Body, BodyBuilder
from npu_mlir.passes.linalg.reshapes import reassociation, seen_through
from npu_mlir.passes.linalg.scalar_ops import scalar_attr
from npu_mlir.passes.linalg.tensor_types import Shape, element_of, ints, segments, shape_of, tensor_type
from npu_mlir.support.accuracy import ACCURACY
from npu_mlir.support.locations import node_of
from npu_mlir.support.node_names import joined, parts

Map = Sequence[int | AffineExpr]
"""The results of an indexing map; an integer is a dim."""

PARALLEL, REDUCTION = IteratorTypeAttr.parallel(), IteratorTypeAttr.reduction()
LOCATION = "npu.node"


@cache
def _map_attr(num_dims: int, results: tuple[int | AffineExpr, ...]) -> AffineMapAttr:
    exprs = tuple(AffineExpr.dimension(r) if isinstance(r, int) else r for r in results)
    return AffineMapAttr(AffineMap(num_dims, 0, exprs))


@cache
def _maps_attr(num_dims: int, maps: tuple[tuple[int | AffineExpr, ...], ...]) -> ArrayAttr[AffineMapAttr]:
    return ArrayAttr([_map_attr(num_dims, results) for results in maps])


@cache
def _iterators_attr(num_dims: int, reductions: frozenset[int]) -> ArrayAttr[IteratorTypeAttr]:
    return ArrayAttr([REDUCTION if d in reductions else PARALLEL for d in range(num_dims)])


class Builder:
    """Collects operations; each method appends what its result needs."""

    def __init__(self, location: Attribute | None = None):
        self.ops: list[Operation] = []
        self.location = location
        self.accuracy: Attribute | None = None
        """What the operations have as `npu.accuracy`."""
        self.formulas: set[str] = set()
        """Names of the fast formulas in the operations."""

    def add(self, op: Operation) -> SSAValue:
        """Append an operation; returns its first result."""
        if self.location is not None:
            op.attributes[LOCATION] = self.location
        if self.accuracy is not None and isinstance(op, GenericOp):
            op.attributes[ACCURACY] = self.accuracy
        self.ops.append(op)
        return op.results[0]

    def constant(self, value: float, type_: Attribute) -> SSAValue:
        """A scalar constant of a type."""
        attr = scalar_attr(value, type_)
        return self.add(arith.ConstantOp.create(result_types=[type_], properties={"value": attr}))

    def empty(self, shape: Shape, element: Attribute) -> SSAValue:
        """A tensor that nothing was written to."""
        return self.add(tensor.EmptyOp.create(result_types=[tensor_type(element, shape)]))

    def fill(self, value: float, shape: Shape, element: Attribute) -> SSAValue:
        """A new tensor with every element set."""
        return self.fill_with(self.constant(value, element), shape)

    def fill_with(self, scalar: SSAValue, shape: Shape) -> SSAValue:
        """A new tensor with every element set to a scalar value."""
        element = scalar.type
        out = self.empty(shape, element)
        block = Block(arg_types=[element, element])
        block.add_op(YieldOp.create(operands=[block.args[0]]))
        return self.add(
            FillOp.create(
                operands=[scalar, out],
                result_types=[out.type],
                properties={"operandSegmentSizes": segments(1, 1)},
                regions=[Region(block)],
            )
        )

    def generic(
        self,
        inputs: Sequence[SSAValue],
        init: SSAValue,
        maps: Sequence[Map],
        num_dims: int,
        reductions: Sequence[int],
        build: Callable[[Body], SSAValue],
    ) -> SSAValue:
        """One `linalg.generic` with one result; `build` fills the body and returns what it yields."""
        body = Body([*map(element_of, inputs), element_of(init)])
        block = body.end(build(body))
        return self.add(make_generic([*inputs, init], 1, maps, num_dims, reductions, block))

    def map(
        self,
        inputs: Sequence[SSAValue],
        maps: Sequence[Map],
        shape: Shape,
        element: Attribute,
        build: BodyBuilder,
    ) -> SSAValue:
        """An elementwise generic over the dims of its result, one map per input."""
        rank = len(shape)
        init = self.empty(shape, element)
        return self.generic(
            inputs, init, [*maps, range(rank)], rank, (), lambda body: build(body, *body.args[:-1])
        )

    def reduce(
        self,
        value: SSAValue,
        axes: Sequence[int],
        init: float,
        element: Attribute,
        build: BodyBuilder,
    ) -> SSAValue:
        """A reduction over `axes`, which disappear; `build` gets the body, the element and the accumulator."""
        shape = shape_of(value)
        keep = [d for d in range(len(shape)) if d not in axes]
        start = self.fill(init, tuple(shape[d] for d in keep), element)
        maps = [range(len(shape)), keep]
        return self.generic([value], start, maps, len(shape), axes, lambda body: build(body, *body.args))

    def reshape(self, value: SSAValue, shape: Shape) -> SSAValue:
        """The elements in row-major order under another shape, by at most one collapse and one expand.

        Reshapes that produced `value` are seen through when what is left only adds or drops unit dims.
        """
        value = seen_through(value, shape)
        source = shape_of(value)
        if source == shape:
            return value
        if not source:
            # xDSL's verifier of tensor.expand_shape takes no tensor of rank 0.
            return self.map([value], [()], shape, element_of(value), lambda body, x: x)
        groups = reshape_groups(source, shape)
        middle = tuple(prod(source[d] for d in dims) for dims, _ in groups)
        if middle != source:
            value = self._collapse(value, [dims for dims, _ in groups], middle)
        return value if middle == shape else self._expand(value, [dims for _, dims in groups], shape)

    def _collapse(self, value: SSAValue, groups: Sequence[Sequence[int]], shape: Shape) -> SSAValue:
        return self.add(
            tensor.CollapseShapeOp.create(
                operands=[value],
                result_types=[tensor_type(element_of(value), shape)],
                properties={"reassociation": reassociation(groups)},
            )
        )

    def _expand(self, value: SSAValue, groups: Sequence[Sequence[int]], shape: Shape) -> SSAValue:
        return self.add(
            tensor.ExpandShapeOp.create(
                operands=[value],
                result_types=[tensor_type(element_of(value), shape)],
                properties={"reassociation": reassociation(groups), "static_output_shape": ints(shape)},
            )
        )

    def pad(self, value: SSAValue, low: Sequence[int], high: Sequence[int], fill: float) -> SSAValue:
        """The tensor surrounded by a constant; `value` itself when nothing is added."""
        if not any(low) and not any(high):
            return value
        element, old = element_of(value), shape_of(value)
        shape = tuple(a + n + b for a, n, b in zip(low, old, high, strict=True))
        scalar = self.constant(fill, element)
        block = Block(arg_types=[IndexType()] * len(shape))
        block.add_op(tensor.YieldOp.create(operands=[scalar]))
        return self.add(
            tensor.PadOp.create(
                operands=[value],
                result_types=[tensor_type(element, shape)],
                properties={
                    "static_low": ints(tuple(low)),
                    "static_high": ints(tuple(high)),
                    "operandSegmentSizes": segments(1, 0, 0),
                },
                regions=[Region(block)],
            )
        )

    def slice(self, value: SSAValue, ranges: Sequence[tuple[int, int]]) -> SSAValue:
        """A part of a tensor: from the first to before the second number of each dim."""
        sizes = tuple(high - low for low, high in ranges)
        if sizes == shape_of(value):
            return value
        op = tensor.ExtractSliceOp.create(
            operands=[value],
            result_types=[tensor_type(element_of(value), sizes)],
            properties={
                "static_offsets": ints(tuple(low for low, _ in ranges)),
                "static_sizes": ints(sizes),
                "static_strides": ints((1,) * len(sizes)),
                "operandSegmentSizes": segments(1, 0, 0, 0),
            },
        )
        return self.add(op)


def make_generic(
    operands: Sequence[SSAValue],
    num_outputs: int,
    maps: Sequence[Map],
    num_dims: int,
    reductions: Sequence[int],
    block: Block,
) -> GenericOp:
    """A `linalg.generic` around a finished body; its results are its outputs that are tensors."""
    key = tuple(tuple(results) for results in maps)
    outputs = operands[len(operands) - num_outputs :]
    return GenericOp.create(
        operands=operands,
        result_types=[v.type for v in outputs if isinstance(v.type, TensorType)],
        properties={
            "indexing_maps": _maps_attr(num_dims, key),
            "iterator_types": _iterators_attr(num_dims, frozenset(reductions)),
            "operandSegmentSizes": segments(len(operands) - num_outputs, num_outputs),
        },
        regions=[Region(block)],
    )


def merged_location(*ops: Operation) -> StringAttr | None:
    """The model nodes that the operations came from, joined with `+`, at most three."""
    names: list[str] = []
    for op in ops:
        node = node_of(op)
        if node is not None:
            names += [name for name in parts(node) if name not in names]
    return StringAttr(joined(names[:3])) if names else None
