"""linalg-expand-math: say in basic scalar operations what a vector unit has no instruction for.

    %y = math.tanh %x : f32
  becomes
    %d = arith.mulf %x, %two : f32
    %e = math.exp %d : f32
    %s = arith.addf %e, %one : f32
    %q = arith.divf %two, %s : f32
    %far = arith.subf %one, %q : f32
    %near = ...                                  // a polynomial of the square of x
    %small = arith.cmpf olt, %square, %bound : f32
    %y = arith.select %small, %near, %far : f32

Left are arith, and `math.exp`, `log`, `sqrt`, `absf`, `roundeven`. Expanded are tanh, erf, rsqrt, powf, exp2, expm1,
log2, log10, log1p, floor, ceil, trunc, round, fma, absi; sines, tangents, their hyperbolic relatives and the inverses
of all of them (`trigonometry.py`, with the bounds of each). Narrow floats are computed in f32 in between. None of the
forms makes a NaN of an infinity that the function maps to a number.

Accuracy is relative: results are within 4 ulp of f32 of the exact value (log1p, expm1: 5; powf, exp2, log2, log10:
the error of the exponential of a rounded product). With the flag `fastmath<afn>`, or under an attribute
`npu.accuracy = "fast"`, tanh, erf, log1p and expm1 take shorter forms, whose errors are small next to 1 alone. Tanh and
erf are computed by formulas (`formulas/`), chosen by type, accuracy and cycles of the target; the module says which
fast ones it has (`npu.formulas`).

Does not handle: atan2, cbrt, copysign, integer powers; they stay as they are.
"""

from __future__ import annotations

import math as python_math

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import AnyFloat, FloatAttr, ModuleOp, f32, i32, i64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.passes.linalg.formulas import choose
from npu_mlir.passes.linalg.generics import LOCATION
from npu_mlir.passes.linalg.scalar_code import Code, Expansion
from npu_mlir.passes.linalg.scalar_ops import bit_width
from npu_mlir.passes.linalg.trigonometry import TRIGONOMETRY
from npu_mlir.support.accuracy import FAST, add_formulas, is_fast
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target

_WHOLE = {32: (float(1 << 23), i32), 64: (float(1 << 52), i64)}
"""By the width of a float: from here on it is a whole number, and an integer type for those below."""


class ExpandMath(ModulePass):
    """Expand functions that a vector unit lacks."""

    name = "linalg-expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expansion = _Expansion(target_of(op))
        for math_op in [o for o in op.walk() if type(o) in _EXPANDED or type(o) in _FORMULAS]:
            if isinstance(math_op.results[0].type, AnyFloat) or isinstance(math_op, math.AbsIOp):
                expansion.expand(math_op)
        add_formulas(op, expansion.fast)


class _Expansion:
    """Expands the operations of a module, one after the other."""

    def __init__(self, target: Target):
        self._target = target
        self.fast: set[str] = set()
        """Names of the fast formulas that were used."""

    def expand(self, op: Operation) -> None:
        """Put the expansion of an operation in its place."""
        type_ = op.results[0].type
        code = Code(_EXPANSIONS | (_FAST if _is_approximate(op) else {}))
        if type(op) in _FORMULAS:
            result = self._formula(code, op)
        else:
            wide = f32 if isinstance(type_, AnyFloat) and bit_width(type_) < 32 else type_
            result = code.expand(type(op), *[code.cast(v, wide) for v in op.operands])
        result = code.cast(result, type_)
        block = op.parent
        assert block is not None
        for new in code.ops:
            new.location = op.location
            if LOCATION in op.attributes:
                new.attributes[LOCATION] = op.attributes[LOCATION]
        block.insert_ops_before(code.ops, op)
        op.results[0].replace_all_uses_with(result)
        block.erase_op(op)

    def _formula(self, code: Code, op: Operation) -> SSAValue:
        """By a formula for the type, or for f32 if it has none."""
        (x,), name, fast = op.operands, _FORMULAS[type(op)], _is_approximate(op)
        found = choose(name, x.type, fast, self._target)
        if found is None:
            x = code.cast(x, f32)
            found = choose(name, f32, fast, self._target)
        assert found is not None
        if found.accuracy == FAST:
            self.fast.add(found.name)
        return found.build(code, x)


def _is_approximate(op: Operation) -> bool:
    """Whether the flags of an op, or the attribute `npu.accuracy` around it, ask for a fast form."""
    flags = op.properties.get("fastmath")
    if isinstance(flags, FastMathFlagsAttr) and FastMathFlag.APPROX_FUNC in flags.data:
        return True
    return is_fast(op)


def _expm1(code: Code, x: SSAValue) -> SSAValue:
    """Near 0 `(u - 1) * x / log(u)` with `u = exp(x)`, where the errors of u cancel (Kahan); x itself where u is 1."""
    power = code.apply("exp", x)
    less = code.apply("sub", power, 1)
    near = code.apply("div", code.apply("mul", less, x), code.apply("log", power))
    near = code.select_equal(power, 1, x, near)
    return code.select_less(code.apply("abs", x), code.constant(1, x.type), near, less)


def _log1p(code: Code, x: SSAValue) -> SSAValue:
    """Near 0 `log(u) * x / (u - 1)` with `u = 1 + x`, where the errors of u cancel (Kahan); x itself where u is 1."""
    more = code.apply("add", x, 1)
    far = code.apply("log", more)
    near = code.apply("div", code.apply("mul", far, x), code.apply("sub", more, 1))
    near = code.select_equal(more, 1, x, near)
    return code.select_less(code.apply("abs", x), code.constant(1, x.type), near, far)


def _rsqrt(code: Code, x: SSAValue) -> SSAValue:
    return code.apply("div", 1, code.apply("sqrt", x))


def _powf(code: Code, x: SSAValue, y: SSAValue) -> SSAValue:
    """Products for small whole exponents, square roots for halves, `exp(y * log(x))` for other constants. The error of
    that is the one of y * log(x): up to 2^-24 of it, which is at most 88."""
    exponent = _constant(y)
    if exponent is None or not python_math.isfinite(exponent):
        return _general_power(code, x, y)
    whole, half = python_math.modf(2 * abs(exponent))[0] == 0, python_math.modf(exponent)[0] != 0
    if not whole or abs(exponent) > 16:
        if exponent == int(exponent):
            return _general_power(code, x, y)
        return code.apply("exp", code.apply("mul", code.apply("log", x), exponent))
    result = _product(code, x, int(abs(exponent)))
    if half:
        root = code.apply("sqrt", x)
        result = root if result is None else code.apply("mul", result, root)
    if result is None:
        return code.constant(1, x.type)
    return code.apply("div", 1, result) if exponent < 0 else result


def _general_power(code: Code, x: SSAValue, y: SSAValue) -> SSAValue:
    """`exp(y * log(|x|))`, negated for a negative x and an odd y; NaN where y is not whole; 1 if y is 0 or |x| is 1."""
    size, zero = code.apply("abs", x), code.constant(0, x.type)
    power = code.apply("exp", code.apply("mul", code.apply("log", size), y))
    power = code.select_equal(size, 1, code.constant(1, x.type), power)
    half = code.apply("mul", y, 0.5)
    signed = code.select_equal(
        code.apply("sub", half, _trunc(code, half)), 0, power, code.apply("neg", power)
    )
    rest = code.apply("sub", y, _trunc(code, y))
    # An infinite y is whole and even, but its rest is no number.
    rest = code.select_less(
        code.apply("abs", y), code.constant(_WHOLE[bit_width(x.type)][0], x.type), rest, zero
    )
    signed = code.select_less(
        code.apply("abs", rest), code.constant(1e-30, x.type), signed, code.constant(float("nan"), x.type)
    )
    even = code.select_less(
        code.apply("abs", y), code.constant(2 * _WHOLE[bit_width(x.type)][0], x.type), signed, power
    )
    result = code.select_less(x, zero, code.select_equal(y, y, even, y), power)
    # A power of NaN is NaN, unless the exponent is 0.
    return code.select_equal(y, 0, code.constant(1, x.type), result)


def _constant(value: SSAValue) -> float | None:
    """The number, also behind the widening of a constant."""
    owner = value.owner
    if isinstance(owner, arith.ExtFOp):
        owner = owner.input.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, FloatAttr):
        return owner.value.value.data
    return None


def _product(code: Code, x: SSAValue, count: int) -> SSAValue | None:
    """`x` to a whole power by repeated squaring, None for 0."""
    result: SSAValue | None = None
    while count:
        if count & 1:
            result = x if result is None else code.apply("mul", result, x)
        count >>= 1
        if count:
            x = code.apply("mul", x, x)
    return result


def _floor(code: Code, x: SSAValue) -> SSAValue:
    """Truncated, one less where that is above x."""
    truncated = _trunc(code, x)
    return code.select_less(x, truncated, code.apply("sub", truncated, 1), truncated)


def _trunc(code: Code, x: SSAValue) -> SSAValue:
    """To an integer and back; x itself where it is large and thereby whole."""
    whole, integer = _WHOLE[bit_width(x.type)]
    truncated = code.cast(code.cast(x, integer), x.type)
    return code.select_less(code.apply("abs", x), code.constant(whole, x.type), truncated, x)


def _round(code: Code, x: SSAValue) -> SSAValue:
    """Halves away from zero: the fraction is exact, unlike `x + 0.5`."""
    size = code.apply("abs", x)
    whole = _trunc(code, size)
    fraction = code.apply("sub", size, whole)
    up = code.apply("add", whole, 1)
    rounded = code.select_less(fraction, code.constant(0.5, x.type), whole, up)
    rounded = code.select_less(size, code.constant(_WHOLE[bit_width(x.type)][0], x.type), rounded, size)
    return code.select_less(x, code.constant(0, x.type), code.apply("neg", rounded), rounded)


def _roundeven(code: Code, x: SSAValue) -> SSAValue:
    """Halves to even: what an addition of a number so large that the sum is whole does."""
    size, whole = code.apply("abs", x), _WHOLE[bit_width(x.type)][0]
    rounded = code.apply("sub", code.apply("add", size, whole), whole)
    rounded = code.select_less(size, code.constant(whole, x.type), rounded, size)
    return code.select_less(x, code.constant(0, x.type), code.apply("neg", rounded), rounded)


def _ceil(code: Code, x: SSAValue) -> SSAValue:
    return code.apply("neg", _floor(code, code.apply("neg", x)))


def _absi(code: Code, x: SSAValue) -> SSAValue:
    return code.apply("max", x, code.apply("sub", 0, x))


def _fma(code: Code, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
    return code.apply("add", code.apply("mul", a, b), c)


def _scaled_log(factor: float) -> Expansion:
    return lambda code, x: code.apply("mul", code.apply("log", x), factor)


_EXPANSIONS: dict[type[Operation], Expansion] = {
    math.RsqrtOp: _rsqrt,
    math.PowFOp: _powf,
    math.FloorOp: _floor,
    math.CeilOp: _ceil,
    math.TruncOp: _trunc,
    math.RoundOp: _round,
    math.RoundEvenOp: _roundeven,
    math.AbsIOp: _absi,
    math.FmaOp: _fma,
    math.Log2Op: _scaled_log(1 / python_math.log(2)),
    math.Log10Op: _scaled_log(1 / python_math.log(10)),
    math.Log1pOp: _log1p,
    math.Exp2Op: lambda code, x: code.apply("exp", code.apply("mul", x, python_math.log(2))),
    math.ExpM1Op: _expm1,
    **TRIGONOMETRY,
}

_EXPANDED = _EXPANSIONS.keys() - {math.RoundEvenOp}
"""What is expanded where it stands. The vector unit rounds to whole numbers; the forms of others spell that out."""

_FORMULAS: dict[type[Operation], str] = {math.TanhOp: "tanh", math.ErfOp: "erf"}
"""What has formulas (see `npu_mlir.passes.linalg.formulas`), by their names."""

_FAST: dict[type[Operation], Expansion] = {
    math.Log1pOp: lambda code, x: code.apply("log", code.apply("add", x, 1)),
    math.ExpM1Op: lambda code, x: code.apply("sub", code.apply("exp", x), 1),
}
"""What is enough for the flag `afn` (approximate functions): small errors next to the largest value, not to each."""
