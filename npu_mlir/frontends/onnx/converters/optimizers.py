"""Steps of optimizers, of the domain for training: for each tensor X its gradient and averages of earlier ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import element_of
from npu_mlir.frontends.onnx.node import Node, converts

TRAINING = "ai.onnx.preview.training"

Step = Callable[..., tuple[SSAValue, ...]]
"""From a tensor, its regularized gradient and its averages to their new values, of which the gradient has none."""


class _Algebra:
    """Arithmetic on values and numbers."""

    def __init__(self, node: Node):
        self.node = node

    def add(self, lhs: SSAValue, rhs: SSAValue | float) -> SSAValue:
        return self.node.add(graph.AddOp(lhs, self._value(rhs, lhs)))

    def sub(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.node.add(graph.SubOp(lhs, rhs))

    def mul(self, lhs: SSAValue, rhs: SSAValue | float) -> SSAValue:
        return self.node.add(graph.MulOp(lhs, self._value(rhs, lhs)))

    def div(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.node.add(graph.DivOp(lhs, rhs))

    def sqrt(self, value: SSAValue) -> SSAValue:
        return self.node.add(graph.SqrtOp(value))

    def where(self, condition: SSAValue, lhs: SSAValue, rhs: SSAValue | float) -> SSAValue:
        return self.node.add(graph.WhereOp(condition, lhs, self._value(rhs, lhs)))

    def is_later(self) -> SSAValue:
        """Whether steps were taken before."""
        count = self.node.value(1)
        return self.node.add(graph.GreaterOp(count, self.node.scalar(0, count)))

    def rate(self) -> SSAValue:
        """The learning rate, a scalar."""
        return self.node.value(0)

    def count(self) -> SSAValue:
        """How many steps were taken before, as a float."""
        return self.node.add(graph.CastOp(self.node.value(1), element_of(self.rate())))

    def _value(self, value: SSAValue | float, like: SSAValue) -> SSAValue:
        return value if isinstance(value, SSAValue) else self.node.scalar(value, like)


def _each(node: Node, roles: int, step: Step) -> list[SSAValue]:
    """A step for each tensor: the operands are all tensors, all gradients and so on, results are without gradients."""
    algebra, norm = _Algebra(node), node.real("norm_coefficient", 0.0)
    count = (node.input_count - 2) // roles
    results: list[tuple[SSAValue, ...]] = []
    for number in range(count):
        x, gradient, *averages = (node.value(2 + role * count + number) for role in range(roles))
        regularized = algebra.add(algebra.mul(x, norm), gradient)
        results.append(step(algebra, x, regularized, *averages))
    return [values[role] for role in range(roles - 1) for values in results]


@converts("Adagrad", domain=TRAINING)
def adagrad(node: Node) -> list[SSAValue]:
    """Steps divided by the root of the sum of all squared gradients."""
    decay, epsilon = node.real("decay_factor", 0.0), node.real("epsilon", 0.0)

    def step(a: _Algebra, x: SSAValue, gradient: SSAValue, squares: SSAValue) -> tuple[SSAValue, ...]:
        rate = a.div(a.rate(), a.add(a.mul(a.count(), decay), 1.0))
        squares = a.add(squares, a.mul(gradient, gradient))
        change = a.div(a.mul(gradient, rate), a.add(a.sqrt(squares), epsilon))
        return a.sub(x, change), squares

    return _each(node, 3, step)


@converts("Momentum", domain=TRAINING)
def momentum(node: Node) -> list[SSAValue]:
    """Steps along an average of gradients, or with `mode` "nesterov" along a gradient and that average."""
    alpha, beta = node.real("alpha", 0.0), node.real("beta", 0.0)
    node.require("mode", "standard", "nesterov")
    nesterov = node.text("mode", "standard") == "nesterov"

    def step(a: _Algebra, x: SSAValue, gradient: SSAValue, average: SSAValue) -> tuple[SSAValue, ...]:
        factor = a.where(a.is_later(), node.scalar(beta, gradient), 1.0)
        average = a.add(a.mul(average, alpha), a.mul(gradient, factor))
        direction = a.add(gradient, a.mul(average, alpha)) if nesterov else average
        return a.sub(x, a.mul(direction, a.rate())), average

    return _each(node, 3, step)


@converts("Adam", domain=TRAINING)
def adam(node: Node) -> list[SSAValue]:
    """Steps along an average of gradients, divided by the root of an average of their squares."""
    alpha, beta = node.real("alpha", 0.9), node.real("beta", 0.999)
    epsilon, after = node.real("epsilon", 0.0), node.real("norm_coefficient_post", 0.0)

    def step(
        a: _Algebra, x: SSAValue, gradient: SSAValue, average: SSAValue, squares: SSAValue
    ) -> tuple[SSAValue, ...]:
        average = a.add(a.mul(average, alpha), a.mul(gradient, 1 - alpha))
        squares = a.add(a.mul(squares, beta), a.mul(a.mul(gradient, gradient), 1 - beta))
        known, one = a.count(), node.scalar(1.0, a.rate())
        missing = [
            a.sub(one, node.add(graph.PowOp(node.scalar(factor, known), known))) for factor in (alpha, beta)
        ]
        later = a.div(a.mul(a.rate(), a.sqrt(missing[1])), missing[0])
        rate = a.where(a.is_later(), later, a.rate())
        new = a.sub(x, a.div(a.mul(average, rate), a.add(a.sqrt(squares), epsilon)))
        return a.mul(new, float(np.float32(1 - after))), average, squares

    return _each(node, 4, step)
