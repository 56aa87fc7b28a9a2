"""How exact functions have to be: the attribute that asks for fast formulas, and the one that says which were used.

    builtin.module attributes {npu.accuracy = "fast"} {                          // --fast-math
      %0 = graph.gelu %x {npu.accuracy = "full"} : ...                           // but not this one
  and, once formulas are chosen,
    builtin.module attributes {npu.accuracy = "fast", npu.formulas = ["sigmoid in f16: ..."]} {

The innermost attribute counts. What is not marked is computed with full accuracy: within 4 ulp in f32, 1 ulp in f16.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Operation

from npu_mlir.support.diagnostics import UserError

ACCURACY = "npu.accuracy"
"""An attribute of a module, function or op: `"fast"` allows formulas with larger errors, `"full"` doesn't."""

FORMULAS = "npu.formulas"
"""An attribute of a module: the fast formulas in it, with their errors."""

FAST, FULL = "fast", "full"


def is_fast(op: Operation) -> bool:
    """Whether the closest attribute around an op, its own included, allows fast formulas.

    Any other value than those two is a `UserError`.
    """
    around: Operation | None = op
    while around is not None:
        accuracy = around.attributes.get(ACCURACY)
        if accuracy is not None:
            if accuracy not in (StringAttr(FAST), StringAttr(FULL)):
                raise UserError(f'{ACCURACY} is "{FAST}" or "{FULL}", not {accuracy}', loc=around)
            return accuracy == StringAttr(FAST)
        around = around.parent_op()
    return False


def allow_fast(module: Operation, level: str) -> None:
    """Let what is not marked otherwise be computed by fast formulas, in a module of a level at which none is chosen."""
    if level not in ("graph", "linalg"):
        raise UserError(
            f"--fast-math is for models, graph and linalg; formulas are chosen at the level {level}"
        )
    module.attributes[ACCURACY] = StringAttr(FAST)


def formulas_in(module: Operation) -> list[str]:
    """The fast formulas that a module says it has."""
    known = module.attributes.get(FORMULAS)
    if not isinstance(known, ArrayAttr):
        return []
    return [name.data for name in known if isinstance(name, StringAttr)]


def add_formulas(module: Operation, names: Iterable[str]) -> None:
    """Note that a module has these fast formulas."""
    found = sorted({*formulas_in(module), *names})
    if found:
        module.attributes[FORMULAS] = ArrayAttr([StringAttr(name) for name in found])
