"""Ops of upstream linalg with a region or a meaning of their own: map, reduce, softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ShapedType, TensorType, i64
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.linalg.named import parse_operands


def _shape(value: SSAValue) -> tuple[int, ...]:
    return cast("ShapedType", value.type).get_shape()


def _element(value: SSAValue) -> Attribute:
    return cast("TensorType[Attribute]", value.type).element_type


def _results(inits: Sequence[SSAValue]) -> list[Attribute]:
    return [init.type for init in inits if isinstance(init.type, TensorType)]


@irdl_op_definition
class MapOp(IRDLOperation):
    """Apply a scalar computation to each position.

    %0 = linalg.map { arith.addf } ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<4xf32>)
    %1 = linalg.map ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>)
      (%in: f32, %out: f32) {
        %2 = arith.mulf %in, %in : f32
        linalg.yield %2 : f32
      }
    """

    name = "linalg.map"
    inputs = var_operand_def()
    init = operand_def()
    res = var_result_def(TensorType)
    mapper = region_def("single_block")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        payload = _parse_payload(parser)
        ins = parse_operands(parser, "ins")
        init = _only(parser, "outs")
        attributes = _parse_attributes(parser)
        if payload is not None:
            block = Block(arg_types=[_element(value) for value in (*ins, init)])
            _fill(block, payload, block.args[:-1])
            region = Region(block)
        else:
            args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
            region = parser.parse_region(args)
            if len(region.block.args) == len(ins):
                # Before LLVM 22 there was no argument for the result.
                region.block.insert_arg(_element(init), len(ins))
        return cls.build(
            operands=[ins, init], result_types=[_results([init])], regions=[region], attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self.inputs, [self.init], self.attributes)
        _print_region(printer, self.mapper)

    def verify_(self) -> None:
        _check_arguments(self.mapper.block, [*self.inputs, self.init])
        if any(_shape(value) != _shape(self.init) for value in self.inputs):
            raise VerifyException("expected operands of one shape")


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """Combine the elements along some dims.

    %0 = linalg.reduce { arith.addf } ins(%x : tensor<4x8xf32>) outs(%z : tensor<4xf32>) dimensions = [1]
    """

    name = "linalg.reduce"
    irdl_options = (SameVariadicOperandSize(),)
    inputs = var_operand_def()
    inits = var_operand_def()
    dimensions = prop_def(DenseArrayBase.constr(i64))
    res = var_result_def(TensorType)
    combiner = region_def("single_block")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        payload = _parse_payload(parser)
        ins, inits = parse_operands(parser, "ins"), parse_operands(parser, "outs")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        attributes = _parse_attributes(parser)
        if payload is not None:
            block = Block(arg_types=[_element(value) for value in (*ins, *inits)])
            _fill(block, payload, list(reversed(block.args)))
            region = Region(block)
        else:
            args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
            region = parser.parse_region(args)
        return cls.build(
            operands=[ins, inits],
            result_types=[_results(inits)],
            properties={"dimensions": DenseArrayBase.from_list(i64, dims)},
            regions=[region],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self.inputs, self.inits, {})
        printer.print_string(" dimensions = ")
        with printer.in_square_brackets():
            printer.print_list(self.dimensions.get_values(), printer.print_int)
        if self.attributes:
            printer.print_string(" ")
            printer.print_attr_dict(self.attributes)
        _print_region(printer, self.combiner)

    def verify_(self) -> None:
        _check_arguments(self.combiner.block, self.operands)
        rank, dims = len(_shape(self.inputs[0])), self.dimensions.get_values()
        if any(not 0 <= d < rank for d in dims) or len(set(dims)) != len(dims):
            raise VerifyException(f"expected different dimensions below {rank}")
        for value, init in zip(self.inputs, self.inits, strict=True):
            kept = tuple(size for d, size in enumerate(_shape(value)) if d not in dims)
            if _shape(init) != kept:
                raise VerifyException(f"expected an output of shape {list(kept)}, got {list(_shape(init))}")


@irdl_op_definition
class SoftmaxOp(IRDLOperation):
    """`exp(x - max) / sum(exp(x - max))` along one dim.

    %0 = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
    """

    name = "linalg.softmax"
    input = operand_def()
    output = operand_def()
    dimension = prop_def(IntegerAttr)
    res = var_result_def(TensorType)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        parser.parse_keyword("dimension")
        with parser.in_parens():
            dim = parser.parse_integer()
        value, init = _only(parser, "ins"), _only(parser, "outs")
        results: list[Attribute] = []
        if parser.parse_optional_punctuation("->"):
            results = [parser.parse_type()]
        return cls.build(
            operands=[value, init],
            result_types=[results],
            properties={"dimension": IntegerAttr(dim, i64)},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        if self.attributes:
            printer.print_string(" ")
            printer.print_attr_dict(self.attributes)
        printer.print_string(f" dimension({self.dimension.value.data})")
        _print_operands(printer, [self.input], [self.output], {})
        if self.res:
            printer.print_string(" -> ")
            printer.print_attribute(self.res[0].type)

    def verify_(self) -> None:
        if _shape(self.input) != _shape(self.output):
            raise VerifyException("expected operands of one shape")
        if not 0 <= self.dimension.value.data < len(_shape(self.input)):
            raise VerifyException(f"expected a dimension below {len(_shape(self.input))}")


def _only(parser: Parser, word: str) -> SSAValue:
    """The one operand in `ins(%x : type)`."""
    start = parser.pos
    values = parse_operands(parser, word)
    if len(values) != 1:
        parser.raise_error(f"expected one operand in '{word}'", start, parser.pos)
    return values[0]


def _check_arguments(block: Block, operands: Sequence[SSAValue]) -> None:
    expected = [_element(value) for value in operands]
    if [arg.type for arg in block.args] != expected:
        raise VerifyException(f"expected body arguments of types {', '.join(map(str, expected))}")


_Payload = tuple[type[Operation], dict[str, Attribute]]


def _parse_payload(parser: Parser) -> _Payload | None:
    """`{ arith.addf }`: a body of one operation."""
    if not parser.parse_optional_punctuation("{"):
        return None
    name = parser.parse_identifier()
    op_class = parser._get_op_by_name(name)  # pyright: ignore[reportPrivateUsage]
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation("}")
    return op_class, attributes


def _fill(block: Block, payload: _Payload, operands: Sequence[SSAValue]) -> None:
    """Put the payload into the block, on these operands; its result has the type of the last argument."""
    op_class, attributes = payload
    op = cast("type[IRDLOperation]", op_class).build(
        operands=list(operands), result_types=[block.args[-1].type], properties=attributes
    )
    block.add_ops([op, YieldOp(*op.results)])


def _parse_attributes(parser: Parser) -> dict[str, Attribute]:
    parser.parse_optional_keyword("attrs")
    return parser.parse_optional_attr_dict()


def _print_operands(
    printer: Printer, ins: Sequence[SSAValue], outs: Sequence[SSAValue], attributes: dict[str, Attribute]
) -> None:
    for word, values in (("ins", ins), ("outs", outs)):
        printer.print_string(f" {word}(")
        printer.print_list(values, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_list(values, lambda value: printer.print_attribute(value.type))
        printer.print_string(")")
    if attributes:
        printer.print_string(" ")
        printer.print_attr_dict(attributes)


def _print_region(printer: Printer, region: Region) -> None:
    printer.print_string("\n")
    with printer.in_parens():
        printer.print_list(region.block.args, printer.print_block_argument)
    printer.print_string(" ")
    printer.print_region(region, print_entry_block_args=False)
