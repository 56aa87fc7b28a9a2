"""Freezing the shapes of a model's inputs.

Open dimensions get their extents by name (`--dim N=1`) or by position (`--shape x=1x3x48x192`). A name whose extent
follows from a given shape is known for the other inputs too. All mistakes are reported at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
import onnx

from npu_mlir.dialects.graph.shapes import text
from npu_mlir.support.arrays import declared_as
from npu_mlir.support.diagnostics import Note, UserError, closest

Extent = int | str | None
"""A number, the name of an open dimension, or an open dimension without a usable name."""

LARGEST = 1 << 36
"""Elements that no tensor of a model has more of."""


def fits_memory(shape: Sequence[int]) -> bool:
    """Whether a machine may have a tensor of this shape. An extent beyond reason is not made better by a 0."""
    return prod(extent for extent in shape if extent > 0) <= LARGEST


UNNAMED = ("", "?")


def model_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """The inputs that a caller passes: files of IR version 3 list the weights among them."""
    weights = {tensor.name for tensor in graph.initializer}
    weights |= {tensor.values.name for tensor in graph.sparse_initializer}
    return [value for value in graph.input if value.name not in weights]


def freeze_inputs(
    inputs: Sequence[onnx.ValueInfoProto], dims: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> dict[str, tuple[int, ...]]:
    """The static shape of each input."""
    declared: dict[str, list[Extent]] = {}
    for value in inputs:
        shape, given = _declared(value), shapes.get(value.name)
        if shape is None and given is None:
            example = f"--shape {value.name}=1x3x224x224"
            raise UserError(
                f"input '{value.name}' has no declared rank", notes=[f"give its shape, like {example}"]
            )
        declared[value.name] = [None] * len(given or ()) if shape is None else shape
    mistakes = _unknown_names(declared, dims, shapes)
    extents = dict(dims)
    for name, shape in shapes.items():
        if name in declared:
            mistakes += _mismatch(name, declared[name], shape)
            extents |= _implied(declared[name], shape, extents)
    if mistakes:
        raise UserError(mistakes[0], notes=mistakes[1:])
    frozen = {name: _freeze(shape, shapes.get(name), extents) for name, shape in declared.items()}
    open_inputs = {
        name: shape for name, shape in frozen.items() if any(not isinstance(e, int) for e in shape)
    }
    if open_inputs:
        raise _open_dimensions(open_inputs)
    for name, shape in frozen.items():
        if not fits_memory([e for e in shape if isinstance(e, int)]):
            raise UserError(f"input '{name}' ({_describe(shape)}) fits into no memory")
    return {name: tuple(e for e in shape if isinstance(e, int)) for name, shape in frozen.items()}


def baked_inputs(
    inputs: Sequence[onnx.ValueInfoProto], bake: Mapping[str, np.ndarray | float]
) -> dict[str, np.ndarray]:
    """The arrays that inputs are to be constants with; numbers get the declared type."""
    by_name = {value.name: value for value in inputs}
    baked: dict[str, np.ndarray] = {}
    for name, given in bake.items():
        if name not in by_name:
            raise UserError(f"the model has no input '{name}' to bake{closest(name, by_name)}")
        declared = onnx.helper.tensor_dtype_to_np_dtype(by_name[name].type.tensor_type.elem_type)
        array = declared_as(np.asarray(given), declared)
        if not isinstance(given, np.ndarray):
            array = array.astype(declared)
            if array != given:
                raise UserError(f"the input '{name}' is {declared}, which {given} is not")
            # A number stands for any tensor with one element.
            shape = _declared(by_name[name])
            if shape and all(extent in (1, None) or isinstance(extent, str) for extent in shape):
                array = array.reshape([1] * len(shape))
        if array.dtype != declared:
            raise UserError(f"the input '{name}' is {array.dtype}, the model expects {declared}")
        baked[name] = array
    return baked


def _declared(value: onnx.ValueInfoProto) -> list[Extent] | None:
    """The declared shape of an input, None if not even its rank is."""
    if not value.type.HasField("tensor_type"):
        raise UserError(f"input '{value.name}' is not a tensor")
    if not value.type.tensor_type.HasField("shape"):
        return None
    return [_extent(dim) for dim in value.type.tensor_type.shape.dim]


def _extent(dim: onnx.TensorShapeProto.Dimension) -> Extent:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return dim.dim_value
    return None if dim.dim_param in UNNAMED else dim.dim_param


def _unknown_names(
    declared: Mapping[str, list[Extent]], dims: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> list[str]:
    open_names = {extent for shape in declared.values() for extent in shape if isinstance(extent, str)}
    mistakes = [
        f"no input has a dimension named '{name}'{closest(name, open_names)}"
        for name in dims.keys() - open_names
    ]
    mistakes += [
        f"the model has no input '{name}'{closest(name, declared)}"
        for name in shapes.keys() - declared.keys()
    ]
    mistakes += [f"dimension '{name}' cannot be {extent}" for name, extent in dims.items() if extent < 0]
    return sorted(mistakes)


def _mismatch(name: str, declared: Sequence[Extent], shape: Sequence[int]) -> list[str]:
    if len(declared) != len(shape):
        return [f"input '{name}' has rank {len(declared)} ({_describe(declared)}), got {text(shape)}"]
    return [
        f"dimension {axis} of input '{name}' is {expected} in the model, got {extent}"
        for axis, (expected, extent) in enumerate(zip(declared, shape, strict=True))
        if extent < 0 or (isinstance(expected, int) and expected != extent)
    ]


def _implied(declared: Sequence[Extent], shape: Sequence[int], known: Mapping[str, int]) -> dict[str, int]:
    """Names that a given shape fixes to one extent each."""
    found: dict[str, set[int]] = {}
    for name, extent in zip(declared, shape, strict=False):
        if isinstance(name, str) and name not in known:
            found.setdefault(name, set()).add(extent)
    return {name: extents.pop() for name, extents in found.items() if len(extents) == 1}


def _freeze(
    declared: Sequence[Extent], shape: Sequence[int] | None, extents: Mapping[str, int]
) -> list[Extent]:
    if shape is not None:
        return list(shape)
    return [extents.get(e, e) if isinstance(e, str) else e for e in declared]


def _open_dimensions(inputs: Mapping[str, Sequence[Extent]]) -> UserError:
    names = list(dict.fromkeys(e for shape in inputs.values() for e in shape if isinstance(e, str)))
    notes: list[str | Note] = []
    for name in names:
        notes.append(f"dimension '{name}' is open: give its extent, for instance --dim {name}=1")
    for name, shape in inputs.items():
        if None in shape:
            example = "x".join(str(_example(axis, extent)) for axis, extent in enumerate(shape))
            notes.append(
                f"an unnamed dimension is open: give the shape, for instance --shape {name}={example}"
            )
    listed = ", ".join(f"'{name}' ({_describe(shape)})" for name, shape in inputs.items())
    return UserError(f"open dimensions in input{'s' if len(inputs) > 1 else ''} {listed}", notes=notes)


def _example(axis: int, extent: Extent) -> int:
    if isinstance(extent, int):
        return extent
    return 1 if axis == 0 else 224


def _describe(shape: Sequence[Extent]) -> str:
    return "x".join("?" if extent is None else str(extent) for extent in shape) or "scalar"
