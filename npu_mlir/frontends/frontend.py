"""What a frontend is: how models of one kind are read, and by what their results are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp


class Loader(Protocol):
    """Reads a model: the path of a file, or an object that holds one."""

    def __call__(
        self, model: Any, dims: Mapping[str, int], shapes: Mapping[str, Sequence[int]], /
    ) -> ModuleOp:
        """A module with a function `@main`, whose attributes `input_names` and `output_names` say what the model calls
        them; weights are in the module's weight store.

        `dims` gives extents to named open dimensions, `shapes` whole shapes to inputs, as the user asked for them. A
        `UserError` if the model is damaged, not supported, or has no such dimension or input.
        """
        ...


@dataclass(frozen=True)
class Frontend:
    """One kind of model."""

    name: str
    """What messages call its models, as in "ONNX"."""
    load: Loader
    reference: str | None = None
    """The name of the reference that `--compare-all` takes when none is named."""
    options: tuple[str, ...] = ()
    """Keyword arguments that `load` takes besides: `bake` (values of inputs by name, now constants), `fallback`
    ("host": what has no translation is left to the host), with it `left` (names of nodes that are in any case),
    `unroll` (up to how many steps of recurrences and loops are written out)."""


class Reference(Protocol):
    """Something else that runs models, to compare with; made from the path of a model."""

    frontends: ClassVar[tuple[str, ...]]
    """The names of the frontends whose models it runs."""

    def __init__(self, model: str, /) -> None: ...

    def outputs(self, inputs: Mapping[str, np.ndarray | float], /) -> dict[str, np.ndarray]:
        """The outputs of the model by name, for inputs by name; a `UserError` if the model can't be run.

        A number is the value of an input that was baked, in whatever type the model wants.
        """
        ...

    def intermediates(self, inputs: Mapping[str, np.ndarray | float], /) -> dict[str, list[np.ndarray]]:
        """The values that each node of the model computes, by the name that the node has in `npu.node`."""
        ...
