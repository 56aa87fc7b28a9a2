"""How often loads missed that don't always hit, and how long they held their pipe for more than a hit takes."""

from __future__ import annotations

from dataclasses import dataclass, field

from npu_mlir.dialects import npu_isa


@dataclass
class LoadCounts:
    """Of each load: executions that missed; cycles for which it held its pipe longer than a hit does because of a
    prefetch under way, whether it waited for that or missed. Misses without a prefetch are not part of the cycles."""

    misses: dict[npu_isa.Instruction, int] = field(default_factory=dict[npu_isa.Instruction, int])
    delays: dict[npu_isa.Instruction, int] = field(default_factory=dict[npu_isa.Instruction, int])

    def add(self, op: npu_isa.Instruction, misses: int, cycles: int = 0) -> None:
        """Count executions of a load."""
        self.misses[op] = self.misses.get(op, 0) + misses
        self.delays[op] = self.delays.get(op, 0) + cycles
