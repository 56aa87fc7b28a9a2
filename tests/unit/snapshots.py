"""What the compiler decides for small programs: schedules, memory, flags and cycles, as text.

A change of policy shows up here, whether or not it was meant. If it was, `make snapshots` writes the new decisions,
and the difference of `snapshots.txt` belongs in the commit.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.context import make_context
from npu_mlir.pass_infra.pass_manager import PassManager
from npu_mlir.pipeline import make_pipeline
from npu_mlir.simulator import simulate
from programs import PROGRAMS, make_program

EXPECTED = Path(__file__).with_name("snapshots.txt")
TARGETS = ("toy", "ascend-910", "ascend-910b")


def snapshot(program: str, target: str, precision: str) -> str:
    """The decisions for one program."""
    module = make_program(program, target)
    options = {"graph-set-precision": f"precision={precision}"}
    PassManager(make_pipeline(None, "isa", options), verify_each=False).run(make_context(), module)
    stats = {kernel.name: kernel for kernel in simulate(module, values=False, check=False).kernels}
    lines = [f"{program} on {target} in {precision}"]
    for kernel in (op for op in module.ops if isinstance(op, tile.KernelOp)):
        name = kernel.sym_name.data
        lines.append(f"  {name}: {stats[name].cycles} cycles, {stats[name].instructions} instructions")
        lines.append(f"    schedule {kernel.schedule}")
        lines.append(f"    {_memory(kernel)}; {_flags(kernel)}")
    lines.append(f"  results at {_offsets(module)}")
    return "\n".join(lines)


def _memory(kernel: tile.KernelOp) -> str:
    """Where the buffers lie, and how many slots of which size they have."""
    places = [
        f"{op.result.type.space.data} {op.address.value.data}+{op.slots.value.data}x{op.bytes.value.data}"
        for op in kernel.walk()
        if isinstance(op, npu_isa.BufferOp)
    ]
    return ", ".join(places) or "no buffers"


def _flags(kernel: tile.KernelOp) -> str:
    counts = Counter(
        "->".join(op.pipes) if isinstance(op, npu_isa.SetFlagOp) else "barrier"
        for op in kernel.walk()
        if isinstance(op, npu_isa.SetFlagOp | npu_isa.BarrierOp)
    )
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "no flags"


def _offsets(module: ModuleOp) -> str:
    offsets = [
        str(list(op.result_offsets.get_values()))
        for op in module.walk()
        if isinstance(op, tile.LaunchOp) and op.result_offsets is not None
    ]
    return ", ".join(offsets)


def all_snapshots() -> str:
    """The decisions for all programs."""
    blocks = [
        snapshot(program, target, precision)
        for program in PROGRAMS
        for target in TARGETS
        for precision in ("f32", "f16")
    ]
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    EXPECTED.write_text(all_snapshots())
