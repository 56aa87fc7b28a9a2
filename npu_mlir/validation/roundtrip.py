"""Does a module stay the same when it is printed and parsed again? A check for whoever writes the syntax of an op."""

from __future__ import annotations

from itertools import zip_longest

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.printing import PrintOptions, op_text
from npu_mlir.support.diagnostics import UserError

FORMS = {"custom": PrintOptions(), "generic": PrintOptions(generic=True)}


def check_roundtrip(ctx: Context, module: ModuleOp) -> None:
    """Raise unless the module survives both forms of its text. Resources and weights are left out."""
    for form, options in FORMS.items():
        name = f"the module in {form} form"
        again = parse_module(ctx, op_text(module, options), name)
        if not module.is_structurally_equivalent(again):
            raise UserError(
                f"the module is another one after it was printed in {form} form and parsed again",
                notes=_difference(module, again),
            )


def _difference(before: ModuleOp, after: ModuleOp) -> list[str]:
    """The first line of the generic texts that differs."""
    lines = [op_text(module, FORMS["generic"]).splitlines() for module in (before, after)]
    for old, new in zip_longest(*lines, fillvalue=""):
        if old != new:
            return [f"before: {old.strip()}", f"after: {new.strip()}"]
    return ["the generic texts are the same: something in it is not printed"]
