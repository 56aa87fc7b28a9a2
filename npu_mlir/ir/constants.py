"""Constant tensors in the IR as NumPy arrays, and back.

Small ones and splats are `arith.constant dense<...>`, all others `graph.weight` entries of the module's
store.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from npu_mlir.dialects.graph.weight import WeightOp
from npu_mlir.ir.weights import WeightStore
from npu_mlir.support.dtypes import (
    FLOATS,
    NARROW_INTEGERS,
    is_integer,
    is_narrow_integer,
    numpy_dtype,
    static_shape,
)

SMALL = 16
"""Up to this many elements a constant is written into the IR."""

_ELEMENT_TYPES: dict[np.dtype[Any], Attribute] = {dtype: type_() for type_, dtype in FLOATS.items()} | {
    dtype: IntegerType(width, Signedness.UNSIGNED if unsigned else Signedness.SIGNLESS)
    for (width, unsigned), dtype in NARROW_INTEGERS.items()
}


def element_type(dtype: np.dtype[Any]) -> Attribute:
    """The IR's element type for a NumPy data type; `TypeError` if it has none."""
    if dtype in _ELEMENT_TYPES:
        return _ELEMENT_TYPES[dtype]
    if dtype == np.bool_:
        return IntegerType(1)
    if dtype.kind in "iu":
        return IntegerType(
            8 * dtype.itemsize, Signedness.UNSIGNED if dtype.kind == "u" else Signedness.SIGNLESS
        )
    raise TypeError(f"no element type for arrays of {dtype}")


def tensor_type(array: np.ndarray) -> TensorType[Attribute]:
    """The tensor type of an array."""
    return TensorType(element_type(array.dtype), array.shape)


def dense(array: np.ndarray) -> DenseIntOrFPElementsAttr[Any]:
    """The dense attribute with the elements of an array."""
    type_: Any = tensor_type(array)
    if array.dtype == np.bool_:
        return DenseIntOrFPElementsAttr.from_list(type_, [int(value) for value in array.flat])
    if is_narrow_integer(array.dtype):
        # The attribute has whole bytes, the arrays the bits of the number alone.
        array = array.astype(np.int8)
    return DenseIntOrFPElementsAttr(type_, BytesAttr(np.ascontiguousarray(array).tobytes()))


def dense_array(attr: DenseIntOrFPElementsAttr[Any]) -> np.ndarray:
    """The elements of a dense attribute, not to be written."""
    shape, dtype = static_shape(attr.type), numpy_dtype(attr.type)
    data = attr.data.data
    if is_narrow_integer(dtype):
        array = np.frombuffer(data, np.int8).astype(dtype)
        return np.broadcast_to(array.reshape(()), shape) if array.size == 1 else array.reshape(shape)
    if dtype != np.bool_ and len(data) == dtype.itemsize * math.prod(shape):
        return np.frombuffer(data, dtype).reshape(shape)
    values = np.array(list(attr.get_values()), dtype)
    return np.broadcast_to(values.reshape(()), shape) if values.size == 1 else values.reshape(shape)


def is_small(array: np.ndarray) -> bool:
    """Whether a constant is written into the IR instead of the weight file. One that mixes 0 and -0 is not: it
    would be printed as if all its elements were the same."""
    if array.size > SMALL and not bool((array.flat[:SMALL] == array.flat[0]).all()):
        return False
    if array.size == 0 or not bool((array == array.flat[0]).all()):
        return array.size <= SMALL
    if array.dtype.kind == "b" or is_integer(array.dtype):
        return True
    return not bool(np.signbit(array).any()) or bool(np.signbit(array).all())


def make_constant(store: WeightStore, array: np.ndarray, name: str) -> Operation:
    """An op that yields `array`; a large one gets an entry in the store, under `name` or a variation."""
    if is_small(array):
        return ConstantOp(dense(array))
    entry = store.fresh(name)
    store.set(entry, array)
    return WeightOp(entry, tensor_type(array))


def constant_of(value: SSAValue, store: WeightStore) -> np.ndarray | None:
    """The elements of `value` if an `arith.constant` or a `graph.weight` defines it. Not to be written."""
    op = value.owner
    if isinstance(op, WeightOp):
        return store.get(op.entry_name)
    if isinstance(op, ConstantOp) and isinstance(op.value, DenseIntOrFPElementsAttr):
        return dense_array(op.value)
    return None
