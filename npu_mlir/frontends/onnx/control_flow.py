"""Loop and Scan: a function that is run a number of times, or, if they are few, all nodes of all iterations.

    s, ys = Scan(s0, xs) { s' = Add(s, x); y = Mul(s', s') }           xs: 2 x 4
  becomes
    s1 = Add(s0, xs[0]); y0 = Mul(s1, s1); s = Add(s1, xs[1]); y1 = Mul(s, s); ys = stack(y0, y1)
  or, with more iterations,
    s, ys = graph.repeat @step 2000 times carry(s0) each(xs)

How often a loop runs has to be known: its count and condition are constants, or follow from them in each iteration.
Iterations that are not alike (the condition or a shape depends on which one it is, sequences grow) are written out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from xdsl.ir import Block, SSAValue

from npu_mlir.dialects import graph
from npu_mlir.frontends.onnx.node import Constant, Node, Unsupported, Value, normalise
from npu_mlir.frontends.onnx.pieces import extents, moved, pick, stack
from npu_mlir.frontends.onnx.repeat import StepBody, repeated
from npu_mlir.frontends.onnx.sequences import Body, Operand, map_results

MOST_ITERATIONS = 1024
"""How often a body is written out."""

UNROLLED = 16
"""Iterations that are written out by default: what they compute may be fused, a launch costs as much as a small
kernel."""


class _Unlike(Unsupported):
    """Iterations can't be one function; the message says why."""

    ends_early = False
    """Whether there may be fewer iterations than the count says."""


def loop(node: Node, inputs: Sequence[Operand], run: Body) -> list[Any]:
    """Loop: up to a count and while a condition holds, with values that are carried on and values of each iteration."""
    body: onnx.GraphProto = node.attribute("body")
    count = _known(inputs[0], "trip count")
    condition = _known(inputs[1] if len(inputs) > 1 else None, "condition")
    carried: list[Any] = list(inputs[2:])
    collected: list[list[Any]] = [[] for _ in body.output[1 + len(carried) :]]
    total = int(count.reshape(-1)[0]) if count is not None else 0
    if not node.few(total, UNROLLED) and (condition is None or bool(condition.reshape(-1)[0])):
        try:
            return _repeat_loop(node, body, total, carried, run)
        except _Unlike as error:
            if total > MOST_ITERATIONS and not error.ends_early:
                raise
    names = [value.name for value in body.input]
    going, i = condition is None or bool(condition.reshape(-1)[0]), 0
    while going and (count is None or i < int(count.reshape(-1)[0])):
        _check_iterations(i + 1)
        now = np.ones((), np.bool_)
        values = [np.asarray(i, np.int64), now, *carried]
        again, *results = run(body, dict(zip(names, values, strict=True)))
        if any(value is None for value in (again, *results)):
            return []
        carried = results[: len(carried)]
        for values_of, value in zip(collected, results[len(carried) :], strict=True):
            values_of.append(value)
        # With a count alone the body's condition counts too, unless it was left out.
        known = _known(again, "condition")
        going, i = known is None or bool(known.reshape(-1)[0]), i + 1
    outputs = body.output[1 + len(carried) :]
    stacks = [_stacked(node, values, 0, output) for values, output in zip(collected, outputs, strict=True)]
    return [*carried, *stacks]


def scan(node: Node, inputs: Sequence[Operand], run: Body) -> list[Any]:
    """Scan: states that are carried on while sequences are taken apart along an axis and others are put together."""
    body: onnx.GraphProto = node.attribute("body")
    count = node.integer("num_scan_inputs", 0)
    if node.opset < 9:
        return _scan_batches(node, body, inputs, count, run)
    states, sequences = list(inputs[: len(inputs) - count]), inputs[len(inputs) - count :]
    made = len(body.output) - len(states)
    axes = node.integers("scan_input_axes") or [0] * count
    backwards = node.integers("scan_input_directions") or [0] * count
    read = [(_tensor(s), axis, bool(b)) for s, axis, b in zip(sequences, axes, backwards, strict=True)]
    out_axes = node.integers("scan_output_axes") or [0] * made
    out_backwards = node.integers("scan_output_directions") or [0] * made
    return _run_scan(node, body, states, read, list(zip(out_axes, map(bool, out_backwards))), run)


def _scan_batches(
    node: Node, body: onnx.GraphProto, inputs: Sequence[Operand], count: int, run: Body
) -> list[Any]:
    """The operator of opset 8: one scan for each row of a batch, along the second dim."""
    lengths, *rest = inputs
    states, sequences = rest[: len(rest) - count], [_tensor(value) for value in rest[len(rest) - count :]]
    steps = extents(sequences[0])[1]
    if lengths is not None and (not isinstance(lengths, np.ndarray) or (lengths != steps).any()):
        raise Unsupported("sequence_lens other than the extent of the sequences")
    backwards = node.integers("directions") or [0] * count
    rows: list[list[Any]] = []
    for row in range(extents(sequences[0])[0]):
        own = [pick(node, _tensor(state), 0, row) for state in states]
        read = [(pick(node, s, 0, row), 0, bool(b)) for s, b in zip(sequences, backwards, strict=True)]
        made = [(0, False) for _ in body.output[len(states) :]]
        rows.append(_run_scan(node, body, own, read, made, run))
        if not rows[-1]:
            return []
    return [stack(node, values, 0) for values in zip(*rows, strict=True)]


def _run_scan(
    node: Node,
    body: onnx.GraphProto,
    states: Sequence[Any],
    sequences: Sequence[tuple[Value, int, bool]],
    outputs: Sequence[tuple[int, bool]],
    run: Body,
) -> list[Any]:
    """States at the end, and what the iterations leave along these axes, with True in reverse; nothing if something in
    the body was refused."""
    names = [value.name for value in body.input]
    axes = [normalise(axis, len(extents(value))) for value, axis, _ in sequences]
    steps = {extents(value)[axis] for (value, _, _), axis in zip(sequences, axes, strict=True)}
    if len(steps) != 1:
        raise Unsupported(f"sequences of lengths {sorted(steps)}")
    total = steps.pop()
    read = [(value, axis, back) for (value, _, back), axis in zip(sequences, axes, strict=True)]
    if not node.few(total, UNROLLED):
        try:
            return _repeat_scan(node, body, total, states, read, outputs, run)
        except _Unlike:
            if total > MOST_ITERATIONS:
                raise
    _check_iterations(total)
    collected: list[list[Any]] = [[] for _ in outputs]
    for i in range(total):
        parts = [
            pick(node, value, axis, total - 1 - i if backwards else i) for value, axis, backwards in read
        ]
        results = run(body, dict(zip(names, [*states, *parts], strict=True)))
        if any(value is None for value in results):
            return []
        states = results[: len(states)]
        for values, value in zip(collected, results[len(states) :], strict=True):
            values.append(value)
    made = zip(collected, outputs, body.output[len(states) :], strict=True)
    stacks = [
        _stacked(node, values[::-1] if backwards else values, axis, output)
        for values, (axis, backwards), output in made
    ]
    return [*states, *stacks]


# ---- one function for all iterations ---------------------------------------------------------------------------------


def _repeat_loop(
    node: Node, body: onnx.GraphProto, total: int, carried: Sequence[Any], run: Body
) -> list[Any]:
    """Loop as a function that is run `total` times; `_Unlike` if it can't be."""
    names = [value.name for value in body.input]

    def iteration(number: SSAValue, values: Sequence[Any], parts: Sequence[SSAValue]) -> list[Any]:
        again, *results = run(body, dict(zip(names, [number, np.ones((), np.bool_), *values], strict=True)))
        if again is not None and not (isinstance(again, np.ndarray) and again.reshape(-1)[0]):
            error = _Unlike("its condition changes")
            error.ends_early = True
            raise error
        return [None] if again is None else results

    ends, stacks = _repeat(
        node, total, carried, [], iteration, [False for _ in body.output[1 + len(carried) :]]
    )
    return [*ends, *stacks]


def _repeat_scan(
    node: Node,
    body: onnx.GraphProto,
    total: int,
    states: Sequence[Any],
    sequences: Sequence[tuple[Value, int, bool]],
    outputs: Sequence[tuple[int, bool]],
    run: Body,
) -> list[Any]:
    """Scan as a function that is run `total` times; `_Unlike` if it can't be."""
    names = [value.name for value in body.input]

    def iteration(number: SSAValue, values: Sequence[Any], parts: Sequence[SSAValue]) -> list[Any]:
        return run(body, dict(zip(names, [*values, *parts], strict=True)))

    read = [(moved(node, value, axis, 0), backwards) for value, axis, backwards in sequences]
    ends, stacks = _repeat(node, total, states, read, iteration, [backwards for _, backwards in outputs])
    places = [normalise(axis, len(extents(stack))) for stack, (axis, _) in zip(stacks, outputs, strict=True)]
    return [*ends, *(moved(node, stack, 0, axis) for stack, axis in zip(stacks, places, strict=True))]


Iteration = Callable[[SSAValue, Sequence[Any], Sequence[SSAValue]], list[Any]]
"""Imports the body, given the number of the iteration, what is carried on, and the parts of sequences."""


class _MoreChanges(Exception):
    """Iterations change what seemed constant: the values of these numbers."""

    def __init__(self, changed: set[int]):
        self.changed = changed


def _repeat(
    node: Node,
    total: int,
    carried: Sequence[Any],
    sequences: Sequence[tuple[Value, bool]],
    iteration: Iteration,
    stacks_backwards: Sequence[bool],
) -> tuple[list[Any], list[SSAValue]]:
    """What is carried on at last and what the iterations leave; `_Unlike` if one function can't be all of them.

    What is carried on and known stays so if iterations don't change it: shapes and the like may depend on it.
    """
    if not all(isinstance(value, SSAValue | np.ndarray) for value in carried):
        raise _Unlike("what it carries on is no tensor")
    known = {i for i, value in enumerate(carried) if isinstance(value, np.ndarray)}
    problems = node.builder.problems
    noted = len(problems)
    while True:
        moving = [i for i in range(len(carried)) if i not in known]
        body = _step(carried, known, iteration, problems)
        accept = _accept if total <= MOST_ITERATIONS else None
        states = [carried[i] for i in moving]
        try:
            ends, stacks = repeated(node, total, states, sequences, body, stacks_backwards, accept=accept)
        except _MoreChanges as found:
            known -= found.changed
            continue
        except Unsupported as error:
            del problems[noted:]
            if isinstance(error, _Unlike):
                raise
            raise _Unlike(str(error)) from error
        results: list[Any] = list(carried)
        for i, end in zip(moving, ends, strict=True):
            results[i] = end
        return results, stacks


def _step(
    carried: Sequence[Any], known: Collection[int], iteration: Iteration, problems: Sequence[str]
) -> StepBody:
    """An iteration in which what is carried on has the values `carried` where they are known."""
    moving = [i for i in range(len(carried)) if i not in known]
    noted = len(problems)

    def step(
        number: SSAValue, states: Sequence[SSAValue], parts: Sequence[SSAValue]
    ) -> tuple[list[Value], list[Value]]:
        values = list(carried)
        for i, state in zip(moving, states, strict=True):
            values[i] = state
        results = iteration(number, values, parts)
        if not all(isinstance(value, SSAValue | np.ndarray) for value in results):
            refused = problems[noted:]
            raise _Unlike(refused[0] if refused else "an iteration makes something else than tensors")
        changed = {i for i in known if not _is_same(results[i], carried[i])}
        if changed:
            raise _MoreChanges(changed)
        return [results[i] for i in moving], results[len(carried) :]

    return step


def _accept(block: Block) -> None:
    """Raise for iterations in which the host has to do what can be done before if they are written out."""
    if any(isinstance(op, graph.GatherOp | graph.HostCallOp) for op in block.ops):
        raise _Unlike("the host has to do a part of each iteration")


def _is_same(value: Any, before: Constant) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.dtype == before.dtype
        and value.shape == before.shape
        and value.tobytes() == before.tobytes()
    )


# ---- written out -----------------------------------------------------------------------------------------------------


def _stacked(node: Node, values: Sequence[Any], axis: int, output: onnx.ValueInfoProto) -> Value:
    """What iterations leave, along a new dim; of none, by the type that the body declares."""
    if values:
        items = [_tensor(value) for value in values]
        return stack(node, items, normalise(axis, len(extents(items[0])) + 1))
    tensor = output.type.tensor_type
    shape = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    if not tensor.elem_type or not tensor.HasField("shape") or None in shape:
        raise Unsupported(f"it never runs, and nothing tells the shape of '{output.name}'")
    shape.insert(normalise(axis, len(shape) + 1), 0)
    return np.zeros([extent or 0 for extent in shape], onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))


def _check_iterations(count: int) -> None:
    if count > MOST_ITERATIONS:
        raise Unsupported(
            f"its body runs more than {MOST_ITERATIONS} times, which is as often as it is written out"
        )


def _known(value: Operand, what: str) -> Constant | None:
    if value is None or isinstance(value, np.ndarray):
        return value
    raise Unsupported(f"its {what} is not a constant")


def _tensor(value: Any) -> Value:
    if not isinstance(value, SSAValue | np.ndarray):
        raise Unsupported("only the host can hold its operands")
    return value


BODIES: Mapping[str, Callable[[Node, Sequence[Any], Body], list[Any]]] = {
    "Loop": loop,
    "Scan": scan,
    "SequenceMap": map_results,
}
"""What writes out the bodies of operators."""
