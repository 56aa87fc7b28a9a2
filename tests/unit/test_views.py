"""Reports, traces and pages: their contents, and the page in a browser where there is one."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import trace_processor
from isa_programs import gemm
from npu_mlir import api
from npu_mlir.ir.printing import PrintOptions, op_text
from npu_mlir.report.report import (
    KernelRow,
    LaunchRow,
    MemoryRow,
    Report,
    VariantRow,
    report_of,
    write_report,
)
from npu_mlir.report.views.diff import changes
from npu_mlir.report.views.html import level_data, page_data, write_html
from npu_mlir.report.views.memory_map import memory_map, used_bytes
from npu_mlir.report.views.trace import write_trace
from npu_mlir.simulator import SimulationResult
from npu_mlir.simulator.attribution.attribution import Attribution, SiteTime, Wait
from npu_mlir.simulator.attribution.recording import Recording
from npu_mlir.simulator.simulate import OperandHeat, PrefetchRun

DOCS = Path(__file__).parents[2] / "docs" / "report.md"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def program(tmp_path: Path, text: str) -> api.Program:
    path = tmp_path / "program.mlir"
    path.write_text(text)
    return api.load(path)


GEMM = gemm(16, 16, 32, tile=(8, 8, 16), k0=8, element="f32", target="toy")


@pytest.fixture
def run(tmp_path: Path) -> tuple[api.Program, SimulationResult, Report]:
    compiled = program(tmp_path, GEMM)
    result = compiled.simulate(record=True)
    return compiled, result, report_of(compiled, {}, result, [])


def test_the_report_explains_all_cycles(run: tuple[api.Program, SimulationResult, Report], tmp_path: Path):
    _, result, report = run
    write_report(report, str(tmp_path / "r.json"))
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["schema"] == "npu-mlir-report/1"
    assert data["cycles"] == result.cycles == sum(launch["cycles"] for launch in data["launches"])
    assert sum(data["critical"].values()) == sum(data["graph_ops"].values()) == result.cycles
    (kernel,) = data["kernels"]
    for time in kernel["attribution"]["pipes"].values():
        whole = sum(
            v for name, v in time.items() if name not in ("transfer", "hbm", "starved", "first", "last")
        )
        assert whole + sum(time["starved"].values()) == kernel["attribution"]["cycles"]
    sites = kernel["attribution"]["sites"]
    assert any(wait["setter"] >= 0 for site in sites for wait in site["waits"])
    assert all(sites[w["setter"]]["text"].startswith("npu_isa.set_flag") for s in sites for w in s["waits"])


KINDS = (
    Report,
    KernelRow,
    VariantRow,
    LaunchRow,
    MemoryRow,
    Attribution,
    SiteTime,
    Wait,
    OperandHeat,
    PrefetchRun,
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_of_the_report_is_documented(kind: Any):
    documented = set(re.findall(r"`(\w+)`", DOCS.read_text()))
    assert {f.name for f in dataclasses.fields(kind)} <= documented


def test_the_trace_is_one_that_viewers_read(
    run: tuple[api.Program, SimulationResult, Report], tmp_path: Path
):
    compiled, result, _ = run
    write_trace(compiled.module, result, str(tmp_path / "t.json"))
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    for event in events:
        assert {"ph", "name", "pid", "tid", "ts"} <= set(event)
        assert event["ph"] in "XMCsf" and event["ts"] >= 0
    slices = [e for e in events if e["ph"] == "X"]
    assert all(e["dur"] >= 0 for e in slices)
    # Slices of a track don't overlap.
    ends = Counter[tuple[int, int]]()
    for e in sorted(slices, key=lambda e: e["ts"]):
        track = e["pid"], e["tid"]
        assert e["ts"] >= ends[track]
        ends[track] = e["ts"] + e["dur"]
    assert max(ends.values()) <= result.cycles
    # An arrow begins and ends once, each end in a slice of a flag.
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    finishes = {e["id"]: e for e in events if e["ph"] == "f"}
    assert starts and starts.keys() == finishes.keys()
    assert sum(e["ph"] in "sf" for e in events) == 2 * len(starts)
    flags = [e for e in slices if e["cat"] == "flag"]
    for arrow in (*starts.values(), *finishes.values()):
        assert any(f["tid"] == arrow["tid"] and f["ts"] <= arrow["ts"] < f["ts"] + f["dur"] for f in flags)
    assert all(starts[i]["ts"] <= finishes[i]["ts"] for i in starts)
    counters = {e["name"] for e in events if e["ph"] == "C"}
    assert {"GM read by MTE2", "l1 in use", "l0c in use"} <= counters
    names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {"launches", "M", "MTE1", "MTE2", "FIX"} <= names


@pytest.mark.skipif(trace_processor.engine() is None, reason="Perfetto's trace processor is not installed")
def test_the_trace_processor_of_perfetto_reads_the_trace(
    run: tuple[api.Program, SimulationResult, Report], tmp_path: Path
):
    """It finds every slice, arrow and counter, and the times that the report has."""
    compiled, result, _ = run
    write_trace(compiled.module, result, str(tmp_path / "t.json"))
    trace = (tmp_path / "t.json").read_bytes()
    events = json.loads(trace)["traceEvents"]
    errors, launches, slices, busy, arrows, counters, most = trace_processor.query(
        trace,
        "select name, value from stats where severity != 'info' and value > 0",
        "select name, ts / 1000, dur / 1000 from slice where category = 'launch'",
        "select count(*), max(depth) from slice",
        "select thread.name, sum(dur) / 1000 from slice join thread_track on track_id = thread_track.id "
        "join thread using (utid) where category = 'instruction' group by thread.name",
        "select o.name as one, i.name as other, count(*) from flow join slice o on slice_out = o.id "
        "join slice i on slice_in = i.id "
        "group by one, other",
        "select distinct name from process_counter_track",
        "select max(value) from counter join process_counter_track t on track_id = t.id "
        "where t.name like 'l1 in use%'",
    )
    assert errors == []
    assert launches == [("gemm", 0, result.cycles)]
    # No slice lies within another.
    assert slices == [(sum(e["ph"] == "X" for e in events), 0)]
    attribution = result.kernels[0].attribution
    assert attribution is not None
    assert dict(busy) == {pipe: t.busy for pipe, t in attribution.pipes.items() if t.busy and pipe != "S"}
    assert arrows == [("set_flag", "wait_flag", sum(e["ph"] == "s" for e in events))]
    assert {"GM read by MTE2 bytes per cycle", "l1 in use bytes", "l0c in use bytes"} <= {
        n for (n,) in counters
    }
    assert 0 < most[0][0] <= 4096


def test_the_memory_map_has_both_slots(run: tuple[api.Program, SimulationResult, Report]):
    compiled, result, _ = run
    kernel = next(op for op in compiled.module.ops if op.name == "tile.kernel")
    recording = result.kernels[0].recording
    assert recording is not None
    map_ = memory_map(kernel, recording)  # type: ignore[arg-type]
    # 4 tiles of the result with 2 chunks of K each: 8 fillings of each operand's panel, 4 of the accumulators.
    lives = Counter((map_.buffers[life.buffer].space, life.slot) for life in map_.lives)
    assert lives["l1", 0] == lives["l1", 1] == 8
    assert lives["l0c", 0] == lives["l0c", 1] == 2
    by_slot: dict[tuple[int, int], int] = {}
    for life in map_.lives:
        assert life.start >= by_slot.get((life.buffer, life.slot), 0) and life.end > life.start
        by_slot[life.buffer, life.slot] = life.end
    used = used_bytes(map_, "l1")
    assert used[-1][1] == 0 and 0 < max(n for _, n in used) <= 4096


def test_a_recording_needs_no_more_than_its_arrays():
    recording = Recording()
    for i in range(3):
        recording.add(1, i, i + 1, -1, (0, 16))
    assert len(recording) == 3 and recording.last == 2
    assert recording.slots[0] is recording.slots[2]


def test_changes_are_matched_by_graph_ops():
    def report(**cycles: int) -> dict[str, Any]:
        return {
            "kernels": [
                {"name": f"k_{n}", "attribution": {"critical": {"busy M": c}}} for n, c in cycles.items()
            ],
            "launches": [{"kernel": f"k_{n}", "graph_ops": n, "cycles": c} for n, c in cycles.items()],
        }

    found = changes(report(conv=100, relu=10, gone=5), report(relu=10, conv=60, new=7))
    assert [(c.name, c.difference) for c in found] == [("conv", -40), ("new", 7), ("gone", -5), ("relu", 0)]
    assert found[0].causes == {"busy M": -40}


# ---- the page --------------------------------------------------------------------------------------------------------

PROBE = """<script>
const canvas = $("timeline"), box = canvas.getBoundingClientRect();
const at = (x, y) => ({clientX: box.left + x, clientY: box.top + y, pointerId: 1, cancelable: true});
const before = view[1] - view[0];
for (let i = 0; i < 3; i++) canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: -300, ...at(400, 50)}));
const zoomed = view[1] - view[0];
setView(0, current.time);
const begin = performance.now(); drawTimeline(); drawMemory(); const took = performance.now() - begin;
const load = [...current.site].findIndex(s => current.sites[s].name === "load_l1");
const middle = xOf((current.start[load] + current.end[load]) / 2, canvas.clientWidth);
canvas.dispatchEvent(new PointerEvent("pointermove", at(middle, 20 + D.pipes.indexOf("MTE2") * ROW + 8)));
const tipped = $("tip").textContent;
pickSite(current.site[load]);
document.body.textContent = "RESULT" + JSON.stringify({before, zoomed, took, tipped, entries: current.site.length,
  picked: $("picked").textContent, lines: document.querySelectorAll(".ir p.site").length}) + "END";
</script></body>"""


def browse(page: Path, tmp_path: Path, probe: str = PROBE) -> dict[str, Any]:
    """What the page does when it is used: zoomed, pointed at, clicked."""
    probed = tmp_path / "probed.html"
    probed.write_text(page.read_text().replace("</body>", probe))
    assert CHROMIUM is not None
    command = [
        CHROMIUM,
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1400,1300",
        "--dump-dom",
        probed.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    # The script itself stands in the document as well; what it wrote is the body.
    found = re.findall(r"RESULT(\{.*?\})END", done.stdout)
    assert found, done.stdout[-2000:]
    result: dict[str, Any] = json.loads(
        found[-1].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
    )
    return result


def page_of(compiled: api.Program, path: Path) -> Path:
    result = compiled.simulate(check=False, record=True)
    report = report_of(compiled, {}, result, [])
    write_html("gemm.mlir", compiled.module, report, result, {"isa": str(compiled.module)}, str(path))
    return path


def test_the_page_is_self_contained(run: tuple[api.Program, SimulationResult, Report], tmp_path: Path):
    compiled, result, report = run
    page = page_of(compiled, tmp_path / "r.html").read_text()
    assert not re.search(r"(?:src|href)\s*=|url\(|@import|fetch\(|https?://", page)
    data = page_data("x/gemm.mlir", compiled.module, report, result, {"isa": str(compiled.module)})
    (kernel,) = data["kernels"]
    lines = data["levels"][0]["lines"]
    assert data["file"] == "gemm.mlir"
    assert all(lines[site["ir"]].strip() == site["text"] for site in kernel["sites"])


def test_names_of_nodes_cannot_end_the_script(tmp_path: Path):
    text = GEMM.replace("tile.return", 'npu_isa.barrier {npu.node = "</script><b>"}\n tile.return')
    page = page_of(program(tmp_path, text), tmp_path / "r.html").read_text()
    assert page.count("</script>") == 2


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_page_in_a_browser(tmp_path: Path):
    seen = browse(page_of(program(tmp_path, GEMM), tmp_path / "r.html"), tmp_path)
    assert seen["zoomed"] < seen["before"] / 2
    assert seen["tipped"].startswith("MTE2: ") and "npu_isa.load_l1" in seen["tipped"]
    assert seen["lines"] == 1


TWICE = """
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = graph.exp %x {npu.node = "first"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.exp %y {npu.node = "second"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
"""
MARKS = """<script>
const marked = n => D.levels[n].lines.filter((_, i) => isOn(D.levels[n], i)).map(t => t.trim().split(" ")[0]);
const result = {};
const width = $("timeline").clientWidth;
const foundAt = (l, r, t) => entryAt(xOf(beginOf(l) + t, width), 20 + r * ROW + 8, width)?.at === beginOf(l);
result.run = [inRun, full() === R.cycles, D.launches.every(l => D.kernels[l[0]].rows.some((row, r) =>
  row.some(e => foundAt(l, r, (D.kernels[l[0]].start[e] + D.kernels[l[0]].end[e]) / 2))))];
showRun(false);
result.alone = [inRun, full() === current.time];
for (const node of ["first", "second"]) { mark([node], -1); result[node] = D.levels.map((_, n) => marked(n).length); }
result.second_isa = marked(1).slice(-3);
document.body.textContent = "RESULT" + JSON.stringify(result) + "END";
</script></body>"""


def test_lines_know_their_nodes():
    data = level_data(
        "tile.kernel @k(%0: memref<4xf32> loc(unknown)) {\n"
        '  npu_isa.wait_flag [V, MTE3, 0] loc(fused["a+b", "b"("in.mlir":3:8)])\n'
        "  scf.for %1 = %2 to %3 step %4 {\n"
        "    npu_isa.barrier\n"
        '  } loc(callsite("c"("x (1).mlir":1:2) at "d"))\n'
        '} loc("k")\n'
    )
    assert data["lines"][1] == "  npu_isa.wait_flag [V, MTE3, 0]" and "loc(" not in "".join(data["lines"])
    names = [data["names"][number] for number in data["locs"]]
    assert names == ["k", "a+b", "c+d", "c+d", "c+d", "k"]
    assert data["kernels"] == [("k", 0, 6)]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_a_kernel_is_marked_for_each_node_that_launches_it(tmp_path: Path):
    """It has the locations of its first launch; chosen for another one, it is marked as a whole."""
    compiled = program(tmp_path, TWICE)
    options = PrintOptions(debuginfo=True)
    levels = {"graph": op_text(compiled.module, options)}
    levels["isa"] = op_text(compiled.lower("isa").module, options)
    result = compiled.simulate(check=False, record=True)
    write_html(
        "twice",
        compiled.module,
        report_of(compiled, {}, result, []),
        result,
        levels,
        str(tmp_path / "r.html"),
    )
    seen = browse(tmp_path / "r.html", tmp_path, MARKS)
    (kernel,) = result.kernels
    assert kernel.launches == 2
    # All launches on one timeline, or a kernel alone.
    assert seen["run"] == [True, True, True] and seen["alone"] == [False, True]
    graph, isa = seen["first"]
    assert graph == 1 and isa > 5
    # The program, its end and what it yields are the first's.
    assert seen["second"] == [1, isa - 3]
    assert seen["second_isa"][-1] == "}"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_page_with_a_hundred_thousand_entries(tmp_path: Path):
    large = gemm(1024, 1024, 1024, tile=(64, 64, 64), k0=16)
    seen = browse(page_of(program(tmp_path, large), tmp_path / "r.html"), tmp_path)
    assert seen["entries"] > 100_000
    assert seen["took"] < 1000
