"""The iteration space of a structured operation: its loops, how they read each operand, and what becomes a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineMap

from npu_mlir.analysis.affine_maps import projection
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import Results
from npu_mlir.interpreters.structured.views import View, make_view

Finisher = Callable[[Sequence[Any], Sequence[np.ndarray]], Results]


@dataclass
class IterationSpace:
    """The iteration space of one operation on operands of known shapes."""

    interp: Interpreter
    block: Block
    maps: list[AffineMap]
    num_inputs: int
    extents: tuple[int, ...]
    reduced: list[int]
    shapes: list[tuple[int, ...]]
    dtypes: list[np.dtype[Any]]
    in_place: bool

    def views(self) -> list[View]:
        """How each operand is read."""
        return [
            make_view(map_, self.extents, shape) for map_, shape in zip(self.maps, self.shapes, strict=True)
        ]

    def indices(self) -> list[np.ndarray]:
        """The index of each loop as an array that broadcasts over the iteration space."""
        rank = len(self.extents)
        return [
            np.arange(n, dtype=np.int64).reshape([-1 if k == d else 1 for k in range(rank)])
            for d, n in enumerate(self.extents)
        ]

    def yielded(self) -> list[SSAValue]:
        """The values of the body that become results."""
        last = self.block.last_op
        return list(last.operands) if last is not None else []

    def finisher(self) -> Finisher:
        """How the computed arrays over the iteration space become the operation's results."""
        outputs = [_output(self, k) for k in range(self.num_inputs, len(self.maps))]
        if self.in_place:

            def store(values: Sequence[Any], inits: Sequence[np.ndarray]) -> Results:
                for output, value, init in zip(outputs, values, inits, strict=True):
                    output(value, init)
                return ()

            return store
        if len(outputs) == 1:
            (only,) = outputs
            return lambda values, inits: (only(values[0], inits[0]),)
        return lambda values, inits: tuple(
            [output(value, init) for output, value, init in zip(outputs, values, inits, strict=True)]
        )


def _output(space: IterationSpace, operand: int) -> Callable[[Any, np.ndarray], np.ndarray]:
    """How one computed array becomes an output, given the init."""
    map_, shape, dtype = space.maps[operand], space.shapes[operand], space.dtypes[operand]
    parallel = [d for d in range(len(space.extents)) if d not in space.reduced]
    dims = projection(map_)
    view = make_view(map_, space.extents, shape)
    if space.in_place:

        def store(value: Any, out: np.ndarray) -> np.ndarray:
            view(out)[...] = value
            return out

        return store
    if dims is None or sorted(dims) != parallel:

        def scatter(value: Any, init: np.ndarray) -> np.ndarray:
            result = init.copy()
            view(result)[...] = value
            return result

        return scatter
    full = tuple(1 if d in space.reduced else n for d, n in enumerate(space.extents))
    order = [parallel.index(d) for d in dims]
    compact = tuple(space.extents[d] for d in parallel)
    ordered = order == sorted(order)

    def result(value: Any, init: np.ndarray) -> np.ndarray:
        if np.shape(value) != full or not isinstance(value, np.ndarray | np.generic):
            value = np.broadcast_to(np.asarray(value, dtype), full)
        value = value.reshape(compact)
        return value if ordered else np.ascontiguousarray(value.transpose(order))

    return result
