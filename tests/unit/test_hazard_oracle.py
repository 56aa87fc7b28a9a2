"""The simulator finds the hazards that brute force finds: random kernels whose flags are taken away in part."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from hazard_oracle import first_hazard
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.simulator import SimulationError, simulate
from npu_mlir.targets.target import get_target
from test_insert_sync import kernels, with_flags

WORDS = {
    "race between": "race",
    "which nothing before sets": "wait",
    "while it is still pending": "set twice",
    "may not have consumed it": "set early",
    "before they are written": "early read",
    "still set at the end": "left",
}


def reported(module: ModuleOp) -> tuple[str, Any] | None:
    """What the simulator reports, in the words of the oracle."""
    try:
        simulate(module, values=False, check=True)
    except SimulationError as error:
        kind = next(kind for text, kind in WORDS.items() if text in error.message)
        return kind, None if kind == "left" else error.loc
    return None


@settings(max_examples=50, deadline=None)
@given(kernels(), st.lists(st.integers(0, 10**6), max_size=3), st.booleans())
def test_random_kernels_without_some_flags(text: str, chosen: list[int], whole: bool) -> None:
    module = with_flags(text)
    kernel = next(op for op in module.ops if isinstance(op, tile.KernelOp))
    flags = [op for op in kernel.walk() if isinstance(op, npu_isa.FlagInstruction)]
    removed = [flags[i % len(flags)] for i in chosen] if flags else []
    if whole:
        # All flags between the same pipes, which leaves races rather than misused flags.
        removed = [op for op in flags if any(op.pipes == other.pipes for other in removed)]
    for op in dict.fromkeys(removed):
        op.detach()
        op.erase()
    expected = first_hazard(kernel, get_target("ascend-910"))
    assert reported(module) == expected
