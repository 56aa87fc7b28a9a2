"""Loop and Scan, written out: the nodes of a body once for each time that it runs.

    s, ys = Scan(s0, xs) { s' = Add(s, x); y = Mul(s', s') }           xs: 2 x 4
  becomes
    s1 = Add(s0, xs[0]); y0 = Mul(s1, s1); s = Add(s1, xs[1]); y1 = Mul(s, s); ys = stack(y0, y1)

How often a loop runs has to be known: its count and condition are constants, or follow from them in each iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from xdsl.ir import SSAValue

from npu_mlir.frontends.onnx.node import Constant, Node, Unsupported, Value, normalise
from npu_mlir.frontends.onnx.pieces import extents, pick, stack
from npu_mlir.frontends.onnx.sequences import Body, Operand, map_results

MOST_ITERATIONS = 1024
"""How often a body is written out."""


def loop(node: Node, inputs: Sequence[Operand], run: Body) -> list[Any]:
    """Loop: up to a count and while a condition holds, with values that are carried on and values of each iteration."""
    body: onnx.GraphProto = node.attribute("body")
    count = _known(inputs[0], "trip count")
    condition = _known(inputs[1] if len(inputs) > 1 else None, "condition")
    carried: list[Any] = list(inputs[2:])
    collected: list[list[Any]] = [[] for _ in body.output[1 + len(carried) :]]
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
    states, collected = _run_scan(node, body, states, read, run)
    if collected is None:
        return []
    results: list[Any] = list(states)
    out_axes = node.integers("scan_output_axes") or [0] * made
    out_backwards = node.integers("scan_output_directions") or [0] * made
    for at, values in enumerate(collected):
        output = body.output[len(states) + at]
        values = values[::-1] if out_backwards[at] else values
        results.append(_stacked(node, values, out_axes[at], output))
    return results


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
        ends, collected = _run_scan(node, body, own, read, run)
        if collected is None:
            return []
        outputs = body.output[len(states) :]
        made = [_stacked(node, values, 0, output) for values, output in zip(collected, outputs, strict=True)]
        rows.append([*ends, *made])
    return [stack(node, values, 0) for values in zip(*rows, strict=True)]


def _run_scan(
    node: Node,
    body: onnx.GraphProto,
    states: Sequence[Any],
    sequences: Sequence[tuple[Value, int, bool]],
    run: Body,
) -> tuple[Sequence[Any], list[list[Any]] | None]:
    """States at the end, and what each iteration leaves; None if something in the body was refused."""
    names = [value.name for value in body.input]
    axes = [normalise(axis, len(extents(value))) for value, axis, _ in sequences]
    steps = {extents(value)[axis] for (value, _, _), axis in zip(sequences, axes, strict=True)}
    if len(steps) != 1:
        raise Unsupported(f"sequences of lengths {sorted(steps)}")
    total = steps.pop()
    _check_iterations(total)
    collected: list[list[Any]] = [[] for _ in body.output[len(states) :]]
    for i in range(total):
        parts = [
            pick(node, value, axis, total - 1 - i if backwards else i)
            for (value, _, backwards), axis in zip(sequences, axes, strict=True)
        ]
        results = run(body, dict(zip(names, [*states, *parts], strict=True)))
        if any(value is None for value in results):
            return states, None
        states = results[: len(states)]
        for values, value in zip(collected, results[len(states) :], strict=True):
            values.append(value)
    return states, collected


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
