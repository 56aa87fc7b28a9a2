"""One self-contained page about a run: no network, no other file.

Timeline of each kernel with zoom and hover, memory map on the same axis, attribution of every pipe, roofline with each
kernel, and the IR of each level side by side; what comes from one node of the model is highlighted together.
`page.html` beside this file is the page, with `page.css` and `page.js` put into it; this makes the data that it shows.
"""

from __future__ import annotations

import base64
import json
import re
from array import array
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from npu_mlir.analysis.waterfall import STEPS
from npu_mlir.dialects import tile
from npu_mlir.report.report import KernelRow, Report
from npu_mlir.report.views.memory_map import memory_map
from npu_mlir.report.views.trace import recorded_pipes
from npu_mlir.simulator import KernelStats, SimulationResult
from npu_mlir.simulator.program.sites import site_lines
from npu_mlir.support.files import write_atomically
from npu_mlir.support.node_names import joined, parts
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target

PAGE = Path(__file__).parent / "page.html"
PARTS = {"/*STYLE*/": "page.css", "/*PROGRAM*/": "page.js"}
"""The files that become part of the page, and where."""

PLACE = "/*DATA*/"
"""Where the data stands."""

SPACES = ("l1", "l0a", "l0b", "l0c", "ub")

_LOC = re.compile(r'npu\.node = "((?:[^"\\]|\\.)*)"')
_LOC_TEXT = re.compile(r'(?:, )?npu\.node = "(?:[^"\\]|\\.)*"(?:, )?')
_PLAIN = r'[^()"]|"(?:[^"\\]|\\.)*"'
_LOCATION = re.compile(rf" loc\((?:{_PLAIN}|\((?:{_PLAIN}|\((?:{_PLAIN})*\))*\))*\)")
"""A location: a name may have a place in parentheses behind it, and a call site stand around both."""

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"(:\d+)?')
"""A string in a location: a file if there is a line behind it, or else a name."""

_ESCAPE = re.compile(rb'\\([nt"\\]|[0-9A-Fa-f]{2})')
_BYTES = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}

_EMPTY = re.compile(r" (?:attributes )?\{\}(?= |$)")
_KERNEL = re.compile(r"\s*tile\.kernel @(\S+?)\(")

Json = dict[str, Any]


def write_html(
    file: str,
    module: ModuleOp,
    report: Report,
    result: SimulationResult,
    levels: Mapping[str, str],
    path: str,
) -> None:
    """Write the page about a recorded run. `levels` has the text of the module at each level."""
    text = json.dumps(page_data(file, module, report, result, levels), separators=(",", ":"))
    page = PAGE.read_text()
    for place, name in PARTS.items():
        page = page.replace(place, PAGE.with_name(name).read_text())
    # Nothing in the data may end the script element that it stands in, or begin a comment there.
    write_atomically(path, page.replace(PLACE, text.replace("<", "\\u003c")))


def page_data(
    file: str, module: ModuleOp, report: Report, result: SimulationResult, levels: Mapping[str, str]
) -> Json:
    """Everything that the page shows."""
    machine = target_of(module)
    kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, tile.KernelOp)}
    rows = {row.name: row for row in report.kernels}
    texts = {name: level_data(text) for name, text in levels.items()}
    lines = _site_lines(texts["isa"]["lines"], module) if "isa" in texts else {}
    places: dict[str, int] = {}
    for stats in result.kernels:
        places[stats.name] = sum(len(k.variants) for k in result.kernels[: len(places)])
    summary = asdict(report)
    del summary["kernels"], summary["launches"]
    return {
        "file": Path(file).name,
        "report": summary,
        "steps": STEPS,
        "pipes": [str(pipe) for pipe in recorded_pipes(result)],
        "spaces": {space: machine.capacity(space) for space in SPACES},
        "peak": machine.peak_macs(report.precision),
        "read": max(machine.rates["gm_l1"], machine.rates["gm_ub"]),
        "near": _near(machine) if result.l2 != "off" else 0,
        "write": max(machine.rates[path] for path in ("ub_gm", "l0c_gm") if path in machine.rates),
        "clock": machine.clock_mhz,
        "kernels": [
            _kernel(variant, kernels[stats.name], row, lines.get(stats.name, []))
            for stats in result.kernels
            for variant, row in zip(stats.variants, _rows(rows[stats.name], stats), strict=True)
        ],
        "launches": [
            [places[run.kernel] + run.variant, run.start, run.cycles, run.loc] for run in result.launches
        ],
        "prefetches": [[run.start, run.ready, run.bytes, run.loc] for run in result.prefetches],
        "levels": [{"name": name, **text} for name, text in texts.items()],
    }


def _near(machine: Target) -> float:
    """The rate at which a core reads from L2."""
    return max(machine.rates["gm_l1"], machine.rates["gm_ub"], machine.l2["rate"])


def _rows(row: KernelRow, stats: KernelStats) -> Iterator[Json]:
    """A row for each state of L2 that launches of the kernel found: the page shows them as kernels of their own."""
    for number, variant in enumerate(stats.variants):
        one = asdict(row)
        del one["variants"]
        one["symbol"] = row.name
        if len(stats.variants) > 1:
            one["name"] = f"{row.name} / {number + 1}"
            share = variant.launches / row.launches
            one |= {"launches": variant.launches, "cycles": variant.cycles}
            one |= {"instructions": variant.instructions, "macs": round(row.macs * share)}
            one["mac_utilisation"] = row.mac_utilisation * share * row.cycles / variant.cycles
            if row.bound is not None:
                # That of an average launch.
                one["bound"] = round(row.bound * share)
                one["efficiency"] = one["bound"] / variant.cycles
        one["attribution"] = asdict(variant.attribution) if variant.attribution is not None else None
        yield one


def _kernel(stats: KernelStats, kernel: tile.KernelOp, row: Json, lines: list[int]) -> Json:
    recording, attribution = stats.recording, row.pop("attribution")
    assert recording is not None
    map_ = memory_map(kernel, recording)
    for site, line in zip(attribution["sites"], lines, strict=False):
        site["ir"] = line
    # The row's are those of all launches.
    one = attribution.pop("cycles")
    lives = [value for life in map_.lives for value in (life.buffer, life.slot, life.start, life.end)]
    return {
        **row,
        "one": one,
        **attribution,
        "chain": _packed(value for s, _, start, n in attribution["chain"] for value in (s, start, n)),
        "chainKinds": [category for _, category, _, _ in attribution["chain"]],
        "site": _packed(recording.site),
        "start": _packed(recording.start),
        "end": _packed(recording.end),
        "setter": _packed(recording.setter),
        "buffers": [asdict(buffer) for buffer in map_.buffers],
        "lives": _packed(lives),
    }


def _packed(values: Iterable[int]) -> str:
    """Integers of 32 bits in base64: a tenth of their JSON to read."""
    return base64.b64encode(array("i", values).tobytes()).decode()


def level_data(text: str) -> Json:
    """The lines of a module's text without their locations; for each line the number of the node names that it comes
    from; and where each kernel stands.

    A line that does not tell belongs to what is around it.
    """
    names: dict[str, int] = {}
    lines: list[str] = []
    found: list[str | None] = []
    kernels: list[tuple[str, int, int]] = []
    opened: list[int] = []
    for number, line in enumerate(text.splitlines()):
        bare = _EMPTY.sub("", _LOC_TEXT.sub("", _LOCATION.sub("", line)))
        lines.append(bare)
        found.append(_nodes(line))
        if bare.lstrip().startswith("}") and opened:
            begin = opened.pop()
            # An operation with a region tells where it comes from behind its end.
            around = found[begin] or found[number]
            found[begin : number + 1] = [own or around for own in found[begin : number + 1]]
            if kernel := _KERNEL.match(lines[begin]):
                kernels.append((kernel.group(1).strip('"'), begin, number + 1))
        if bare.endswith("{"):
            opened.append(number)
    locs = [names.setdefault(own or "", len(names)) for own in found]
    return {"lines": lines, "locs": locs, "names": list(names), "kernels": kernels}


def _nodes(line: str) -> str | None:
    """The nodes that a line's attribute names, or else the location at its end (see `node_names`)."""
    end = list(_LOCATION.finditer(line))
    quoted = _QUOTED.findall(end[-1].group()) if end and end[-1].end() == len(line) else []
    own = [name for name, place in quoted if not place]
    attribute = _LOC.search(line)
    names = [attribute.group(1)] if attribute else own
    return joined(name for several in names for name in parts(_string(several))) or None


def _string(literal: str) -> str:
    """What a string says that the text of a module writes with escapes."""
    data = _ESCAPE.sub(
        lambda match: _BYTES.get(match[1]) or bytes.fromhex(match[1].decode()), literal.encode()
    )
    return data.decode(errors="replace")


def _site_lines(lines: list[str], module: ModuleOp) -> dict[str, list[int]]:
    """For each kernel, the lines of its instructions, flags and barriers."""
    starts = [
        (i, match.group(1).strip('"')) for i, line in enumerate(lines) if (match := _KERNEL.match(line))
    ]
    sites = site_lines(lines, module)
    return {
        name: sites[bisect(sites, begin) : bisect(sites, end)]
        for (begin, name), (end, _) in pairwise([*starts, (len(lines), "")])
    }
