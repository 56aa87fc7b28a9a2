"""Building `linalg.generic` and what surrounds it, directly and fast: cached types and maps, `Op.create`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

from xdsl.dialects import arith, math, tensor
from xdsl.dialects.arith import FastMathFlagsAttr, IntegerOverflowAttr
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    f32,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from npu_mlir.passes.linalg.signless import is_narrow, is_unsigned, signless
from npu_mlir.support.locations import node_of
from npu_mlir.support.node_names import joined, parts

Shape = tuple[int, ...]
Map = Sequence[int | AffineExpr]
"""The results of an indexing map; an integer is a dim."""

PARALLEL, REDUCTION = IteratorTypeAttr.parallel(), IteratorTypeAttr.reduction()
LOCATION = "npu.node"
_NO_FLAGS = FastMathFlagsAttr("none")
_MAY_OVERFLOW = IntegerOverflowAttr("none")

_FLOAT_OPS: dict[str, type[Operation]] = {
    "add": arith.AddfOp,
    "sub": arith.SubfOp,
    "mul": arith.MulfOp,
    "div": arith.DivfOp,
    "max": arith.MaximumfOp,
    "min": arith.MinimumfOp,
    "neg": arith.NegfOp,
    "abs": math.AbsFOp,
    "exp": math.ExpOp,
    "log": math.LogOp,
    "sqrt": math.SqrtOp,
    "tanh": math.TanhOp,
    "erf": math.ErfOp,
    "pow": math.PowFOp,
    "floor": math.FloorOp,
    "ceil": math.CeilOp,
    "roundeven": math.RoundEvenOp,
    "sin": math.SinOp,
    "cos": math.CosOp,
    "tan": math.TanOp,
    "asin": math.AsinOp,
    "acos": math.AcosOp,
    "atan": math.AtanOp,
    "sinh": math.SinhOp,
    "cosh": math.CoshOp,
    "asinh": math.AsinhOp,
    "acosh": math.AcoshOp,
    "atanh": math.AtanhOp,
}
_INTEGER_OPS: dict[str, type[Operation]] = {
    "add": arith.AddiOp,
    "sub": arith.SubiOp,
    "mul": arith.MuliOp,
    "div": arith.DivSIOp,
    "max": arith.MaxSIOp,
    "min": arith.MinSIOp,
    "abs": math.AbsIOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
    "xor": arith.XOrIOp,
}
_UNSIGNED_OPS: dict[str, type[Operation]] = {
    "div": arith.DivUIOp,
    "max": arith.MaxUIOp,
    "min": arith.MinUIOp,
}
_OVERFLOWING = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
_CMPF = {"eq": 1, "ne": 13, "lt": 4, "le": 5, "gt": 2, "ge": 3}
_CMPI_UNSIGNED = {"eq": 0, "ne": 1, "lt": 6, "le": 7, "gt": 8, "ge": 9}
_CMPI = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}


@cache
def tensor_type(element: Attribute, shape: Shape) -> TensorType[Attribute]:
    """The tensor type, built once."""
    return TensorType(element, shape)


@cache
def ints(values: Sequence[int]) -> DenseArrayBase[Any]:
    """A list of i64, built once."""
    return DenseArrayBase.from_list(i64, values)


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


def scalar_attr(value: float, type_: Attribute) -> FloatAttr[Any] | IntegerAttr[Any]:
    """The number as an attribute of a float, integer or index type."""
    if isinstance(type_, AnyFloat):
        return FloatAttr(float(value), type_)
    assert isinstance(type_, IntegerType | IndexType)
    return IntegerAttr(int(value), type_)


def shape_of(value: SSAValue) -> Shape:
    """The shape of a tensor value."""
    assert isinstance(value.type, TensorType)
    return value.type.get_shape()


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    assert isinstance(value.type, TensorType)
    return value.type.element_type


class Body:
    """The scalar body of a generic under construction. Functions take and return values of the body."""

    def __init__(self, types: Sequence[Attribute]):
        self.block = Block(arg_types=types)
        self._constants: dict[Attribute, SSAValue] = {}

    @property
    def args(self) -> Sequence[SSAValue]:
        """The block arguments: an element of each input, then of the result's start."""
        return self.block.args

    def append(self, op: Operation) -> SSAValue:
        """Add an operation; returns its result."""
        self.block.add_op(op)
        return op.results[0]

    def constant(self, value: float, type_: Attribute) -> SSAValue:
        """A scalar constant; equal ones are made once."""
        attr = scalar_attr(value, type_)
        if attr not in self._constants:
            op = arith.ConstantOp.create(result_types=[type_], properties={"value": attr})
            self._constants[attr] = self.append(op)
        return self._constants[attr]

    def apply(self, name: str, *operands: SSAValue | float) -> SSAValue:
        """`add`, `sub`, `exp`, ... on values of one type (numbers become constants of it), by that type."""
        type_ = next(v.type for v in operands if isinstance(v, SSAValue))
        values = [v if isinstance(v, SSAValue) else self.constant(v, type_) for v in operands]
        return self.append(scalar_op(name, values))

    def compare(self, predicate: str, lhs: SSAValue, rhs: SSAValue | float) -> SSAValue:
        """`eq`, `ne`, `lt`, `le`, `gt` or `ge`; ordered for floats, signed for integers."""
        right = rhs if isinstance(rhs, SSAValue) else self.constant(rhs, lhs.type)
        return self.append(compare_op(predicate, lhs, right))

    def select(self, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`lhs` where the i1 `condition` is true, else `rhs`."""
        return self.append(arith.SelectOp.create(operands=[condition, lhs, rhs], result_types=[lhs.type]))

    def cast(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """The value converted: floats to nearest even, to integers towards zero, to i1 whether it is not zero."""
        if value.type == type_:
            return value
        if type_ == i1:
            between = _on_the_way(value.type, type_)
            return self.compare("ne", value if between is None else self.cast(value, between), 0)
        if is_narrow(type_):
            return self._wrapped(value, type_)
        if signless(value.type) == signless(type_):
            # They differ by the sign alone, which the operations have in the end.
            return value
        between = _on_the_way(value.type, type_)
        return self.append(cast_op(value if between is None else self.cast(value, between), type_))

    def _wrapped(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """The value modulo the range of an integer type of fewer than 8 bits, as an i8."""
        if isinstance(value.type, AnyFloat):
            value = self.cast(value, i32)
        value = self.cast(value, i8)
        bits = bit_width(type_)
        value = self.apply("and", value, (1 << bits) - 1)
        if is_unsigned(type_):
            return value
        sign = 1 << (bits - 1)
        return self.apply("sub", self.apply("xor", value, sign), sign)

    def index(self, dim: int) -> SSAValue:
        """The position of the current iteration in a loop, of type index."""
        return self.append(IndexOp(dim))

    def end(self, *values: SSAValue) -> Block:
        """Close the body with what it yields; returns its block."""
        self.block.add_op(YieldOp.create(operands=list(values)))
        return self.block


def scalar_op(name: str, operands: Sequence[SSAValue]) -> Operation:
    """The operation of this name for the operands' type."""
    type_ = operands[0].type
    if isinstance(type_, AnyFloat):
        op_class = _FLOAT_OPS[name]
        return op_class.create(operands=operands, result_types=[type_], properties={"fastmath": _NO_FLAGS})
    op_class = _UNSIGNED_OPS.get(name, _INTEGER_OPS[name]) if is_unsigned(type_) else _INTEGER_OPS[name]
    properties: dict[str, Attribute] = {"overflowFlags": _MAY_OVERFLOW} if op_class in _OVERFLOWING else {}
    return op_class.create(operands=operands, result_types=[type_], properties=properties)


def compare_op(predicate: str, lhs: SSAValue, rhs: SSAValue) -> Operation:
    """The comparison for the operands' type."""
    if isinstance(lhs.type, AnyFloat):
        properties: dict[str, Attribute] = {
            "predicate": IntegerAttr(_CMPF[predicate], i64),
            "fastmath": _NO_FLAGS,
        }
        return arith.CmpfOp.create(operands=[lhs, rhs], result_types=[i1], properties=properties)
    predicates = _CMPI_UNSIGNED if is_unsigned(lhs.type) else _CMPI
    properties = {"predicate": IntegerAttr(predicates[predicate], i64)}
    return arith.CmpiOp.create(operands=[lhs, rhs], result_types=[i1], properties=properties)


def cast_op(value: SSAValue, type_: Attribute) -> Operation:
    """The conversion between two different scalar types, the target not i1."""
    source_float, target_float = isinstance(value.type, AnyFloat), isinstance(type_, AnyFloat)
    wider = bit_width(type_) > bit_width(value.type)
    if source_float and target_float:
        op_class = arith.ExtFOp if wider else arith.TruncFOp
    elif source_float:
        op_class = arith.FPToUIOp if is_unsigned(type_) else arith.FPToSIOp
    elif target_float:
        op_class = arith.UIToFPOp if value.type == i1 or is_unsigned(value.type) else arith.SIToFPOp
    elif wider:
        op_class = arith.ExtUIOp if value.type == i1 or is_unsigned(value.type) else arith.ExtSIOp
    else:
        op_class = arith.TruncIOp
    return op_class.create(operands=[value], result_types=[type_])


def _on_the_way(source: Attribute, target: Attribute) -> Attribute | None:
    """The type through which a cast goes: floats of 8 bits and fewer are read from and made of floats alone."""
    small = [t for t in (source, target) if isinstance(t, AnyFloat) and bit_width(t) <= 8]
    both_float = isinstance(source, AnyFloat) and isinstance(target, AnyFloat)
    return f32 if len(small) == 2 or (small and not both_float) else None


def bit_width(type_: Attribute) -> int:
    """The width of a float or integer type."""
    assert isinstance(type_, AnyFloat | IntegerType)
    return type_.bitwidth


BodyBuilder = Callable[..., "SSAValue"]
"""Called with the body and one value per input (and the accumulator, in reductions); returns the value to yield."""


class Builder:
    """Collects operations; each method appends what its result needs."""

    def __init__(self, location: Attribute | None = None):
        self.ops: list[Operation] = []
        self.location = location

    def add(self, op: Operation) -> SSAValue:
        """Append an operation; returns its first result."""
        if self.location is not None:
            op.attributes[LOCATION] = self.location
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
        value = _seen_through(value, shape)
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
                properties={"reassociation": _reassociation(groups)},
            )
        )

    def _expand(self, value: SSAValue, groups: Sequence[Sequence[int]], shape: Shape) -> SSAValue:
        return self.add(
            tensor.ExpandShapeOp.create(
                operands=[value],
                result_types=[tensor_type(element_of(value), shape)],
                properties={"reassociation": _reassociation(groups), "static_output_shape": ints(shape)},
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


@cache
def segments(*sizes: int) -> DenseArrayBase[Any]:
    """The operand segment sizes of an operation."""
    return DenseArrayBase.from_list(i32, sizes)


def without_units(shape: Shape) -> Shape:
    """The shape without dims of size 1."""
    return tuple(n for n in shape if n != 1)


def _seen_through(value: SSAValue, shape: Shape) -> SSAValue:
    """The earliest value that `value` is a reshape of and that differs from `shape` by unit dims at most."""
    best = value
    while isinstance(value.owner, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
        value = value.owner.operands[0]
        if without_units(shape_of(value)) == without_units(shape):
            best = value
    return best


def _reassociation(groups: Sequence[Sequence[int]]) -> ArrayAttr[Any]:
    return ArrayAttr([ArrayAttr([IntegerAttr(d, i64) for d in group]) for group in groups])


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


def reshape_groups(source: Shape, target: Shape) -> list[tuple[list[int], list[int]]]:
    """Source and target dims in the finest groups of equal extent; `collapse` the first, `expand` into the second.

    `(2, 3, 4)` to `(6, 2, 2)`: `[([0, 1], [0]), ([2], [1, 2])]`. Unit dims join a neighbouring group, and a
    tensor of rank 0 has no groups.
    """
    groups: list[tuple[list[int], list[int]]] = []
    s = t = 0
    while s < len(source) and t < len(target):
        left, right, a, b = [s], [t], source[s], target[t]
        while a != b:
            if a < b or b == 0:
                s += 1
                left.append(s)
                a *= source[s]
            else:
                t += 1
                right.append(t)
                b *= target[t]
        groups.append((left, right))
        s, t = s + 1, t + 1
    if groups:
        groups[-1][0].extend(range(s, len(source)))
        groups[-1][1].extend(range(t, len(target)))
    return groups


def merged_location(*ops: Operation) -> StringAttr | None:
    """The model nodes that the operations came from, joined with `+`, at most three."""
    names: list[str] = []
    for op in ops:
        node = node_of(op)
        if node is not None:
            names += [name for name in parts(node) if name not in names]
    return StringAttr(joined(names[:3])) if names else None
