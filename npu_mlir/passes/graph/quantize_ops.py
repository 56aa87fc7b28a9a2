"""graph-quantize-ops: compute with the integers that numbers stand for.

    %x = graph.dequantize %q, %sx, %zx : (tensor<4x8xi8>, ...) -> tensor<4x8xf32>
    %w = graph.dequantize %p, %sw, %zero : (tensor<8x6xi8>, tensor<6xf32>, tensor<i8>) -> tensor<8x6xf32>
    %b = graph.dequantize %r, %sb, %none : (tensor<6xi32>, ...) -> tensor<6xf32>          // sb = sx * sw
    %0 = graph.matmul %x, %w
    %1 = graph.add %0, %b
    %2 = graph.relu %1
    %3 = graph.quantize %2, %sy, %zy
  becomes
    %0 = graph.matmul %q, %p : (tensor<4x8xi8>, tensor<8x6xi8>) -> tensor<4x6xi32>
    %1 = graph.add %0, %c                               // c = r - zx * (sums of the columns of p), i32
    %3 = graph.requantize %1, %m, %zy from (the zero point)     // m = sx * sw / sy

- A convolution or product of dequantized factors, the second of which is constant and has no zero point (or may be
  written without one), is one of integers. Padding is the zero point. Behind it the sums become numbers, unless all
  that follows is a bias in units of both scales, a relu or clip, and a quantization: then they become integers at once.
- Dequantizations move behind what moves elements, max-pools, and joints of numbers of equal scale; one that meets the
  quantization with the same numbers goes with it.
- With `precision=f16`, sums of two dequantized tensors that are quantized at once (shortcuts) are computed in f16, in
  units of the result: `rint(f16(a) * (sa / sy) + f16(b) * (sb / sy) + c)`.
  Where fast formulas are allowed (`npu.accuracy`), the summand that a product has just made is neither rounded nor
  limited to integers before: the sums of the product are added, in these units.
- Unsigned integers become signed ones less by 128, and so do their zero points.

Leaves alone: products of two tensors of the run unless neither has a zero point, first factors with a scale for each
channel, sums that may leave 32 bits, biases in other units (which stay float), quantizations with a scale for each
channel.
Does not handle: integers of other widths than 8 bits.
Changes values: `rint(sum * m)` where the float form rounds the product and its bias before the quotient: by 1 in a
share of about 1e-5 of the values. Sums in f16 differ by 1 in one or two of a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, ModuleOp, f16, i8
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects.graph import (
    AddOp,
    CastOp,
    ClipOp,
    ConcatOp,
    ConvOp,
    DequantizeOp,
    GemmOp,
    GlobalMaxPoolOp,
    GraphOp,
    Layout,
    MatmulOp,
    MaxPoolOp,
    MinimumOp,
    PadOp,
    QuantizedAddOp,
    QuantizeOp,
    ReluOp,
    RequantizeOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    element_of,
    shape_of,
)
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.ir.constants import constant_of
from npu_mlir.ir.functions import body_of
from npu_mlir.ir.weights import weights_of
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.graph.fold_constants import fold
from npu_mlir.passes.graph.rewriting import (
    WeightReleaser,
    functions,
    graph_ops,
    insert_before,
    insert_constant,
    join_locations,
    only_user,
    replace,
)
from npu_mlir.support.accuracy import add_formulas, is_fast
from npu_mlir.support.tolerance import Tolerance

Array = np.ndarray[Any, Any]


MOVING = (ReshapeOp, TransposeOp, SliceOp, PadOp, MaxPoolOp, GlobalMaxPoolOp, ConcatOp)
"""What hands on elements as they are, or the largest of some."""

LARGEST = float(2**31 - 1)
"""The largest sum."""

ROUNDED = "quantized shortcuts added in f16: within 1 of the result"
UNROUNDED = (
    "quantized shortcuts added in f16, a summand not rounded before: within 1 where that is not out of range"
)
"""What a module says of its sums."""

LARGEST_RATIO = 4.0
"""Units of a sum in f16 that the scale of a summand is at most: then its rounding is less than half of one."""

AGREE = 2.0**-20
"""How much the scale of a bias may differ from the product of the others, as one that has been rounded."""


@dataclass(frozen=True)
class QuantizeOps(ModulePass):
    """Compute with integers where numbers stand for integers."""

    name = "graph-quantize-ops"
    tolerance: ClassVar[Tolerance] = Tolerance(rtol=2e-2, atol=2e-2, steps=1)
    """An integer may be another by 1, and so what is computed of it."""

    precision: str = "f32"
    """`f16` to add shortcuts in f16, `f32` for the numbers that the model says."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(isinstance(o, DequantizeOp) for o in op.walk()):
            return
        releaser = WeightReleaser(op)
        for function in functions(op):
            _Quantizer(op, self.precision == "f16").run(body_of(function))
        erase_dead_ops(op)
        releaser.finish()


@dataclass(frozen=True)
class _Numbers:
    """Numbers that stand for others: `(integers - zero) * scale`, with signed integers of 8 bits."""

    integers: SSAValue
    scale: Array
    zero: int


@dataclass
class _Sums:
    """Sums of products of integers, in units of `scale`: one, or one for each output channel."""

    value: SSAValue
    scale: Array
    largest: float
    """No sum is further from zero."""
    channel: int
    """The dim of the output channels, from the end."""


class _Quantizer:
    """Rewrites one function, in program order."""

    def __init__(self, module: ModuleOp, narrow: bool):
        self.narrow = narrow
        self.module = module
        self.store = weights_of(module)
        self.interpreter = Interpreter(module)
        self.signed: dict[SSAValue, SSAValue] = {}

    def run(self, block: Block) -> None:
        """Rewrite what can be."""
        for op in graph_ops(block):
            # Scales and zero points in the shapes that broadcast.
            if not isinstance(op, DequantizeOp):
                fold(op, self.interpreter)
        for op in graph_ops(block):
            if isinstance(op, QuantizeOp):
                self._without_unsigned(op)
        for op in graph_ops(block):
            if op.parent is None:
                continue
            if isinstance(op, MOVING):
                self._move(op)
            elif isinstance(op, QuantizeOp):
                if not self._cancel(op) and self.narrow:
                    self._add_in_f16(op)
            elif isinstance(op, ConvOp | MatmulOp | GemmOp):
                self._contract(op)

    # ---- numbers and constants ----

    def constant(self, value: SSAValue | None) -> Array | None:
        """The elements of a constant."""
        return None if value is None else constant_of(value, self.store)

    def number(self, value: SSAValue) -> Array | None:
        """A constant of one element, as an array of rank 0."""
        array = self.constant(value)
        return array.reshape(()) if array is not None and array.size == 1 else None

    def add_constant(self, anchor: Operation, array: Any, name: str = "quantized") -> SSAValue:
        """A constant before the anchor."""
        return insert_constant(anchor, self.store, np.asarray(array, order="C"), name)

    # ---- unsigned integers ----

    def _without_unsigned(self, op: QuantizeOp) -> None:
        """Quantize to signed integers if all that is made of the unsigned ones are numbers again."""
        zero = self.constant(op.zero_point)
        users = [use.operation for use in op.result.uses]
        if zero is None or zero.dtype != np.uint8 or not users:
            return
        zeros = [self.constant(u.zero_point) if isinstance(u, DequantizeOp) else None for u in users]
        if any(z is None for z in zeros):
            return
        less = self.add_constant(op, _less(zero))
        value = insert_before(op, QuantizeOp(op.input, op.scale, less))
        for user, own in zip(users, zeros, strict=True):
            assert isinstance(user, DequantizeOp) and own is not None
            new = DequantizeOp(value, user.scale, self.add_constant(user, _less(own)))
            replace(user, insert_before(user, new))

    def _signed(self, value: SSAValue, anchor: Operation) -> SSAValue:
        """Unsigned integers less 128."""
        if value not in self.signed:
            array = self.constant(value)
            if array is not None:
                name = getattr(value.owner, "entry_name", "quantized")
                return self.add_constant(anchor, _less(array), name)
            cast = insert_before(anchor, CastOp(value, i8))
            offset = self.add_constant(anchor, np.array(-128, np.int8))
            self.signed[value] = insert_before(anchor, AddOp(cast, offset))
        return self.signed[value]

    # ---- moving ----

    def _move(self, op: GraphOp) -> None:
        """Move the integers instead of the numbers."""
        sources = [v.owner for v in op.operands]
        first = sources[0]
        if not all(isinstance(s, DequantizeOp) for s in sources) or not isinstance(first, DequantizeOp):
            return
        scale, zero = self.number(first.scale), self.number(first.zero_point)
        if isinstance(op, TransposeOp) and (scale is None or zero is None):
            self._transpose(op, first)
            return
        if scale is None or zero is None or scale <= 0:
            return
        for other in sources[1:]:
            assert isinstance(other, DequantizeOp)
            if self.number(other.scale) != scale or self.number(other.zero_point) != zero:
                return
            if element_of(other.input) != element_of(first.input):
                return
        properties: dict[str, Attribute] = {}
        if isinstance(op, PadOp):
            if not isinstance(op.value, FloatAttr) or op.value.value.data != 0:
                return
            element = element_of(first.input)
            assert isinstance(element, IntegerType)
            properties["value"] = IntegerAttr(int(zero), element)
        moved = op.rebuilt([s.input for s in sources if isinstance(s, DequantizeOp)], properties)
        integers = self._inserted(op, moved)
        replace(op, insert_before(op, DequantizeOp(integers, first.scale, first.zero_point)))

    def _transpose(self, op: TransposeOp, source: DequantizeOp) -> None:
        """Numbers with a scale for each element of an axis: scales and zero points change places as well."""
        perm, rank = op.perm.get_values(), len(shape_of(op.result))
        parts: list[SSAValue] = []
        for value in (source.scale, source.zero_point):
            array = self.constant(value)
            if array is None:
                return
            full = array.reshape((1,) * (rank - array.ndim) + array.shape)
            parts.append(self.add_constant(op, full.transpose(perm) if array.size > 1 else array.reshape(())))
        integers = self._inserted(op, op.rebuilt([source.input]))
        replace(op, insert_before(op, DequantizeOp(integers, *parts)))

    def _inserted(self, anchor: Operation, op: GraphOp) -> SSAValue:
        """The result of a new op; a constant of what is known."""
        value = insert_before(anchor, op)
        return fold(op, self.interpreter) or value

    def _cancel(self, op: QuantizeOp) -> bool:
        """Let integers be that are made numbers and integers again, by one scale and zero point; whether it has."""
        source = op.input.owner
        if not isinstance(source, DequantizeOp) or element_of(source.input) != element_of(op.result):
            return False
        mine, others = ([self.constant(v) for v in (o.scale, o.zero_point)] for o in (op, source))
        same = all(
            a is not None and b is not None and a.shape == b.shape and bool((a == b).all())
            for a, b in zip(mine, others, strict=True)
        )
        if same and bool((np.asarray(mine[0]) > 0).all()):
            replace(op, source.input)
            return True
        return False

    # ---- shortcuts ----

    def _add_in_f16(self, op: QuantizeOp) -> None:
        """Quantize the sum of two dequantized tensors, limited or not, by arithmetic in f16."""
        value, low = op.input, -np.inf
        joined: list[GraphOp] = [op]
        while isinstance(limit := value.owner, ReluOp | ClipOp) and only_user(value) is not None:
            bottom, top = (0.0, np.inf) if isinstance(limit, ReluOp) else _limits(limit)
            if top != np.inf:
                return
            low, value = max(low, bottom), limit.input
            joined.insert(0, limit)
        add = value.owner
        scale, zero = self.number(op.scale), self.number(op.zero_point)
        if not isinstance(add, AddOp) or only_user(value) is None or scale is None or zero is None:
            return
        if zero.dtype != np.int8 or scale <= 0:
            return
        parts = [self._scaled(side, scale) for side in add.operands]
        if shape_of(add.lhs) != shape_of(add.rhs) or parts[0] is None or parts[1] is None:
            return
        (a, ra, ca), (b, rb, cb) = parts[0], parts[1]
        later = int(_comes_later(b, a))
        fast = self._unrounded(op, add.operands[later], scale, float(zero) - (ca, cb)[1 - later])
        limits = np.iinfo(np.int8)
        offset = float(np.float16(float(zero) - ca - cb))
        least = _quantized(low, scale, zero, limits)
        limit = least if least > limits.min else None
        if fast is None:
            new = QuantizedAddOp(a, b, (ra, rb), offset, limit)
        else:
            new = QuantizedAddOp(fast, (a, b)[1 - later], (1.0, (ra, rb)[1 - later]), 0.0, limit)
        add_formulas(self.module, [ROUNDED if fast is None else UNROUNDED])
        join_locations(new, add, *joined)
        replace(op, insert_before(op, new))

    def _unrounded(self, op: QuantizeOp, value: SSAValue, unit: Array, more: float) -> SSAValue | None:
        """A summand in units of the result and f16, and some more, from the sums of the product that it is: where fast
        formulas are allowed and nothing else reads it."""
        source = value.owner
        made = source.input.owner if isinstance(source, DequantizeOp) else None
        if not isinstance(source, DequantizeOp) or not isinstance(made, RequantizeOp) or not is_fast(op):
            return None
        scale, own = self.constant(made.scale), self.number(source.scale)
        if made.least is not None or only_user(made.result) is not source or only_user(value) is None:
            return None
        if scale is None or own is None:
            return None
        factor = (scale * (own / unit)).astype(np.float32)
        whole = np.rint(more / factor.astype(np.float64))
        sums = made.input
        if isinstance(sums.owner, AddOp) and (bias := self.constant(sums.owner.rhs)) is not None:
            sums, whole = sums.owner.lhs, whole + bias
        if np.abs(whole).max() > LARGEST / 4:
            return None
        row = self.add_constant(op, whole.astype(np.int32), "quantized.bias")
        total = insert_before(op, AddOp(sums, row))
        none = self.add_constant(op, np.zeros((), np.int32))
        numbers = DequantizeOp(total, self.add_constant(op, factor), none)
        return insert_before(op, CastOp(insert_before(op, numbers), f16))

    def _scaled(self, value: SSAValue, unit: Array) -> tuple[SSAValue, float, float] | None:
        """The integers that numbers stand for, what they are multiplied by in these units, and what that leaves."""
        source = value.owner
        if not isinstance(source, DequantizeOp) or element_of(source.input) != i8:
            return None
        scale, zero = self.number(source.scale), self.number(source.zero_point)
        if scale is None or zero is None or not 0 < scale / unit <= LARGEST_RATIO:
            return None
        ratio = float(np.float16(scale / unit))
        return source.input, ratio, float(zero) * float(scale / unit)

    # ---- contractions ----

    def _numbers(self, value: SSAValue, anchor: Operation) -> _Numbers | None:
        """The integers that a factor stands for, made signed, if all have one zero point."""
        op = value.owner
        if not isinstance(op, DequantizeOp):
            return None
        scale, zero = self.constant(op.scale), self.constant(op.zero_point)
        element = element_of(op.input)
        if scale is None or zero is None or scale.dtype != np.float32 or not (scale > 0).all():
            return None
        if zero.dtype not in (np.int8, np.uint8) or not np.isfinite(scale).all():
            return None
        unsigned = zero.dtype == np.uint8
        zero = zero.astype(np.int32) - 128 * unsigned
        integers = op.input
        array = self.constant(integers)
        if array is not None and (zero != 0).any():
            # Known integers may be written without a zero point, if there is room.
            less = array.astype(np.int32) - (128 * unsigned) - zero
            if np.abs(less).max(initial=0) > 127:
                return None
            name = getattr(integers.owner, "entry_name", "quantized")
            return _Numbers(self.add_constant(anchor, less.astype(np.int8), name), scale, 0)
        if (zero != zero.flat[0]).any():
            return None
        if element != i8:
            integers = self._signed(integers, anchor)
        return _Numbers(integers, scale, int(zero.flat[0]))

    def _contract(self, op: ConvOp | MatmulOp | GemmOp) -> None:
        """Compute a convolution or product with integers."""
        left, right = (v.owner for v in op.operands[:2])
        if not isinstance(left, DequantizeOp) or not isinstance(right, DequantizeOp):
            return
        if isinstance(op, ConvOp) and op.layout.data is not Layout.NCHW:
            return
        if isinstance(op, GemmOp) and (op.alpha.value.data != 1 or op.beta.value.data != 1):
            return
        x, w = self._numbers(op.operands[0], op), self._numbers(op.operands[1], op)
        if x is None or w is None or x.scale.size != 1 or w.zero:
            return
        known = self.constant(w.integers)
        if x.zero and known is None:
            return
        scale = self._channel_scale(op, w.scale, len(shape_of(op.operands[1])))
        if scale is None:
            return
        made = self._product(op, x, w, known)
        if made is None:
            return
        product, offset, terms = made
        units = x.scale.reshape(()) * scale
        channel = len(shape_of(op.result)) - 1 if isinstance(op, ConvOp) else 1
        sums = _Sums(product, units, 128.0 * 128.0 * terms, channel)
        end, result = self._with_bias(op, sums, offset)
        if result is None:
            return
        self._finish(op, end, result)

    def _channel_scale(self, op: GraphOp, scale: Array, rank: int) -> Array | None:
        """A weight's scale as one number or one for each output channel; None for any other."""
        if scale.size == 1:
            return scale.reshape(())
        full = scale.reshape((1,) * (rank - scale.ndim) + scale.shape)
        axis = 0 if isinstance(op, ConvOp) or (isinstance(op, GemmOp) and op.trans_b) else rank - 1
        return full.reshape(-1) if full.shape[axis] == full.size else None

    def _product(
        self, op: ConvOp | MatmulOp | GemmOp, x: _Numbers, w: _Numbers, known: Array | None
    ) -> tuple[SSAValue, Array, int] | None:
        """The product of the integers; what zero points add to each output channel; how many terms a sum has."""
        lhs, rhs = x.integers, w.integers
        wide = None if known is None else known.astype(np.int64)
        if isinstance(op, ConvOp):
            pads = op.pads.get_values()
            terms = int(np.prod(shape_of(rhs)[1:]))
            if any(pads) and x.zero:
                half = len(pads) // 2
                padded = PadOp(lhs, [0, 0, *pads[:half]], [0, 0, *pads[half:]], x.zero)
                lhs, pads = insert_before(op, padded), (0,) * len(pads)
            steps, gaps = op.strides.get_values(), op.dilations.get_values()
            new = ConvOp(lhs, rhs, strides=steps, pads=pads, dilations=gaps, group=op.group.value.data)
            columns = None if wide is None else wide.reshape(wide.shape[0], -1).sum(1)
        else:
            if isinstance(op, GemmOp) and op.trans_a is not None:
                lhs = self._inserted(op, TransposeOp(lhs, [1, 0]))
            if isinstance(op, GemmOp) and op.trans_b is not None:
                rhs = self._inserted(op, TransposeOp(rhs, [1, 0]))
                wide = None if wide is None else wide.T
            if x.zero and len(shape_of(rhs)) != 2:
                return None
            terms = shape_of(rhs)[-2]
            new = MatmulOp(lhs, rhs)
            columns = None if wide is None else wide.sum(-2)
        offset = -x.zero * columns if x.zero and columns is not None else np.zeros((), np.int64)
        new.attributes |= op.attributes
        return insert_before(op, new), offset, terms

    def _with_bias(self, op: GraphOp, sums: _Sums, offset: Array) -> tuple[GraphOp, _Sums | None]:
        """Add what zero points are and, if it counts in the same units, a bias: the last op that this stands for."""
        end: GraphOp = op
        bias = op.operands[2] if len(op.operands) == 3 else None
        if isinstance(op, MatmulOp):
            user = only_user(op.result)
            if isinstance(user, AddOp) and shape_of(user.result) == shape_of(op.result):
                other = user.rhs if user.lhs is op.result else user.lhs
                if shape_of(other)[-1:] == shape_of(op.result)[-1:] == (int(np.prod(shape_of(other))),):
                    whole = self._in_units(other, sums.scale)
                    if whole is not None:
                        end, offset = user, offset + whole
        elif bias is not None:
            whole = self._in_units(bias, sums.scale)
            if whole is None:
                return op, self._float_bias(op, sums, offset, bias)
            offset = offset + whole
        if sums.largest + float(np.abs(offset).max(initial=0)) > LARGEST:
            return op, None
        if offset.any():
            row = self.add_constant(op, self._row(offset.astype(np.int32), sums), "quantized.bias")
            sums.value = insert_before(end, AddOp(sums.value, row))
        return end, sums

    def _float_bias(self, op: GraphOp, sums: _Sums, offset: Array, bias: SSAValue) -> _Sums | None:
        """A bias in other units: it is added to the numbers that the sums stand for."""
        if sums.largest + float(np.abs(offset).max(initial=0)) > LARGEST:
            return None
        if offset.any():
            row = self.add_constant(op, self._row(offset.astype(np.int32), sums), "quantized.bias")
            sums.value = insert_before(op, AddOp(sums.value, row))
        numbers = self._as_numbers(op, sums)
        shape = shape_of(bias)
        if isinstance(op, ConvOp):
            bias = insert_before(op, ReshapeOp(bias, (*shape, *[1] * (sums.channel - 1))))
        replace(op, insert_before(op, AddOp(numbers, bias)))
        return None

    def _in_units(self, bias: SSAValue, units: Array) -> Array | None:
        """A bias as whole numbers of these units, if it is given so."""
        source = bias.owner
        if not isinstance(source, DequantizeOp):
            return None
        whole, scale = self.constant(source.input), self.constant(source.scale)
        zero = self.constant(source.zero_point)
        if whole is None or scale is None or zero is None or zero.any():
            return None
        if scale.size not in (1, units.size) and units.size != 1:
            return None
        close = np.abs(scale.reshape(-1).astype(np.float64) - units.reshape(-1)) <= AGREE * units.reshape(-1)
        return whole.reshape(-1).astype(np.int64) if close.all() else None

    def _row(self, array: Array, sums: _Sums) -> Array:
        """One number for each output channel, in the shape that broadcasts to the sums."""
        return array.reshape((-1,) + (1,) * (sums.channel - 1)) if array.size > 1 else array.reshape(())

    def _as_numbers(self, anchor: Operation, sums: _Sums) -> SSAValue:
        """The numbers that sums stand for."""
        scale = self.add_constant(anchor, self._row(sums.scale.astype(np.float32), sums))
        zero = self.add_constant(anchor, np.zeros((), np.int32))
        return insert_before(anchor, DequantizeOp(sums.value, scale, zero))

    def _finish(self, op: GraphOp, end: GraphOp, sums: _Sums) -> None:
        """Make integers of the sums at once if all that follows is limits and a quantization, else numbers."""
        chain, bounds, low, high = [op, end], list[Operation](), -np.inf, np.inf
        last: GraphOp = end
        user = only_user(last.result)
        while isinstance(user, ReluOp | ClipOp):
            bottom, top = (0.0, np.inf) if isinstance(user, ReluOp) else _limits(user)
            low, high = min(max(low, bottom), top), min(max(high, bottom), top)
            bounds.append(user)
            last, user = user, only_user(user.result)
        scale = self.number(user.scale) if isinstance(user, QuantizeOp) else None
        zero = self.number(user.zero_point) if isinstance(user, QuantizeOp) else None
        known = scale is not None and zero is not None and zero.dtype in (np.int8, np.uint8)
        if not isinstance(user, QuantizeOp) or not known or scale is None or zero is None or scale <= 0:
            replace(end, self._as_numbers(end, sums))
            return
        factor = (sums.scale / scale).astype(np.float32)
        limits = np.iinfo(zero.dtype)
        least, most = (_quantized(bound, scale, zero, limits) for bound in (low, high))
        row = self.add_constant(user, self._row(factor, sums))
        new = RequantizeOp(sums.value, row, user.zero_point, least if least > limits.min else None)
        join_locations(new, *chain, *bounds, user)
        value = insert_before(user, new)
        if most < limits.max:
            value = insert_before(user, MinimumOp(value, self.add_constant(user, np.array(most, zero.dtype))))
        replace(user, value)


def _comes_later(first: SSAValue, second: SSAValue) -> bool:
    """Whether the product that a value is the sum of comes behind that of another."""
    ops = [_root(first), _root(second)]
    if not isinstance(ops[0], Operation) or not isinstance(ops[1], Operation):
        return isinstance(ops[0], Operation)
    return ops[1].is_before_in_block(ops[0])


def _root(value: SSAValue) -> Operation | Block:
    """The product that a value is made of, or what else makes it."""
    owner = value.owner
    while isinstance(owner, RequantizeOp | AddOp):
        owner = owner.operands[0].owner
    return owner


def _less(array: Array) -> Array:
    """Unsigned integers less 128."""
    return (array.astype(np.int16) - 128).astype(np.int8)


def _limits(op: ClipOp) -> tuple[float, float]:
    low = -np.inf if op.min is None else op.min.value.data
    return low, np.inf if op.max is None else op.max.value.data


def _quantized(number: float, scale: Array, zero: Array, limits: Any) -> int:
    """The integer that a number becomes."""
    if np.isinf(number):
        return int(limits.max if number > 0 else limits.min)
    rounded = np.rint(np.float32(number) / scale) + float(zero)
    return int(np.clip(rounded, limits.min, limits.max))
