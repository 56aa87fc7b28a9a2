"""What each pipe did in each cycle of a kernel, and which chain of instructions and waits makes its time.

Every cycle of every pipe is exactly one of

    busy       an instruction occupies the pipe; `transfer` of it because of the bandwidth of a path, of that `hbm` for
               data that is not in L2
    prefetch   a load waits for what a prefetch is bringing to L2
    fill       the head of a vector instruction, until the first results could leave
    flag       taking a set_flag or wait_flag off the queue
    waiting    a wait_flag whose flag is not raised yet: for whom, and which instruction sets it
    barrier    nothing to do because the scalar unit stands at a barrier
    starved    nothing to do: the scalar unit is issuing or computing (`issue`), a queue is full (`queue P`), or the
               scalar unit itself waits for a flag (`flag P`)
    done       nothing left to do
    launch     the fixed cost of the launch

and the sums equal the cycles of the kernel, which is checked whenever this is made. The critical path is the chain of
what decided each time, from the end back to the start; its parts sum to the same cycles, by cause, site and graph op.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.ir import Operation

from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.simulator.attribution.critical_path import NOWHERE, Key, Link, parts
from npu_mlir.simulator.attribution.observer import Observer, SiteRecord
from npu_mlir.support.diagnostics import place_of
from npu_mlir.support.locations import closest_node

UNKNOWN = "(no location)"


@dataclass
class PipeTime:
    """The cycles of one pipe (or, without instructions, of the scalar unit) by what it did."""

    busy: int = 0
    transfer: int = 0
    """Part of `busy`."""
    hbm: int = 0
    """Part of `transfer`."""
    prefetch: int = 0
    fill: int = 0
    flag: int = 0
    waiting: int = 0
    barrier: int = 0
    starved: dict[str, int] = field(default_factory=dict[str, int])
    done: int = 0
    launch: int = 0
    first: int = 0
    """Cycles from the launch, whose fixed cost is over, or from when all sections before are complete, to its first
    instruction. It does other things meanwhile, or nothing."""
    last: int = 0
    """Cycles from its last instruction to the end."""

    def total(self) -> int:
        """All cycles."""
        own = self.busy + self.prefetch + self.fill + self.flag + self.waiting
        own += self.barrier + self.done + self.launch
        return own + sum(self.starved.values())


@dataclass(frozen=True)
class Wait:
    """Cycles that a wait_flag held up its pipe for one setter."""

    src: str
    dst: str
    event: int
    setter: int
    """The number of the site that set the flag."""
    cycles: int


@dataclass(frozen=True)
class SiteTime:
    """One instruction of the program, over all its executions."""

    number: int
    text: str
    line: int
    """The line of the source file that it was read from; 0 if there is none."""
    loc: str
    pipe: str
    count: int
    busy: int
    transfer: int
    hbm: int
    prefetch: int
    fill: int
    flag: int
    starved: dict[str, int]
    waits: list[Wait]
    critical: dict[str, int]
    """Its part of the critical path, by category."""


@dataclass(frozen=True)
class Attribution:
    """The time of one launch of a kernel, explained."""

    cycles: int
    pipes: dict[str, PipeTime]
    sites: list[SiteTime]
    critical: dict[str, int]
    """The critical path by cause: `busy MTE2`, `latency V`, `flag`, `issue`, ... ."""
    critical_by_loc: dict[str, int]
    """The critical path by graph op; `(no location)` has scalar code and the launch."""
    overlap: dict[str, int]
    """Cycles in which the cube or the vector unit is busy while another pipe is: `M & MTE2`."""
    chain: list[tuple[int, str, int, int]]
    """The critical path itself, from the start: site (-1: scalar code), category, start, cycles."""


def attribute(
    observer: Observer, now: int, launch: int, chain: bool = False, texts: Sequence[str] = ()
) -> Attribution:
    """Explain a run that ended at the scalar time `now`; `texts` are those of its sites, in order.

    Raises AssertionError if a cycle is left over.
    """
    end = observer.finish(now)
    total = end + launch
    pipes = _pipes(observer, end, launch)
    for pipe, time in pipes.items():
        assert time.total() == total, f"{pipe}: {time.total()} of {total} cycles are accounted for"
    by_key = Counter[Key]()
    for key, cycles in parts(observer.link):
        by_key[key] += cycles
    assert by_key.total() == end, "the critical path does not make the time"
    texts = _texts(observer, texts)
    sites = [_site(i, site, texts[i], by_key) for i, site in enumerate(observer.sites)]
    return Attribution(
        total,
        pipes,
        sites,
        _by_cause(by_key, observer.sites, launch),
        _by_loc(by_key, sites, launch),
        _overlap(observer, observer.counted(end)),
        _chain(observer.link) if chain else [],
    )


def _texts(observer: Observer, texts: Sequence[str]) -> Sequence[str]:
    """The texts of the sites, found here if those that are given are not as many."""
    if len(texts) == len(observer.sites):
        return texts
    return [" ".join(str(site.op).split()) for site in observer.sites]


def attribute_sections(
    observer: Observer, now: int, launch: int, ends: Sequence[int], texts: Sequence[str] = ()
) -> list[Attribution]:
    """Explain the sections of a program that ended at the scalar time `now`, each from when all before it was complete
    to when it was itself (`ends`). The launch belongs to the first of them.

    A section's pipes have what they did for it, also before that; all sections together have each cycle once. Raises
    AssertionError if one is left over.
    """
    end = observer.finish(now)
    observer.activity.count(end)
    texts = _texts(observer, texts)
    cuts = [*observer.cuts, observer.cut()]
    by_key = Counter[Key]()
    chain = _chain(observer.link) if observer.recording is not None else []
    for key, cycles in parts(observer.link):
        by_key[key] += cycles
    assert by_key.total() == end, "the critical path does not make the time"
    own: list[Counter[Key]] = [Counter() for _ in ends]
    firsts = [cut.sites for cut in observer.cuts]
    for (site, category), cycles in by_key.items():
        number = NOWHERE - 1 - site if site < 0 else bisect_right(firsts, site) - 1
        own[number][site - firsts[number] if site >= 0 else NOWHERE, category] += cycles
    found: list[Attribution] = []
    for number, (cut, after) in enumerate(pairwise(cuts)):
        first, last = number == 0, number == len(ends) - 1
        start = 0 if first else ends[number - 1]
        kept = observer.sites[cut.sites : after.sites]
        cost = launch if first else 0
        pipes = {
            str(p): PipeTime(
                done=end - after.free[p] if last else 0,
                launch=cost,
                first=max(0, cut.first.get(p, start) - start),
                last=max(0, ends[number] - after.free[p]),
            )
            for p in observer.pipes
        }
        for site in kept:
            if site.pipe is not Pipe.S:
                _add_site(pipes[str(site.pipe)], site)
        scalar = {cause: n - cut.scalar.get(cause, 0) for cause, n in after.scalar.items()}
        unit = _scalar_unit(scalar, end - observer.now if last else 0, cost)
        sites = [_site(i, site, texts[cut.sites + i], own[number], cut.sites) for i, site in enumerate(kept)]
        part = [
            (site - cut.sites if site >= 0 else NOWHERE, category, at - start, cycles)
            for site, category, at, cycles in chain
            if (cut.sites <= site < after.sites if site >= 0 else site == NOWHERE - 1 - number)
        ]
        found.append(
            Attribution(
                ends[number] - start + cost,
                {"S": unit, **pipes},
                sites,
                _by_cause(own[number], kept, cost),
                _by_loc(own[number], sites, cost),
                _overlap(observer, after.active - cut.active),
                part,
            )
        )
    for pipe in found[0].pipes if found else ():
        total = sum(one.pipes[pipe].total() for one in found)
        assert total == end + launch, f"{pipe}: {total} of {end + launch} cycles are accounted for"
    return found


def _pipes(observer: Observer, end: int, launch: int) -> dict[str, PipeTime]:
    result: dict[str, PipeTime] = {}
    for pipe, state in observer.pipes.items():
        first = observer.activity.first.get(pipe, 0)
        done = end - state.clock.free
        result[str(pipe)] = PipeTime(done=done, launch=launch, first=first, last=done)
    for site in observer.sites:
        if site.pipe is not Pipe.S:
            _add_site(result[str(site.pipe)], site)
    return {"S": _scalar_unit(observer.scalar, end - observer.now, launch), **result}


def _scalar_unit(scalar: Mapping[str, int], done: int, launch: int) -> PipeTime:
    """The time of the scalar unit by what it did."""
    return PipeTime(
        busy=scalar.get("issue", 0) + scalar.get("scalar", 0),
        flag=scalar.get("flag", 0),
        waiting=sum(cycles for cause, cycles in scalar.items() if cause.startswith("flag ")),
        barrier=scalar.get("barrier", 0),
        starved={cause: cycles for cause, cycles in scalar.items() if cause.startswith("queue")},
        done=done,
        launch=launch + scalar.get("section", 0),
    )


def _add_site(time: PipeTime, site: SiteRecord) -> None:
    time.busy += site.sums["busy"]
    time.transfer += site.sums["transfer"]
    time.hbm += site.sums["hbm"]
    time.prefetch += site.sums["prefetch"]
    time.fill += site.sums["fill"]
    time.flag += site.sums["flag"]
    time.waiting += sum(site.waiting.values())
    for cause, cycles in site.starved.items():
        if cause == "barrier":
            time.barrier += cycles
        else:
            time.starved[cause] = time.starved.get(cause, 0) + cycles


def _chain(link: Link | None) -> list[tuple[int, str, int, int]]:
    """The chain from its start, with times; scalar code in a row is one part."""
    chain: list[tuple[int, str, int, int]] = []
    start = 0
    for (site, category), cycles in reversed(list(parts(link))):
        if chain and site <= NOWHERE and site == chain[-1][0]:
            chain[-1] = (site, "issue", chain[-1][2], chain[-1][3] + cycles)
        else:
            chain.append((site, category, start, cycles))
        start += cycles
    return chain


def _by_cause(by_key: Counter[Key], sites: list[SiteRecord], launch: int) -> dict[str, int]:
    result = Counter[str]()
    for (site, category), cycles in by_key.items():
        of_pipe = site != NOWHERE and category in ("busy", "latency", "fill")
        result[f"{category} {sites[site].pipe}" if of_pipe else category] += cycles
    if launch:
        result["launch"] = launch
    return _ranked(result)


def _ranked(cycles: Counter[str]) -> dict[str, int]:
    """Most cycles first; the order of equal ones does not depend on how they were found."""
    return dict(sorted(cycles.items(), key=lambda item: (-item[1], item[0])))


def _by_loc(by_key: Counter[Key], sites: list[SiteTime], launch: int) -> dict[str, int]:
    result = Counter[str]()
    for (site, _), cycles in by_key.items():
        result[UNKNOWN if site == NOWHERE else sites[site].loc or UNKNOWN] += cycles
    if launch:
        result[UNKNOWN] += launch
    return _ranked(result)


def _site(number: int, site: SiteRecord, text: str, by_key: Counter[Key], first: int = 0) -> SiteTime:
    waits = [
        # What a section before has set has no site here.
        Wait(str(wait.src), str(wait.dst), wait.event, max(wait.setter - first, -1), cycles)
        for wait, cycles in site.waiting.items()
    ]
    critical = {category: cycles for (of, category), cycles in sorted(by_key.items()) if of == number}
    return SiteTime(
        number,
        text,
        _line(site.op),
        loc_of(site.op),
        str(site.pipe),
        site.sums["count"],
        site.sums["busy"],
        site.sums["transfer"],
        site.sums["hbm"],
        site.sums["prefetch"],
        site.sums["fill"],
        site.sums["flag"],
        dict(site.starved),
        waits,
        critical,
    )


def _line(op: Operation) -> int:
    place = place_of(op.location)
    return place.line if place is not None else 0


def loc_of(op: Operation) -> str:
    """The graph ops that an operation, or the closest one around it that knows, comes from."""
    return closest_node(op) or ""


def _overlap(observer: Observer, active: Counter[int]) -> dict[str, int]:
    activity = observer.activity
    result: dict[str, int] = {}
    for unit in (Pipe.M, Pipe.V):
        for other in activity.pipes:
            if other is not unit and (cycles := activity.overlap(unit, other, of=active)):
                result[f"{unit} & {other}"] = cycles
    return result
