"""Random small modules of `linalg.generic`s, for tests that run them through passes.

Whatever a producer of linalg may hand over is drawn: contractions with any number and order of batch, row, column and
summed dims, convolutions, windows, elementwise chains with broadcasts and permutations, reductions, softmax and layer
norm, comparisons, casts, with pads and slices in front and views in between; values used several times, several
results. Inputs are small multiples of a quarter, so that most sums are exact and values stay moderate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects import tensor
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, f16, f32, i1, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from npu_mlir.ir.constants import dense
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.tensor_types import Shape, element_of, ints, segments, shape_of, tensor_type
from npu_mlir.support.dtypes import numpy_dtype


@dataclass(frozen=True)
class Sizes:
    """The extents of dims, the most elements of a value and the most multiply-adds of a step."""

    extents: tuple[int, ...]
    elements: int
    work: int


SMALL = Sizes((1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 20, 33), 1500, 60_000)
LARGE = Sizes((1, 2, 3, 5, 16, 31, 64, 100, 128, 197, 256, 333, 1000), 300_000, 20_000_000)
CLAMP = 64.0
"""Narrow floats and what becomes an integer are kept within this."""


@dataclass
class Program:
    """A module with a function `main`, and inputs for it."""

    module: ModuleOp
    inputs: list[np.ndarray]

    def __repr__(self) -> str:
        return f"Program(\n{self.module}\n)"


class Maker:
    """Draws a program step by step. `values` are what a step may read; `stable` those of them that have the same bits
    at every level (no sum before them), so that a comparison may depend on them."""

    def __init__(self, draw: Callable[[Any], Any], sizes: Sizes):
        self.draw = draw
        self.sizes = sizes
        self.b = Builder()
        self.block = Block()
        self.values: list[SSAValue] = []
        self.computed: list[SSAValue] = []
        self.stable: set[SSAValue] = set()

    # ---- drawing ---------------------------------------------------------------------------------------------------

    def choice(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def maybe(self, one_in: int = 2) -> bool:
        """True once in so many times; False is what hypothesis shrinks to."""
        return self.number(0, one_in - 1) == one_in - 1

    def shape(self, rank: int) -> Shape:
        shape: list[int] = []
        for _ in range(rank):
            room = self.sizes.elements // max(1, prod(shape))
            shape.append(self.choice([e for e in self.sizes.extents if e <= max(1, room)]))
        return tuple(shape)

    def extent(self, most: int) -> int:
        return self.choice([e for e in self.sizes.extents if e <= max(1, most)])

    def subset(self, items: Sequence[int], at_least: int = 0) -> list[int]:
        chosen = [i for i in items if self.draw(st.booleans())]
        return chosen if len(chosen) >= at_least else list(items[-at_least:])

    def shuffled(self, items: Sequence[Any]) -> list[Any]:
        return self.draw(st.permutations(list(items))) if self.maybe(3) else list(items)

    def constant(self) -> float:
        return self.choice([0.5, 1.0, -1.0, 0.0, 2.0, -0.25, 3.0])

    # ---- values ----------------------------------------------------------------------------------------------------

    def input(self, shape: Shape, element: Attribute) -> SSAValue:
        """A new argument of the function, or a constant."""
        if prod(shape) <= 16 and self.maybe(5):
            return self.dense(shape, element)
        value = self.block.insert_arg(tensor_type(element, shape), len(self.block.args))
        self.values.append(value)
        self.stable.add(value)
        return value

    def dense(self, shape: Shape, element: Attribute) -> SSAValue:
        """A constant tensor."""
        array = random_array(np.random.default_rng(self.number(0, 100)), tensor_type(element, shape))
        value = self.b.add(ConstantOp(dense(array)))
        self.values.append(value)
        self.stable.add(value)
        return value

    def operand(self, ranks: Sequence[int], elements: Sequence[Attribute]) -> SSAValue:
        """A value with one of these ranks and element types: an earlier one if there is one, or a new input."""
        fitting = [v for v in self.values if len(shape_of(v)) in ranks and element_of(v) in elements]
        recent = [v for v in fitting if v in self.computed[-2:]]
        if recent and not self.maybe(4):
            return self.choice(recent)
        if fitting and not self.maybe(3):
            return self.choice(fitting)
        return self.input(self.shape(self.choice(ranks)), self.choice(elements))

    def other(self, shape: Shape, element: Attribute) -> SSAValue:
        """A value of exactly this type."""
        fitting = [v for v in self.values if v.type == tensor_type(element, shape)]
        return self.choice(fitting) if fitting and self.maybe() else self.input(shape, element)

    def part(self, shape: Shape, element: Attribute) -> SSAValue:
        """A value of exactly this type, perhaps a slice of a larger one."""
        if not shape or not self.maybe(4):
            return self.other(shape, element)
        strides = [self.number(1, 2) for _ in shape]
        offsets = [self.number(0, 2) for _ in shape]
        ends = [self.number(0, 3) for _ in shape]
        whole = tuple(
            o + (n - 1) * s + 1 + e for o, n, s, e in zip(offsets, shape, strides, ends, strict=True)
        )
        value = self.input(whole, element)
        return self.alias(slice_of(self.b, value, offsets, shape, strides), value)

    def record(self, value: SSAValue, stable: bool) -> None:
        self.values.append(value)
        self.computed.append(value)
        if stable:
            self.stable.add(value)

    def front(self, value: SSAValue) -> SSAValue:
        """The value, or a slice of it, or it padded."""
        kind = self.number(0, 9)
        shape = shape_of(value)
        if not shape or kind < 7:
            return value
        if kind == 9:
            low, high = ([self.number(0, 2) for _ in shape] for _ in range(2))
            return self.alias(self.b.pad(value, low, high, 0 if self.maybe() else 1), value)
        strides = [self.number(1, 3) if n > 1 else 1 for n in shape]
        offsets = [self.number(0, min(3, n - 1)) for n in shape]
        limits = [-(-(n - o) // s) for n, o, s in zip(shape, offsets, strides, strict=True)]
        sizes = tuple(self.number(1, n) for n in limits)
        return self.alias(slice_of(self.b, value, offsets, sizes, strides), value)

    def alias(self, new: SSAValue, old: SSAValue) -> SSAValue:
        if old in self.stable:
            self.stable.add(new)
        return new

    # ---- scalar bodies ---------------------------------------------------------------------------------------------

    def unary(self, body: Body, x: SSAValue) -> SSAValue:
        """One or a few operations on one scalar."""
        if x.type == i1:
            return x
        if x.type == i32:
            name = self.choice(["add", "sub", "mul", "max", "min"])
            return body.apply(name, x, self.number(-3, 3))
        kind = self.number(0, 11)
        match kind:
            case 0 | 1 | 2:
                return body.apply(self.choice(["add", "mul", "sub"]), x, self.constant())
            case 3 | 4:
                return body.apply(self.choice(["max", "min"]), x, self.constant())
            case 5:
                return body.apply("sub", self.constant(), x)
            case 6:
                return body.apply("neg", x)
            case 7:
                return body.apply("abs", x)
            case 8:
                return body.apply("exp", body.apply("min", x, 2.0))
            case 9:
                return body.apply("sqrt", body.apply("abs", x))
            case 10:
                return body.apply("div", self.constant(), self.positive(body, x))
            case _:
                return body.apply("log", self.positive(body, x))

    def positive(self, body: Body, x: SSAValue) -> SSAValue:
        return body.apply("add", body.apply("abs", x), 1.0)

    def binary(self, body: Body, x: SSAValue, y: SSAValue, stable: bool) -> SSAValue:
        """One or a few operations on two scalars of one type."""
        if x.type == i1:
            return body.apply(self.choice(["and", "or", "xor"]), x, y)
        options = ["add", "sub", "mul", "max", "min"]
        options += [] if x.type == i32 else ["div"]
        name = self.choice([*options, "select"] if stable else options)
        if name == "select":
            condition = body.compare(self.choice(["lt", "le", "gt", "ge", "eq", "ne"]), x, y)
            return body.select(condition, x, body.apply("add", y, 1))
        if name == "div":
            return body.apply("div", x, self.positive(body, y))
        result = body.apply(name, x, y)
        return self.clamp(body, result) if name == "mul" else result

    def clamp(self, body: Body, x: SSAValue) -> SSAValue:
        return body.apply("max", body.apply("min", x, CLAMP), -CLAMP) if x.type == f16 else x

    def combine(self, body: Body, args: Sequence[SSAValue], element: Attribute, stable: bool) -> SSAValue:
        """A value of type `element` made of all arguments."""
        result: SSAValue | None = None
        for arg in args:
            x = self.convert(body, arg, element)
            for _ in range(self.number(0, 2)):
                x = self.unary(body, x)
            result = x if result is None else self.binary(body, result, x, stable)
        assert result is not None
        if self.maybe(4) and result.type == element:
            result = self.binary(body, result, self.convert(body, args[0], element), stable)
        return result

    def convert(self, body: Body, x: SSAValue, element: Attribute) -> SSAValue:
        if x.type == element:
            return x
        if element in (f16, i32) and x.type == f32:
            x = body.apply("max", body.apply("min", x, CLAMP), -CLAMP)
        if element == i1:
            return body.compare(self.choice(["lt", "ge", "ne"]), x, 0)
        if {x.type, element} == {i32, f16} or (x.type == i1 and element == f16):
            x = body.cast(x, f32)
        return body.cast(x, element)

    # ---- steps -----------------------------------------------------------------------------------------------------

    def elementwise(self) -> None:
        """One to three operands, broadcast and permuted, of one or several types."""
        x = self.front(self.operand(range(5), [f32, f32, f16, i32, i1]))
        rank = len(shape_of(x))
        order = self.shuffled(range(rank))
        """Loop dim of each dim of x."""
        extents = tuple(shape_of(x)[order.index(d)] for d in range(rank))
        inputs, maps = [x], [order]
        for _ in range(self.number(0, 2)):
            dims = list(range(rank)) if self.maybe() else self.shuffled(self.subset(range(rank)))
            element = element_of(x) if not self.maybe(4) else self.choice([f32, f16, i32, i1])
            inputs.append(self.part(tuple(extents[d] for d in dims), element))
            maps.append(dims)
        stable = all(v in self.stable for v in inputs)
        element = (
            element_of(x) if not self.maybe(4) else self.choice([f32, f16, i32, i1] if stable else [f32, f16])
        )
        if not stable and element in (i1, i32):
            element = f32
        result = self.b.map(
            inputs, maps, extents, element, lambda body, *args: self.combine(body, args, element, stable)
        )
        self.record(result, stable)

    def reduction(self) -> None:
        """A sum, maximum, minimum or product along any dims."""
        x = self.front(self.operand(range(1, 5), [f32, f32, f16, i32]))
        shape, element = shape_of(x), element_of(x)
        axes = self.subset(range(len(shape)), at_least=1)
        few = prod(shape[a] for a in axes) <= 5
        kind = self.choice(["add", "max", "min", *(["mul"] if few else [])])
        wide = f32 if element == f16 and kind in ("add", "mul") else element
        start = {"add": 0.0, "mul": 1.0, "max": -1000.0, "min": 1000.0}[kind]
        before = self.number(0, 2)

        def build(body: Body, value: SSAValue, acc: SSAValue) -> SSAValue:
            value = body.cast(value, acc.type)
            for _ in range(before):
                value = self.unary(body, value)
            return body.apply(kind, acc, value)

        keep = tuple(shape[d] for d in range(len(shape)) if d not in axes)
        if self.maybe(6):
            init = self.other(keep, wide)
            maps = [range(len(shape)), [d for d in range(len(shape)) if d not in axes]]
            result = self.b.generic([x], init, maps, len(shape), axes, lambda body: build(body, *body.args))
        else:
            result = self.b.reduce(x, axes, start, wide, build)
        self.record(result, x in self.stable and (kind in ("max", "min") or element == i32))

    def contraction(self) -> None:
        """A product of two operands summed over some dims: any matrix product."""
        x = self.front(self.operand(range(1, 5), [f32, f32, f16, f16, i32]))
        shape, element = shape_of(x), element_of(x)
        summed = self.subset(range(len(shape)), at_least=1)
        rest = [d for d in range(len(shape)) if d not in summed]
        batch = self.subset(rest) if self.maybe(3) else []
        extents = list(shape)
        for _ in range(self.choice([1, 1, 1, 0, 2])):
            extents.append(self.extent(self.sizes.work // prod(extents)))
        columns = list(range(len(shape), len(extents)))
        rows = [d for d in rest if d not in batch]
        y_map = self.shuffled([*batch, *summed, *columns])
        y = self.part(tuple(extents[d] for d in y_map), element)
        out = self.shuffled([*batch, *rows, *columns])
        init = self.start(tuple(extents[d] for d in out), i32 if element == i32 else f32)
        operands: tuple[list[SSAValue], list[Map]] = ([x, y], [range(len(shape)), y_map])
        if self.maybe(3):
            operands = (operands[0][::-1], operands[1][::-1])
        result = self.b.generic(
            operands[0], init, [*operands[1], out], len(extents), summed, lambda body: multiply_add(body)
        )
        self.narrow(result, element)

    def start(self, shape: Shape, element: Attribute) -> SSAValue:
        """What a sum starts from: zero nearly always, else another number or a value."""
        kind = self.number(0, 9)
        if kind == 9:
            return self.other(shape, element)
        return self.b.fill(1.0 if kind == 8 else 0.0, shape, element)

    def attention(self) -> None:
        """`softmax(q * k) * v` with heads."""
        heads, queries, keys, depth = self.shape(4)
        element = self.choice([f32, f16])
        q, k, v = (self.other((heads, n, depth), element) for n in (queries, keys, keys))
        scores = self.b.generic(
            [q, k],
            self.b.fill(0.0, (heads, queries, keys), f32),
            [(0, 1, 3), (0, 2, 3), (0, 1, 2)],
            4,
            [3],
            multiply_add,
        )
        scaled = self.b.map(
            [scores], [range(3)], shape_of(scores), f32, lambda body, x: body.apply("mul", x, 0.125)
        )
        self.values.append(scaled)
        weights = self.softmax_of(scaled, 2, element)
        result = self.b.generic(
            [weights, v],
            self.b.fill(0.0, (heads, queries, depth), f32),
            [(0, 1, 3), (0, 3, 2), (0, 1, 2)],
            4,
            [3],
            multiply_add,
        )
        self.narrow(result, element)

    def narrow(self, result: SSAValue, element: Attribute) -> None:
        """Record a product, perhaps rounded to the type of its operands first."""
        if element == f16 and self.maybe():
            rank = len(shape_of(result))
            result = self.b.map(
                [result], [range(rank)], shape_of(result), f16, lambda body, x: self.convert(body, x, f16)
            )
        self.record(result, stable=False)

    def convolution(self) -> None:
        """One or two spatial dims, NHWC or NCHW, with groups (a dim of their own) or depthwise."""
        spatial = self.choice([2, 2, 1])
        kind = self.choice(["plain", "plain", "depthwise", "grouped"])
        nhwc = self.maybe()
        rank = 2 + spatial + (kind == "grouped")
        x = self.operand([rank], [f32, f16])
        first = 1 if nhwc else rank - spatial
        x, windows = self.windowed(x, first, spatial, 0.0)
        shape, element = shape_of(x), element_of(x)
        channels = [d for d in range(1, rank) if not first <= d < first + spatial]
        group, summed = (channels[:1], channels[1:]) if kind == "grouped" else (channels, [])
        if kind == "plain":
            group, summed = [], channels
        # Loops: n, group, output spatial, output channel, summed channel, window.
        extents = [shape[0], *(shape[d] for d in group), *windows.outputs]
        loops = {0: 0} | {d: 1 + i for i, d in enumerate(group)}
        outputs = list(range(len(extents) - spatial, len(extents)))
        columns = []
        work = prod(extents) * prod(windows.sizes) * prod(shape[d] for d in summed)
        if kind != "depthwise":
            columns = [len(extents)]
            extents.append(self.extent(self.sizes.work // work))
        for d in summed:
            loops[d] = len(extents)
            extents.append(shape[d])
        taps = list(range(len(extents), len(extents) + spatial))
        extents += windows.sizes
        reads = dict(zip(range(first, first + spatial), windows.reads(outputs, taps), strict=True))
        x_map: Map = [reads[d] if d in reads else loops[d] for d in range(rank)]
        group_loops = [loops[d] for d in group]
        w_map = self.shuffled([*taps, *(loops[d] for d in summed), *group_loops, *columns])
        out = [0, *outputs, *group_loops, *columns] if nhwc else [0, *group_loops, *columns, *outputs]
        w = self.part(tuple(extents[d] for d in w_map), element)
        init = self.b.fill(0.0, tuple(extents[d] for d in out), f32)
        reductions = [*(loops[d] for d in summed), *taps]
        result = self.b.generic([x, w], init, [x_map, w_map, out], len(extents), reductions, multiply_add)
        self.narrow(result, element)

    def windowed(self, x: SSAValue, first: int, spatial: int, padding: float) -> tuple[SSAValue, Windows]:
        """The value, perhaps padded, and windows that slide over its dims from `first` on."""
        shape = shape_of(x)
        low, high = [0] * len(shape), [0] * len(shape)
        sizes, strides, dilations, outputs = [], [], [], []
        for d in range(first, first + spatial):
            size, stride, dilation = self.number(1, 3), self.number(1, 2), self.number(1, 2)
            low[d] = self.number(0, size - 1)
            span = dilation * (size - 1) + 1
            high[d] = max(self.number(0, size - 1), span - low[d] - shape[d])
            sizes.append(size)
            strides.append(stride)
            dilations.append(dilation)
            outputs.append((shape[d] + low[d] + high[d] - span) // stride + 1)
        return self.alias(self.b.pad(x, low, high, padding), x), Windows(sizes, strides, dilations, outputs)

    def pool(self) -> None:
        """The maximum, minimum or sum of windows."""
        spatial = self.choice([2, 1])
        x = self.operand(range(spatial + 1, 5), [f32, f32, f16])
        rank = len(shape_of(x))
        first = self.number(0, rank - spatial)
        kind = self.choice(["max", "add", "min"])
        start = {"max": float("-inf"), "add": 0.0, "min": float("inf")}[kind]
        stable = x in self.stable and kind != "add"
        x, windows = self.windowed(x, first, spatial, start)
        outputs, taps = list(range(first, first + spatial)), list(range(rank, rank + spatial))
        extents = list(shape_of(x))
        extents[first : first + spatial] = windows.outputs
        x_map = [*range(first), *windows.reads(outputs, taps), *range(first + spatial, rank)]
        element = element_of(x)
        wide = f32 if kind == "add" else element
        result = self.b.generic(
            [x, self.b.empty(tuple(windows.sizes), element)],
            self.b.fill(start, tuple(extents), wide),
            [x_map, taps, range(rank)],
            rank + spatial,
            taps,
            lambda body: body.apply(kind, body.args[2], body.cast(body.args[0], wide)),
        )
        self.record(result, stable)

    def softmax(self) -> None:
        x = self.operand(range(1, 4), [f32, f16])
        self.record(self.softmax_of(x, self.number(0, len(shape_of(x)) - 1), element_of(x)), stable=False)

    def softmax_of(self, x: SSAValue, axis: int, element: Attribute) -> SSAValue:
        shape = shape_of(x)
        rank = len(shape)
        both: list[Map] = [range(rank), [d for d in range(rank) if d != axis]]
        top = self.b.reduce(
            x, [axis], float("-inf"), element_of(x), lambda body, value, acc: body.apply("max", value, acc)
        )
        powers = self.b.map(
            [x, top],
            both,
            shape,
            f32,
            lambda body, a, c: body.apply("exp", body.apply("sub", body.cast(a, f32), body.cast(c, f32))),
        )
        total = self.b.reduce(powers, [axis], 0, f32, lambda body, value, acc: body.apply("add", value, acc))
        return self.b.map(
            [powers, total],
            both,
            shape,
            element,
            lambda body, a, c: body.cast(body.apply("div", a, c), element),
        )

    def layer_norm(self) -> None:
        x = self.operand(range(1, 4), [f32])
        shape = shape_of(x)
        rank = len(shape)
        axes = list(range(self.number(0, rank - 1), rank))
        outer = [d for d in range(rank) if d not in axes]
        both: list[Map] = [range(rank), outer]
        count = float(prod(shape[d] for d in axes))
        add = lambda body, value, acc: body.apply("add", value, acc)  # noqa: E731
        mean = self.b.reduce(x, axes, 0, f32, add)
        centred = self.b.map(
            [x, mean],
            both,
            shape,
            f32,
            lambda body, a, m: body.apply("sub", a, body.apply("mul", m, 1 / count)),
        )
        squares = self.b.reduce(
            centred, axes, 0, f32, lambda body, value, acc: add(body, body.apply("mul", value, value), acc)
        )
        gain = self.other(tuple(shape[d] for d in axes), f32)

        def scale(body: Body, a: SSAValue, s: SSAValue, g: SSAValue) -> SSAValue:
            root = body.apply("sqrt", body.apply("add", body.apply("mul", s, 1 / count), 0.5))
            return body.apply("mul", body.apply("div", a, root), g)

        self.record(self.b.map([centred, squares, gain], [*both, axes], shape, f32, scale), stable=False)

    def view(self) -> None:
        """Dims merged or split, without moving data."""
        x = self.operand(range(1, 5), [f32, f16, i32])
        shape = list(shape_of(x))
        if len(shape) > 1 and self.maybe():
            at = self.number(0, len(shape) - 2)
            shape[at : at + 2] = [shape[at] * shape[at + 1]]
        else:
            at = self.number(0, len(shape) - 1)
            factor = self.choice([f for f in range(1, shape[at] + 1) if shape[at] % f == 0])
            shape[at : at + 1] = [factor, shape[at] // factor]
        if len(shape) <= 5:
            self.record(self.b.reshape(x, tuple(shape)), x in self.stable)

    def move(self) -> None:
        """A pad or slice that anything may read, also another one, a view or the caller."""
        x = self.operand(range(1, 4), [f32, f16, i32])
        moved = self.front(self.front(x))
        if moved is not x:
            self.record(moved, x in self.stable)

    def concat(self) -> None:
        """Two or three values one after the other along a dim."""
        x = self.operand(range(1, 4), [f32, f16, i32])
        shape, element = shape_of(x), element_of(x)
        axis = self.number(0, len(shape) - 1)
        parts = [x]
        for _ in range(self.number(1, 2)):
            size = self.choice([1, 2, 3, shape[axis]])
            parts.append(self.part((*shape[:axis], size, *shape[axis + 1 :]), element))
        whole = list(shape)
        whole[axis] = sum(shape_of(part)[axis] for part in parts)
        result = self.b.empty(tuple(whole), element)
        offset = 0
        for part in parts:
            result = insert_slice(self.b, part, result, axis, offset)
            offset += shape_of(part)[axis]
        self.record(result, all(part in self.stable for part in parts))

    # ---- the whole -------------------------------------------------------------------------------------------------

    STEPS = (
        "elementwise", "elementwise", "elementwise", "contraction", "contraction", "convolution", "reduction", "pool",
        "softmax", "layer_norm", "attention", "view", "move", "concat",
    )  # fmt: skip

    def program(self, steps: int) -> Program:
        while len(self.computed) < steps:
            getattr(self, self.choice(self.STEPS))()
        results = [v for v in self.computed if not any(v.uses) or self.maybe(5)]
        if self.maybe(8):
            results.append(self.choice(self.values))
        return make_program(self.b, self.block, results, self.number(0, 1000))


def make_program(b: Builder, block: Block, results: Sequence[SSAValue], seed: int = 0) -> Program:
    """The function with the builder's operations, the block's arguments and these results."""
    block.add_ops(b.ops)
    block.add_op(ReturnOp(*results))
    types = [a.type for a in block.args], [v.type for v in results]
    function = FuncOp("main", types, Region(block))
    function.attributes["input_names"] = names("x", len(types[0]))
    function.attributes["output_names"] = names("y", len(types[1]))
    rng = np.random.default_rng(seed)
    return Program(ModuleOp([function]), [random_array(rng, t) for t in types[0]])


def slice_of(
    b: Builder, value: SSAValue, offsets: Sequence[int], sizes: Shape, strides: Sequence[int] | None = None
) -> SSAValue:
    """A static slice."""
    return b.add(
        tensor.ExtractSliceOp.create(
            operands=[value],
            result_types=[tensor_type(element_of(value), sizes)],
            properties={
                "static_offsets": ints(tuple(offsets)),
                "static_sizes": ints(sizes),
                "static_strides": ints(tuple(strides or (1,) * len(sizes))),
                "operandSegmentSizes": segments(1, 0, 0, 0),
            },
        )
    )


def insert_slice(b: Builder, value: SSAValue, dest: SSAValue, axis: int, offset: int) -> SSAValue:
    """A tensor with a part, from `offset` on along one axis, replaced."""
    rank = len(shape_of(value))
    return b.add(
        tensor.InsertSliceOp.create(
            operands=[value, dest],
            result_types=[dest.type],
            properties={
                "static_offsets": ints(tuple(offset if d == axis else 0 for d in range(rank))),
                "static_sizes": ints(shape_of(value)),
                "static_strides": ints((1,) * rank),
                "operandSegmentSizes": segments(1, 1, 0, 0, 0),
            },
        )
    )


@dataclass
class Windows:
    """Windows that slide over spatial dims."""

    sizes: list[int]
    strides: list[int]
    dilations: list[int]
    outputs: list[int]

    def reads(self, outputs: Sequence[int], taps: Sequence[int]) -> list[AffineExpr]:
        """The coordinate read per spatial dim, from the loops over outputs and over the window."""
        steps = zip(outputs, taps, self.strides, self.dilations, strict=True)
        return [AffineExpr.dimension(o) * s + AffineExpr.dimension(k) * d for o, k, s, d in steps]


def multiply_add(body: Body) -> SSAValue:
    """`acc + x * y`, widened."""
    x, y, acc = body.args
    return body.apply("add", acc, body.apply("mul", body.cast(x, acc.type), body.cast(y, acc.type)))


def names(prefix: str, count: int) -> ArrayAttr[StringAttr]:
    return ArrayAttr([StringAttr(f"{prefix}{i}") for i in range(count)])


def random_array(rng: np.random.Generator, type_: Any) -> np.ndarray:
    """Small integers, or multiples of a quarter."""
    shape, dtype = type_.get_shape(), numpy_dtype(type_)
    if dtype.kind == "f":
        return (rng.integers(-8, 9, shape) * 0.25).astype(dtype)
    return (
        rng.integers(0, 2, shape).astype(dtype)
        if dtype.kind == "b"
        else rng.integers(-5, 6, shape).astype(dtype)
    )


@st.composite
def programs(draw: Callable[[Any], Any], most: int = 4, sizes: Sizes = SMALL) -> Program:
    """Programs of up to `most` steps."""
    return Maker(draw, sizes).program(draw(st.integers(1, most)))
