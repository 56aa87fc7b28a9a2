"""Rewrites that make a graph op simpler whatever comes before or after; `canonicalize` applies them.

graph.transpose    by the identity: its operand; of a transpose: one transpose
graph.reshape      to the same shape: its operand; of a reshape: one reshape
graph.expand       to the same shape: its operand
graph.slice        of everything: its operand
graph.pad          by nothing: its operand; by zeros in front of a convolution: the convolution's padding
graph.cast         to the same type, or back from a type that holds every value: its operand
graph.concat       of one tensor: its operand
elementwise        of an expanded operand: of the operand, which broadcasts by itself
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type, FloatAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from npu_mlir.dialects.graph import shapes
from npu_mlir.dialects.graph.attributes import Layout
from npu_mlir.dialects.graph.base import GraphOp, element_of, ints, is_static, shape_of
from npu_mlir.dialects.graph.contraction import ConvOp
from npu_mlir.dialects.graph.elementwise import CastOp, ElementwiseOp
from npu_mlir.dialects.graph.movement import (
    ConcatOp,
    ExpandOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)

_FLOATS: list[type[Attribute]] = [Float16Type, Float32Type, Float64Type]


class SimplifyTranspose(RewritePattern):
    """Drop the identity, merge two transposes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter) -> None:
        perm = op.perm.get_values()
        if list(perm) == list(range(len(perm))):
            rewriter.replace(op, [], [op.input])
        elif isinstance(first := op.input.owner, TransposeOp):
            merged = [first.perm.get_values()[axis] for axis in perm]
            rewriter.replace(op, TransposeOp(first.input, merged))


class SimplifyReshape(RewritePattern):
    """Drop a reshape to the same shape, merge two reshapes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter) -> None:
        if op.input.type == op.result.type:
            rewriter.replace(op, [], [op.input])
        elif isinstance(first := op.input.owner, ReshapeOp) and is_static(op.result):
            rewriter.replace(op, ReshapeOp(first.input, shape_of(op.result)))


class SimplifyExpand(RewritePattern):
    """Drop an expansion to the same shape."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ExpandOp, rewriter: PatternRewriter) -> None:
        if op.input.type == op.result.type:
            rewriter.replace(op, [], [op.input])


class SimplifySlice(RewritePattern):
    """Drop a slice that takes everything."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter) -> None:
        if op.input.type == op.result.type:
            rewriter.replace(op, [], [op.input])


class SimplifyPad(RewritePattern):
    """Drop padding by nothing."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PadOp, rewriter: PatternRewriter) -> None:
        if not any((*op.low.get_values(), *op.high.get_values())):
            rewriter.replace(op, [], [op.input])


class SimplifyConcat(RewritePattern):
    """Drop a concatenation of one tensor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter) -> None:
        if len(op.inputs) == 1:
            rewriter.replace(op, [], [op.inputs[0]])


class SimplifyCast(RewritePattern):
    """Drop a cast to the same type, skip one to a type that holds every value."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter) -> None:
        if op.input.type == op.result.type:
            rewriter.replace(op, [], [op.input])
        elif isinstance(first := op.input.owner, CastOp) and _is_lossless(first):
            rewriter.replace(op, CastOp(first.input, element_of(op.result)))


def _is_lossless(op: CastOp) -> bool:
    source, target = element_of(op.input), element_of(op.result)
    if type(source) in _FLOATS and type(target) in _FLOATS:
        return _FLOATS.index(type(source)) < _FLOATS.index(type(target))
    if not isinstance(source, IntegerType) or not isinstance(target, IntegerType):
        return False
    same_sign = source.signedness == target.signedness or source.width.data == 1
    return same_sign and source.width.data < target.width.data


class FoldPadIntoConv(RewritePattern):
    """Zeros around the spatial dimensions are what a convolution pads with anyway."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter) -> None:
        pad = op.input.owner
        if not isinstance(pad, PadOp) or not isinstance(pad.value, FloatAttr) or pad.value.value.data != 0:
            return
        low, high = list(pad.low.get_values()), list(pad.high.get_values())
        image = slice(2, None) if op.layout.data is Layout.NCHW else slice(1, -1)
        if sum(low[image]) + sum(high[image]) != sum(low) + sum(high):
            return
        pads = [a + b for a, b in zip(op.pads.get_values(), low[image] + high[image], strict=True)]
        rewriter.replace(op, op.rebuilt([pad.input, *op.operands[1:]], {"pads": ints(pads)}))


class DropExpandedOperands(RewritePattern):
    """Operands of an elementwise op broadcast by themselves."""

    def match_and_rewrite(self, op: ElementwiseOp, rewriter: PatternRewriter) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        operands = list(op.operands)
        for index, operand in enumerate(operands):
            if isinstance(expand := operand.owner, ExpandOp):
                trial: Sequence[SSAValue] = [*operands[:index], expand.input, *operands[index + 1 :]]
                if shapes.broadcast(*map(shape_of, trial)) == shape_of(op.result):
                    operands = list(trial)
        if operands != list(op.operands):
            rewriter.replace(op, op.rebuilt(operands))


_PATTERNS: list[tuple[type[GraphOp], RewritePattern]] = [
    (TransposeOp, SimplifyTranspose()),
    (ReshapeOp, SimplifyReshape()),
    (ExpandOp, SimplifyExpand()),
    (SliceOp, SimplifySlice()),
    (PadOp, SimplifyPad()),
    (ConcatOp, SimplifyConcat()),
    (CastOp, SimplifyCast()),
    (ConvOp, FoldPadIntoConv()),
    (ElementwiseOp, DropExpandedOperands()),
]


def patterns_for(op_type: type[Operation]) -> tuple[RewritePattern, ...]:
    """The patterns whose root is an op of this class."""
    return tuple(pattern for root, pattern in _PATTERNS if issubclass(op_type, root))
