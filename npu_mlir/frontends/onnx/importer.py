"""From an ONNX model to a module of graph ops.

Nodes are visited in order. A node whose inputs are all known is evaluated, which takes shape arithmetic away; any
other is handed to its converter. Everything without a translation is collected and reported at once.

Where the host may help (`fallback`), nodes without a translation become `graph.host_call`s instead.

Each graph, branch and body of a function has a scope of its own: equal names in two of them never meet.

Does not handle: loops whose count depends on data, optionals, strings.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from npu_mlir.dialects.graph import element_of, shapes
from npu_mlir.frontends.onnx.check import check_declared, check_model, element_type_of, problem_of, type_name
from npu_mlir.frontends.onnx.contributed import DEFINITIONS
from npu_mlir.frontends.onnx.contributed import OPSET as CONTRIBUTED_OPSET
from npu_mlir.frontends.onnx.control_flow import BODIES
from npu_mlir.frontends.onnx.converters import converter_of
from npu_mlir.frontends.onnx.fold import CannotEvaluate, evaluate, is_quantized
from npu_mlir.frontends.onnx.functions import DEEPEST, bound, has_body, opsets_of, standard_body
from npu_mlir.frontends.onnx.host_calls import Deferred, HostCalls
from npu_mlir.frontends.onnx.inputs import baked_inputs, freeze_inputs, model_inputs
from npu_mlir.frontends.onnx.load import load_apart
from npu_mlir.frontends.onnx.names import live_nodes, names_read
from npu_mlir.frontends.onnx.node import (
    Constant,
    Converter,
    Node,
    Unsupported,
    UnsupportedInBody,
    Value,
    is_default,
)
from npu_mlir.frontends.onnx.sequences import (
    SEQUENCE_OPERATORS,
    Body,
    TensorSequence,
    sequence_results,
)
from npu_mlir.frontends.onnx.tensors import array_of, dense_of
from npu_mlir.frontends.onnx.upgrade import upgraded
from npu_mlir.ir.constants import make_constant
from npu_mlir.ir.weights import WeightStore, weights_of
from npu_mlir.support.diagnostics import Note, UserError


def import_model(
    source: str | Path | onnx.ModelProto,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    *,
    bake: Mapping[str, np.ndarray | float] | None = None,
    fallback: str | None = None,
    left: Collection[str] = (),
    unroll: int | None = None,
) -> ModuleOp:
    """The model as a module with one function `@main`; `dims` and `shapes` fix open dimensions of its inputs.

    Inputs named in `bake` become constants of these values. With `fallback` "host", nodes without a translation, and
    those named in `left`, become `graph.host_call`s. Recurrences and loops of up to `unroll` steps are written out,
    by default as few as that pays for.
    """
    model, weights = load_apart(source)
    name = str(source) if isinstance(source, str | Path) else model.graph.name or "model"
    check_model(model, name)
    model, weights = upgraded(model, weights, name)
    inputs = model_inputs(model.graph)
    baked = baked_inputs(inputs, bake or {})
    given = {**(shapes or {}), **{name: array.shape for name, array in baked.items()}}
    frozen = freeze_inputs(inputs, dims or {}, given)
    return _Importer(model, frozen, weights, baked, fallback is not None, frozenset(left), unroll).run()


Known: TypeAlias = Value | Deferred | TensorSequence
"""What a name of the model stands for."""


@dataclass(frozen=True)
class _Scope:
    """What names stand for in a graph, a branch of it (which sees the names around it) or the body of a function."""

    values: ChainMap[str, Known | None]
    opsets: Mapping[str, int]
    location: str | None = None
    """In the body of a function: the node of the model that calls it."""
    depth: int = 0
    standard: bool = False
    """Whether this is the body of a standard operator, which is left to the host as a whole or not at all."""

    def branch(self) -> _Scope:
        """The scope of a graph inside this one."""
        return replace(self, values=self.values.new_child())


class _Importer:
    """One import: the names known so far, and where ops go."""

    def __init__(
        self,
        model: onnx.ModelProto,
        frozen: Mapping[str, tuple[int, ...]],
        weights: Mapping[int, np.ndarray],
        baked: Mapping[str, np.ndarray],
        fallback: bool = False,
        left: frozenset[str] = frozenset(),
        unroll: int | None = None,
    ):
        self.model = model
        self.weights = weights
        """Arrays of initializers that have no data in the model, by number."""
        self.module = ModuleOp([])
        self.store: WeightStore = weights_of(self.module)
        self.block = Block()
        self.functions = {(f.domain, f.name, f.overload): f for f in model.functions}
        self.constants: dict[int, tuple[Constant, SSAValue]] = {}
        """What each array, by its identity, has become. Names wouldn't do: scopes may use the same."""
        self.quantized: dict[int, tuple[Constant, Callable[[], Sequence[Value | None]]]] = {}
        """What makes an array, by its identity, of the integers that it is given by. It is integers where a tensor of
        the module is made of it: passes may compute with these."""
        self.problems: list[str] = []
        self.frozen = frozen
        self.baked = baked
        self.count = 0
        self.host = HostCalls(model, self) if fallback else None
        self.steps = 0
        """How many functions there are for steps that are run many times."""
        self.unroll = unroll
        self.left = left
        """Names of nodes that are left to the host although they have a translation."""

    def run(self) -> ModuleOp:
        """Import the whole model."""
        graph = self.model.graph
        scope = _Scope(ChainMap({"": None}), opsets_of(self.model.opset_import))
        _add_initializers(graph, scope, self.weights)
        scope.values.update(self.baked)
        inputs = [v for v in graph.input if v.name in self.frozen and v.name not in self.baked]
        for value in inputs:
            scope.values[value.name] = self._argument(value)
        self._visit(graph.node, {value.name for value in graph.output}, scope)
        if self.problems:
            raise self._unsupported()
        try:
            outputs = self._outputs(graph.output, scope)
        except Unsupported as error:
            raise UserError(str(error)) from error
        self.block.add_op(ReturnOp(*outputs))
        self._add_function([value.name for value in inputs], [value.name for value in graph.output])
        return self.module

    def add(self, op: Operation) -> SSAValue:
        """Append an op and return its first result."""
        self.block.add_op(op)
        return op.results[0]

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Within, ops go to the end of another block, which has constants of its own."""
        outer, constants = self.block, self.constants
        self.block, self.constants = block, {}
        try:
            yield
        finally:
            self.block, self.constants = outer, constants

    def publish(self, block: Block) -> str:
        """Make a private function of a block that ends with a return; its name."""
        terminator = block.last_op
        assert terminator is not None
        self.steps += 1
        name = f"step{self.steps}"
        types = [arg.type for arg in block.args], [value.type for value in terminator.operands]
        self.module.body.block.add_op(FuncOp(name, types, Region(block), "private"))
        return name

    def materialise(self, array: Constant, name: str) -> SSAValue:
        """The array as a constant of the module; made once for each array. Large ones are called by the name."""
        if id(array) not in self.constants:
            try:
                value = self._as_quantized(array)
                value = self.add(make_constant(self.store, array, name)) if value is None else value
            except TypeError as error:
                raise Unsupported(f"'{name}' has elements of type {array.dtype}") from error
            self.constants[id(array)] = array, value
        return self.constants[id(array)][1]

    def _as_quantized(self, array: Constant) -> SSAValue | None:
        """The integers that an array is known by, and what makes it of them; None if it is given as it is."""
        if id(array) not in self.quantized:
            return None
        (value,) = self.quantized[id(array)][1]()
        return value if isinstance(value, SSAValue) else None

    def _visit(self, nodes: Sequence[onnx.NodeProto], wanted: set[str], scope: _Scope) -> None:
        """Convert the nodes of a graph on which the wanted names depend."""
        for proto, used in live_nodes(nodes, wanted):
            location = scope.location
            if location is None:
                location = proto.name or f"{proto.op_type}_{self.count}"
                self.count += 1
            self._visit_node(proto, used, location, scope)

    def _visit_node(self, proto: onnx.NodeProto, used: Sequence[bool], location: str, scope: _Scope) -> None:
        results: Sequence[Known | None]
        try:
            if location in self.left and scope.location is None:
                raise Unsupported("it is left to the host")
            results = self._results(proto, used, location, scope)
        except (Unsupported, shapes.ShapeError) as error:
            if scope.location is not None and (scope.standard or self.host is None):
                if isinstance(error, UnsupportedInBody):
                    raise
                raise UnsupportedInBody(f"{error} (in its function, {proto.op_type})") from error
            results = self._refused(proto, used, location, scope, error)
        for index, name in enumerate(proto.output):
            if name:
                scope.values[name] = results[index] if index < len(results) else None

    def _refused(
        self, proto: onnx.NodeProto, used: Sequence[bool], location: str, scope: _Scope, error: Exception
    ) -> Sequence[Known | None]:
        """What the host makes of a node without a translation, if it may; otherwise a problem of the model."""
        if self.host is None:
            self._note(f"node '{location}' ({proto.op_type}): {error}")
            return ()
        operands: dict[str, Value | Deferred] = {}
        try:
            for name in sorted(names_read(proto)):
                value = scope.values.get(name)
                if isinstance(value, TensorSequence):
                    value = self.host.sequence(value, location, scope.opsets)
                if value is None:
                    return ()
                operands[name] = value
            return self.host.call(proto, operands, used, location, scope.opsets)
        except Unsupported as refused:
            self._note(f"node '{location}' ({proto.op_type}): {refused}")
            return ()

    def _note(self, problem: str) -> None:
        """Remember a problem, once for a body that is written out several times."""
        if problem not in self.problems:
            self.problems.append(problem)

    def _results(
        self, proto: onnx.NodeProto, used: Sequence[bool], location: str, scope: _Scope
    ) -> Sequence[Known | None]:
        inputs = [scope.values.get(name) for name in proto.input]
        failed_before = any(name and scope.values.get(name) is None for name in proto.input)
        function = self.functions.get((proto.domain, proto.op_type, proto.overload))
        if function is not None:
            # The standard asks that operators mean the same by the versions of both; onnxruntime takes the model's.
            opsets = {**opsets_of(function.opset_import), **opsets_of(self.model.opset_import)}
            body = bound(function, proto)
            return () if failed_before else self._call(body, inputs, location, replace(scope, opsets=opsets))
        if any(isinstance(value, Deferred) for value in inputs):
            raise Unsupported("only the host can hold its operands")
        converter = converter_of(proto)
        structural = is_default(proto.domain) and proto.op_type in STRUCTURAL
        define = DEFINITIONS.get((proto.domain, proto.op_type))
        if failed_before and (converter or structural or define or has_body(proto, scope.opsets)):
            return ()
        tensors = [value for value in inputs if not isinstance(value, Deferred | TensorSequence)]
        at_run_time = any(isinstance(value, SSAValue) for value in tensors)
        if len(tensors) == len(inputs) and not failed_before and not at_run_time:
            try:
                found = evaluate(proto, tensors, scope.opsets)
            except CannotEvaluate:
                pass
            else:
                if is_quantized(proto, tensors) and converter is not None:
                    make = partial(self._converted, converter, proto, tensors, used, location, scope)
                    self.quantized[id(found[0])] = found[0], make
                return found
        if structural or (proto.op_type == "Identity" and len(tensors) < len(inputs)):
            return self._structural(proto, inputs, used, location, scope)
        if len(tensors) < len(inputs):
            raise Unsupported("an operand is a sequence")
        if converter is not None:
            return self._converted(converter, proto, tensors, used, location, scope)
        if define is not None:
            inner = replace(scope, opsets={**scope.opsets, "": CONTRIBUTED_OPSET}, standard=True)
            return self._call(define(proto, tensors), inputs, location, inner)
        if has_body(proto, scope.opsets):
            body = standard_body(proto, tensors, scope.opsets)
            if body is not None:
                opsets = {**scope.opsets, **opsets_of(body.opset_import)}
                inner = replace(scope, opsets=opsets, standard=True)
                return self._call(body, inputs, location, inner)
        domain = "" if is_default(proto.domain) else f" of domain {proto.domain}"
        raise Unsupported(f"operator{domain} is not supported")

    def _converted(
        self,
        converter: Converter,
        proto: onnx.NodeProto,
        inputs: Sequence[Value | None],
        used: Sequence[bool],
        location: str,
        scope: _Scope,
    ) -> Sequence[Value | None]:
        """What the operator's converter makes of a node."""
        opset = scope.opsets.get("", 0)
        node = Node(proto, inputs, opset, location, self, used)
        try:
            converted = converter(node)
        except (shapes.ShapeError, Unsupported):
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            problem = problem_of(proto, inputs, opset)
            if problem is None:
                raise
            raise Unsupported(problem) from error
        except MemoryError as error:
            raise Unsupported("what it takes fits into no memory") from error
        results = [converted] if isinstance(converted, SSAValue | np.ndarray) else list(converted)
        node.check_all_asked(len(results))
        return results

    def _structural(
        self,
        proto: onnx.NodeProto,
        inputs: Sequence[Known | None],
        used: Sequence[bool],
        location: str,
        scope: _Scope,
    ) -> Sequence[Known | None]:
        """What becomes of a node with a body, or of one that makes or reads sequences."""
        if proto.op_type == "If":
            return self._inline_branch(proto, inputs[0], scope)
        operands = [value for value in inputs if not isinstance(value, Deferred)]
        arrays = [None if isinstance(value, TensorSequence) else value for value in operands]
        opset = scope.opsets.get("", 0)
        node = Node(proto, arrays, opset, location, self, used)
        problems = len(self.problems)
        try:
            if proto.op_type in BODIES:
                results = BODIES[proto.op_type](node, operands, self._body(scope))
            else:
                results = sequence_results(node, operands)
        except Unsupported:
            # As a whole it is refused, or the host's: so is what was written out before.
            del self.problems[problems:]
            raise
        if results:
            node.check_all_asked(len(results))
        return results

    def _body(self, scope: _Scope) -> Body:
        """Imports graphs inside a node of this scope."""

        def run(graph: onnx.GraphProto, values: Mapping[str, Known | None]) -> list[Known | None]:
            inner = scope.branch()
            _add_initializers(graph, inner)
            inner.values.update(values)
            self._visit(graph.node, {value.name for value in graph.output}, inner)
            return [inner.values.get(value.name) for value in graph.output]

        return run

    def _call(
        self,
        body: onnx.FunctionProto,
        inputs: Sequence[Known | None],
        location: str,
        scope: _Scope,
    ) -> list[Known | None]:
        """The results of a function, whose nodes are converted as if they were the calling node."""
        if scope.depth == DEEPEST:
            raise Unsupported(f"functions call each other more than {DEEPEST} deep")
        names: dict[str, Known | None] = dict(zip(body.input, inputs, strict=False))
        values = ChainMap({**names, "": None})
        inner = _Scope(values, scope.opsets, location, scope.depth + 1, scope.standard)
        self._visit(body.node, set(body.output), inner)
        return [inner.values.get(name) for name in body.output]

    def _inline_branch(
        self, proto: onnx.NodeProto, condition: Known | None, scope: _Scope
    ) -> list[Known | None]:
        """The results of the branch that a known condition takes."""
        if not isinstance(condition, np.ndarray):
            raise Unsupported("its condition is not a constant")
        taken = "then_branch" if bool(condition.reshape(-1)[0]) else "else_branch"
        branch: onnx.GraphProto = next(entry.g for entry in proto.attribute if entry.name == taken)
        return self._body(scope)(branch, {})

    def _argument(self, value: onnx.ValueInfoProto) -> SSAValue:
        number = value.type.tensor_type.elem_type
        element = element_type_of(number)
        if element is None:
            raise UserError(f"input '{value.name}' has elements of unsupported type {type_name(number)}")
        type_ = TensorType(element, self.frozen[value.name])
        argument = self.block.insert_arg(type_, len(self.block.args))
        argument.name_hint = value.name if SSAValue.is_valid_name(value.name) else None
        return argument

    def _outputs(self, outputs: Sequence[onnx.ValueInfoProto], scope: _Scope) -> list[SSAValue]:
        """The values of the model's outputs; those that only the host holds come from one call."""
        held = [(output, scope.values.get(output.name)) for output in outputs]
        deferred = [(o.name, value, o.type) for o, value in held if isinstance(value, Deferred)]
        made: dict[int, SSAValue] = {}
        if deferred and self.host is not None:
            made = {id(d[1]): value for d, value in zip(deferred, self.host.finish(deferred), strict=True)}
        return [self._result(o, made.get(id(v)) if isinstance(v, Deferred) else v) for o, v in held]

    def _result(self, output: onnx.ValueInfoProto, value: Value | TensorSequence | None) -> SSAValue:
        if isinstance(value, TensorSequence):
            raise UserError(f"output '{output.name}' is a sequence, and a program returns tensors")
        if value is None:
            raise UserError(f"nothing in the model computes its output '{output.name}'")
        value = value if isinstance(value, SSAValue) else self.materialise(value, output.name)
        check_declared(output, element_of(value))
        return value

    def _add_function(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        terminator: Any = self.block.last_op
        types = ([arg.type for arg in self.block.args], [value.type for value in terminator.operands])
        function = FuncOp("main", types, Region(self.block))
        function.attributes["input_names"] = ArrayAttr([StringAttr(name) for name in inputs])
        function.attributes["output_names"] = ArrayAttr([StringAttr(name) for name in outputs])
        self.module.body.block.add_op(function)

    def _unsupported(self) -> UserError:
        count = len(self.problems)
        notes: list[str | Note] = [*self.problems, "npu-compile --list-ops says what is supported"]
        if self.host is None:
            notes.append("--fallback host leaves such nodes to the host")
        return UserError(
            f"{count} node{'s' if count > 1 else ''} of the model cannot be imported", notes=notes
        )


STRUCTURAL = {"If", *BODIES, *SEQUENCE_OPERATORS}
"""Operators that no op stands for: what they say is known when a model is imported."""


def _add_initializers(
    graph: onnx.GraphProto, scope: _Scope, known: Mapping[int, np.ndarray] | None = None
) -> None:
    known = known or {}
    for number, tensor in enumerate(graph.initializer):
        scope.values[tensor.name] = known[number] if number in known else array_of(tensor)
    for sparse in graph.sparse_initializer:
        scope.values[sparse.values.name] = dense_of(sparse)
