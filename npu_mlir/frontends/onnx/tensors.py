"""Tensors of ONNX files as arrays."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from npu_mlir.support.diagnostics import UserError


def array_of(tensor: onnx.TensorProto) -> np.ndarray[Any, Any]:
    """The elements of a tensor; `UserError` if it doesn't have as many as its shape says."""
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise UserError(f"the weight '{tensor.name}' is damaged: {error}") from error


def dense_of(sparse: onnx.SparseTensorProto) -> np.ndarray[Any, Any]:
    """The elements of a sparse tensor, zeros included. Its indices are positions in the flat tensor, or coordinates."""
    name, shape = sparse.values.name, tuple(sparse.dims)
    values, indices = array_of(sparse.values), array_of(sparse.indices)
    try:
        dense = np.zeros(shape, values.dtype)
        flat = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), shape)
        if flat.size and not 0 <= flat.min() <= flat.max() < prod(shape):
            raise ValueError("an index lies outside")
        dense.reshape(-1)[flat] = values
    except (ValueError, TypeError, IndexError, MemoryError) as error:
        raise UserError(f"the sparse weight '{name}' is damaged: {error}") from error
    return dense
