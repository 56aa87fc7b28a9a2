"""Names that nodes read, and which nodes are needed."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from npu_mlir.frontends.onnx.check import graphs_of


def names_read(node: onnx.NodeProto) -> set[str]:
    """The names from outside that a node and the graphs inside it read."""
    names = set(node.input)
    for graph in graphs_of(node):
        own = {value.name for value in (*graph.input, *graph.initializer)}
        own |= {sparse.values.name for sparse in graph.sparse_initializer}
        own |= {name for inner in graph.node for name in inner.output}
        read = {name for inner in graph.node for name in names_read(inner)}
        names |= (read | {value.name for value in graph.output}) - own
    return names - {""}


def live_nodes(nodes: Sequence[onnx.NodeProto], wanted: set[str]) -> list[tuple[onnx.NodeProto, list[bool]]]:
    """The nodes that contribute to the wanted names, in order, each with which of its outputs are used."""
    needed = set(wanted)
    live: list[tuple[onnx.NodeProto, list[bool]]] = []
    for node in reversed(nodes):
        used = [name in needed and name != "" for name in node.output]
        if any(used):
            live.append((node, used))
            needed |= names_read(node)
    return live[::-1]
