"""canonicalize: fold ops, apply each op's own canonicalization patterns and erase dead ops, until nothing changes.

    %c = arith.constant 0 : i32
    %0 = arith.addi %a, %c : i32
    "use"(%0)
  becomes
    "use"(%a)

Scalar operations on constants are evaluated, floats included. Does the work of xDSL's pass of this name, but knows
the effects of linalg ops and looks only at ops that have a folder or patterns.

Does not handle: patterns of ops whose dialect registers none (it isn't a place for ad-hoc rewrites).
"""

from __future__ import annotations

from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.folder import Folder
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.traits import ConstantLike, HasCanonicalizationPatternsTrait, HasFolder

from npu_mlir.passes.canonicalization_patterns.scalars import fold_scalar, is_scalar_operation
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.support.debug_counter import APPLY_PATTERN, may

_MAX_ROUNDS = 10
"""As many as MLIR: a pattern set that doesn't come to an end by then never will."""


@cache
def _patterns_of(op_type: type[Operation]) -> tuple[RewritePattern, ...]:
    traits = op_type.get_traits_of_type(HasCanonicalizationPatternsTrait)
    return tuple(pattern for trait in traits for pattern in trait.get_patterns(op_type))


@cache
def _can_fold(op_type: type[Operation]) -> bool:
    return bool(op_type.get_traits_of_type(HasFolder)) and not op_type.get_traits_of_type(ConstantLike)


def _rewrite_once(op: Operation, folder: Folder) -> bool:
    """Fold `op` or apply the first pattern that matches; whether anything changed."""
    op_type = type(op)
    patterns = _patterns_of(op_type)
    foldable = _can_fold(op_type)
    scalar = is_scalar_operation(op)
    if not patterns and not foldable and not scalar:
        return False
    rewriter = PatternRewriter(op)
    if foldable and may(APPLY_PATTERN) and folder.replace_with_fold(op, rewriter) is not None:
        return True
    if scalar and may(APPLY_PATTERN) and fold_scalar(op, rewriter):
        return True
    for pattern in patterns:
        if not may(APPLY_PATTERN):
            continue
        pattern.match_and_rewrite(op, rewriter)
        if rewriter.has_done_action:
            return True
    return False


class Canonicalize(ModulePass):
    """Fold, apply the canonicalization patterns of the ops, erase what is dead."""

    name = "canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        folder = Folder(ctx)
        for _ in range(_MAX_ROUNDS):
            changed = erase_dead_ops(op)
            for nested in list(op.walk()):
                # An earlier rewrite of this round may have erased it.
                if nested is not op and nested.parent is not None:
                    changed |= _rewrite_once(nested, folder)
            if not changed:
                return
