"""What a program leaves to the host, whose time is no part of its cycles."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation

from npu_mlir.dialects.graph import HostCallOp
from npu_mlir.dialects.graph.host import nodes_of, operators_of
from npu_mlir.dialects.tile import HostOp, KernelOp, LaunchOp
from npu_mlir.ir.loop_bounds import times_run
from npu_mlir.support.diagnostics import printable
from npu_mlir.support.locations import closest_node
from npu_mlir.support.node_names import shown

MOST_NAMES = 8
"""Nodes that a summary names."""


@dataclass(frozen=True)
class HostWork:
    """The nodes of a program that the host runs."""

    calls: list[str]
    """The nodes of each call, joined by `+`, in order."""
    nodes: list[str]
    """Each node with its operator, as in `pick (Gather)`; those that kernels could not do have a name alone."""
    macs: int
    """Their multiply-accumulates, as far as shapes tell."""
    share: float | None
    """These as a share of those of the whole program, from 0 to 1; None before there are kernels."""


def host_work(module: ModuleOp) -> HostWork:
    """What the host does in a program, at any level."""
    calls: list[str] = []
    nodes: dict[str, None] = {}
    macs = device = 0
    kernels = {op.sym_name.data: _macs(op) for op in module.ops if isinstance(op, KernelOp)}
    launches = False
    for op in module.walk():
        if isinstance(op, HostCallOp):
            model = nodes_of(op)
            for node, operator in zip(model.graph.node, operators_of(model), strict=True):
                nodes[f"{node.name} ({operator})"] = None
            calls += [shown(closest_node(op) or "") or "(no location)"] * times_run(op)
            macs += times_run(op) * _macs(op)
        elif isinstance(op, HostOp):
            calls += [shown(closest_node(op) or "") or "(no location)"] * times_run(op)
            nodes[calls[-1]] = None
        elif isinstance(op, LaunchOp):
            launches = True
            device += times_run(op) * kernels.get(op.kernel.string_value(), 0)
    share: float | None = macs / (macs + device) if macs else 0.0
    return HostWork(calls, list(nodes), macs, share if launches or not macs else None)


def summary(work: HostWork) -> str:
    """The same as a sentence."""
    count = len(work.nodes)
    share = f"{100 * work.share:.1f} %" if work.share is not None else f"{work.macs:,}"
    names = ", ".join(printable(name) for name in work.nodes[:MOST_NAMES])
    more = f" and {count - MOST_NAMES} more" if count > MOST_NAMES else ""
    if not count:
        return "No node runs on the host."
    return (
        f"{count} node{'s' if count > 1 else ''} with {share} of the multiply-accumulates "
        f"run{'s' if count == 1 else ''} on the host, whose time is not counted: {names}{more}"
    )


def _macs(op: Operation) -> int:
    value = op.attributes.get("npu.macs")
    return value.value.data if isinstance(value, IntegerAttr) else 0
