"""All schedules of small kernels on the toy machine, as programs and their cycles, with GM as a flat memory and behind
an L2 that has any of the operands.

    PYTHONPATH=tests/unit python tests/unit/schedule_search.py [PART OF A NAME]      make bounds: ten minutes for all

tries to beat the bounds, and says how close all schedules of each kernel come.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from npu_mlir.analysis.bound import l2_bound
from npu_mlir.analysis.dims import DimKind
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.passes import load_pass
from npu_mlir.passes.tile.kernel import Kernel, read_kernel
from npu_mlir.passes.tile.kernel_sizes import KernelSizes, levels_of
from npu_mlir.report.launch_bounds import least_of, noted_reads
from npu_mlir.simulator import Run, simulate
from npu_mlir.simulator.program.blocks import Blocks, Heat
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.module_target import set_target, target_of
from npu_mlir.targets.target import Target, get_target

BEFORE = ("tile-form-kernels", "tile-init-accumulators", "tile-annotate-bounds")
BEHIND = (
    "tile-apply-schedule",
    "tile-split-compute",
    "tile-fold-fixpipe",
    "tile-fold-reductions",
    "tile-bufferize",
    "tile-keep-operands",
    "tile-double-buffer",
    "tile-plan-memory",
    "convert-tile-to-npu-isa",
    "npu-isa-insert-sync",
    "npu-isa-cleanup",
)
CONTEXT = make_context()

L2 = {"size": 4096, "line": 64, "sector": 32, "rate": 16, "latency": 5, "prefetch": 8, "hbm": 64}
"""Twice as fast as the toy machine's GM, at a quarter of its latency."""

MACHINE = replace(get_target("toy"), l2=L2)


def run(module: ModuleOp, passes: Sequence[str]) -> None:
    for name in passes:
        load_pass(name)().apply(CONTEXT, module)


def formed(text: str, machine: Target | None = None) -> ModuleOp:
    """The module with its kernels formed and bounded, for a machine or the one that it names."""
    module = parse_module(CONTEXT, text, "kernel.mlir")
    if machine is not None:
        set_target(module, machine)
    run(module, BEFORE)
    return module


def kernels(module: ModuleOp) -> list[tile.KernelOp]:
    return [op for op in module.ops if isinstance(op, tile.KernelOp)]


def schedules(kernel: Kernel) -> Iterator[tile.ScheduleAttr]:
    """Everything that the schedule attribute can express for a kernel (tiles up to the extents)."""
    classes = kernel.classes.classes
    batch: set[int] = set()
    product = False
    for op, compute in kernel.computes.items():
        roles = contraction_roles(compute) if compute.contraction else None
        if roles is not None:
            product = True
            batch |= {kernel.classes.class_of[op][d] for d in roles.batch}
    sizes = [
        [c.extent] if c.kind is DimKind.MIXED else [1] if c.id in batch else range(1, c.extent + 1)
        for c in classes
    ]
    spaces = ("l1", "l0a", "l0b", "l0c", "ub") if product else ("ub",)
    slots = [dict(zip(spaces, n, strict=True)) for n in itertools.product((1, 2), repeat=len(spaces))]
    for tiles in itertools.product(*sizes):
        looped = [c.id for c in classes if c.kind is DimKind.PAR and tiles[c.id] < c.extent]
        divisors = (
            [[d for d in range(1, t + 1) if t % d == 0] for t in tiles] if product else [[t] for t in tiles]
        )
        for inner in itertools.product(*divisors):
            lists = levels_of(kernel, KernelSizes(tiles, inner, inner))
            for order in itertools.permutations(looped):
                for copies in slots:
                    for bypass_ub in (False, True) if product else (False,):
                        yield tile.ScheduleAttr.of(copies, lists, order=order, bypass_ub=bypass_ub)


State = tuple[bool, ...] | None
"""Which operands of a kernel are in L2, results too; None with GM as a flat memory."""


def states(kernel: tile.KernelOp) -> list[State]:
    """All that a kernel can meet."""
    results = (True,) * kernel.outputs
    operands = len(kernel.body.block.args) - len(results)
    return [None, *((*hot, *results) for hot in itertools.product((False, True), repeat=operands))]


def compiled(module: ModuleOp, schedule: tile.ScheduleAttr) -> ModuleOp | None:
    """A module of one kernel under a schedule; None if it does not fit or can't be expressed."""
    copy = module.clone()
    kernels(copy)[0].properties["schedule"] = schedule
    try:
        run(copy, BEHIND)
    except UserError:
        return None
    return copy


def cycles(module: ModuleOp, state: State) -> int:
    """The cycles of a compiled module of one kernel in a state of L2."""
    if state is None:
        return simulate(module, values=False, check=False, l2="off").cycles
    kernel, target = kernels(module)[0], target_of(module)
    machine = Run(target, check=False, alone=True, l2="off")
    # With everything in L2 that has been loaded once: the faster of the two.
    heat = Heat(tuple(0 if hot else None for hot in state), True)
    machine.execute(Blocks(kernel, target), [None] * len(state), values=False, heat=heat)
    return machine.cycles + target.latencies["launch"]


def bound_of(module: ModuleOp, state: State) -> int:
    """The lower bound of a module of one kernel in a state of L2."""
    (kernel,) = kernels(module)
    entries, reads = least_of(kernel), noted_reads(kernel)
    if state is None:
        return entries["cycles"]
    assert reads is not None
    pipes = {name: least for name, least in entries.items() if name in reads.around}
    return l2_bound(pipes, reads, state, target_of(module)).cycles


def count(kernel: Kernel) -> int:
    return sum(1 for _ in schedules(kernel))


def read(module: ModuleOp) -> Kernel:
    return read_kernel(kernels(module)[0])


def shape(sizes: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{s}x' for s in sizes)}{element}>"


def dims(n: int) -> str:
    return ", ".join(f"d{i}" for i in range(n))


def function(inputs: Sequence[str], output: str, body: str) -> str:
    args = ", ".join(f"%{chr(97 + i)}: {t}" for i, t in enumerate(inputs))
    return f"""
builtin.module attributes {{"npu.target" = "toy"}} {{
  func.func @main({args}) -> {output} {{
    {body}
    func.return %r : {output}
  }}
}}
"""


def elementwise(sizes: Sequence[int], element: str, ops: str, inputs: int = 1) -> str:
    """`ops` define %v from %x (and %y)."""
    t, n = shape(sizes, element), len(sizes)
    same = f"affine_map<({dims(n)}) -> ({dims(n)})>"
    args = ", ".join(f"%{name}: {element}" for name in ("x", "y")[:inputs])
    return function(
        [t] * inputs,
        t,
        f"""%e = tensor.empty() : {t}
    %r = linalg.generic {{indexing_maps = [{", ".join([same] * (inputs + 1))}],
                         iterator_types = [{", ".join(['"parallel"'] * n)}]}}
      ins({", ".join(f"%{chr(97 + i)}" for i in range(inputs))} : {", ".join([t] * inputs)}) outs(%e : {t}) {{
    ^bb0({args}, %o: {element}):
      {ops}
      linalg.yield %v : {element}
    }} -> {t}""",
    )


def reduction(sizes: Sequence[int], axes: Sequence[int], op: str) -> str:
    """A reduction of f32 along some axes."""
    n = len(sizes)
    kept = [d for d in range(n) if d not in axes]
    t, o = shape(sizes, "f32"), shape([sizes[d] for d in kept], "f32")
    kinds = ", ".join('"reduction"' if d in axes else '"parallel"' for d in range(n))
    return function(
        [t],
        o,
        f"""%z = arith.constant 0.0 : f32
    %e = tensor.empty() : {o}
    %f = linalg.fill ins(%z : f32) outs(%e : {o}) -> {o}
    %r = linalg.generic {{indexing_maps = [affine_map<({dims(n)}) -> ({dims(n)})>,
                         affine_map<({dims(n)}) -> ({", ".join(f"d{d}" for d in kept)})>], iterator_types = [{kinds}]}}
      ins(%a : {t}) outs(%f : {o}) {{
    ^bb0(%x: f32, %o: f32):
      %v = {op} %o, %x : f32
      linalg.yield %v : f32
    }} -> {o}""",
    )


def matmul(m: int, n: int, k: int, behind: str = "", element: str = "f32") -> str:
    """A matrix product, with an elementwise operation behind it: `behind` defines %v from %x."""
    a, b, c = shape((m, k), element), shape((k, n), element), shape((m, n), "f32")
    wide = "%p = arith.extf %x : f16 to f32\n      %q = arith.extf %y : f16 to f32\n      %s = arith.mulf %p, %q : f32"
    narrow = "%s = arith.mulf %x, %y : f32"
    result = "p" if behind else "r"
    text = f"""%z = arith.constant 0.0 : f32
    %e = tensor.empty() : {c}
    %f = linalg.fill ins(%z : f32) outs(%e : {c}) -> {c}
    %{result} = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : {a}, {b}) outs(%f : {c}) {{
    ^bb0(%x: {element}, %y: {element}, %o: f32):
      {wide if element == "f16" else narrow}
      %v = arith.addf %o, %s : f32
      linalg.yield %v : f32
    }} -> {c}"""
    if behind:
        text += f"""
    %g = tensor.empty() : {c}
    %r = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                         iterator_types = ["parallel", "parallel"]}} ins(%p : {c}) outs(%g : {c}) {{
    ^bb0(%x: f32, %o: f32):
      {behind}
      linalg.yield %v : f32
    }} -> {c}"""
    return function([a, b], c, text)


RELU = "%c = arith.constant 0.0 : f32\n      %v = arith.maximumf %x, %c : f32"
SCALE = "%c = arith.constant 2.0 : f32\n      %v = arith.mulf %x, %c : f32"
GELU = "%s = math.exp %x : f32\n      %t = arith.mulf %s, %x : f32\n      %v = arith.addf %t, %x : f32"

KERNELS: dict[str, str] = {
    "relu 1": elementwise([1], "f32", RELU),
    "relu 7": elementwise([7], "f32", RELU),
    "relu 40": elementwise([40], "f32", RELU),
    "scale 3x5": elementwise([3, 5], "f32", SCALE),
    "scale 8x8": elementwise([8, 8], "f32", SCALE),
    "exp 4x9": elementwise([4, 9], "f32", "%v = math.exp %x : f32"),
    "exp 2x3x4": elementwise([2, 3, 4], "f32", "%v = math.exp %x : f32"),
    "chain 4x8": elementwise([4, 8], "f32", GELU),
    "chain 6x6": elementwise([6, 6], "f32", GELU),
    "half 3x16": elementwise([3, 16], "f16", "%v = math.exp %x : f16"),
    "add 5x5": elementwise([5, 5], "f32", "%v = arith.addf %x, %y : f32", 2),
    "add 16x2": elementwise([16, 2], "f32", "%v = arith.addf %x, %y : f32", 2),
    "div 4x6": elementwise([4, 6], "f32", "%v = arith.divf %x, %y : f32", 2),
    "sum 4x8 rows": reduction([4, 8], [1], "arith.addf"),
    "sum 8x4 columns": reduction([8, 4], [0], "arith.addf"),
    "sum 5x7 all": reduction([5, 7], [0, 1], "arith.addf"),
    "max 3x4x5": reduction([3, 4, 5], [1], "arith.maximumf"),
    "max 12": reduction([12], [0], "arith.maximumf"),
    "product 1x1x1": matmul(1, 1, 1),
    "product 2x2x2": matmul(2, 2, 2),
    "product 3x2x1": matmul(3, 2, 1),
    "product 1x3x2": matmul(1, 3, 2),
    "product 2x1x4": matmul(2, 1, 4),
    "product 1x5x1": matmul(1, 5, 1),
    "product 1x1x5": matmul(1, 1, 5),
    "product 5x1x1": matmul(5, 1, 1),
    "product relu 2x2x2": matmul(2, 2, 2, RELU),
    "product relu 1x2x3": matmul(1, 2, 3, RELU),
    "product exp 2x2x2": matmul(2, 2, 2, "%v = math.exp %x : f32"),
    "product chain 2x2x1": matmul(2, 2, 1, GELU),
    "half product 2x2x2": matmul(2, 2, 2, element="f16"),
    "half product relu 1x2x2": matmul(1, 2, 2, RELU, element="f16"),
    "product 3x3x1": matmul(3, 3, 1),
    "product 1x4x2": matmul(1, 4, 2),
}


def search(name: str) -> Iterator[tuple[State, int, int]]:
    """For each state of L2 the bound of a kernel and the least cycles of all its schedules."""
    module = formed(KERNELS[name], MACHINE)
    least: dict[State, int] = {}
    for schedule in schedules(read(module)):
        if (program := compiled(module, schedule)) is not None:
            for state in states(kernels(program)[0]):
                least[state] = min(least.get(state, sys.maxsize), cycles(program, state))
    for state, found in least.items():
        yield state, bound_of(module, state), found


def main(part: str) -> int:
    """Search for what beats a bound; the exit status tells whether anything does."""
    beaten = 0
    for name in KERNELS:
        for state, least, found in search(name) if part in name else ():
            beaten += found < least
            where = "flat" if state is None else "L2 " + " ".join("hot" if hot else "cold" for hot in state)
            print(f"{name}, {where}: bound {least}, found {found}, {least / found:.0%}", flush=True)
    return int(beaten > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
