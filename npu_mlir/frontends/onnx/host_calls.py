"""Leaving nodes to the host: what has no translation becomes a `graph.host_call`.

A call stands for one node if its results are tensors whose extents are known now. Anything else (open extents,
sequences, strings) only the host can hold: it is `Deferred`, and nodes that read it become part of the same call, until
results are static again or the model ends. Operands are values of the module; small constants go into the call, where
they tell shapes.

    nonzero = NonZero(x)          open extents: deferred
    count = Shape(nonzero)        static: one call with both nodes, from x to count
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue

from npu_mlir.dialects.graph import LOCATION, HostCallOp, element_of, shape_of
from npu_mlir.frontends.onnx.check import element_type_of, graphs_of
from npu_mlir.frontends.onnx.inputs import fits_memory
from npu_mlir.frontends.onnx.macs import macs_of
from npu_mlir.frontends.onnx.node import Constant, GraphBuilder, Unsupported, Value
from npu_mlir.frontends.onnx.sequences import TensorSequence
from npu_mlir.ir.constants import element_type
from npu_mlir.support.dtypes import numpy_dtype
from npu_mlir.support.locations import origin
from npu_mlir.support.node_names import joined

EMBEDDED = 64
"""Constants up to this many elements are written into a call."""

OLDEST_IR = 8
"""The version of the file format that functions and initializers without inputs need."""


@dataclass(frozen=True, eq=False)
class HostNode:
    """A node that runs on the host. Its names are unique within the import."""

    proto: onnx.NodeProto
    operands: Mapping[str, Value | Deferred]
    location: str
    opsets: Mapping[str, int]
    number: int


@dataclass(frozen=True, eq=False)
class Deferred:
    """A value that only the host can hold."""

    producer: HostNode
    name: str
    type: onnx.TypeProto
    why: str
    """What keeps it from being a value of the module."""


@dataclass
class HostCalls:
    """The nodes of one import that are left to the host."""

    model: onnx.ModelProto
    builder: GraphBuilder
    count: int = 0
    names: dict[int, tuple[Value, str]] = field(default_factory=dict[int, "tuple[Value, str]"])

    def call(
        self,
        proto: onnx.NodeProto,
        operands: Mapping[str, Value | Deferred],
        used: Sequence[bool],
        location: str,
        opsets: Mapping[str, int],
    ) -> list[Value | Deferred | None]:
        """What the results of a node are. `operands` has all names that the node and the graphs in it read."""
        renamed = {name: self._name(value) for name, value in operands.items()}
        node = _renamed(proto, renamed)
        own = [self._fresh() if name else "" for name in proto.output]
        del node.output[:]
        node.output.extend(own)
        node.name = location
        host = HostNode(
            node, {renamed[n]: value for n, value in operands.items()}, location, opsets, self._next()
        )
        wanted = [name for name, use in zip(own, used, strict=True) if use]
        types = self._types(host, {own[i]: proto.output[i] for i in range(len(own)) if own[i]})
        reasons = {name: _why_deferred(types[name]) for name in wanted}
        static = [name for name in wanted if reasons[name] is None]
        made = dict(zip(static, self._emit([host], static, types), strict=True)) if static else {}
        results: list[Value | Deferred | None] = []
        for name in own:
            if name not in reasons:
                results.append(None)
            elif name in made:
                results.append(made[name])
            else:
                results.append(Deferred(host, name, types[name], reasons[name] or ""))
        return results

    def sequence(
        self, sequence: TensorSequence, location: str, opsets: Mapping[str, int]
    ) -> Value | Deferred | None:
        """A sequence as one that the host holds."""
        operands: dict[str, Value | Deferred] = {f"item{i}": item for i, item in enumerate(sequence.items)}
        if operands:
            node = helper.make_node("SequenceConstruct", list(operands), ["sequence"])
        else:
            dtype = helper.np_dtype_to_tensor_dtype(sequence.dtype)
            node = helper.make_node("SequenceEmpty", [], ["sequence"], dtype=dtype)
        return self.call(node, operands, [True], location, opsets)[0]

    def finish(self, values: Sequence[tuple[str, Deferred, onnx.TypeProto]]) -> list[SSAValue]:
        """Outputs of the model that are still deferred, with the types they are declared with, by one call."""
        types: dict[str, onnx.TypeProto] = {}
        for output, value, declared in values:
            types[value.name] = type_ = _better(value.type, declared)
            if not type_.HasField("tensor_type") or _element(type_) is None:
                raise Unsupported(f"output '{output}' has {value.why}, which no array can be")
            if not type_.tensor_type.HasField("shape"):
                raise Unsupported(f"the number of dimensions of output '{output}' is only known in a run")
        made = self._emit([value.producer for _, value, _ in values], list(types), types)
        found = dict(zip(types, made, strict=True))
        return [found[value.name] for _, value, _ in values]

    def _emit(
        self, ends: Sequence[HostNode], outputs: Sequence[str], types: Mapping[str, onnx.TypeProto]
    ) -> list[SSAValue]:
        """A call that computes these outputs."""
        nodes = _closure(ends)
        model, operands = self._fragment(nodes, {name: types[name] for name in outputs})
        arguments = [self._operand(value, name) for name, value in operands.items()]
        op = HostCallOp(model, arguments, [_tensor_type(types[name]) for name in outputs])
        location = joined(node.location for node in nodes)
        op.attributes[LOCATION] = StringAttr(location)
        op.attributes["npu.macs"] = IntegerAttr(self._macs(nodes), i64)
        op.location = origin(op)
        self.builder.add(op)
        return list(op.results)

    def _operand(self, value: Value, name: str) -> SSAValue:
        return value if isinstance(value, SSAValue) else self.builder.materialise(value, name)

    def _fragment(
        self, nodes: Sequence[HostNode], outputs: Mapping[str, onnx.TypeProto]
    ) -> tuple[onnx.ModelProto, dict[str, Value]]:
        """A model of the nodes, and what its inputs stand for."""
        inside = {name for node in nodes for name in node.proto.output}
        operands: dict[str, Value] = {}
        for node in nodes:
            for name, value in node.operands.items():
                if name not in inside and not isinstance(value, Deferred):
                    operands[name] = value
        constants = {name: v for name, v in operands.items() if isinstance(v, np.ndarray) and _is_embedded(v)}
        inputs = {name: value for name, value in operands.items() if name not in constants}
        graph = helper.make_graph(
            _named_apart([node.proto for node in nodes]),
            "host",
            [helper.make_value_info(name, _type_of(value)) for name, value in inputs.items()],
            [helper.make_value_info(name, type_) for name, type_ in outputs.items()],
            [_initializer(value, name) for name, value in constants.items()],
        )
        opsets = {domain: version for node in nodes for domain, version in node.opsets.items()}
        own = {(function.domain, function.name) for function in self.model.functions}
        functions = self.model.functions if _called(nodes) & own else ()
        for function in functions:
            opsets.setdefault(function.domain, 1)
        imports = [helper.make_opsetid(domain, version) for domain, version in sorted(opsets.items())]
        version = max(self.model.ir_version, OLDEST_IR)
        model = helper.make_model(graph, opset_imports=imports, ir_version=version)
        model.functions.extend(functions)
        return model, inputs

    def _types(self, host: HostNode, names: Mapping[str, str]) -> dict[str, onnx.TypeProto]:
        """The types of a node's outputs, as far as they follow; `names` has their names in the model."""
        nodes = _closure([host])
        empty = onnx.TypeProto()
        model, _ = self._fragment(nodes, dict.fromkeys(names, empty))
        found = _inferred(model)
        declared = {
            value.name: value.type for value in (*self.model.graph.value_info, *self.model.graph.output)
        }
        return {
            name: _better(found.get(name, empty), declared.get(own, empty)) for name, own in names.items()
        }

    def _macs(self, nodes: Sequence[HostNode]) -> int:
        model, inputs = self._fragment(nodes, {})
        found = _inferred(model)
        for tensor in model.graph.initializer:
            found[tensor.name] = helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
        for name, value in inputs.items():
            found[name] = _type_of(value)

        def shape_of_name(name: str) -> tuple[int, ...] | None:
            return _static_shape(found[name]) if name in found else None

        return sum(macs_of(node.proto, shape_of_name) for node in nodes)

    def _name(self, value: Value | Deferred) -> str:
        """The unique name of a value."""
        if isinstance(value, Deferred):
            return value.name
        if id(value) not in self.names:
            self.names[id(value)] = value, self._fresh()
        return self.names[id(value)][1]

    def _fresh(self) -> str:
        return f"host.{self._next()}"

    def _next(self) -> int:
        self.count += 1
        return self.count


def _named_apart(nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """The nodes, of which no two have one name: onnxruntime insists on it."""
    taken: Counter[str] = Counter()
    result: list[onnx.NodeProto] = []
    for node in nodes:
        taken[node.name] += 1
        if taken[node.name] > 1:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.name = f"{node.name}.{taken[node.name]}"
            node = copy
        result.append(node)
    return result


def _closure(ends: Sequence[HostNode]) -> list[HostNode]:
    """The nodes and those that make what they read and only the host holds, in order."""
    found: dict[int, HostNode] = {}
    stack = list(ends)
    while stack:
        node = stack.pop()
        if node.number not in found:
            found[node.number] = node
            stack += [v.producer for v in node.operands.values() if isinstance(v, Deferred)]
    return [found[number] for number in sorted(found)]


def _renamed(proto: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """The node with other names for what it reads, in the graphs inside it as well."""
    node = onnx.NodeProto()
    node.CopyFrom(proto)
    _rename_inputs(node, names)
    return node


def _rename_inputs(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    for at, name in enumerate(node.input):
        node.input[at] = names.get(name, name)
    for graph in graphs_of(node):
        own = {value.name for value in (*graph.input, *graph.initializer)}
        own |= {name for inner in graph.node for name in inner.output}
        free = {name: new for name, new in names.items() if name not in own}
        for inner in graph.node:
            _rename_inputs(inner, free)
        for value in graph.output:
            value.name = free.get(value.name, value.name)


def _called(nodes: Sequence[HostNode]) -> set[tuple[str, str]]:
    """The operators of nodes and of the graphs inside them."""

    def walk(node: onnx.NodeProto) -> Iterator[tuple[str, str]]:
        yield node.domain, node.op_type
        for graph in graphs_of(node):
            for inner in graph.node:
                yield from walk(inner)

    return {entry for node in nodes for entry in walk(node.proto)}


def _is_embedded(array: Constant) -> bool:
    if array.size <= EMBEDDED:
        return True
    try:
        element_type(array.dtype)
    except TypeError:
        return True
    return False


def _initializer(array: Constant, name: str) -> TensorProto:
    return numpy_helper.from_array(array, name)


def _type_of(value: Value) -> onnx.TypeProto:
    dtype = numpy_dtype(element_of(value)) if isinstance(value, SSAValue) else value.dtype
    shape = shape_of(value) if isinstance(value, SSAValue) else value.shape
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(dtype), shape)


def _inferred(model: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    """What ONNX, or onnxruntime for operators outside of the standard, tells about the types in a model."""
    found: dict[str, onnx.TypeProto] = {}
    try:
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        found = {value.name: value.type for value in (*graph.value_info, *graph.output)}
    except Exception:
        # Whatever it doesn't like, types are unknown then.
        pass
    if any(not found.get(output.name, output.type).WhichOneof("value") for output in model.graph.output):
        found |= _by_onnxruntime(model)
    return found


def _by_onnxruntime(model: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    try:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.log_severity_level = 4
        data = model.SerializeToString()
        outputs = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"]).get_outputs()
    except Exception:
        return {}
    types: dict[str, onnx.TypeProto] = {}
    for output in outputs:
        element = _ORT_TYPES.get(output.type)
        if element is not None:
            # No extents are a scalar, or that nothing is known: onnxruntime doesn't tell which.
            shape = [extent if isinstance(extent, int) else None for extent in output.shape] or None
            types[output.name] = helper.make_tensor_type_proto(element, shape)
    return types


_ORT_TYPES = {
    f"tensor({name})": number
    for name, number in {
        "float": TensorProto.FLOAT,
        "double": TensorProto.DOUBLE,
        "float16": TensorProto.FLOAT16,
        "bfloat16": TensorProto.BFLOAT16,
        "bool": TensorProto.BOOL,
        **{f"int{bits}": getattr(TensorProto, f"INT{bits}") for bits in (8, 16, 32, 64)},
        **{f"uint{bits}": getattr(TensorProto, f"UINT{bits}") for bits in (8, 16, 32, 64)},
    }.items()
}


def _element(type_: onnx.TypeProto) -> Attribute | None:
    number = type_.tensor_type.elem_type
    return element_type_of(number) if number and number != TensorProto.STRING else None


def _static_shape(type_: onnx.TypeProto) -> tuple[int, ...] | None:
    if not type_.HasField("tensor_type") or not type_.tensor_type.HasField("shape"):
        return None
    dims = type_.tensor_type.shape.dim
    if not all(dim.HasField("dim_value") and dim.dim_value >= 0 for dim in dims):
        return None
    return tuple(dim.dim_value for dim in dims)


def _why_deferred(type_: onnx.TypeProto) -> str | None:
    """What keeps a value of this type from being one of the module; None if nothing does."""
    kind = type_.WhichOneof("value")
    if kind is None:
        return "a type that is not known"
    if kind != "tensor_type":
        return f"a {kind.removesuffix('_type').replace('_', ' ')}"
    if _element(type_) is None:
        return f"elements of type {TensorProto.DataType.Name(type_.tensor_type.elem_type)}"
    shape = _static_shape(type_)
    if shape is None:
        return "extents that are only known in a run"
    if not fits_memory(shape):
        raise Unsupported(f"its result {shape} fits into no memory")
    return None


def _better(found: onnx.TypeProto, declared: onnx.TypeProto) -> onnx.TypeProto:
    """The type that says more."""
    if _knowledge(declared) > _knowledge(found):
        return declared
    return found


def _knowledge(type_: onnx.TypeProto) -> tuple[bool, bool, bool, bool]:
    tensor = type_.tensor_type
    return (
        type_.WhichOneof("value") is not None,
        type_.HasField("tensor_type") and tensor.elem_type != 0,
        type_.HasField("tensor_type") and tensor.HasField("shape"),
        _static_shape(type_) is not None,
    )


def _tensor_type(type_: onnx.TypeProto) -> TensorType[Attribute]:
    element = _element(type_)
    assert element is not None
    extents = [
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else DYNAMIC_INDEX
        for dim in type_.tensor_type.shape.dim
    ]
    return TensorType(element, extents)
