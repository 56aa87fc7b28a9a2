"""What a converter sees of an ONNX node, and the registry of converters.

    @converts("Relu")
    def relu(node: Node) -> SSAValue:
        return node.add(graph.ReluOp(node.value(0)))

A converter returns its results in order, a single one bare. Attributes and outputs that it does not ask for are
reported as unsupported afterwards, so that nothing is dropped silently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
import onnx
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, SSAValue

from npu_mlir.dialects.graph import LOCATION, GraphOp, element_of, shape_of
from npu_mlir.dialects.graph.shapes import text
from npu_mlir.frontends.onnx.inputs import fits_memory
from npu_mlir.support.locations import origin
from npu_mlir.support.node_names import joined
from npu_mlir.support.registry import add_names, table

Constant = np.ndarray[Any, Any]
Value = SSAValue | Constant
"""What a name of the model stands for: a value of the module, or an array that is known now."""

Converter = Callable[["Node"], Value | Sequence[Value]]

CONVERTERS: dict[str, Converter] = {}
"""By the name of the operator, which `qualified` gives."""

OPERATORS = table("operator")
"""Where converters are, by the same names; those of installed plugins are imported on use."""


class Unsupported(Exception):
    """Part of a node that has no translation; the message continues "node 'x' (Op): "."""


class UnsupportedInBody(Unsupported):
    """The same of the node of the model that calls a function, for a reason in the function's body."""


def is_default(domain: str) -> bool:
    """Whether this is the domain of standard operators."""
    return domain in ("", "ai.onnx")


def qualified(operator: str, domain: str = "") -> str:
    """The name of an operator: with its domain, unless that is the default one."""
    return operator if is_default(domain) else f"{domain}::{operator}"


def converts(*operators: str, domain: str = "") -> Callable[[Converter], Converter]:
    """Register the decorated function for these operators of a domain, which may be one of a plugin's own.

    A `UserError` if another function has one of them already.
    """

    def register(function: Converter) -> Converter:
        where = f"{function.__module__}:{function.__name__}"
        names = {qualified(operator, domain): where for operator in operators}
        add_names("operator", names)
        CONVERTERS.update(dict.fromkeys(names, function))
        return function

    return register


class GraphBuilder(Protocol):
    """Where converted ops go."""

    def add(self, op: Operation) -> SSAValue:
        """Append an op and return its first result."""
        ...

    def materialise(self, array: Constant, name: str) -> SSAValue:
        """The array as a value of the module, made once for each array."""
        ...

    unroll: int | None
    """Up to how many equal steps are written out, where more become a loop; None for as few as that pays for."""
    problems: list[str]
    """What has been found that has no translation."""

    def inside(self, block: Block) -> AbstractContextManager[None]:
        """Within, ops go to the end of a block of its own, which sees the values around it."""
        ...

    def publish(self, block: Block) -> str:
        """Make a private function of a block; returns its name."""
        ...


class Node:
    """An ONNX node with resolved inputs. Indices of absent optional inputs are fine to ask for."""

    def __init__(
        self,
        proto: onnx.NodeProto,
        inputs: Sequence[Value | None],
        opset: int,
        location: str,
        builder: GraphBuilder,
        used: Sequence[bool] = (),
    ):
        self.proto = proto
        self.operator = proto.op_type
        self.opset = opset
        self.location = location
        self._inputs = inputs
        self._used = used
        self.builder = builder
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}
        self._asked: set[str] = set()

    @property
    def input_count(self) -> int:
        """The number of inputs given, absent ones in the middle included."""
        return len(self._inputs)

    @property
    def output_count(self) -> int:
        """The number of outputs named."""
        return len(self.proto.output)

    def is_used(self, output: int) -> bool:
        """Whether anything reads this output."""
        return output < len(self._used) and self._used[output]

    def has(self, index: int) -> bool:
        """Whether input `index` is given."""
        return index < len(self._inputs) and self._inputs[index] is not None

    def raw(self, index: int) -> Value:
        """Input `index`, array or value."""
        value = self._inputs[index] if index < len(self._inputs) else None
        if value is None:
            raise Unsupported(f"input {index} is missing")
        return value

    def value(self, index: int) -> SSAValue:
        """Input `index` as a value of the module."""
        value = self.raw(index)
        if isinstance(value, SSAValue):
            return value
        return self.builder.materialise(value, self.proto.input[index])

    def optional(self, index: int) -> SSAValue | None:
        """Input `index`, or None if it is not given."""
        return self.value(index) if self.has(index) else None

    def values(self) -> list[SSAValue]:
        """All inputs as values of the module."""
        return [self.value(index) for index in range(len(self._inputs))]

    def constant(self, index: int, what: str) -> Constant:
        """Input `index`, which has to be known now."""
        value = self.raw(index)
        if isinstance(value, SSAValue):
            raise Unsupported(f"its {what} (input {index}) is not a constant")
        return value

    def ints_input(self, index: int, what: str) -> list[int]:
        """Input `index` as a list of integers that are known now."""
        return [int(value) for value in self.constant(index, what).reshape(-1)]

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """The shape of input `index`."""
        value = self.raw(index)
        return shape_of(value) if isinstance(value, SSAValue) else value.shape

    def add(self, op: GraphOp) -> SSAValue:
        """Append a graph op that stems from this node."""
        if not fits_memory(shape_of(op.result)):
            raise Unsupported(f"its result {text(shape_of(op.result))} fits into no memory")
        return self.place(op)

    def few(self, steps: int, default: int) -> bool:
        """Whether steps are so few that they are written out; `default` is up to how many where nobody says so."""
        return steps <= (default if self.builder.unroll is None else self.builder.unroll)

    def place(self, op: Operation) -> SSAValue:
        """Append an op that stems from this node; its first result."""
        op.attributes[LOCATION] = StringAttr(joined([self.location]))
        op.location = origin(op)
        return self.builder.add(op)

    def scalar(self, value: float, like: SSAValue) -> SSAValue:
        """A rank-0 constant of the element type of `like`."""
        from npu_mlir.support.dtypes import numpy_dtype

        array = np.asarray(value, numpy_dtype(element_of(like)))
        return self.builder.materialise(array, f"{self.location}.{value}.{element_of(like)}")

    def array(self, array: Constant, role: str) -> SSAValue:
        """A constant that this node needs for the given role."""
        return self.builder.materialise(array, f"{self.location}.{role}")

    def given(self, value: Value, role: str) -> SSAValue:
        """A value of the module; an array becomes one, which this node needs for the given role."""
        return value if isinstance(value, SSAValue) else self.array(value, role)

    def attribute(self, name: str) -> Any:
        """The value of an attribute, None if it is not given."""
        self._asked.add(name)
        attribute = self._attributes.get(name)
        return None if attribute is None else onnx.helper.get_attribute_value(attribute)

    def integer(self, name: str, default: int) -> int:
        """An integer attribute."""
        value = self.attribute(name)
        return default if value is None else int(value)

    def real(self, name: str, default: float) -> float:
        """A float attribute."""
        value = self.attribute(name)
        return default if value is None else float(value)

    def integers(self, name: str) -> list[int] | None:
        """A list-of-integers attribute."""
        value = self.attribute(name)
        return None if value is None else [int(entry) for entry in value]

    def text(self, name: str, default: str) -> str:
        """A string attribute."""
        value = self.attribute(name)
        return default if value is None else value.decode()

    def require(self, name: str, *allowed: Any) -> None:
        """An attribute that may be absent or have one of the values that mean nothing special."""
        value = self.attribute(name)
        value = value.decode() if isinstance(value, bytes) else value
        if value is not None and value not in allowed:
            raise Unsupported(f"attribute {name} = {value} is not supported")

    def axis(self, default: int | None, rank: int, name: str = "axis") -> int:
        """An axis attribute, counted from the front."""
        value = self.attribute(name)
        if value is None and default is None:
            raise Unsupported(f"attribute {name} is missing")
        return normalise(default if value is None else int(value), rank)

    def check_all_asked(self, results: int) -> None:
        """Raise `Unsupported` for attributes and outputs that the converter ignored."""
        ignored = sorted(self._attributes.keys() - self._asked)
        if ignored:
            what, verb = ("attributes", "are") if len(ignored) > 1 else ("attribute", "is")
            raise Unsupported(f"{what} {', '.join(ignored)} {verb} not supported")
        for index, used in enumerate(self._used):
            if used and index >= results:
                raise Unsupported(f"output {index} ('{self.proto.output[index]}') is not supported")


def normalise(axis: int | None, rank: int) -> int:
    """An axis that may count from the end, as one that counts from the front."""
    if axis is None or not -rank <= axis < max(rank, 1):
        raise Unsupported(f"axis {axis} for rank {rank}")
    return axis + rank if axis < 0 else axis
