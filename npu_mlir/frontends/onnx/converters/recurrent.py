"""Recurrent networks: LSTM, GRU and RNN, their steps one behind the other: as a loop, or written out if they are few.

    P = X @ W' + b                  the products of all steps at once; b has the biases that always add up
    for each step t
      p = P[t] + h @ R'             gates side by side
      h = cell(p, h, ...)
      Y[t] = h

W has the weights of an operator's gates in rows, of one direction; the steps of the other direction go backwards. With
`sequence_lens` a step changes only the state of rows that are that long, and its outputs for the others are 0: this is
right for both directions, since a sequence that is run backwards keeps its initial state until it begins.

Formulas and the order of gates are those of ONNX's definitions of the three operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import shape_of
from npu_mlir.frontends.onnx.node import Node, Unsupported, Value, converts
from npu_mlir.frontends.onnx.pieces import cut, join, reshaped
from npu_mlir.frontends.onnx.repeat import repeated

UNROLLED = 1
"""Steps that are written out by default: there is nothing to fuse across products that follow each other."""

Activation: TypeAlias = Callable[[SSAValue], SSAValue]

State: TypeAlias = tuple[SSAValue, ...]
"""Of one direction after a step: h, and c for LSTM, each rows x hidden."""

Step: TypeAlias = Callable[[SSAValue, State], State]
"""From P[t] and a state to the next."""


@converts("RNN")
def rnn(node: Node) -> list[SSAValue]:
    """h = f(P + h @ R')."""
    return _Recurrence(node, gates=1, activations=("Tanh",), optional_states=1).run(_rnn_step)


@converts("GRU")
def gru(node: Node) -> list[SSAValue]:
    """Gates z, r and the candidate h', of which r takes the state before or behind the product."""
    return _Recurrence(node, gates=3, activations=("Sigmoid", "Tanh"), optional_states=1).run(_gru_step)


@converts("LSTM")
def lstm(node: Node) -> list[SSAValue]:
    """Gates i, o, f and the candidate, with peepholes to the cell."""
    return _Recurrence(node, gates=4, activations=("Sigmoid", "Tanh", "Tanh"), optional_states=2).run(
        _lstm_step
    )


@dataclass(frozen=True)
class _Direction:
    """What one direction computes with."""

    inputs: SSAValue
    """P of all steps: steps * rows x gates * hidden."""
    recurrent: SSAValue
    """R': hidden x gates * hidden."""
    bias: SSAValue | None
    """Of the recurrent product: gates * hidden; None if there is none."""
    peepholes: SSAValue | None
    """3 * hidden."""
    activations: Sequence[Activation]


class _Recurrence:
    """One node, read."""

    def __init__(self, node: Node, gates: int, activations: Sequence[str], optional_states: int):
        self.node = node
        self.gates = gates
        self.states = optional_states
        self.batch_first = bool(node.integer("layout", 0))
        x = node.value(0)
        self.x = node.add(graph.TransposeOp(x, (1, 0, 2))) if self.batch_first else x
        self.steps, self.rows, self.features = shape_of(self.x)
        self.hidden = node.shape(2)[2]
        directions = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
        name = node.text("direction", "forward")
        if name not in directions or node.shape(1)[0] != len(directions[name]):
            raise Unsupported(f"direction {name} with weights for {node.shape(1)[0]}")
        self.backwards = directions[name]
        if node.integer("hidden_size", self.hidden) != self.hidden:
            raise Unsupported(f"hidden_size with recurrent weights for {self.hidden}")
        self.clip = node.real("clip", 0.0)
        self.late_reset = bool(node.integer("linear_before_reset", 0))
        self.coupled = bool(node.integer("input_forget", 0))
        self.activations = _activations(node, activations, len(self.backwards))
        self.lengths = self._lengths()

    def run(self, step_of: Callable[[_Recurrence, _Direction], Step]) -> list[SSAValue]:
        """All outputs: those of every step, and the states at the end."""
        few = self.node.few(self.steps, UNROLLED)
        outputs: list[list[SSAValue]] = []
        ends: list[State] = []
        for number, backwards in enumerate(self.backwards):
            direction = self._direction(number)
            step, state = step_of(self, direction), self._initial(number)
            run = self._written_out if few else self._repeated
            made, end = run(direction, step, state, backwards)
            outputs.append(made)
            ends.append(end)
        every = self._every_step(outputs)
        return [every, *(self._last([end[i] for end in ends]) for i in range(self.states))]

    def _written_out(
        self, direction: _Direction, step: Step, state: State, backwards: bool
    ) -> tuple[list[SSAValue], State]:
        """The output of each step and the state behind the last, each step in ops of its own."""
        found: list[SSAValue] = []
        for t in reversed(range(self.steps)) if backwards else range(self.steps):
            after = step(self._step_input(direction.inputs, t), state)
            state, output = self._masked(self._mask(t), state, after)
            found.append(output)
        return found[::-1] if backwards else found, state

    def _repeated(
        self, direction: _Direction, step: Step, state: State, backwards: bool
    ) -> tuple[list[SSAValue], State]:
        """The outputs of all steps as one value and the state behind the last, by a function that is run for each."""
        inputs = self.reshape(direction.inputs, (self.steps, self.rows, self.gates * self.hidden))

        def body(
            number: SSAValue, states: Sequence[SSAValue], parts: Sequence[SSAValue]
        ) -> tuple[State, list[SSAValue]]:
            t = number
            if backwards and self.lengths is not None:
                t = self.node.add(graph.SubOp(self.node.scalar(self.steps - 1, number), number))
            before = tuple(states)
            after, output = self._masked(self._mask(t), before, step(parts[0], before))
            return after, [output]

        ends, every = repeated(
            self.node, self.steps, state, [(inputs, backwards)], body, [backwards], np.int32
        )
        return every, tuple(ends)

    def _direction(self, number: int) -> _Direction:
        node, count = self.node, self.gates * self.hidden
        weights = self.part(node.value(1), 0, number, (count, self.features))
        recurrent = self.part(node.value(2), 0, number, (count, self.hidden))
        flat = self.reshape(self.x, (self.steps * self.rows, self.features))
        product = node.add(graph.MatmulOp(flat, node.add(graph.TransposeOp(weights, (1, 0)))))
        bias = None
        if node.has(3):
            both = self.part(node.value(3), 0, number, (2 * count,))
            of_inputs, bias = self.cut(both, 0, 0, count), self.cut(both, 0, count, count)
            if not (self.late_reset and self.gates == 3):
                of_inputs, bias = node.add(graph.AddOp(of_inputs, bias)), None
            product = node.add(graph.AddOp(product, of_inputs))
        return _Direction(
            product,
            node.add(graph.TransposeOp(recurrent, (1, 0))),
            bias,
            self.part(node.value(7), 0, number, (3 * self.hidden,)) if node.has(7) else None,
            self.activations[number],
        )

    def _initial(self, number: int) -> State:
        """The given states, or zeros."""
        found: list[SSAValue] = []
        axis = 1 if self.batch_first else 0
        shape = (self.rows, self.hidden)
        for index in (5, 6)[: self.states]:
            if self.node.has(index):
                found.append(self.part(self.node.value(index), axis, number, shape))
            else:
                zeros = self.node.scalar(0.0, self.x)
                found.append(self.node.add(graph.ExpandOp(zeros, shape)))
        return tuple(found)

    def _step_input(self, inputs: SSAValue, t: int) -> SSAValue:
        return inputs if self.steps == 1 else self.cut(inputs, 0, t * self.rows, self.rows)

    def _lengths(self) -> Value | None:
        """How many steps each row has (rows x 1); None if that is all of them."""
        if not self.node.has(4):
            return None
        lengths = self.node.raw(4)
        if isinstance(lengths, np.ndarray) and (lengths >= self.steps).all():
            return None
        return reshaped(self.node, lengths, (self.rows, 1))

    def _mask(self, t: SSAValue | int) -> SSAValue | None:
        """Which rows have a step (rows x 1); None if all have."""
        lengths, node = self.lengths, self.node
        if lengths is None:
            return None
        if isinstance(t, int) and isinstance(lengths, np.ndarray):
            mask = lengths > t
            return None if mask.all() else node.array(mask, f"mask{t}")
        lengths = node.given(lengths, "lengths")
        return node.add(graph.GreaterOp(lengths, node.scalar(t, lengths) if isinstance(t, int) else t))

    def _masked(self, mask: SSAValue | None, before: State, after: State) -> tuple[State, SSAValue]:
        """The state behind a step, and its output."""
        node = self.node
        if mask is None:
            return after, after[0]
        kept = [node.add(graph.WhereOp(mask, new, old)) for new, old in zip(after, before, strict=True)]
        return tuple(kept), node.add(graph.WhereOp(mask, after[0], node.scalar(0.0, after[0])))

    def _every_step(self, outputs: Sequence[Sequence[SSAValue]]) -> SSAValue:
        """Y: steps x directions x rows x hidden, or rows x steps x directions x hidden; of the values of each
        direction, which are those of single steps or one of all."""
        count = len(self.backwards)
        if len(outputs[0]) == self.steps:
            shape = (1, 1, self.rows, self.hidden)
            pieces = [self.reshape(value, shape) for step in zip(*outputs, strict=True) for value in step]
            every = self.reshape(self.join(pieces), (self.steps, count, self.rows, self.hidden))
        else:
            shape = (self.steps, 1, self.rows, self.hidden)
            every = join(self.node, [self.reshape(value, shape) for (value,) in outputs], 1)
            every = self.node.given(every, "joined")
        return self.node.add(graph.TransposeOp(every, (2, 0, 1, 3))) if self.batch_first else every

    def _last(self, states: Sequence[SSAValue]) -> SSAValue:
        """Y_h or Y_c: directions x rows x hidden, or rows x directions x hidden."""
        shape = (1, self.rows, self.hidden)
        last = self.join([self.reshape(state, shape) for state in states])
        return self.node.add(graph.TransposeOp(last, (1, 0, 2))) if self.batch_first else last

    def join(self, values: Sequence[SSAValue]) -> SSAValue:
        """Values behind each other along the first dim."""
        return self.node.given(join(self.node, values, 0), "joined")

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value under another shape."""
        return self.node.given(reshaped(self.node, value, shape), "reshaped")

    def cut(self, value: SSAValue, axis: int, at: int, size: int) -> SSAValue:
        """`size` positions of a dim from `at` on."""
        return self.node.given(cut(self.node, value, axis, at, size), "cut")

    def part(self, value: SSAValue, axis: int, number: int, shape: Sequence[int]) -> SSAValue:
        """What a value has for one direction."""
        return self.reshape(self.cut(value, axis, number, 1), shape)

    def gate(self, gates: SSAValue, number: int, count: int = 1) -> SSAValue:
        """Some of the gates that stand side by side."""
        return self.cut(gates, len(shape_of(gates)) - 1, number * self.hidden, count * self.hidden)

    def apply(self, activation: Activation, value: SSAValue) -> SSAValue:
        """An activation behind the clip of its operand."""
        if self.clip:
            value = self.node.add(graph.ClipOp(value, -self.clip, self.clip))
        return activation(value)

    def product(self, state: SSAValue, weights: SSAValue) -> SSAValue:
        """rows x hidden times hidden x gates * hidden."""
        return self.node.add(graph.MatmulOp(state, weights))


def _rnn_step(r: _Recurrence, d: _Direction) -> Step:
    def step(inputs: SSAValue, state: State) -> State:
        gates = r.node.add(graph.AddOp(inputs, r.product(state[0], d.recurrent)))
        return (r.apply(d.activations[0], gates),)

    return step


def _gru_step(r: _Recurrence, d: _Direction) -> Step:
    add, (f, g) = r.node.add, d.activations
    early = None if r.late_reset else (r.gate(d.recurrent, 0, 2), r.gate(d.recurrent, 2))

    def step(inputs: SSAValue, state: State) -> State:
        (h,) = state
        if early is None:
            products = r.product(h, d.recurrent)
            if d.bias is not None:
                products = add(graph.AddOp(products, d.bias))
        else:
            products = r.product(h, early[0])
        z, reset = (r.apply(f, add(graph.AddOp(r.gate(inputs, i), r.gate(products, i)))) for i in range(2))
        if early is None:
            candidate = add(graph.MulOp(reset, r.gate(products, 2)))
        else:
            candidate = r.product(add(graph.MulOp(reset, h)), early[1])
        new = r.apply(g, add(graph.AddOp(r.gate(inputs, 2), candidate)))
        kept = add(graph.SubOp(r.node.scalar(1.0, z), z))
        return (add(graph.AddOp(add(graph.MulOp(kept, new)), add(graph.MulOp(z, h)))),)

    return step


def _lstm_step(r: _Recurrence, d: _Direction) -> Step:
    add, (f, g, last) = r.node.add, d.activations

    def peep(value: SSAValue, number: int, cell: SSAValue) -> SSAValue:
        if d.peepholes is None:
            return value
        return add(graph.AddOp(value, add(graph.MulOp(r.gate(d.peepholes, number), cell))))

    def step(inputs: SSAValue, state: State) -> State:
        h, c = state
        gates = add(graph.AddOp(inputs, r.product(h, d.recurrent)))
        i = r.apply(f, peep(r.gate(gates, 0), 0, c))
        if r.coupled:
            forget = add(graph.SubOp(r.node.scalar(1.0, i), i))
        else:
            forget = r.apply(f, peep(r.gate(gates, 2), 2, c))
        candidate = r.apply(g, r.gate(gates, 3))
        c = add(graph.AddOp(add(graph.MulOp(forget, c)), add(graph.MulOp(i, candidate))))
        o = r.apply(f, peep(r.gate(gates, 1), 1, c))
        return add(graph.MulOp(o, last(c))), c

    return step


# ---- activations -----------------------------------------------------------------------------------------------------

_ALPHA = {
    "Affine": 1.0,
    "LeakyRelu": 0.01,
    "ThresholdedRelu": 1.0,
    "ScaledTanh": 1.0,
    "HardSigmoid": 0.2,
    "Elu": 1.0,
}
_BETA = {"Affine": 0.0, "ScaledTanh": 1.0, "HardSigmoid": 0.5}
"""The parameters that activations have, and their defaults."""


def _activations(node: Node, defaults: Sequence[str], directions: int) -> list[list[Activation]]:
    """The activations of each direction. Parameters are given in order to the activations that have any."""
    given: list[bytes] | None = node.attribute("activations")
    names = [name.decode() for name in given] if given else [*defaults] * directions
    if len(names) != len(defaults) * directions:
        raise Unsupported(f"{len(names)} activations for {len(defaults) * directions}")
    alphas, betas = (iter(node.attribute(f"activation_{name}") or ()) for name in ("alpha", "beta"))
    made: list[Activation] = []
    for name in names:
        known = {known.lower(): known for known in (*_PLAIN, *_ALPHA)}
        if name.lower() not in known:
            raise Unsupported(f"activation {name}")
        name = known[name.lower()]
        alpha = float(next(alphas, _ALPHA[name])) if name in _ALPHA else 0.0
        beta = float(next(betas, _BETA[name])) if name in _BETA else 0.0
        made.append(_activation(node, name, alpha, beta))
    size = len(defaults)
    return [made[i : i + size] for i in range(0, len(made), size)]


_PLAIN = ("Relu", "Tanh", "Sigmoid", "Softsign", "Softplus")


def _activation(node: Node, name: str, alpha: float, beta: float) -> Activation:
    """The function of this name, by ONNX's formula."""
    add = node.add

    def scaled(value: SSAValue, factor: float) -> SSAValue:
        return add(graph.MulOp(value, node.scalar(factor, value)))

    def function(x: SSAValue) -> SSAValue:
        match name:
            case "Relu":
                return add(graph.ReluOp(x))
            case "Tanh":
                return add(graph.TanhOp(x))
            case "Sigmoid":
                return add(graph.SigmoidOp(x))
            case "Softplus":
                return add(graph.SoftplusOp(x))
            case "Softsign":
                one = node.scalar(1.0, x)
                return add(graph.DivOp(x, add(graph.AddOp(one, add(graph.AbsOp(x))))))
            case "Affine":
                return add(graph.AddOp(scaled(x, alpha), node.scalar(beta, x)))
            case "LeakyRelu":
                return add(graph.LeakyReluOp(x, alpha))
            case "ThresholdedRelu":
                above = add(graph.GreaterOp(x, node.scalar(alpha, x)))
                return add(graph.WhereOp(above, x, node.scalar(0.0, x)))
            case "ScaledTanh":
                return scaled(add(graph.TanhOp(scaled(x, beta))), alpha)
            case "HardSigmoid":
                return add(graph.HardSigmoidOp(x, alpha, beta))
            case _:  # Elu
                power = add(graph.SubOp(add(graph.ExpOp(x)), node.scalar(1.0, x)))
                below = add(graph.LessOp(x, node.scalar(0.0, x)))
                return add(graph.WhereOp(below, scaled(power, alpha), x))

    return function
