"""memref: arrays that are written in place; a view shares the memory of its source."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects import memref

from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import Results, Step, impl, prepare
from npu_mlir.interpreters.tensor import mixed, reassociation_shape, slices
from npu_mlir.support.dtypes import numpy_dtype


def allocate(interp: Interpreter, op: Any, args: Results) -> Results:
    """A new buffer. Its contents are undefined: here zeros, so that runs can be repeated."""
    type_ = op.results[0].type
    sizes = iter(args)
    shape = [next(sizes) if size < 0 else size for size in type_.get_shape()]
    return (np.zeros(shape, numpy_dtype(type_)),)


impl("memref.alloc")(allocate)
impl("memref.alloca")(allocate)


@impl("memref.dealloc")
def dealloc(interp: Interpreter, op: memref.DeallocOp, args: Results) -> Results:
    return ()


@impl("memref.copy")
def copy(interp: Interpreter, op: memref.CopyOp, args: Results) -> Results:
    args[1][...] = args[0]
    return ()


@impl("memref.load")
def load(interp: Interpreter, op: memref.LoadOp, args: Results) -> Results:
    value = args[0][args[1:]]
    return (int(value),) if isinstance(value, np.integer | np.bool_) else (value,)


@impl("memref.store")
def store(interp: Interpreter, op: memref.StoreOp, args: Results) -> Results:
    args[1][args[2:]] = args[0]
    return ()


@impl("memref.dim")
def dim(interp: Interpreter, op: memref.DimOp, args: Results) -> Results:
    return (args[0].shape[args[1]],)


@impl("memref.cast")
def cast(interp: Interpreter, op: memref.CastOp, args: Results) -> Results:
    return args


@impl("memref.memory_space_cast")
def memory_space_cast(interp: Interpreter, op: Any, args: Results) -> Results:
    return args


@prepare("memref.subview")
def subview(interp: Interpreter, op: memref.SubviewOp) -> Step:
    window = slices(op)
    shape = op.result.type.get_shape()

    def step(args: Results) -> Results:
        view = args[0][window(args[1:])]
        return (view if view.ndim == len(shape) else _drop_unit_dims(view, shape),)

    return step


def _drop_unit_dims(view: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The view without the unit dims that a rank-reducing slice leaves out."""
    keep = list(shape)
    drop: list[int] = []
    for axis, size in enumerate(view.shape):
        if keep and (keep[0] == size or keep[0] < 0):
            keep.pop(0)
        else:
            drop.append(axis)
    return view.squeeze(tuple(drop))


@prepare("memref.expand_shape")
def expand_shape(interp: Interpreter, op: memref.ExpandShapeOp) -> Step:
    sizes = mixed(op.static_output_shape)
    return lambda args: (args[0].reshape(sizes(args[1:]), copy=False),)


@impl("memref.collapse_shape")
def collapse_shape(interp: Interpreter, op: memref.CollapseShapeOp, args: Results) -> Results:
    return (args[0].reshape(reassociation_shape(op.reassociation, args[0].shape), copy=False),)
