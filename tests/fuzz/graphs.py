"""Random ONNX graphs that onnxruntime runs, with inputs, outputs and how far these may be from what is computed here.

    case = random_graph(seed)

A graph grows node by node, and onnxruntime computes each node at once: what it refuses, or what has no finite values,
is left out. How far a value may be off follows from the inputs of its node: the node is run again with inputs that are
off by what they may be and by a rounding. Values that no order of operations can change (sums of small multiples of
1/8) have to be equal, and only such values go into what isn't continuous: casts to integers, comparisons, rounding.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from fuzz.reference import Array, Evaluator, Refused, Session, make_model, node_session, value_info

TARGETS = ("ascend-910", "ascend-910b", "toy")
OPSETS = (7, 25)
EXTENTS = (1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 31, 37)
RANKS = (0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 6)
LARGEST = 6000
"""Elements of a value."""

EPSILON = {"f32": 2.0**-23, "f16": 2.0**-10}
"""How far a rounded value is off, of a whole."""

TINY = {"f32": 1e-37, "f16": 2.0**-22}
"""How far a rounded value near 0 is off."""

RANGE = {"f32": 1e4, "f16": 64.0}
"""The largest values that count."""

SPECIAL = (np.inf, -np.inf, np.nan, -0.0, 1e-40, -1e-45)
"""Numbers that some graphs have among their inputs and weights."""

SLACK = 6.0
"""Roundings within one operator."""


@dataclass
class Value:
    """A value of the graph."""

    name: str
    array: Array
    error: Array | None
    """How far each element may be off; None if there is one right value."""
    is_known: bool = False
    """Whether it is a constant of the model."""

    @property
    def is_float(self) -> bool:
        return self.array.dtype.kind == "f"

    @property
    def rank(self) -> int:
        return self.array.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


@dataclass(frozen=True)
class Spec:
    """A node that a generator asks for."""

    operator: str
    inputs: Sequence[Value | None]
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    outputs: int = 1
    captured: Sequence[Value] = ()
    """What graphs inside the node read."""
    rounded: bool = False
    """Whether results may be off although inputs and results have few digits."""


@dataclass(frozen=True)
class GraphCase:
    """A model with its inputs and what each node computes, and how far off each element of that may be."""

    seed: int
    model: onnx.ModelProto
    values: dict[str, Array]
    errors: dict[str, Array | None]
    target: str
    precision: str
    dims: dict[str, int] = field(default_factory=dict[str, int])
    """Extents of open dimensions."""
    level: str = ""
    """The level at which the program goes through a text and back."""

    @property
    def inputs(self) -> dict[str, Array]:
        return {value.name: self.values[value.name] for value in self.model.graph.input}

    @property
    def outputs(self) -> dict[str, Array]:
        return {value.name: self.values[value.name] for value in self.model.graph.output}


STEPS = frozenset(
    [
        "Floor",
        "Ceil",
        "Round",
        "Sign",
        "Mod",
        "Hardmax",
        "ThresholdedRelu",
        "Shrink",
        "TopK",
        "ArgMax",
        "ArgMin",
        "Cast",
        "QuantizeLinear",
        "Equal",
        "Less",
        "LessOrEqual",
        "Greater",
        "GreaterOrEqual",
        "IsNaN",
        "IsInf",
        "OneHot",
        "Range",
    ]
)
"""Operators that aren't continuous."""

ORDERED = frozenset(
    [
        "ReduceMax",
        "ReduceMin",
        "Max",
        "Min",
        "MaxPool",
        "GlobalMaxPool",
        "ArgMax",
        "ArgMin",
        "TopK",
        "Hardmax",
        "Clip",
        "ReduceLogSumExp",
        "QuantizeLinear",
        "DynamicQuantizeLinear",
    ]
)
"""Operators for which what becomes of a NaN depends on how onnxruntime goes through the elements."""

RARE = frozenset(
    [
        "GRU",
        "LSTM",
        "RNN",
        "Acos",
        "Acosh",
        "Asin",
        "Asinh",
        "Atan",
        "Atanh",
        "BitwiseAnd",
        "BitwiseNot",
        "BitwiseOr",
        "BitwiseXor",
        "Celu",
        "ConstantOfShape",
        "Cosh",
        "EyeLike",
        "GlobalLpPool",
        "IsInf",
        "LpNormalization",
        "LpPool",
        "MatMulInteger",
        "NonZero",
        "Range",
        "ReverseSequence",
        "Shape",
        "Sinh",
        "Size",
        "Tan",
        "MeanVarianceNormalization",
        "GroupNormalization",
        "RMSNormalization",
    ]
)
"""Operators that few models have: most of the graphs are for the others."""

OFTEN = ("If", "Function", "Loop", "Scan", "Narrow", "Attention", "PerChannel", "MatMul", "Conv")
"""What is chosen about three times as often as others."""

GENERATORS: dict[str, Callable[[Builder, str], Spec | bool | None]] = {}
"""By operator, or by a name of what takes several nodes: these are added by the generator, which returns whether."""


def generates(*operators: str) -> Callable[[Callable[[Builder, str], Spec | bool | None]], Any]:
    """Register the generator of some operators."""

    def register(function: Callable[[Builder, str], Spec | bool | None]) -> Any:
        GENERATORS.update(dict.fromkeys(operators, function))
        return function

    return register


class Builder:
    """A graph that grows."""

    prefix = "v"
    """What names of results start with."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.opset = self.random.randint(*OPSETS)
        self.precision = "f16" if self.random.random() < 0.3 else "f32"
        self.zeros = self.random.random() < 0.12
        self.special = self.precision == "f32" and self.random.random() < 0.06
        """Whether there are infinities and the like."""
        self.depth = 0
        """How many graphs this one is in."""
        self.values: list[Value] = []
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[Value] = []
        self.weights: list[Value] = []
        self.functions: list[onnx.FunctionProto] = []
        self.used: set[str] = set()

    # ---- choices

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def extent(self, largest: int = 1 << 30) -> int:
        if self.zeros and self.chance(0.3):
            return 0
        return self.random.choice([extent for extent in EXTENTS if extent <= max(1, largest)])

    def shape(self, rank: int | None = None, largest: int = LARGEST) -> tuple[int, ...]:
        rank = self.random.choice(RANKS) if rank is None else rank
        shape: list[int] = []
        for _ in range(rank):
            shape.append(self.extent(largest))
            largest //= max(1, shape[-1])
        self.random.shuffle(shape)
        return tuple(shape)

    def pick(self, fits: Callable[[Value], bool]) -> Value | None:
        """A value that fits: one of the last ones more likely than others."""
        found = [value for value in self.values if fits(value)]
        if not found:
            return None
        return found[-1 - min(int(self.random.expovariate(0.5)), len(found) - 1)]

    def pick_float(self, least_rank: int = 0, most_rank: int = 6) -> Value:
        """A float value of some rank: a new input if there is none."""
        found = self.pick(lambda v: v.is_float and least_rank <= v.rank <= most_rank)
        if found is None or self.chance(0.05):
            return self.new(self.shape(self.random.randint(max(1, least_rank), most_rank)), np.float32)
        return found

    # ---- values

    def floats(self, shape: Sequence[int]) -> Array:
        if self.chance(0.3):
            array = self.numbers.standard_normal(shape).astype(np.float32)
        else:
            array = (self.numbers.integers(-16, 17, shape) / 4).astype(np.float32)
        if self.special and self.chance(0.5):
            chosen = self.numbers.random(shape) < self.random.choice((0.05, 0.3))
            array = np.where(chosen, self.numbers.choice(np.asarray(SPECIAL, np.float32), shape), array)
        return array

    def data(self, shape: Sequence[int], dtype: Any) -> Array:
        dtype = np.dtype(dtype)
        if dtype.kind == "b":
            return self.numbers.integers(0, 2, shape).astype(dtype)
        if dtype.kind in "iu":
            return self.numbers.integers(0 if dtype.kind == "u" else -8, 9, shape).astype(dtype)
        return np.asarray(self.floats(shape)).astype(dtype)

    def new(self, shape: Sequence[int], dtype: Any, array: Array | None = None) -> Value:
        """A new value: an input, or a constant."""
        array = self.data(shape, dtype) if array is None else array
        return self.constant(array) if self.chance(0.4) and self.inputs else self.input(array)

    def input(self, array: Array) -> Value:
        value = Value(f"in{len(self.inputs)}", np.asarray(array), self.rounding(array))
        self.inputs.append(value)
        self.values.append(value)
        return value

    def constant(self, array: Any, dtype: Any = None) -> Value:
        """A constant: an initializer or a node."""
        array = np.asarray(array, dtype)
        name = f"c{len(self.weights) + len(self.nodes)}_{len(self.used)}_{len(self.values)}"
        name = f"{name}_{self.random.randrange(1 << 20)}"
        value = Value(name, array, self.rounding(array), is_known=True)
        if self.chance(0.25):
            tensor = numpy_helper.from_array(array, name if self.chance(0.5) else "")
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.weights.append(value)
        return value

    def indices(self, values: Any) -> Value:
        """A constant of indices, axes or sizes."""
        return self.constant(np.asarray(values, np.int64))

    def rounding(self, array: Array) -> Array | None:
        if array.dtype.kind != "f" or self.is_round(array):
            return None
        if self.precision == "f32":
            return None
        return self.epsilon(array) * np.abs(array).astype(np.float64)

    def is_round(self, array: Array) -> bool:
        """Whether floats are multiples of 1/64 with few digits, so that sums of them are exact."""
        scaled = array.astype(np.float64) * 64
        few = 1024 if self.precision == "f16" or array.dtype == np.float16 else 1 << 19
        return bool(np.all(scaled == np.round(scaled)) and np.all(np.abs(scaled) < few))

    def epsilon(self, array: Array) -> float:
        return EPSILON["f16" if array.dtype == np.float16 else self.precision]

    # ---- operators

    def has_attribute(self, operator: str, name: str) -> bool:
        """Whether an operator has an attribute, in this opset."""
        found = schema(operator, self.opset)
        return found is not None and name in found.attributes

    def with_axes(self, operator: str, value: Value, axes: Sequence[int] | None, **attributes: Any) -> Spec:
        """An operator with its axes: an attribute, later an input."""
        if axes is None:
            return Spec(operator, [value], attributes)
        if self.has_attribute(operator, "axes"):
            return Spec(operator, [value], {**attributes, "axes": list(axes)})
        return Spec(operator, [value, self.indices(axes)], attributes)

    def axes(self, rank: int, least: int = 0) -> list[int]:
        count = self.random.randint(min(least, rank), rank)
        chosen = self.random.sample(range(rank), count)
        return [axis - rank if self.opset >= 11 and self.chance(0.3) else axis for axis in chosen]

    def axis(self, rank: int) -> int:
        return self.random.randrange(-rank if self.opset >= 11 else 0, rank)

    def grow(self, operators: Sequence[str], count: int) -> None:
        """Add a number of nodes: fewer if there are operators that don't fit."""
        for _ in range(10 * count):
            operator = self.random.choice(operators)
            if operator in RARE and self.chance(0.7):
                continue
            spec = GENERATORS[operator](self, operator)
            count -= self.add(spec) if isinstance(spec, Spec) else bool(spec)
            if count <= 0:
                break

    def add(self, spec: Spec) -> bool:
        """Add a node and what it computes, unless that is refused."""
        if schema(spec.operator, self.opset) is None:
            return False
        number = len(self.nodes)
        names = [f"{self.prefix}{number}_{i}" if i else f"{self.prefix}{number}" for i in range(spec.outputs)]
        node = helper.make_node(spec.operator, [v.name if v else "" for v in spec.inputs], names)
        for key, given in spec.attributes.items():
            if given is not None:
                kind = onnx.AttributeProto.INTS if given == [] else None
                node.attribute.append(helper.make_attribute(key, given, attr_type=kind))
        if self.chance(0.5):
            node.name = f"node{number}"
        values = [value for value in (*spec.inputs, *spec.captured) if value is not None]
        return self.add_nodes([node], values, rounded=spec.rounded)

    def add_nodes(
        self, nodes: Sequence[onnx.NodeProto], values: Sequence[Value], *, rounded: bool = False
    ) -> bool:
        """Add nodes that read these values, and what the last one computes, unless that is refused."""
        results = self.evaluate(nodes, {value.name: value for value in values}, rounded=rounded)
        if results is None:
            return False
        self.append(nodes, values, results)
        return True

    def append(
        self, nodes: Sequence[onnx.NodeProto], values: Sequence[Value], results: Sequence[Value]
    ) -> None:
        """Add nodes that read these values and compute those results."""
        self.used.update(value.name for value in values)
        self.nodes += nodes
        self.values += results

    def evaluate(
        self, nodes: Sequence[onnx.NodeProto], values: dict[str, Value], *, rounded: bool = False
    ) -> list[Value] | None:
        """What the last of a few nodes computes: nothing if there is nothing to compare with."""
        inexact = any(value.error is not None for value in values.values())
        if inexact and any(node.op_type in STEPS for node in nodes):
            return None
        arrays = {name: value.array for name, value in values.items()}
        has_nan = any(np.isnan(array).any() for array in arrays.values() if array.dtype.kind == "f")
        if has_nan and any(node.op_type in ORDERED for node in nodes):
            return None
        node = nodes[-1]
        try:
            if node.op_type == "InstanceNormalization" and (self.special or is_flat(arrays[node.input[0]])):
                return None
            session = node_session(nodes, arrays, self.opset, self.functions)
            right = session.run(arrays)
            if any(not self.is_good(array) for array in right.values()):
                return None
            if len(nodes) == 1 and node.op_type in ("Cast", "CastLike"):
                source, result = values[node.input[0]].array, right[node.output[0]]
                if not is_in_range(source, result):
                    return None
            errors = self.errors(session, values, right, rounded or is_rounded(node, values))
        except Refused:
            return None
        results: list[Value] = []
        for name in filter(None, node.output):
            error = errors[name]
            scale = np.abs(right[name]).max(initial=1e-3, where=np.isfinite(right[name]))
            if error is not None and error.max(initial=0) > 0.05 * scale:
                return None
            known = bool(values) and all(value.is_known for value in values.values())
            results.append(Value(name, right[name], error, known))
        return results

    def is_good(self, array: Array) -> bool:
        if array.size > LARGEST or array.ndim > 8:
            return False
        if array.dtype.kind != "f":
            return array.dtype.kind in "biu"
        finite = np.isfinite(array)
        if not self.special and not finite.all():
            return False
        return bool(np.abs(array).max(initial=0, where=finite) <= RANGE[self.precision])

    def errors(
        self,
        session: Session | Evaluator,
        values: dict[str, Value],
        right: dict[str, Array],
        rounded: bool = False,
    ) -> dict[str, Array | None]:
        """How far the values of a node may be off, which may be rounded although there are right ones."""
        floats = [value for value in values.values() if value.is_float]
        exact = not rounded and all(value.error is None and self.is_round(value.array) for value in floats)
        exact = exact and all(self.is_round(array) for array in right.values() if array.dtype.kind == "f")
        if exact:
            return dict.fromkeys(right)
        spread = {name: np.zeros(array.shape) for name, array in right.items()}
        for _ in range(3):
            moved = {name: self.moved(value) for name, value in values.items()}
            for name, array in session.run(moved).items():
                if array.shape != right[name].shape:
                    raise Refused("shapes depend on rounding")
                spread[name] = np.maximum(spread[name], distance(array, right[name]))
        errors: dict[str, Array | None] = {}
        for name, array in right.items():
            if array.dtype.kind != "f":
                if spread[name].any():
                    raise Refused("integers depend on rounding")
                errors[name] = None
                continue
            size = np.abs(np.where(np.isfinite(array), array, 0).astype(np.float64))
            own = self.epsilon(array) * size + TINY[self.precision]
            if rounded:
                # What is inside a graph isn't moved: its roundings, which may be those of larger numbers.
                own += 16 * self.epsilon(array) * (size + 1)
            least = spread[name].max() if array.size else 0.0
            errors[name] = 2 * spread[name] + 0.5 * least + own
        return errors

    def moved(self, value: Value) -> Array:
        """The value, off by what it may be and some roundings."""
        if not value.is_float:
            return value.array
        array = np.where(np.isfinite(value.array), value.array, 0).astype(np.float64)
        error = SLACK * self.epsilon(value.array) * np.abs(array)
        if value.error is not None:
            error = error + value.error
        signs = self.numbers.choice([-1.0, 1.0], value.shape)
        return np.asarray(value.array.astype(np.float64) + signs * error).astype(value.array.dtype)

    # ---- the model

    def finish(self, seed: int) -> GraphCase | None:
        """The graph as a model; nothing if it computes nothing."""
        made = {name for node in self.nodes for name in node.output}
        known = {value.name for value in self.values if value.is_known}
        results = [v for v in self.values if v.name in made - self.used - known]
        others = [value for value in self.values if value.name in self.used]
        if others and self.chance(0.3):
            results.append(self.random.choice(others))
        if not results:
            return None
        graph = helper.make_graph(
            self.nodes,
            "random",
            [value_info(value.name, value.array) for value in self.inputs],
            [value_info(value.name, value.array) for value in results],
            [numpy_helper.from_array(value.array, value.name) for value in self.weights],
        )
        model = make_model(graph, self.opset, self.functions)
        values = {value.name: value.array for value in self.values}
        errors = {value.name: value.error for value in self.values}
        return GraphCase(seed, model, values, errors, self.random.choice(TARGETS), self.precision)


class Body(Builder):
    """A graph inside another, or the body of a function: what would be a new input is a constant."""

    def __init__(self, outer: Builder, values: Sequence[Value], *, in_function: bool = False) -> None:
        # No call of the base's: choices are those of the graph around it.
        self.random, self.numbers = outer.random, outer.numbers
        self.opset, self.precision, self.zeros, self.special = (
            outer.opset,
            outer.precision,
            outer.zeros,
            False,
        )
        self.functions, self.depth = outer.functions, outer.depth + 1
        self.in_function = in_function
        self.prefix = "v" if in_function else f"b{self.depth}_"
        self.values, self.given = [*values], {value.name for value in values}
        self.nodes, self.inputs, self.weights, self.used = [], [], [], set()

    def input(self, array: Array) -> Value:
        return self.constant(array)

    def new(self, shape: Sequence[int], dtype: Any, array: Array | None = None) -> Value:
        return self.constant(self.data(shape, dtype) if array is None else array)

    def constant(self, array: Any, dtype: Any = None) -> Value:
        value = super().constant(array, dtype)
        if self.in_function and self.weights:
            # A function has no initializers.
            tensor = numpy_helper.from_array(self.weights.pop().array)
            self.nodes.append(helper.make_node("Constant", [], [value.name], value=tensor))
        return value

    @property
    def made(self) -> list[Value]:
        """What nodes of the body compute."""
        return [value for value in self.values if value.name not in self.given]


def distance(a: Array, b: Array) -> Array:
    """How far elements are from each other: infinitely if only one is finite."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        away = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
    return np.nan_to_num(away, nan=np.inf)


@cache
def schema(operator: str, opset: int) -> Any:
    """The definition of an operator in an opset, None if there is none."""
    try:
        found = onnx.defs.get_schema(operator, opset, "")
    except onnx.defs.SchemaError:
        return None
    return None if found.deprecated else found


def is_rounded(node: onnx.NodeProto, values: dict[str, Value]) -> bool:
    """Whether results are rounded even where the right ones have few digits: means, powers of many exponents."""
    if node.op_type in ("ReduceMean", "Mean", "AveragePool", "GlobalAveragePool"):
        return True
    exponent = values.get(node.input[1]) if node.op_type == "Pow" else None
    return exponent is not None and not (exponent.is_known and exponent.array.size == 1)


def is_flat(array: Array) -> bool:
    """Whether there is a channel of equal elements, of which onnxruntime's norm has what rounding leaves."""
    axes = tuple(range(2, array.ndim))
    return bool(array.size) and bool((array.max(axes) == array.min(axes)).any())


def is_in_range(array: Array, result: Array) -> bool:
    """Whether a cast changed no value by more than dropping its fraction."""
    if result.dtype.kind == "b" or array.dtype.kind == "b":
        return True
    return bool(np.all(np.abs(array.astype(np.float64) - result.astype(np.float64)) < 1))


def generators() -> dict[str, Callable[[Builder, str], Spec | bool | None]]:
    """All generators: their modules register them."""
    for name in ("bodies", "layers", "operators"):
        import_module(f"fuzz.{name}")
    return GENERATORS


def random_graph(seed: int) -> GraphCase | None:
    """The graph of a seed; None for the few seeds that give none."""
    from fuzz.disguise import disguised

    builder = Builder(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder.input(builder.data(builder.shape(), _first_type(builder)))
        builder.grow(
            [*sorted(generators()), *OFTEN, *OFTEN], builder.random.choice((1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 4))
        )
        case = builder.finish(seed)
        return case and disguised(case, builder.random)


def _first_type(builder: Builder) -> Any:
    others = (np.int64, np.int32, np.bool_, np.uint8, np.int8, np.float16, np.float64)
    return np.float32 if builder.chance(0.8) else builder.random.choice(others)
