"""linalg-sink-collapses: let what reads a product whose dims are joined run over the dims as they were.

    %c = linalg.generic ... -> tensor<8x2x16xf32>                  // two products of a batch, its rows outermost
    %j = tensor.collapse_shape %c [[0], [1, 2]] : tensor<8x2x16xf32> into tensor<8x32xf32>
    %y = linalg.generic ... ins(%j, %b) ... -> tensor<8x32xf16>    // plus a bias for each column, rounded
  becomes
    %c = linalg.generic ... -> tensor<8x2x16xf32>
    %s = tensor.expand_shape %b [[0, 1]] output_shape [2, 16] : tensor<32xf32> into tensor<2x16xf32>
    %z = linalg.generic ... ins(%c, %s) ... -> tensor<8x2x16xf16>
    %y = tensor.collapse_shape %z [[0], [1, 2]] : tensor<8x2x16xf16> into tensor<8x32xf16>

so that the two can be one kernel, behind which the collapse is a view. It goes on downwards through elementwise
operations, until something else reads a value as well: what then is a kernel of its own has longer rows than
one group.

The elements are the same: a loop that is split runs over the same indices in the same order, and each operand that is
read at a split loop is split as well, which a row-major tensor can be in place.

Leaves alone: a collapse of what is no product; dims of size 1, which `linalg-fold-unit-reshapes` takes out; a collapse
that products, reductions or a return read; consumers that read an operand at sums or multiples of a joined index.
Does not handle: consumers that ask for the number of a joined loop (`linalg.index`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Operation
from xdsl.ir.affine import AffineDimExpr, AffineExpr
from xdsl.passes import ModulePass

from npu_mlir.analysis.affine_maps import plain_dims
from npu_mlir.analysis.reshapes import kept_dims, reassociation_groups
from npu_mlir.analysis.structured.nest import is_indirect, is_reduction, sums_products
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.linalg.generics import LOCATION, Builder
from npu_mlir.passes.linalg.structure import (
    Generic,
    loop_extents,
    replace,
    reshaped_init,
    substitute,
    take_apart,
)
from npu_mlir.passes.linalg.tensor_types import shape_of
from npu_mlir.support.locations import fill_locations


class SinkCollapses(ModulePass):
    """Move reshapes that join dims of products behind what reads the products."""

    name = "linalg-sink-collapses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        work = [o for o in op.walk() if isinstance(o, tensor.CollapseShapeOp) and _joins_product(o)]
        while work:
            collapse = work.pop()
            users = list(dict.fromkeys(use.operation for use in collapse.result.uses))
            if all(_is_elementwise(user) for user in users):
                work += [sunk for user in users if (sunk := _sink(collapse, user)) is not None]
        erase_dead_ops(op)


def _is_elementwise(op: Operation) -> bool:
    return isinstance(op, GenericOp) and not is_indirect(op) and not any(is_reduction(op))


def _joins_product(collapse: tensor.CollapseShapeOp) -> bool:
    """Whether a collapse joins dims larger than 1 of a product."""
    wide, groups = shape_of(collapse.src), reassociation_groups(collapse)
    product = isinstance(collapse.src.owner, GenericOp) and sums_products(collapse.src.owner)
    return product and kept_dims(wide, groups) is None


def _sink(collapse: tensor.CollapseShapeOp, user: Operation) -> tensor.CollapseShapeOp | None:
    """Let what reads a collapse read what is collapsed; the collapse of its result, None if there is none."""
    parts = _consumer(user, collapse)
    if parts is None:
        return None
    wide, groups = shape_of(collapse.src), reassociation_groups(collapse)
    # The sizes that each loop of the consumer is split into, outermost first.
    sizes = [[extent] for extent in loop_extents(parts)]
    dims = plain_dims(parts.maps[parts.inputs.index(collapse.result)])
    for d, group in zip(dims or (), groups, strict=True):
        sizes[d] = [wide[position] for position in group]
    return _split(parts, sizes) if _reads_plainly(parts, sizes) else None


def _consumer(user: Operation, collapse: tensor.CollapseShapeOp) -> Generic | None:
    """The parts of what reads a collapse, if it does so once, in order, and runs over other loops just as well."""
    parts = take_apart(user)
    if parts is None or parts.inputs.count(collapse.result) != 1 or parts.init is collapse.result:
        return None
    dims = plain_dims(parts.maps[parts.inputs.index(collapse.result)])
    if dims is None or len(set(dims)) != len(dims) or any(isinstance(o, IndexOp) for o in parts.block.ops):
        return None
    return parts


def _reads_plainly(parts: Generic, sizes: Sequence[Sequence[int]]) -> bool:
    """Whether each operand is read at split loops alone, over all of them."""
    split = {d for d, of in enumerate(sizes) if len(of) > 1}
    for value, exprs in zip((*parts.inputs, parts.init), parts.maps, strict=True):
        for size, expr in zip(shape_of(value), exprs, strict=True):
            if isinstance(expr, AffineDimExpr):
                if expr.position in split and size != prod(sizes[expr.position]):
                    return False
            elif split & expr.used_dims():
                return False
    return True


def _split(parts: Generic, sizes: Sequence[Sequence[int]]) -> tensor.CollapseShapeOp | None:
    """Put a generic with split loops, and a collapse of its result, in place of one; the collapse if there is one."""
    starts = [sum(map(len, sizes[:d])) for d in range(len(sizes))]
    loops = sum(map(len, sizes))
    new_dims = [
        [AffineExpr.dimension(s + i) for i in range(len(of))] for s, of in zip(starts, sizes, strict=True)
    ]
    builder = Builder()
    inputs = list(parts.inputs)
    maps: list[list[AffineExpr]] = []
    shapes: list[tuple[int, ...]] = []
    for value, exprs in zip((*inputs, parts.init), parts.maps, strict=True):
        results: list[AffineExpr] = []
        shape: list[int] = []
        for size, expr in zip(shape_of(value), exprs, strict=True):
            if isinstance(expr, AffineDimExpr) and len(sizes[expr.position]) > 1:
                results += new_dims[expr.position]
                shape += sizes[expr.position]
            else:
                results += substitute([expr], [dims[0] for dims in new_dims], loops)
                shape.append(size)
        maps.append(results)
        shapes.append(tuple(shape))
    narrow = shape_of(parts.init)
    init = parts.init if shapes[-1] == narrow else reshaped_init(builder, parts.init, shapes[-1])
    if init is None:
        return None
    # `Builder.reshape` sees the collapse through.
    parts.inputs = [builder.reshape(v, s) for v, s in zip(inputs, shapes, strict=False)]
    parts.init, parts.maps = init, maps
    parts.reductions = [r for r, of in zip(parts.reductions, sizes, strict=True) for _ in of]
    new = replace(parts, builder.ops).results[0]
    if shapes[-1] == narrow:
        return None
    op = new.owner
    assert isinstance(op, GenericOp) and op.parent is not None
    after = Builder(op.attributes.get(LOCATION))
    joined = after.reshape(new, narrow)
    collapse = joined.owner
    assert isinstance(collapse, tensor.CollapseShapeOp)
    fill_locations(collapse, op.location)
    op.parent.insert_op_after(collapse, op)
    new.replace_uses_with_if(joined, lambda use: use.operation is not collapse)
    return collapse
