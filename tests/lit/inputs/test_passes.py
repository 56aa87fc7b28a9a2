"""Passes for the tests of npu-opt: they fail in every way that a pass can fail, warn and remark."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.arith import AddiOp, MuliOp
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import Rewriter

from npu_mlir.support.diagnostics import Note, UserError, remark, warn


@dataclass(frozen=True)
class Crash(ModulePass):
    """Raise an exception at every product."""

    name = "test-crash"

    message: str = "no such thing"
    """What it says."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for product in op.walk():
            if isinstance(product, MuliOp):
                raise KeyError(self.message)


class _CrashingPattern(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MuliOp, rewriter: PatternRewriter, /) -> None:
        op.operands[7]


class CrashInPattern(ModulePass):
    """Raise an exception in a rewrite pattern."""

    name = "test-crash-in-pattern"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(_CrashingPattern()).rewrite_module(op)


class _DoublePattern(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddiOp, rewriter: PatternRewriter, /) -> None:
        if op.lhs == op.rhs:
            return
        zero = MuliOp(op.lhs, op.rhs)
        rewriter.replace(op, [zero, AddiOp(zero, zero)])


class Double(ModulePass):
    """Replace sums by twice the product, by a plain rewrite pattern."""

    name = "test-double"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(_DoublePattern(), apply_recursively=False).rewrite_module(op)


class BreakType(ModulePass):
    """Give every product a wrong type, in place."""

    name = "test-break-type"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for product in op.walk():
            if isinstance(product, MuliOp):
                Rewriter.replace_value_with_new_type(product.result, i64)


class BreakOrder(ModulePass):
    """Move every product to the end of its block."""

    name = "test-break-order"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for product in list(op.walk()):
            if isinstance(product, MuliOp):
                block = product.parent
                assert block is not None and block.last_op is not None
                product.detach()
                block.insert_op_before(product, block.last_op)


class EraseUsed(ModulePass):
    """Erase every product, though it is used."""

    name = "test-erase-used"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for product in list(op.walk()):
            if isinstance(product, MuliOp):
                product.detach()
                product.erase(safe_erase=False)


def _bad_verifier() -> None:
    raise AttributeError("something is missing")


class BreakVerifier(ModulePass):
    """Give every function a verifier that fails in an unexpected way."""

    name = "test-break-verifier"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            function.verify_ = _bad_verifier  # type: ignore[method-assign]


class Report(ModulePass):
    """Warn of every product and remark on every sum, then fail if there is a product of a value with itself."""

    name = "test-report"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nested in op.walk():
            if isinstance(nested, MuliOp):
                warn("products are slow", loc=nested, notes=[Note("in this function", nested.parent_op())])
                if nested.lhs == nested.rhs:
                    raise UserError("a square is too slow", loc=nested)
            if isinstance(nested, AddiOp):
                remark("a sum is fine", loc=nested)
