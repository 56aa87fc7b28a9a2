"""Graph ops that move elements: reshapes, copies with a permuted or projected map, slices, pads, gathers."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, UnrealizedConversionCastOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from npu_mlir.dialects import graph, tile
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.graph_lowering.registry import lowering, project
from npu_mlir.passes.linalg.tensor_types import Shape, element_of, ints, segments, shape_of, tensor_type


@lowering(graph.ReshapeOp)
def reshape(b: Builder, op: graph.ReshapeOp) -> SSAValue:
    return b.reshape(op.input, shape_of(op.result))


@lowering(graph.BitcastOp)
def bitcast(b: Builder, op: graph.BitcastOp) -> SSAValue:
    """The same bytes, which the host hands on."""
    return b.add(UnrealizedConversionCastOp.get([op.input], [op.result.type]))


@lowering(graph.ExpandOp)
def expand(b: Builder, op: graph.ExpandOp) -> SSAValue:
    """A copy with a projected map, which fusion moves into the consumers."""
    shape = shape_of(op.result)
    value, dims = project(b, op.input, shape)
    return _copy(b, value, dims, shape)


def _copy(b: Builder, value: SSAValue, map_: Map, shape: Shape) -> SSAValue:
    return b.map([value], [map_], shape, element_of(value), lambda body, x: x)


@lowering(graph.TransposeOp)
def transpose(b: Builder, op: graph.TransposeOp) -> SSAValue:
    """A copy with a permuted map; a reshape when only unit dims change places."""
    perm, shape = op.perm.get_values(), shape_of(op.result)
    source = shape_of(op.input)
    moved = [d for d in perm if source[d] != 1]
    if moved == sorted(moved):
        return b.reshape(op.input, shape)
    return _copy(b, op.input, [perm.index(d) for d in range(len(perm))], shape)


@lowering(graph.ConcatOp)
def concat(b: Builder, op: graph.ConcatOp) -> SSAValue:
    """Each operand is inserted into one new tensor."""
    axis, shape = op.axis.value.data, shape_of(op.result)
    result = b.empty(shape, element_of(op.result))
    offset = 0
    for value in op.inputs:
        sizes = shape_of(value)
        result = b.add(
            tensor.InsertSliceOp.create(
                operands=[value, result],
                result_types=[result.type],
                properties={
                    "static_offsets": ints(tuple(offset if d == axis else 0 for d in range(len(shape)))),
                    "static_sizes": ints(sizes),
                    "static_strides": ints((1,) * len(shape)),
                    "operandSegmentSizes": segments(1, 1, 0, 0, 0),
                },
            )
        )
        offset += sizes[axis]
    return result


@lowering(graph.SliceOp)
def slice_(b: Builder, op: graph.SliceOp) -> SSAValue:
    sizes = op.sizes.get_values()
    if sizes == shape_of(op.input):
        return op.input
    return b.add(
        tensor.ExtractSliceOp.create(
            operands=[op.input],
            result_types=[tensor_type(element_of(op.input), sizes)],
            properties={
                "static_offsets": ints(op.offsets.get_values()),
                "static_sizes": ints(sizes),
                "static_strides": ints(op.strides.get_values()),
                "operandSegmentSizes": segments(1, 0, 0, 0),
            },
        )
    )


@lowering(graph.PadOp)
def pad(b: Builder, op: graph.PadOp) -> SSAValue:
    return b.pad(op.input, op.low.get_values(), op.high.get_values(), op.value.value.data)


@lowering(graph.ScatterOp)
def scatter(b: Builder, op: graph.ScatterOp) -> SSAValue:
    """Rows put into a table, by a list of indices: what lies before and behind the axis is one dim each, if any."""
    axis, whole = op.axis.value.data, shape_of(op.input)
    size, outer, inner = whole[axis], prod(whole[:axis]), prod(whole[axis + 1 :])
    count = prod(shape_of(op.indices))
    if not count:
        return op.input
    before, behind = (outer,) * (outer != 1), (inner,) * (inner != 1)
    table = b.reshape(op.input, (*before, size, *behind))
    updates = b.reshape(op.updates, (*before, count, *behind))
    rows = b.reshape(op.indices, (count,))
    identity = AffineMap.identity(len(before) + 1 + len(behind))
    new = b.add(tile.ScatterOp(updates, table, [], rows, len(before), identity, table.type))
    return b.reshape(new, whole)


@lowering(graph.GatherOp)
def gather(b: Builder, op: graph.GatherOp) -> SSAValue:
    """Rows of a table, taken by a list of indices: what lies before and behind the axis is one dim each, if any.

    The body reads the table at an index that was read, from the end if negative.
    """
    axis, whole = op.axis.value.data, shape_of(op.input)
    size, outer, inner = whole[axis], prod(whole[:axis]), prod(whole[axis + 1 :])
    count = prod(shape_of(op.indices))
    before, behind = (outer,) * (outer != 1), (inner,) * (inner != 1)
    table = b.reshape(op.input, (*before, size, *behind))
    # A single index may have no dims.
    indices = b.reshape(op.indices, (count,)) if shape_of(op.indices) else op.indices
    shape, axis = (*before, count, *behind), len(before)

    def build(body: Body, index: SSAValue) -> SSAValue:
        wrapped = body.select(body.compare("lt", index, 0), body.apply("add", index, size), index)
        position = body.append(arith.IndexCastOp.create(operands=[wrapped], result_types=[IndexType()]))
        at = [position if d == axis else body.index(d) for d in range(len(shape))]
        return body.append(tensor.ExtractOp.create(operands=[table, *at], result_types=[element_of(table)]))

    rows = b.map([indices], [[axis][: len(shape_of(indices))]], shape, element_of(table), build)
    return b.reshape(rows, shape_of(op.result))
