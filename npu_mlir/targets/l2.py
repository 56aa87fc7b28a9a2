"""What L2 has when a program begins, on a machine with one."""

from __future__ import annotations

from npu_mlir.support.diagnostics import UserError, closest
from npu_mlir.targets.target import Target

L2_STATES = ("cold", "warm", "off")
"""Nothing; what the program that has just run left there; or no L2: GM is one flat memory, as on machines that have
none."""

DEFAULT_L2 = "cold"


def l2_state(asked: str | None, target: Target) -> str:
    """The state that is asked for, or the default; `off` on a machine without L2, for which another one is a
    `UserError`, as is what is none of `L2_STATES`."""
    if asked is not None and asked not in L2_STATES:
        notes = [f"one of {', '.join(L2_STATES)}"]
        raise UserError(f"unknown state of L2 '{asked}'{closest(asked, L2_STATES)}", notes=notes)
    if target.l2:
        return DEFAULT_L2 if asked is None else asked
    if asked not in (None, "off"):
        raise UserError(
            f"the target '{target.name}' has no L2 that could be {asked}",
            notes=["its file has no table [l2]"],
        )
    return "off"
