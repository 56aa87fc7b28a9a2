"""Lower bounds on the cycles of a kernel and of a network, and what the best blocking of a contraction would take.

`bound` is proven, in the model of the simulator, for every program that does the work of the kernel: it computes each
product over a grid of tiles, brings every element that it reads from GM, and combines each pair of operands of an
operation that is not a cast at least once. Other tile sizes, loop orders, residencies and slots do not matter.

*Proof.* Let p be a pipe and W(p) a lower bound on the cycles that its instructions occupy it. A pipe executes one
instruction after the other, so between the start of the first of these and the end of the last at least W(p) cycles
pass. The first can't start earlier than head(p): what it reads has been produced by a chain of instructions on other
pipes, each complete and handed over before the next starts; behind the last, what it wrote takes tail(p) through such a
chain until GM has it, and a kernel ends when everything is complete. So cycles >= launch + head(p) + W(p) + tail(p) for
every p. It remains to show W(p):

- *M*. A step of the cube multiplies at most cm x ck by ck x cn elements. Over a grid of tiles the steps are
  sum ceil(m_i/cm) * sum ceil(k_j/ck) * sum ceil(n_l/cn) >= ceil(M/cm) ceil(K/ck) ceil(N/cn), because a sum of
  rounded-up numbers is at least the rounded-up sum. One mmad has m*k, k*n, m*n elements in L0A, L0B, L0C, so
  m*k*n = sqrt(mk * kn * mn) <= sqrt(L0A * L0B * L0C), which bounds how many there are; each has its fixed cycles.
- *MTE1*. An mmad reads m x k elements from L0A and k x n from L0B, all of which a load has put there: at least M*K and
  K*N elements of each batch pass, at the rate of their path, in loads that fill the memory at most.
- *MTE2*. Each element of GM that is read is loaded at least once; each array by at least one transfer, and by as many
  as it fills its memory.
- *MTE3 or FIX*. Each result is stored once, from UB or, if nothing stands between, from L0C; the larger of the rates
  bounds both. Accumulators that the vector unit works on pass from L0C to UB at their own size.
- *V*. An operation takes slope cycles for each group of `vector_bytes` of its widest operand, and no group holds more
  elements than fit. What the fixpipe or another instruction can do on the side (casts, relu and a scale behind a
  product, the product in a multiply-add) counts nothing.

On a machine with L2 this is the bound with GM as one flat memory at the rate of HBM. Behind L2 (`reads_of`,
`l2_bound`), MTE2 has to load each element of an operand that a launch finds in L2 at least once at the rate of a hit,
and of another one at least once at that of a miss, because what has not been loaded in this launch is not there. Heads
and tails are those of hits.

A handover costs a flag at the waiting pipe, or a barrier and an issue: at least the smaller of the two.

`best_blocking` is not proven: it is the best of a family of blockings, and no schedule that was simulated beat it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from npu_mlir.analysis.tiling import ACCUMULATOR
from npu_mlir.dialects.npu_isa import CubeWork
from npu_mlir.dialects.tile import storage_bytes
from npu_mlir.targets.cost import cube_cycles
from npu_mlir.targets.target import Target

BLOCK = 32
"""Bytes of the smallest transfer."""


@dataclass(frozen=True)
class ProductWork:
    """`batch` products of m x k and k x n elements."""

    batch: int
    m: int
    n: int
    k: int
    element: str
    """The type of the factors, as `Target.cube_steps` has it."""
    bits: int
    """Bits of one of them."""


@dataclass(frozen=True)
class VectorOps:
    """`elements` results or combinations of `width` bytes, at `slope` cycles per `Target.vector_bytes` bytes."""

    elements: int
    width: int
    slope: int


@dataclass(frozen=True)
class KernelWork:
    """What a kernel has to do, however it is scheduled."""

    loads: tuple[tuple[str, int], ...]
    """Path from GM and bytes of each array that is read."""
    stores: tuple[int, ...]
    """Bytes of each result."""
    products: tuple[ProductWork, ...] = ()
    vector: tuple[VectorOps, ...] = ()
    direct: bool = False
    """A result may leave L0C for GM without the vector unit."""


@dataclass(frozen=True)
class Bound:
    """A lower bound on the cycles of one launch, and the occupancy of each pipe that it follows from."""

    cycles: int
    pipes: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def limit(self) -> str:
        """The pipe with the most to do."""
        return max(self.pipes, key=lambda p: self.pipes[p], default="launch")


def bound(work: KernelWork, target: Target) -> Bound:
    """The lower bound of one launch on one core, in cycles; see the proof above."""
    chain = _Chain(work, target)
    pipes = {
        "MTE2": _load_cycles(work, target),
        "MTE1": sum(_l0_cycles(p, target) for p in work.products),
        "M": sum(_cube_cycles(p, target) for p in work.products),
        "V": sum(op.slope * -(-op.elements * op.width // target.vector_bytes) for op in work.vector),
        "FIX": _fix_cycles(work, target),
        "MTE3": _store_cycles(work, target),
    }
    pipes = {pipe: cycles for pipe, cycles in pipes.items() if cycles}
    most = max((chain.head(p) + cycles + chain.tail(p) for p, cycles in pipes.items()), default=0)
    return Bound(target.latencies["launch"] + most, pipes)


@dataclass(frozen=True)
class Reads:
    """What the bound of a launch on a machine with L2 follows from: `bytes` that it reads of each argument on the path
    `paths`, the cycles before and behind the work of each pipe (`around`), the launch included, and the fixed cycles of
    its transfers from GM (`fixed`)."""

    bytes: tuple[int, ...]
    paths: tuple[str, ...]
    around: dict[str, int]
    fixed: int


def reads_of(work: KernelWork, arguments: Sequence[int], count: int, target: Target) -> Reads:
    """What to keep of a kernel with `count` arguments for `l2_bound`; `arguments` are those of the loads, by number."""
    sizes, paths = [0] * count, [""] * count
    for (path, size), number in zip(work.loads, arguments, strict=True):
        sizes[number] += size
        paths[number] = max(path, paths[number] or path, key=lambda p: target.rates[p])
    rates = {p: max(r, target.l2["rate"]) if p.startswith("gm_") else r for p, r in target.rates.items()}
    latency = min(target.latencies["gm"], int(target.l2["latency"]))
    near = replace(target, rates=rates, latencies={**target.latencies, "gm": latency})
    chain, launch = _Chain(work, near), target.latencies["launch"]
    around = {pipe: launch + chain.head(pipe) + chain.tail(pipe) for pipe in bound(work, target).pipes}
    moved = sum(size / target.rates[path] for path, size in work.loads)
    return Reads(tuple(sizes), tuple(paths), around, _load_cycles(work, target) - math.ceil(moved))


def l2_bound(pipes: Mapping[str, int], reads: Reads, hot: Sequence[bool], target: Target) -> Bound:
    """The bound of a launch that finds these arguments in L2; `pipes` is the least occupancy of each pipe with GM as a
    flat memory."""
    moved = 0.0
    for size, path, there in zip(reads.bytes, reads.paths, hot, strict=True):
        if size:
            rate = target.rates[path]
            moved += size / (max(rate, target.l2["rate"]) if there else rate)
    own = dict(pipes)
    if "MTE2" in own:
        own["MTE2"] = math.ceil(moved) + reads.fixed
    cycles = max(
        (reads.around[pipe] + work for pipe, work in own.items()), default=target.latencies["launch"]
    )
    return Bound(cycles, own)


def _cube_cycles(p: ProductWork, target: Target) -> int:
    steps = cube_cycles(CubeWork(p.m, p.k, p.n, p.element), target)
    most = math.isqrt((target.l0a * 8 // p.bits) * (target.l0b * 8 // p.bits) * (target.l0c // ACCUMULATOR))
    # A buffer may be too small for a single element: something else says so.
    most = max(1, most)
    return p.batch * (steps + -(-p.m * p.k * p.n // most) * target.latencies["mmad"])


def _l0_cycles(p: ProductWork, target: Target) -> int:
    sizes = {"l0a": storage_bytes(p.m * p.k, p.bits), "l0b": storage_bytes(p.k * p.n, p.bits)}
    transfers = sum(size / target.rates[f"l1_{space}"] for space, size in sizes.items())
    loads = sum(-(-size // target.capacity(space)) for space, size in sizes.items())
    return p.batch * (math.ceil(transfers) + loads * target.latencies["l0_load"])


def _load_cycles(work: KernelWork, target: Target) -> int:
    transfers = sum(size / target.rates[path] for path, size in work.loads)
    count = sum(-(-size // target.capacity(path.removeprefix("gm_"))) for path, size in work.loads)
    return math.ceil(transfers) + count * target.latencies["dma"] if count else 0


def _store_cycles(work: KernelWork, target: Target) -> int:
    """Of MTE3, or of FIX where results can leave L0C directly: one of the two is occupied that long."""
    if not work.stores:
        return 0
    rate, space = target.rates["ub_gm"], target.ub
    sizes = work.stores
    if work.direct:
        rate, space = max(rate, target.rates["l0c_gm"]), max(space, target.l0c)
        # Different results may take different ways, at the same time.
        sizes = (max(sizes),)
    return math.ceil(sum(sizes) / rate) + sum(-(-s // space) for s in sizes) * target.latencies["dma"]


def _fix_cycles(work: KernelWork, target: Target) -> int:
    if work.direct or "l0c_ub" not in target.rates:
        return 0
    size = sum(p.batch * p.m * p.n * ACCUMULATOR for p in work.products)
    pieces = -(-size // target.l0c)
    return math.ceil(size / target.rates["l0c_ub"]) + pieces * target.latencies["l0_load"]


class _Chain:
    """The shortest chains of instructions before and behind the work of a pipe."""

    def __init__(self, work: KernelWork, target: Target):
        lat, rates = target.latencies, target.rates
        self.handover = min(lat["flag"], lat["issue"])
        self.gm = lat["gm"]
        self.issue = lat["issue"]
        self.products = bool(work.products)
        paths = {path for path, _ in work.loads}
        self.load = min((lat["dma"] + _block(rates[p]) for p in paths), default=0) + (self.gm if paths else 0)
        self.l0 = lat["l0_load"] + min(_block(rates["l1_l0a"]), _block(rates["l1_l0b"]))
        self.mmad = lat["mmad"] + 1
        self.store = lat["dma"] + min(_block(rates["ub_gm"]), _block(rates["l0c_gm"])) + self.gm
        kinds = target.vector.values()
        self.fill, self.finish = min(k[0] for k in kinds), min(k[2] for k in kinds)
        out = lat["l0_load"] + _block(rates["l0c_ub"]) + self.handover if "l0c_ub" in rates else 0
        self.out = 0 if work.direct else out
        self.all_to_cube = self.products and paths == {"gm_l1"}

    def head(self, pipe: str) -> int:
        """Cycles before the first instruction that counts."""
        start = self.issue
        if pipe == "MTE2" or not self.load:
            return start
        loaded = start + self.load + self.handover
        if pipe == "MTE1" or (pipe == "MTE3" and not self.all_to_cube):
            return loaded
        if pipe == "V" and not self.all_to_cube:
            return loaded + self.fill
        # An mmad needs a load to L0A and one to L0B, which follow each other on MTE1.
        multiply = loaded + 2 * self.l0 + self.handover
        if pipe == "M":
            return multiply
        accumulated = multiply + self.mmad + self.handover
        if pipe == "FIX":
            return accumulated
        return accumulated + self.out + (self.fill if pipe == "V" else 0)

    def tail(self, pipe: str) -> int:
        """Cycles behind the last instruction that counts."""
        match pipe:
            case "MTE3":
                return self.gm
            case "FIX":
                return self.handover + self.store
            case "V":
                return self.finish + self.handover + self.store
            case "M":
                return self.handover + self.out + self.store
            case "MTE1":
                return self.handover + self.mmad + self.tail("M")
            case _ if self.all_to_cube:
                return self.gm + self.handover + self.l0 + self.tail("MTE1")
            case _:
                return self.gm + self.handover + self.store


def _block(rate: float) -> int:
    """Cycles of the smallest transfer."""
    return math.ceil(BLOCK / rate)


# ---- networks --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LaunchWork:
    """One launch for the bounds of a network: its bound, and the bytes of weights that it reads; on a machine with L2,
    also bytes that it is the first to read, and bytes of weights that it finds there without a prefetch."""

    bound: Bound
    weights: int
    first: int = 0
    found: int = 0
    program: int | None = None
    """The number of the program that it is a section of."""


@dataclass(frozen=True)
class NetworkBounds:
    """B1, B2, B3: with less and less said about how the kernels follow each other, so B2 >= B3."""

    serial: int
    """B1, proven for launches one after the other: the sum of their bounds."""
    prefetched: int
    """B2: what the busiest pipe of each launch computes, or its weights, loaded ahead as far as L1 reaches; activations
    are free."""
    overlapped: int
    """B3: the busiest pipe of the network, weights once."""
    linked: int
    """As the launches are linked: of each program, the busiest pipe over all its sections, and its launch; of launches
    that are no sections, their bounds."""


COMPUTING = ("M", "MTE1", "V", "FIX")
"""The pipes that do not reach GM for activations, but FIX on machines where it stores."""


def network_bounds(launches: Sequence[LaunchWork], target: Target, l2: bool = False) -> NetworkBounds:
    """The bounds of a sequence of launches. Behind `l2`, weights come from HBM at the rates of loads that miss and of
    prefetches together, as far ahead as L2 reaches, and each launch loads its own at the rate of hits at least."""
    rate, ahead = target.rates["gm_l1"], float(target.l1)
    if l2:
        rate, ahead = rate + target.l2["prefetch"], target.l2["size"]
    carry, most, prefetched = 0.0, ahead / rate, 0.0
    for launch in launches:
        weights = (launch.weights - launch.found) / rate
        least = launch.weights / max(target.rates["gm_l1"], target.l2["rate"]) if l2 else 0.0
        cycles = max(weights - carry, least, *(launch.bound.pipes.get(p, 0) for p in COMPUTING))
        # What that leaves of the bandwidth loads weights of later launches.
        carry = min(most, carry + cycles - weights)
        prefetched += cycles
    pipes = {p: sum(x.bound.pipes.get(p, 0) for x in launches) for p in COMPUTING}
    weights = sum(launch.first if l2 else launch.weights for launch in launches) / rate
    return NetworkBounds(
        sum(launch.bound.cycles for launch in launches),
        math.ceil(prefetched),
        math.ceil(max(weights, *pipes.values())) if launches else 0,
        _linked(launches, target),
    )


def _linked(launches: Sequence[LaunchWork], target: Target) -> int:
    cycles = sum(launch.bound.cycles for launch in launches if launch.program is None)
    programs: dict[int, dict[str, int]] = {}
    for launch in launches:
        if launch.program is not None:
            pipes = programs.setdefault(launch.program, {})
            for pipe, own in launch.bound.pipes.items():
                pipes[pipe] = pipes.get(pipe, 0) + own
    return cycles + sum(
        target.latencies["launch"] + max(pipes.values(), default=0) for pipes in programs.values()
    )


# ---- the best blocking -----------------------------------------------------------------------------------------------


def best_blocking(work: KernelWork, slabs: Sequence[tuple[int, int]], target: Target) -> int | None:
    """Cycles of the busiest pipe of a kernel with one product, under the best blocking; None without one.

    `slabs` has, for panels of more and more rows of the result, how many panels there are and the bytes of the left
    operand that one of them needs (its rows in L1, a convolution's halo included).
    """
    if len(work.products) != 1:
        return None
    p = work.products[0]
    to_l1 = [size for path, size in work.loads if path == "gm_l1"]
    left, right = (*to_l1, 0, 0)[:2]
    rest = sum(size / target.rates[path] for path, size in work.loads if path != "gm_l1")
    rate = target.rates["gm_l1"]
    loads = math.inf
    steps = math.inf
    for mc in (target.cube_m * 2**i for i in range(14)):
        nc = max(target.cube_n, target.l0c // (ACCUMULATOR * mc) // target.cube_n * target.cube_n)
        rows, columns = -(-p.m // mc), -(-p.n // nc)
        loads = min(loads, left * columns / rate + right * rows / rate)
        a, b = storage_bytes(p.m * p.k, p.bits), storage_bytes(p.k * p.n, p.bits)
        # An operand that fits L0 whole is loaded once.
        a_times = 1 if a <= target.l0a else columns
        b_times = 1 if b <= target.l0b else rows
        steps = min(steps, a * a_times / target.rates["l1_l0a"] + b * b_times / target.rates["l1_l0b"])
    loads = min([loads, *((left + right * count) / rate for count, size in slabs if size <= target.l1)])
    for nc in (target.cube_n * 2**i for i in range(14)):
        if storage_bytes(p.k * nc, p.bits) <= target.l1:
            loads = min(loads, (right + left * -(-p.n // nc)) / rate)
    pipes = bound(work, target).pipes
    return math.ceil(max(loads + rest, p.batch * steps, *(pipes[pipe] for pipe in pipes)))
