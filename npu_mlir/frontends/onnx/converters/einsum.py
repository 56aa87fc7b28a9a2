"""Einsum: products of two operands at a time, as matrix products or elementwise."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import ReduceKind, shape_of
from npu_mlir.frontends.onnx.converters.selection import reshaped
from npu_mlir.frontends.onnx.node import Node, Unsupported, converts

Labels = list[str]
_ELLIPSIS = "0123456789"
"""Names of the dims that an ellipsis stands for, from the last one on."""


@converts("Einsum")
def einsum(node: Node) -> SSAValue:
    """Sums of products over all labels that the result doesn't have, from left to right."""
    operands = node.values()
    inputs, output = _parsed(node.text("equation", ""), [len(shape_of(value)) for value in operands])
    terms = [_without_repeats(node, value, labels) for value, labels in zip(operands, inputs, strict=True)]
    value, labels = terms[0]
    for number, (other, others) in enumerate(terms[1:], 1):
        later = {label for _, names in terms[number + 1 :] for label in names} | set(output)
        value, labels = _product(node, (value, labels), (other, others), later)
    value, labels = _summed(node, value, labels, set(output))
    return _permuted(node, value, labels, output)


def _parsed(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of each operand and of the result; without an arrow, those that occur once in alphabetical order."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    texts = left.split(",")
    if len(texts) != len(ranks) or any(character in equation for character in _ELLIPSIS):
        raise Unsupported(f"equation {equation} of {len(ranks)} operands")
    widest = 0
    inputs: list[Labels] = []
    for text, rank in zip(texts, ranks, strict=True):
        count = rank - len(text.replace("...", ""))
        if (count and "..." not in text) or count < 0:
            raise Unsupported(f"equation {equation}: {text} of rank {rank}")
        widest = max(widest, count)
        inputs.append(list(text.replace("...", _ELLIPSIS[:count][::-1])))
    rest = _ELLIPSIS[:widest][::-1]
    if arrow:
        return inputs, list(right.replace("...", rest))
    letters = [label for labels in inputs for label in labels if label not in rest]
    return inputs, [*rest, *sorted(label for label in set(letters) if letters.count(label) == 1)]


def _without_repeats(node: Node, value: SSAValue, labels: Labels) -> tuple[SSAValue, Labels]:
    """A label that occurs twice in one operand means the diagonal, which is selected."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            extent, rank = shape_of(value)[first], len(labels)
            shape = [extent if d in (first, second) else 1 for d in range(rank)]
            diagonal = node.array(np.eye(extent, dtype=np.bool_).reshape(shape), f"diagonal{label}{rank}")
            chosen = node.add(graph.WhereOp(diagonal, value, node.scalar(0, value)))
            value = node.add(graph.ReduceOp(ReduceKind.SUM, chosen, [second]))
            del labels[second]
    return value, labels


def _summed(node: Node, value: SSAValue, labels: Labels, kept: set[str]) -> tuple[SSAValue, Labels]:
    axes = [axis for axis, label in enumerate(labels) if label not in kept]
    if not axes:
        return value, labels
    return node.add(graph.ReduceOp(ReduceKind.SUM, value, axes)), [label for label in labels if label in kept]


def _permuted(node: Node, value: SSAValue, labels: Labels, wanted: Labels) -> SSAValue:
    perm = [labels.index(label) for label in wanted]
    return value if perm == list(range(len(perm))) else node.add(graph.TransposeOp(value, perm))


def _product(
    node: Node, left: tuple[SSAValue, Labels], right: tuple[SSAValue, Labels], later: set[str]
) -> tuple[SSAValue, Labels]:
    """The product of two operands, summed over the labels that both have and nothing later needs."""
    value, labels = _summed(node, *left, later | set(right[1]))
    other, others = _summed(node, *right, later | set(labels))
    extents = _extents((value, labels), (other, others))
    both = [label for label in labels if label in others]
    summed = [label for label in both if label not in later]
    batch = [label for label in both if label in later]
    rows = [label for label in labels if label not in both]
    columns = [label for label in others if label not in both]
    if not summed:
        result = [*batch, *rows, *columns]
        factors = [_broadcast(node, *term, result) for term in ((value, labels), (other, others))]
        return node.add(graph.MulOp(*factors)), result
    sizes = [[extents[label] for label in names] for names in (batch, rows, summed, columns)]
    b, m, k, n = map(prod, sizes)
    lhs = reshaped(node, _permuted(node, value, labels, [*batch, *rows, *summed]), (b, m, k))
    rhs = reshaped(node, _permuted(node, other, others, [*batch, *summed, *columns]), (b, k, n))
    product = node.add(graph.MatmulOp(lhs, rhs))
    return reshaped(node, product, [*sizes[0], *sizes[1], *sizes[3]]), [*batch, *rows, *columns]


def _extents(*terms: tuple[SSAValue, Labels]) -> dict[str, int]:
    extents: dict[str, int] = {}
    for value, labels in terms:
        for label, extent in zip(labels, shape_of(value), strict=True):
            if extents.setdefault(label, extent) != extent:
                raise Unsupported(f"label {label} is {extents[label]} and {extent}")
    return extents


def _broadcast(node: Node, value: SSAValue, labels: Labels, result: Labels) -> SSAValue:
    """The operand with a dim for each label of the result, 1 where it has none."""
    value = _permuted(node, value, labels, [label for label in result if label in labels])
    shape = iter(shape_of(value))
    return reshaped(node, value, [next(shape) if label in labels else 1 for label in result])
