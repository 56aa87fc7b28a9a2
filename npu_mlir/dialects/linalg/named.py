"""Named structured ops of upstream linalg: products, convolutions, pools and elementwise ops.

    %0 = linalg.batch_matmul ins(%x, %y : tensor<2x4x8xf16>, tensor<2x8x3xf16>) outs(%z : tensor<2x4x3xf32>)
           -> tensor<2x4x3xf32>

xDSL has some of them. Those differ from upstream (narrow factors are not widened, strides and dilations have no
default), so all are made here, from the table in `layouts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseIntElementsAttr,
    ShapedType,
    StringAttr,
)
from xdsl.dialects.linalg.abstract_ops import NamedOperation
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.linalg.layouts import ELEMENTWISE, OperandLayout, layouts
from npu_mlir.dialects.linalg.scalars import Scalars

_WITH_MAPS = {f"linalg.{name}" for name in ("matmul", "batch_matmul", "batch_reduce_matmul", "elementwise")}
PARALLEL, REDUCTION = IteratorTypeAttr.parallel(), IteratorTypeAttr.reduction()


class _Keyword(ParametrizedAttribute):
    """A word in angle brackets."""

    word: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.word.data)


@irdl_attr_definition
class TypeFnAttr(_Keyword):
    """How integers are widened: `#linalg.type_fn<cast_unsigned>`."""

    name = "linalg.type_fn"


@irdl_attr_definition
class ElementwiseKindAttr(_Keyword):
    """What `linalg.elementwise` computes: `#linalg.elementwise_kind<exp>`."""

    name = "linalg.elementwise_kind"


class Structured(NamedOperation):
    """The syntax and the hidden body that named ops share."""

    PRINT_ATTRS_IN_FRONT: ClassVar[bool] = True
    KEYWORDS: ClassVar[tuple[str, ...]] = ("indexing_maps",)
    """Properties that stand before the operands as `name = value`."""

    indexing_maps = opt_prop_def(ArrayAttr[AffineMapAttr])
    cast = opt_prop_def(TypeFnAttr)
    strides = opt_prop_def(DenseIntElementsAttr)
    dilations = opt_prop_def(DenseIntElementsAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Structured:
        start = parser.pos
        properties = cls._parse_keywords(parser)
        attributes = parser.parse_optional_attr_dict()
        properties |= cls._parse_keywords(parser)
        operands = [parse_operands(parser, word) for word in ("ins", "outs")]
        if parser.parse_optional_keyword("attrs"):
            parser.parse_punctuation("=")
            attributes |= parser.parse_optional_attr_dict()
        results: Sequence[Attribute] = ()
        if parser.parse_optional_punctuation("->"):
            results = parser.parse_optional_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_type
            ) or [parser.parse_type()]
        names = cls.get_irdl_definition().properties
        properties |= {name: attributes.pop(name) for name in list(attributes) if name in names}
        op = cls.build(
            operands=operands,
            result_types=[results],
            properties=properties,
            attributes=attributes,
            regions=[Region()],
        )
        end = parser.pos
        try:
            op.check_operands()
            op.regions[0].add_block(op.make_body().block)
            op.name_maps()
        except VerifyException as error:
            parser.raise_error(str(error), start, end)
        return op

    @classmethod
    def _parse_keywords(cls, parser: Parser) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for name in cls.KEYWORDS:
            if parser.parse_optional_keyword(name):
                parser.parse_punctuation("=")
                found[name] = parser.parse_attribute()
        return found

    def print(self, printer: Printer) -> None:
        for name in self.KEYWORDS:
            if name in self.properties and not self._is_default(name):
                printer.print_string(f" {name} = ")
                printer.print_attribute(self.properties[name])
        hidden = {"operandSegmentSizes", "linalg.memoized_indexing_maps", *self.KEYWORDS}
        shown = {
            name: attr for name, attr in (self.attributes | self.properties).items() if name not in hidden
        }
        if shown:
            printer.print_string(" ")
            printer.print_attr_dict(shown)
        for word, values in (("ins", self.inputs), ("outs", self.outputs)):
            if values:
                printer.print_string(f" {word}(")
                printer.print_list(values, printer.print_ssa_value)
                printer.print_string(" : ")
                printer.print_list(values.types, printer.print_attribute)
                printer.print_string(")")
        if self.res:
            printer.print_string(" -> ")
            printer.print_list(self.res, lambda result: printer.print_attribute(result.type))

    def name_maps(self) -> None:
        """Give ops that upstream allows other maps than usual the property, which its generic form needs."""
        if self.name in _WITH_MAPS and self.indexing_maps is None:
            self.indexing_maps = self.get_indexing_maps()

    def _is_default(self, name: str) -> bool:
        if name != "indexing_maps":
            return False
        default = tuple(self.get_default_indexing_maps())
        return self.indexing_maps == ArrayAttr(AffineMapAttr(map_) for map_ in default)

    def scalars(self) -> Scalars:
        """An empty body for the operands."""
        unsigned = self.cast is not None and self.cast.word.data == "cast_unsigned"
        return Scalars(self.body_arg_types(self.operands), unsigned=unsigned)

    def check_operands(self) -> None:
        """Raise unless there are as many operands as the body needs."""
        raise NotImplementedError

    def make_body(self) -> Scalars:
        """The finished body."""
        raise NotImplementedError

    @classmethod
    def get_hidden_region(cls, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Region:
        raise NotImplementedError("the body depends on attributes; see make_body")

    def get_indexing_maps(self) -> ArrayAttr[AffineMapAttr]:
        return self.indexing_maps or super().get_indexing_maps()


def parse_operands(parser: Parser, word: str) -> Sequence[SSAValue]:
    """`ins(%a, %b : type, type)`, or nothing."""
    position = parser.pos
    if not parser.parse_optional_keyword(word):
        return ()
    with parser.in_parens():
        names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    return parser.resolve_operands(names, types, position)


class LayoutOp(Structured):
    """A product, convolution or pool, whose name says what the dims of its operands are."""

    @property
    def layout(self) -> OperandLayout:
        """What the dims of the operands are."""
        return layouts()[self.name.removeprefix("linalg.")]

    def check_operands(self) -> None:
        needed = len(self.layout.operands) - 1
        if len(self.inputs) != needed or len(self.outputs) != 1:
            raise VerifyException(f"expected {needed} inputs and one output")

    def verify_(self) -> None:
        self.check_operands()
        for name in ("strides", "dilations"):
            attr = self.properties.get(name)
            if attr is not None and len(_numbers(attr)) != self.layout.windows:
                raise VerifyException(f"expected {self.layout.windows} numbers in '{name}'")
        super().verify_()

    def get_default_indexing_maps(self) -> Sequence[AffineMap]:
        layout = self.layout
        count = layout.windows
        strides, dilations = (
            iter(_numbers(attr) if attr is not None else [1] * count)
            for attr in (self.strides, self.dilations)
        )
        position = {loop: AffineExpr.dimension(i) for i, loop in enumerate(layout.loops)}

        def coordinate(term: str) -> AffineExpr:
            if len(term) == 1:
                return position[term]
            return _scaled(position[term[0]], next(strides)) + _scaled(position[term[1]], next(dilations))

        return [
            AffineMap(len(layout.loops), 0, tuple(coordinate(term) for term in terms))
            for terms in layout.operands
        ]

    def get_iterator_types(self) -> ArrayAttr[IteratorTypeAttr]:
        return ArrayAttr(REDUCTION if reduced else PARALLEL for reduced in self.layout.reductions())

    def make_body(self) -> Scalars:
        body = self.scalars()
        kind = self.name.rpartition("_")[2]
        *inputs, accumulator = body.block.args
        if ".pooling_" in self.name:
            body.unsigned = kind == "unsigned"
            # The kind of pool stands behind the layout.
            combiner = {"sum": "add"}.get(kind, self.name.split("_", 2)[2])
            body.end(body.apply(combiner, accumulator, body.cast(inputs[0], accumulator.type)))
            return body
        factors = [body.cast(value, accumulator.type) for value in inputs]
        if len(factors) == 4:
            factors = [body.apply("sub", factors[i], factors[i + 2]) for i in range(2)]
        body.end(body.apply("add", accumulator, body.apply("mul", *factors)))
        return body


def _numbers(attr: Attribute) -> list[int]:
    return [int(n) for n in cast("DenseIntElementsAttr", attr).get_values()]


def _scaled(expr: AffineExpr, factor: int) -> AffineExpr:
    return expr if factor == 1 else expr * factor


class PointwiseOp(Structured):
    """An elementwise op, on operands of one shape."""

    @property
    def kind(self) -> str:
        """What is computed: `add`, `exp`, ..."""
        return self.name.removeprefix("linalg.")

    @property
    def arity(self) -> int:
        """How many inputs there have to be."""
        return ELEMENTWISE.get(self.kind, 2)

    def check_operands(self) -> None:
        if len(self.inputs) != self.arity or len(self.outputs) != 1:
            raise VerifyException(f"expected {self.arity} inputs and one output")

    def verify_(self) -> None:
        self.check_operands()
        super().verify_()

    def get_default_indexing_maps(self) -> Sequence[AffineMap]:
        rank = len(cast("ShapedType", self.outputs[0].type).get_shape())
        return [AffineMap.identity(rank)] * len(self.operands)

    def get_iterator_types(self) -> ArrayAttr[IteratorTypeAttr]:
        rank = len(cast("ShapedType", self.outputs[0].type).get_shape())
        return ArrayAttr([PARALLEL] * rank)

    def make_body(self) -> Scalars:
        body = self.scalars()
        *inputs, result = body.block.args
        value = inputs[0] if self.kind == "copy" else body.apply(self.kind, *inputs[: self.arity])
        body.end(body.cast(value, result.type))
        return body


@irdl_op_definition
class ElementwiseOp(PointwiseOp):
    """An elementwise op by its kind; maps may transpose and broadcast the inputs.

    %0 = linalg.elementwise kind = #linalg.elementwise_kind<add> ins(%x, %y : tensor<4xf32>, tensor<4xf32>)
           outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    name = "linalg.elementwise"
    KEYWORDS: ClassVar[tuple[str, ...]] = ("kind", "indexing_maps")
    word = prop_def(ElementwiseKindAttr, prop_name="kind")

    @property
    def kind(self) -> str:
        """The function that is applied, as in the text: `exp`, `add`, `select`."""
        return self.word.word.data


@irdl_op_definition
class ContractOp(Structured):
    """A product that sums over any dims, given by its maps.

    %0 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
           affine_map<(m, n, k) -> (m, n)>] ins(%x, %y : ...) outs(%z : ...) -> tensor<4x3xf32>
    """

    name = "linalg.contract"

    def check_operands(self) -> None:
        if self.indexing_maps is None or len(self.inputs) != 2 or len(self.outputs) != 1:
            raise VerifyException("expected indexing maps, two inputs and one output")

    def verify_(self) -> None:
        self.check_operands()
        super().verify_()

    def get_default_indexing_maps(self) -> Sequence[AffineMap]:
        return ()

    def get_iterator_types(self) -> ArrayAttr[IteratorTypeAttr]:
        map_ = self.get_indexing_maps().data[-1].data
        kept = set(map_.results)
        return ArrayAttr(
            PARALLEL if AffineExpr.dimension(d) in kept else REDUCTION for d in range(map_.num_dims)
        )

    def make_body(self) -> Scalars:
        body = self.scalars()
        *inputs, accumulator = body.block.args
        factors = [body.cast(value, accumulator.type) for value in inputs]
        body.end(body.apply("add", accumulator, body.apply("mul", *factors)))
        return body


def _define(base: type[Structured], name: str) -> type[Operation]:
    class_name = "".join(part.capitalize() for part in name.split("_")) + "Op"
    members = {
        "name": f"linalg.{name}",
        "__doc__": f"`linalg.{name}` as upstream defines it.",
        "__module__": __name__,
        "__qualname__": class_name,
    }
    return irdl_op_definition(cast("Any", type(class_name, (base,), members)))


NAMED_OPS: dict[str, type[Operation]] = {
    **{name: _define(LayoutOp, name) for name in layouts()},
    **{name: _define(PointwiseOp, name) for name in ELEMENTWISE},
}
"""The named ops by their names without the dialect."""
