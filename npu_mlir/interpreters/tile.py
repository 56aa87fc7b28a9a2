"""tile: launches run the kernel on arrays; a load reads a box of its source, a store writes one.

Fresh results and buffers hold NaN (or the largest integer) until they are written, so that what reads too early shows.
Buffers that have an address lie there in the bytes of their memory, and results with an offset in the bytes of the GM
arena, so that what shares memory and should not shows as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineMap

from npu_mlir.analysis.affine_maps import Linear, linear_map
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, space_of, steps_of
from npu_mlir.interpreters.errors import IndexOutOfRange, index_among
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.npu_isa.functions import epilogue
from npu_mlir.interpreters.registry import Results, Step, impl, prepare
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.dtypes import numpy_dtype, static_shape
from npu_mlir.targets.module_target import target_of


def poisoned(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
    """A new array full of a value that spoils what is computed from it."""
    poison = np.nan if dtype.kind in "fV" else np.iinfo(dtype).max if dtype.kind in "iu" else True
    return np.full(shape, poison, dtype)


@prepare("tile.launch")
def launch(interp: Interpreter, op: tile.LaunchOp) -> Step:
    kernel = interp.symbol(op.kernel)
    if not isinstance(kernel, tile.KernelOp):
        raise UserError(f"'@{op.kernel.string_value()}' is not a kernel", loc=op)
    types = [(static_shape(t), numpy_dtype(t)) for t in op.result_types]
    places, strides, count = op.places(), op.strides(), len(op.inputs)

    def step(args: Results) -> Results:
        if places is None:
            outputs = tuple(np.empty(shape, dtype) for shape, dtype in types)
        else:
            arena = arena_of(interp)
            slots = args[count:] or (0,) * len(places)
            outputs = tuple(map(arena.place, places, slots, op.result_types, strides))
        for output, operand in zip(outputs, kernel.reused, strict=True):
            if operand is None:
                output[...] = poisoned((), output.dtype)
            else:
                output[...] = args[operand]
        interp.state["tile.memory"] = {}
        try:
            interp.run_isolated(kernel.body.block, (*args[:count], *outputs))
        except IndexOutOfRange as error:
            raise error.launched_by(op) from None
        return outputs

    return step


@prepare("tile.reserve")
def reserve(interp: Interpreter, op: tile.ReserveOp) -> Step:
    def step(args: Results) -> Results:
        result = arena_of(interp).place(op.place(), args[0] if args else 0, op.result.type)
        result[...] = poisoned((), result.dtype)
        return (result,)

    return step


@impl("tile.host")
def host(interp: Interpreter, op: tile.HostOp, args: Results) -> Results:
    # Results are tensors of their own, also those that are parts of an operand.
    return tuple(np.array(v) if isinstance(v, np.ndarray) else v for v in interp.run_block(op.body.block))


@impl("tile.program")
def program(interp: Interpreter, op: tile.ProgramOp, args: Results) -> Results:
    return interp.run_block(op.body.block)


@impl("tile.boundary")
@impl("tile.stored")
@impl("tile.await_stored")
def boundary(interp: Interpreter, op: Operation, args: Results) -> Results:
    return ()


@impl("tile.prefetch")
def prefetch(interp: Interpreter, op: tile.PrefetchOp, args: Results) -> Results:
    return ()


class Arena:
    """The bytes of GM that results with places lie in."""

    def __init__(self, module: Operation):
        size = 0
        for op in module.walk():
            placed: Sequence[tuple[tuple[int, int], Attribute]] = ()
            if isinstance(op, tile.LaunchOp):
                # A part of a tensor lies in what is reserved for the whole.
                places = zip(op.places() or (), op.result_types, op.strides(), strict=False)
                placed = [(place, type_) for place, type_, strides in places if strides is None]
            elif isinstance(op, tile.ReserveOp):
                placed = [(op.place(), op.result.type)]
            for (offset, slots), type_ in placed:
                size = max(size, offset + slots * _bytes(type_))
        self.memory = np.empty(size, np.uint8)

    def place(
        self, place: tuple[int, int], slot: int, type_: Attribute, strides: Sequence[int] | None = None
    ) -> np.ndarray:
        """The array in slot number `slot mod slots` of a place: (its first byte, the number of slots); with strides in
        elements unless they are those of its shape."""
        offset, slots = place
        if strides is not None:
            dtype = numpy_dtype(type_)
            steps = [stride * dtype.itemsize for stride in strides]
            return np.ndarray(static_shape(type_), dtype, self.memory.data, offset, steps)
        size = _bytes(type_)
        start = offset + slot % slots * size
        return self.memory[start : start + size].view(numpy_dtype(type_)).reshape(static_shape(type_))


def arena_of(interp: Interpreter) -> Arena:
    """The arena of the module that is run."""
    arena = interp.state.get("tile.arena")
    if arena is None:
        arena = interp.state["tile.arena"] = Arena(interp.module)
    return arena


def _bytes(type_: Attribute) -> int:
    return prod(static_shape(type_)) * numpy_dtype(type_).itemsize


class Box:
    """Where the elements of a tile lie: coordinates linear in (loop indices; tile dims)."""

    def __init__(self, map_: AffineMap, indices: int, shape: Sequence[int]):
        exprs = linear_map(map_)
        if exprs is None:
            raise UserError(f"the map of a load or store has to be linear: {map_}")
        self.shape = tuple(shape)
        self.origins = [Linear(e.coefficients[:indices], e.constant) for e in exprs]
        self.tile = [e.coefficients[indices:] for e in exprs]
        used = [[d for d, c in enumerate(coefficients) if c and shape[d] > 1] for coefficients in self.tile]
        flat = [d for dims in used for d in dims]
        self.separable = all(len(dims) <= 1 for dims in used) and len(set(flat)) == len(flat)
        self.separable &= len(flat) == sum(n > 1 for n in shape)
        self.separable &= all(c >= 0 for coefficients in self.tile for c in coefficients)
        self.dims = [dims[0] if dims else None for dims in used]
        self.order = flat

    def origin(self, indices: Sequence[int]) -> list[int]:
        """The coordinates of the tile's first element."""
        return [
            o.constant + sum(c * i for c, i in zip(o.coefficients, indices, strict=True))
            for o in self.origins
        ]

    def windows(self, origin: Sequence[int], limits: Sequence[int]) -> tuple[list[slice], list[slice]] | None:
        """The part of the tile that lies inside the memory: (slices of the memory, slices of the tile), if separable;
        None when nothing does."""
        memory, tile_slices = [], [slice(None)] * len(self.shape)
        for start, limit, dim, coefficients in zip(origin, limits, self.dims, self.tile, strict=True):
            stride, extent = (coefficients[dim], self.shape[dim]) if dim is not None else (1, 1)
            first = max(0, -(start // stride)) if start < 0 else 0
            stop = min(extent, -(-(limit - start) // stride))
            if stop <= first:
                return None
            memory.append(slice(start + first * stride, start + (stop - 1) * stride + 1, stride))
            if dim is not None:
                tile_slices[dim] = slice(first, stop)
        return memory, tile_slices

    def coordinates(self, origin: Sequence[int]) -> list[np.ndarray]:
        """The coordinate of every element of the tile, one broadcastable array per memory dim."""
        rank = len(self.shape)
        result: list[np.ndarray] = []
        for start, coefficients in zip(origin, self.tile, strict=True):
            total = np.full((1,) * rank, start)
            for d, c in enumerate(coefficients):
                if c:
                    total = total + (c * np.arange(self.shape[d])).reshape(
                        [-1 if i == d else 1 for i in range(rank)]
                    )
            result.append(total)
        return result


def _read(box: Box, memory: np.ndarray, indices: Sequence[int], out: np.ndarray) -> None:
    """Write the elements that lie inside the memory to `out`."""
    origin = box.origin(indices)
    if box.separable:
        windows = box.windows(origin, memory.shape)
        if windows is not None:
            part, where = windows
            # The ellipsis keeps an element of a tensor of rank 0 an array.
            target = out[(*where, ...)]
            target[...] = _align(memory[tuple(part)], box.order, target.shape)
        return
    coordinates = np.broadcast_arrays(*box.coordinates(origin), np.empty(box.shape, bool))[:-1]
    inside = np.logical_and.reduce(
        [(c >= 0) & (c < n) for c, n in zip(coordinates, memory.shape, strict=True)]
    )
    out[inside] = memory[tuple(c[inside] for c in coordinates)]


def _gathered(
    box: Box, axis: int, memory: np.ndarray, at: Sequence[int], rows: Sequence[int], out: np.ndarray
) -> None:
    """Write the elements that lie inside the memory to `out`, coordinate `axis` of each being a position of `rows`."""
    places = box.coordinates(box.origin(at))
    places[axis] = np.asarray(rows, np.int64)[places[axis]]
    coordinates = np.broadcast_arrays(*places, np.empty(box.shape, bool))[:-1]
    inside = np.logical_and.reduce(
        [(c >= 0) & (c < n) for c, n in zip(coordinates, memory.shape, strict=True)]
    )
    out[inside] = memory[tuple(c[inside] for c in coordinates)]


def _align(part: np.ndarray, order: Sequence[int], shape: Sequence[int]) -> np.ndarray:
    """Bring a part of the memory to the dims of the tile: drop unit dims, permute."""
    sizes = [shape[d] for d in order]
    return part.reshape(sizes).transpose(np.argsort(order)).reshape(shape) if order else part.reshape(shape)


@prepare("tile.load")
def load(interp: Interpreter, op: tile.LoadOp) -> Step:
    type_ = op.tile_type
    shape, dtype = type_.get_shape(), numpy_dtype(type_)
    count, given = len(op.indices), op.dest is not None
    box = Box(op.map.data, count, shape)
    pad = op.pad.value.data if op.pad is not None else None
    steps, scaled = steps_of(op.epilogue), op.scales is not None

    def step(args: Results) -> Results:
        source, at = args[0], args[1 : 1 + count]
        out = args[1 + count] if given else np.empty(shape, dtype)
        if pad is None:
            out[...] = poisoned((), dtype)
        else:
            out[...] = pad
        if scaled:
            read, inside = np.zeros(shape, source.dtype), np.zeros(shape, np.bool_)
            _read(box, source, at, read)
            _read(box, np.ones(source.shape, np.bool_), at, inside)
            scales = _spread(args[-1], op.scale_dims, len(shape))
            np.copyto(out, epilogue(read, steps, dtype, scales), where=inside, casting="unsafe")
        else:
            _read(box, epilogue(source, steps, dtype), at, out)
        return () if given else (out,)

    return step


def _spread(row: np.ndarray, along: Sequence[int], rank: int) -> np.ndarray:
    """A row that broadcasts to a tile, along some of whose dims it varies."""
    sizes = dict(zip(along, row.shape, strict=True))
    order = [list(along).index(d) for d in sorted(along)]
    return row.transpose(order).reshape([sizes.get(d, 1) for d in range(rank)])


@prepare("tile.gather")
def gather(interp: Interpreter, op: tile.GatherOp) -> Step:
    type_ = op.tile_type
    shape, dtype = type_.get_shape(), numpy_dtype(type_)
    count, axis, extent = len(op.indices), op.axis.value.data, op.extent
    box = Box(op.map.data, count, shape)
    pad = op.pad.value.data if op.pad is not None else None

    def step(args: Results) -> Results:
        source, at, rows = args[0], args[1 : 1 + count], args[1 + count]
        out = args[2 + count] if op.dest is not None else np.empty(shape, dtype)
        out[...] = poisoned((), dtype) if pad is None else pad
        _gathered(box, axis, source, at, [index_among(int(row), extent, op) for row in rows], out)
        return () if op.dest is not None else (out,)

    return step


@prepare("tile.scatter")
def scatter(interp: Interpreter, op: tile.ScatterOp) -> Step:
    shape = op.value.type.get_shape()  # type: ignore[attr-defined]
    axis, extent, dim, whole = op.axis.value.data, op.extent, op.row_dim, op.result is not None
    box = Box(op.map.data, len(op.indices), shape)

    def step(args: Results) -> Results:
        value, dest, *at, rows = args
        memory = dest.copy() if whole else dest
        places = box.coordinates(box.origin(at))
        among = [index_among(int(row), extent, op) for row in rows]
        # One after the other, so that the last of equal indices wins.
        for k in range(shape[dim]):
            here = [c if c.shape[dim] == 1 else c[_at(dim, k)] for c in places]
            here[axis] = np.full_like(here[axis], among[int(here[axis].flat[0])])
            new = value[_at(dim, k)]
            coordinates = np.broadcast_arrays(*here, np.empty(new.shape, bool))[:-1]
            inside = np.logical_and.reduce(
                [(c >= 0) & (c < n) for c, n in zip(coordinates, memory.shape, strict=True)]
            )
            memory[tuple(c[inside] for c in coordinates)] = new[inside]
        return (memory,) if whole else ()

    return step


def _at(dim: int, position: int) -> tuple[slice, ...]:
    """One position along a dim, which stays."""
    return (*(slice(None),) * dim, slice(position, position + 1))


@prepare("tile.store")
def store(interp: Interpreter, op: tile.StoreOp) -> Step:
    write = _writer(op)
    steps, count, rank = steps_of(op.epilogue), len(op.indices), len(op.value.type.get_shape())  # type: ignore[attr-defined]
    scaled = op.scales is not None

    def step(args: Results) -> Results:
        value, memory, *rest = args
        scales = _spread(rest[-1], op.scale_dims, rank) if scaled else None
        write(epilogue(value, steps, memory.dtype, scales), memory, rest[:count])
        return ()

    return step


@prepare("tile.insert")
def insert(interp: Interpreter, op: tile.InsertOp) -> Step:
    write, whole = _writer(op), op.result is not None

    def step(args: Results) -> Results:
        value, dest, *indices = args
        memory = dest.copy() if whole else dest
        write(value, memory, indices)
        return (memory,) if whole else ()

    return step


def _writer(op: tile.StoreOp | tile.InsertOp) -> Callable[[np.ndarray, np.ndarray, Sequence[int]], None]:
    """The function that writes a tile to its place in a memory, at values of the indices."""
    box = Box(op.map.data, len(op.indices), op.value.type.get_shape())  # type: ignore[attr-defined]

    def write(value: np.ndarray, memory: np.ndarray, indices: Sequence[int]) -> None:
        if not box.separable:
            raise UserError("the map of a store takes two elements to one place", loc=op)
        windows = box.windows(box.origin(indices), memory.shape)
        if windows is not None:
            part, where = windows
            target = memory[(*part, ...)]
            source = value[(*where, ...)]
            drop = source.reshape([n for d, n in enumerate(source.shape) if d in box.order])
            ranks = {d: i for i, d in enumerate(sorted(box.order))}
            target[...] = drop.transpose([ranks[d] for d in box.order]).reshape(target.shape)

    return write


@prepare("tile.alloc")
def alloc(interp: Interpreter, op: tile.AllocOp) -> Step:
    shape, dtype = op.buffer.type.get_shape(), numpy_dtype(op.buffer.type)
    if op.address is not None:
        return _planned(interp, op, op.address.value.data)
    copies = shape if op.num_slots == 1 else (op.num_slots, *shape)
    return lambda args: (poisoned(copies, dtype),)


def _planned(interp: Interpreter, op: tile.AllocOp, address: int) -> Step:
    """A buffer in the bytes of its memory."""
    target = target_of(interp.module)
    type_ = op.buffer.type
    space, shape, dtype = space_of(type_), type_.get_shape(), numpy_dtype(type_)
    if space is None or space is Space.GM:
        raise UserError(f"a buffer on chip cannot be {type_}", loc=op)
    capacity, slot_bytes = target.capacity(space), op.slot_bytes(target.cube)
    if address + op.num_slots * slot_bytes > capacity:
        raise UserError(f"the buffer ends behind the {capacity} bytes of {space} on {target.name}", loc=op)
    strides = tuple(step * dtype.itemsize for step in op.strides(target.cube))
    if op.num_slots > 1:
        shape, strides = (op.num_slots, *shape), (slot_bytes, *strides)

    def step(args: Results) -> Results:
        memories = interp.state.setdefault("tile.memory", {})
        if space not in memories:
            memories[space] = np.full(capacity, 0xFF, np.uint8)
        return (np.ndarray(shape, dtype, memories[space].data, address, strides),)

    return step


@prepare("tile.slot")
def slot(interp: Interpreter, op: tile.SlotOp) -> Step:
    slots = op.buffer.owner.num_slots if isinstance(op.buffer.owner, tile.AllocOp) else 1
    return (lambda args: (args[0],)) if slots == 1 else (lambda args: (args[0][args[1] % slots, ...],))


@impl("tile.return")
def return_(interp: Interpreter, op: tile.ReturnOp, args: Results) -> Results:
    return ()
