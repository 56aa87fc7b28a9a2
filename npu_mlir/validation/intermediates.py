"""Values inside of a simulated model: written to files, and compared with those of a reference.

What a launch leaves in memory is the value of some node of the model, in our layout: channels may be last, dims of one
element gone. Which of the fused nodes it is, the values tell: a result agrees with the model if it agrees with the
value of one of the nodes that the launch computes, or else of any other node of the model. So of each launch it is
known whether it is right, and the first one that is not is where to look.

A bias may have moved over an addition into the next kernel. Where a value would agree but for a constant per channel,
it is said (`conv1 + constants`) and counts as right: if the constant is wrong, the next value is.

Does not handle: nodes whose values never reach memory because they are fused into a kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from npu_mlir.dialects.tile import LaunchOp
from npu_mlir.frontends.frontend import Reference
from npu_mlir.simulator.attribution.attribution import loc_of
from npu_mlir.support.diagnostics import UserError, closest
from npu_mlir.support.node_names import parts
from npu_mlir.support.tolerance import Tolerance
from npu_mlir.validation.comparison import Comparison, compare


@dataclass(frozen=True)
class Result:
    """A result of a launch, and the nodes that the launch computes: one without a name if nothing says."""

    kernel: str
    nodes: tuple[str, ...]
    value: np.ndarray


@dataclass
class Intermediates:
    """Collects the results of all launches; `collect` is a `watch` of the simulator."""

    results: list[Result] = field(default_factory=list[Result])

    def collect(self, launch: LaunchOp, outputs: Sequence[np.ndarray]) -> None:
        """Keep the results of a launch."""
        nodes = tuple(parts(loc_of(launch))) or ("",)
        for value in outputs:
            self.results.append(Result(launch.kernel.string_value(), nodes, np.array(value)))

    def of(self, node: str) -> list[Result]:
        """The results of the launches that compute a node."""
        found = [result for result in self.results if node in result.nodes]
        if not found:
            names = list(dict.fromkeys(name for result in self.results for name in result.nodes if name))
            raise UserError(
                f"no kernel computes the node '{node}'{closest(node, names)}",
                notes=[
                    f"the nodes: {', '.join(names)}"
                    if names
                    else "no kernel names the nodes that it computes"
                ],
            )
        return found


@dataclass(frozen=True)
class IntermediateCheck:
    """How a result of a launch compares with the value of the node that it is closest to."""

    result: Result
    node: str
    comparison: Comparison
    is_part: bool = False
    """It is none of the model's values, but later launches compute all its nodes too: a part of one, with nothing to
    compare it with. If it is wrong, so is what is made of it."""

    @property
    def deviates(self) -> bool:
        """Whether it is a value of the model, and another one."""
        return not (self.comparison.agrees or self.is_part)


def compare_all(
    results: Sequence[Result],
    reference: Reference,
    inputs: Mapping[str, np.ndarray | float],
    tolerance: Tolerance,
) -> list[IntermediateCheck]:
    """Compare each result with the values that a reference computes inside of the model."""
    # What a layout or a cast makes of an input is a value of the input.
    values = {
        f"input {name}": [np.asarray(array)] for name, array in inputs.items()
    } | reference.intermediates(inputs)
    checks = [_check(result, values, tolerance) for result in results]
    later: set[str] = set()
    for i in reversed(range(len(checks))):
        nodes = set(results[i].nodes)
        if not checks[i].comparison.agrees and any(nodes) and nodes <= later:
            checks[i] = replace(checks[i], is_part=True)
        later |= nodes
    return checks


def _check(result: Result, values: Mapping[str, list[np.ndarray]], tolerance: Tolerance) -> IntermediateCheck:
    named = [_closest(result, name, values.get(name, []), tolerance) for name in result.nodes]
    best = min((c for c in named if c), key=lambda c: c.comparison.worst_ratio, default=None)
    if best is not None and best.comparison.agrees:
        return best
    for name, candidates in values.items():
        check = _closest(result, name, candidates, tolerance)
        if check is not None and check.comparison.agrees:
            return check
    for name in result.nodes:
        check = _closest(result, name, values.get(name, []), tolerance, centred=True)
        if check is not None and check.comparison.agrees:
            return replace(check, node=f"{name} + constants")
    nothing = Comparison(result.nodes[0], float("inf"), float("inf"))
    return best or IntermediateCheck(result, result.nodes[0], nothing)


def _closest(
    result: Result, name: str, values: Sequence[np.ndarray], tolerance: Tolerance, centred: bool = False
) -> IntermediateCheck | None:
    """The comparison of a result with the closest of a node's values, in the layout that fits best; `centred`: of what
    differs from the mean of each channel."""
    checks = [
        compare(name, *(_centred(found, value) if centred else (found, value)), _scaled(tolerance, value))
        for value in values
        if value.size == result.value.size
        for found in arrangements(result.value, value.shape)
    ]
    best = min(checks, key=lambda c: c.worst_ratio, default=None)
    return IntermediateCheck(result, name, best) if best is not None else None


def _centred(found: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both without the mean of each channel, which is dim 1."""
    dims = tuple(d for d in range(value.ndim) if d != 1)
    a, b = found.astype(np.float64), value.astype(np.float64)
    return a - a.mean(axis=dims, keepdims=True), b - b.mean(axis=dims, keepdims=True)


def _scaled(tolerance: Tolerance, value: np.ndarray) -> Tolerance:
    """The tolerance for a value inside of a model, which may be of any size: outputs are normalised, it is not."""
    if value.dtype.kind != "f" or not value.size:
        return tolerance
    size = float(np.sqrt(np.mean(np.square(value, dtype=np.float64))))
    return Tolerance(tolerance.rtol, tolerance.atol * max(1.0, size)) if np.isfinite(size) else tolerance


def arrangements(value: np.ndarray, shape: Sequence[int]) -> Iterator[np.ndarray]:
    """The ways in which a value may lie in memory, as arrays of the shape that the model gives it."""
    if _squeezed(value.shape) == _squeezed(shape):
        yield value.reshape(shape)
    if len(shape) > 2:
        last = (shape[0], *shape[2:], shape[1])
        if _squeezed(value.shape) == _squeezed(last):
            yield np.moveaxis(value.reshape(last), -1, 1)


def _squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)
