"""What an op does besides computing its results.

xDSL derives effects from traits, but some dialects declare none: `linalg` ops, `affine.load` and a few of `arith`.
The tables here complete them; everything else is asked of the op's traits. Unknown ops have unknown effects.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.traits import (
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)

_PURE = frozenset({"arith.remui", "arith.extsi", "affine.min", "linalg.index"})
_READS = frozenset({"affine.load", "affine.vector_load"})
_RECURSIVE = frozenset({"affine.for", "affine.parallel", "scf.execute_region"})


def has_only_local_effects(op: Operation) -> bool:
    """Whether all that `op` does, its regions included, is to compute results: it may read memory and allocate
    what it returns, but writes and frees nothing."""
    name = op.name
    if name in _PURE or name in _READS:
        return True
    if name in _RECURSIVE:
        return _nested_are_local(op)
    if name.startswith("linalg."):
        return _is_on_tensors(op) and _nested_are_local(op)
    traits = op.get_traits_of_type(MemoryEffect)
    if not traits:
        return False
    return all(_trait_is_local(op, trait) for trait in traits)


def is_pure(op: Operation) -> bool:
    """Whether equal operands always give equal results and nothing else happens: two such ops may be merged,
    and one may be moved or dropped."""
    if op.name in _PURE:
        return True
    if op.name in _READS:
        return False
    if op.name in _RECURSIVE or op.name.startswith("linalg."):
        return _is_on_tensors(op) and all(is_pure(nested) for nested in _body(op))
    traits = op.get_traits_of_type(MemoryEffect)
    if any(isinstance(trait, RecursiveMemoryEffect) for trait in traits):
        return all(is_pure(nested) for nested in _body(op))
    return bool(traits) and all(trait.get_effects(op) == frozenset() for trait in traits)


def is_dead(op: Operation) -> bool:
    """Whether `op` can be erased: nothing uses its results and it has no effect beyond them."""
    return (
        all(result.first_use is None for result in op.results)
        and not op.has_trait(IsTerminator, value_if_unregistered=True)
        and not op.has_trait(SymbolOpInterface, value_if_unregistered=True)
        and has_only_local_effects(op)
    )


def _trait_is_local(op: Operation, trait: MemoryEffect) -> bool:
    if isinstance(trait, RecursiveMemoryEffect):
        return _nested_are_local(op)
    effects = trait.get_effects(op)
    return effects is not None and all(
        effect.kind is MemoryEffectKind.READ
        or (
            effect.kind is MemoryEffectKind.ALLOC
            and (effect.value is None or (isinstance(effect.value, SSAValue) and effect.value.owner is op))
        )
        for effect in effects
    )


def _is_on_tensors(op: Operation) -> bool:
    return not any(isinstance(operand.type, MemRefType) for operand in op.operands)


def _nested_are_local(op: Operation) -> bool:
    return all(has_only_local_effects(nested) for nested in _body(op))


def _body(op: Operation) -> list[Operation]:
    """The ops directly within `op`, without the terminators that only pass values on."""
    return [
        nested
        for region in op.regions
        for block in region.blocks
        for nested in block.ops
        if not (nested.has_trait(IsTerminator) and not nested.successors)
    ]
