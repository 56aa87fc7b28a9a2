"""From an ONNX model to a module of graph ops.

Nodes are visited in order. A node whose inputs are all known is evaluated, which takes shape arithmetic away; any
other is handed to its converter. Everything without a translation is collected and reported at once.

Does not handle: Loop, Scan, sequences, optionals, strings, quantized operators, sparse weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from npu_mlir.dialects.graph import shapes
from npu_mlir.frontends.onnx.converters import CONVERTERS
from npu_mlir.frontends.onnx.expand import expand_functions, is_default
from npu_mlir.frontends.onnx.fold import CannotEvaluate, evaluate
from npu_mlir.frontends.onnx.inputs import freeze_inputs, model_inputs
from npu_mlir.frontends.onnx.load import load_model, opset_of
from npu_mlir.frontends.onnx.node import Constant, Node, Unsupported, Value
from npu_mlir.ir.constants import element_type, make_constant
from npu_mlir.ir.weights import WeightStore, weights_of
from npu_mlir.support.diagnostics import Note, UserError


def import_model(
    source: str | Path | onnx.ModelProto,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> ModuleOp:
    """The model as a module with one function `@main`; `dims` and `shapes` fix open dimensions of its inputs."""
    model = load_model(source)
    frozen = freeze_inputs(model_inputs(model.graph), dims or {}, shapes or {})
    model = expand_functions(model, frozen)
    return _Importer(model, frozen).run()


class _Importer:
    """One import: the names known so far, and where ops go."""

    def __init__(self, model: onnx.ModelProto, frozen: Mapping[str, tuple[int, ...]]):
        self.model = model
        self.opset = opset_of(model)
        self.module = ModuleOp([])
        self.store: WeightStore = weights_of(self.module)
        self.block = Block()
        self.values: dict[str, Value | None] = {"": None}
        self.constants: dict[str, SSAValue] = {}
        self.problems: list[str] = []
        self.frozen = frozen
        self.count = 0

    def run(self) -> ModuleOp:
        """Import the whole model."""
        graph = self.model.graph
        self._add_initializers(graph)
        inputs = [value for value in graph.input if value.name in self.frozen]
        for value in inputs:
            self.values[value.name] = self._argument(value)
        self.visit(graph, {value.name for value in graph.output})
        if self.problems:
            raise self._unsupported()
        try:
            outputs = [self._result(value.name) for value in graph.output]
        except Unsupported as error:
            raise UserError(str(error)) from error
        self.block.add_op(ReturnOp(*outputs))
        self._add_function([value.name for value in inputs], [value.name for value in graph.output])
        return self.module

    def add(self, op: Operation) -> SSAValue:
        """Append an op and return its result."""
        self.block.add_op(op)
        return op.results[0]

    def materialise(self, array: Constant, name: str) -> SSAValue:
        """The array as a constant of the module; made once for each name."""
        if name not in self.constants:
            try:
                self.constants[name] = self.add(make_constant(self.store, array, name))
            except TypeError as error:
                raise Unsupported(f"'{name}' has elements of type {array.dtype}") from error
        return self.constants[name]

    def visit(self, graph: onnx.GraphProto, wanted: set[str]) -> None:
        """Convert the nodes of a graph on which the wanted names depend."""
        live = _live_nodes(graph, wanted)
        for proto, used in live:
            self.count += 1
            location = proto.name or f"{proto.op_type}_{self.count - 1}"
            self._visit_node(proto, used, location)

    def _visit_node(self, proto: onnx.NodeProto, used: Sequence[bool], location: str) -> None:
        results: Sequence[Value | None] = ()
        try:
            results = self._results(proto, used, location)
        except (Unsupported, shapes.ShapeError) as error:
            self.problems.append(f"node '{location}' ({proto.op_type}): {error}")
        for index, name in enumerate(proto.output):
            if name:
                self.values[name] = results[index] if index < len(results) else None

    def _results(self, proto: onnx.NodeProto, used: Sequence[bool], location: str) -> Sequence[Value | None]:
        known = is_default(proto.domain) and proto.op_type in CONVERTERS
        inputs = [self.values.get(name) for name in proto.input]
        failed_before = any(name and self.values.get(name) is None for name in proto.input)
        if not failed_before and all(not isinstance(value, SSAValue) for value in inputs):
            try:
                return evaluate(proto, inputs, self.model.opset_import)
            except CannotEvaluate:
                pass
        if proto.op_type == "If" and is_default(proto.domain) and not failed_before:
            return self._inline_branch(proto, inputs[0])
        if not known:
            domain = "" if is_default(proto.domain) else f" of domain {proto.domain}"
            raise Unsupported(f"operator{domain} is not supported")
        if failed_before:
            return ()
        node = Node(proto, inputs, self.opset, location, self)
        converted = CONVERTERS[proto.op_type](node)
        results = [converted] if isinstance(converted, SSAValue | np.ndarray) else list(converted)
        node.check_all_asked(used, len(results))
        return results

    def _inline_branch(self, proto: onnx.NodeProto, condition: Value | None) -> list[Value | None]:
        """The results of the branch that a known condition takes."""
        if condition is None or isinstance(condition, SSAValue):
            raise Unsupported("its condition is not a constant")
        taken = "then_branch" if bool(condition.reshape(-1)[0]) else "else_branch"
        branch: onnx.GraphProto = next(entry.g for entry in proto.attribute if entry.name == taken)
        self._add_initializers(branch)
        self.visit(branch, {value.name for value in branch.output})
        return [self.values.get(value.name) for value in branch.output]

    def _add_initializers(self, graph: onnx.GraphProto) -> None:
        for tensor in graph.initializer:
            self.values[tensor.name] = numpy_helper.to_array(tensor)

    def _argument(self, value: onnx.ValueInfoProto) -> SSAValue:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        try:
            type_ = TensorType(element_type(dtype), self.frozen[value.name])
        except TypeError as error:
            raise UserError(f"input '{value.name}' has elements of unsupported type {dtype}") from error
        argument = self.block.insert_arg(type_, len(self.block.args))
        argument.name_hint = value.name if SSAValue.is_valid_name(value.name) else None
        return argument

    def _result(self, name: str) -> SSAValue:
        value = self.values.get(name)
        if value is None:
            raise UserError(f"nothing in the model computes its output '{name}'")
        return value if isinstance(value, SSAValue) else self.materialise(value, name)

    def _add_function(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        terminator: Any = self.block.last_op
        types = ([arg.type for arg in self.block.args], [value.type for value in terminator.operands])
        function = FuncOp("main", types, Region(self.block))
        function.attributes["input_names"] = ArrayAttr([StringAttr(name) for name in inputs])
        function.attributes["output_names"] = ArrayAttr([StringAttr(name) for name in outputs])
        self.module.body.block.add_op(function)

    def _unsupported(self) -> UserError:
        count = len(self.problems)
        notes: list[str | Note] = list(self.problems)
        return UserError(
            f"{count} node{'s' if count > 1 else ''} of the model cannot be imported", notes=notes
        )


def _live_nodes(graph: onnx.GraphProto, wanted: set[str]) -> list[tuple[onnx.NodeProto, list[bool]]]:
    """The nodes that contribute to the wanted names, in order, each with which of its outputs are used."""
    needed = set(wanted)
    live: list[tuple[onnx.NodeProto, list[bool]]] = []
    for node in reversed(graph.node):
        used = [name in needed and name != "" for name in node.output]
        if any(used):
            live.append((node, used))
            needed |= _names_read(node)
    return live[::-1]


def _names_read(node: onnx.NodeProto) -> set[str]:
    """The names that a node and the graphs inside it refer to."""
    names = set(node.input)
    for attribute in node.attribute:
        for inner in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
            names |= {name for nested in inner.node for name in _names_read(nested)}
            names |= {value.name for value in inner.output}
    return names
