"""A run as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing read: one microsecond stands for one cycle.

Tracks: the launches; the prefetches to L2; a track per pipe of the core with its instructions, sets and waits; arrows
from each set to its wait; counters of bytes per cycle from and to GM and of the bytes in use of each memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from npu_mlir.dialects import tile
from npu_mlir.dialects.npu_isa import Instruction, MoveWork, Pipe
from npu_mlir.report.views.memory_map import memory_map, used_bytes
from npu_mlir.simulator import KernelStats, Launch, SimulationResult
from npu_mlir.simulator.program.sites import sites_of
from npu_mlir.simulator.simulate import PrefetchRun
from npu_mlir.simulator.timing.pipes import EXECUTING
from npu_mlir.support.files import write_atomically
from npu_mlir.support.node_names import shown

HOST, CORE = 1, 2
"""The processes of the trace."""

MEMORIES = ("l1", "l0a", "l0b", "l0c", "ub")

Event = dict[str, Any]


def write_trace(module: ModuleOp, result: SimulationResult, path: str) -> None:
    """Write the trace of a recorded run."""
    kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, tile.KernelOp)}
    events = list(_names(recorded_pipes(result)))
    parts: dict[tuple[str, int], list[Event]] = {}
    flows = 0
    for launch in result.launches:
        stats = next(k for k in result.kernels if k.name == launch.kernel)
        key = (launch.kernel, launch.variant)
        if key not in parts:
            parts[key] = list(_kernel(kernels[launch.kernel], stats.variants[launch.variant]))
        events.append(_launch(launch))
        # Its time begins behind the fixed cost of a launch; sections have none.
        begin = launch.start + _fixed_cost(stats.variants[launch.variant])
        for event in parts[key]:
            moved = {**event, "ts": event["ts"] + begin}
            if "id" in event:
                moved["id"] += flows
            events.append(moved)
        flows += sum(event["ph"] == "s" for event in parts[key])
    events += map(_prefetch, result.prefetches)
    trace = {
        "traceEvents": events,
        "otherData": {"generator": "npu-mlir", "unit": "1 us = 1 cycle", "cycles": result.cycles},
    }
    write_atomically(path, json.dumps(trace, separators=(",", ":")) + "\n")


def recorded_pipes(result: SimulationResult) -> Sequence[Pipe]:
    """The pipes whose entries a recorded run may have: the scalar unit has some where it reads indices."""
    reads = any(
        site.pipe == Pipe.S and "barrier" not in site.text.split(" ", 1)[0]
        for stats in result.kernels
        if stats.attribution is not None
        for site in stats.attribution.sites
    )
    return (*EXECUTING, Pipe.S) if reads else EXECUTING


def _names(pipes: Sequence[Pipe]) -> Iterator[Event]:
    for process, name in ((HOST, "host"), (CORE, "core 0")):
        yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "ts": 0, "args": {"name": name}}
    yield _thread(HOST, 1, "launches")
    yield _thread(HOST, 2, "prefetches")
    for i, pipe in enumerate(pipes):
        yield _thread(CORE, i + 1, str(pipe))


def _thread(process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "ts": 0, "args": {"name": name}}


def _launch(launch: Launch) -> Event:
    return {
        "ph": "X",
        "name": launch.kernel,
        "cat": "launch",
        "pid": HOST,
        "tid": 1,
        "ts": launch.start,
        "dur": launch.cycles,
        "args": {"graph ops": shown(launch.loc)},
    }


def _fixed_cost(stats: KernelStats) -> int:
    pipes = stats.attribution.pipes if stats.attribution is not None else {}
    return pipes["S"].launch if "S" in pipes else 0


def _prefetch(run: PrefetchRun) -> Event:
    return {
        "ph": "X",
        "name": "prefetch",
        "cat": "prefetch",
        "pid": HOST,
        "tid": 2,
        "ts": run.start,
        "dur": run.ready - run.start,
        "args": {"graph ops": run.loc, "bytes": run.bytes, "issued": run.issued},
    }


def _kernel(kernel: tile.KernelOp, stats: KernelStats) -> Iterator[Event]:
    """The events of one launch, from its own time zero."""
    recording, attribution = stats.recording, stats.attribution
    assert recording is not None and attribution is not None
    sites = attribution.sites
    threads = {str(pipe): i + 1 for i, pipe in enumerate((*EXECUTING, Pipe.S))}
    setters = {entry: i for i, entry in enumerate(s for s in recording.setter if s >= 0)}
    works = [op.work() if isinstance(op, Instruction) else None for op in sites_of(kernel)]
    for i, (number, start, end, setter) in enumerate(
        zip(recording.site, recording.start, recording.end, recording.setter, strict=True)
    ):
        site = sites[number]
        name = site.text.split(" ", 1)[0].removeprefix("npu_isa.")
        args = {"text": site.text, "graph ops": shown(site.loc), "site": number}
        track = {"pid": CORE, "tid": threads[site.pipe]}
        begin = start
        if setter >= 0:
            # The flag is raised where the wait comes off the queue: an arrow never points backwards.
            begin = end - site.flag // site.count
            if begin > start:
                waiting = {"ts": start, "dur": begin - start, "args": args}
                yield {"ph": "X", "name": "waiting", "cat": "waiting", **track, **waiting}
        own = {**track, "ts": begin}
        category = "flag" if name in ("set_flag", "wait_flag") else "instruction"
        yield {"ph": "X", "name": name, "cat": category, **own, "dur": end - begin, "args": args}
        if i in setters:
            yield {"ph": "s", "name": "flag", "cat": "flag", **own, "id": setters[i]}
        if setter >= 0:
            yield {"ph": "f", "bp": "e", "name": "flag", "cat": "flag", **own, "id": setters[setter]}
        work = works[number]
        if isinstance(work, MoveWork) and "gm" in work.path and end > start:
            yield from _transfer(work, site.pipe, start, end)
    map_ = memory_map(kernel, recording)
    for space in MEMORIES:
        for time, used in used_bytes(map_, space):
            yield _counter(f"{space} in use", "bytes", time, used)


def _transfer(work: MoveWork, pipe: str, start: int, end: int) -> Iterator[Event]:
    name = f"GM {'read' if work.path.startswith('gm') else 'write'} by {pipe}"
    yield _counter(name, "bytes per cycle", start, round(work.bytes / (end - start), 2))
    yield _counter(name, "bytes per cycle", end, 0)


def _counter(name: str, unit: str, time: int, value: float) -> Event:
    return {"ph": "C", "name": name, "pid": CORE, "tid": 0, "ts": time, "args": {unit: value}}
