"""What pads, slices and reshapes in front of an operand become."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects import tensor
from xdsl.dialects.builtin import FloatAttr, IndexType, f32
from xdsl.ir import Block, SSAValue

from npu_mlir.analysis.affine_maps import Linear, linear_map
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.tensor_types import ints, segments, tensor_type
from npu_mlir.passes.tile.load_maps import fold_into_load
from npu_mlir.support.diagnostics import UserError
from random_linalg import slice_of

Front = Callable[[Builder, SSAValue], SSAValue]


def front(shape: tuple[int, ...], make: Front) -> tuple[SSAValue, SSAValue]:
    """An argument, and the value that is made of it."""
    (x,) = Block(arg_types=[tensor_type(f32, shape)]).args
    return x, make(Builder(), x)


def two_slices(b: Builder, x: SSAValue) -> SSAValue:
    return slice_of(b, slice_of(b, x, (1, 2), (9, 8), (2, 3)), (3, 1), (3, 4), (2, 1))


def slice_of_pad(b: Builder, x: SSAValue) -> SSAValue:
    return slice_of(b, b.pad(x, [2, 0], [0, 1], 1.0), (1, 2), (4, 3), (1, 2))


def units_dropped(b: Builder, x: SSAValue) -> SSAValue:
    return b.reshape(b.pad(x, [0, 1, 0, 2], [0, 1, 0, 0], 0.0), (10, 8))


def units_added(b: Builder, x: SSAValue) -> SSAValue:
    return b.reshape(slice_of(b, x, (2, 1), (4, 3), (1, 2)), (1, 4, 1, 3))


@pytest.mark.parametrize(
    ("shape", "make", "coordinates", "pad"),
    [
        pytest.param((5, 6), lambda b, x: x, ["0", "1"], None, id="nothing"),
        pytest.param((5, 6), lambda b, x: b.pad(x, [1, 2], [0, 0], 3.0), ["0 - 1", "1 - 2"], 3.0, id="a pad"),
        pytest.param(
            (20, 30), lambda b, x: slice_of(b, x, (3, 4), (5, 6), (1, 2)), ["0 + 3", "1 * 2 + 4"], None, id="a slice"
        ),
        # 2 * (2 d0 + 3) + 1 and 3 * (d1 + 1) + 2.
        pytest.param((30, 40), two_slices, ["0 * 4 + 7", "1 * 3 + 5"], None, id="two slices"),
        pytest.param((5, 6), slice_of_pad, ["0 - 1", "1 * 2 + 2"], 1.0, id="a slice of a pad"),
        pytest.param((1, 8, 1, 6), units_dropped, ["", "0 - 1", "", "1 - 2"], 0.0, id="dims of one dropped"),
        pytest.param((9, 9), units_added, ["1 + 2", "3 * 2 + 1"], None, id="dims of one added"),
    ],
)  # fmt: skip
def test_what_is_followed(shape: tuple[int, ...], make: Front, coordinates: list[str], pad: float | None):
    x, value = front(shape, make)
    source, map_, found_pad = fold_into_load(value)
    assert source is x
    assert linear_map(map_) == [linear(text, map_.num_dims) for text in coordinates]
    assert found_pad == (None if pad is None else FloatAttr(pad, f32))


def linear(text: str, rank: int) -> Linear:
    """`dim * factor + constant`, or nothing for 0."""
    if not text:
        return Linear((0,) * rank, 0)
    scaled, _, constant = text.replace("- ", "+ -").partition(" + ")
    dim, _, factor = scaled.partition(" * ")
    coefficients = [0] * rank
    coefficients[int(dim)] = int(factor or 1)
    return Linear(tuple(coefficients), int(constant or 0))


@pytest.mark.parametrize(
    ("shape", "make"),
    [
        pytest.param((5, 6), lambda b, x: b.reshape(x, (30,)), id="a reshape"),
        pytest.param((5, 8), lambda b, x: b.reshape(b.pad(x, [1, 0], [0, 0], 0.0), (6, 4, 2)), id="dims of a pad"),
        pytest.param((1, 6), lambda b, x: b.reshape(x, (6,)), id="a reshape that drops a dim of one"),
        pytest.param((5, 6), lambda b, x: b.reshape(b.pad(x, [1, 0], [0, 0], 0.0), (36,)), id="a reshape of a pad"),
    ],
)  # fmt: skip
def test_what_stays_on_the_host(shape: tuple[int, ...], make: Front):
    _, value = front(shape, make)
    source, map_, pad = fold_into_load(value)
    assert source is value and pad is None
    assert linear_map(map_) == [linear(str(d), map_.num_dims) for d in range(map_.num_dims)]


def dynamic_slice(b: Builder, x: SSAValue) -> SSAValue:
    (index,) = Block(arg_types=[IndexType()]).args
    return b.add(
        tensor.ExtractSliceOp.create(
            operands=[x, index],
            result_types=[tensor_type(f32, (3, 6))],
            properties={
                "static_offsets": ints((-(2**63), 0)),
                "static_sizes": ints((3, 6)),
                "static_strides": ints((1, 1)),
                "operandSegmentSizes": segments(1, 1, 0, 0),
            },
        )
    )


def slice_that_drops_a_dim(b: Builder, x: SSAValue) -> SSAValue:
    whole = slice_of(b, x, (2, 0), (1, 6))
    whole.owner.results[0]._type = tensor_type(f32, (6,))  # type: ignore[union-attr]
    return whole


def pad_with_a_value(b: Builder, x: SSAValue) -> SSAValue:
    padded = b.pad(x, [1, 0], [0, 0], 0.0)
    (scalar,) = Block(arg_types=[f32]).args
    assert isinstance(padded.owner, tensor.PadOp)
    last = padded.owner.region.block.last_op
    assert last is not None
    last.operands[0] = scalar
    return padded


@pytest.mark.parametrize(
    ("make", "name"),
    [
        pytest.param(
            lambda b, x: b.pad(slice_of(b, x, (1, 1), (3, 3)), [1, 1], [1, 1], 0.0),
            "tensor.extract_slice",
            id="a pad of a slice",
        ),
        pytest.param(
            lambda b, x: b.pad(b.pad(x, [1, 1], [1, 1], 0.0), [1, 1], [1, 1], 1.0), "tensor.pad", id="a pad of a pad"
        ),
        pytest.param(dynamic_slice, "tensor.extract_slice", id="a slice from anywhere"),
        pytest.param(slice_that_drops_a_dim, "tensor.extract_slice", id="a slice that drops a dim"),
        pytest.param(pad_with_a_value, "tensor.pad", id="a pad with any value"),
    ],
)  # fmt: skip
def test_what_cannot_be_followed(make: Front, name: str):
    _, value = front((5, 6), make)
    with pytest.raises(UserError, match=f"'{name}' behind another pad or slice"):
        fold_into_load(value)
