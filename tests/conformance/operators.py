"""What the conformance suite says about each operator, for `npu-compile --list-ops` and docs/operators.md.

python tests/conformance/operators.py        writes both files from `results.txt` and the converters
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "examples")]

import onnx  # noqa: E402

from conformance import results  # noqa: E402
from conformance.suite import Case, case_named, dense_cases  # noqa: E402
from conformance.verdicts import GOOD, Verdict  # noqa: E402
from npu_mlir.frontends.onnx import operators  # noqa: E402
from npu_mlir.frontends.onnx.check import element_type_of  # noqa: E402
from npu_mlir.frontends.onnx.node import qualified  # noqa: E402

DATA = ROOT / "npu_mlir/frontends/onnx/conformance.json"
PAGE = ROOT / "docs/operators.md"

INTRODUCTION = """# Operators of ONNX

What of ONNX's operators is supported, as `npu-compile --list-ops` says it. This page is made by
`python tests/conformance/operators.py` from the converters and the results of ONNX's own conformance cases, which
`make conformance` compiles to instructions and simulates.

- **opsets**: the versions of the definition that are read; each holds up to the next.
- **how**: *translated* by a converter, *expanded* into the function that defines the operator, or only computed by the
  compiler from constants.
- **attributes**: those that may be given; others are refused. `name=value` takes no other value. All those of the
  definition where the operator is expanded.
- **types**: element types of the first operands of the cases that pass.
- **cases**: how many of the operator's conformance cases pass, and where they run: as kernels (*device*), as a change
  of shape alone (*views*), as constants since only shapes, axes and the like were needed (*folded*), or with nodes
  whose results depend on data in a way that only the host can follow (*device+host*).

A node that isn't supported is refused by name. An operator can be added by a plugin: [add-an-op.md](add-an-op.md).

"""


def statistics(verdicts: Mapping[str, Verdict]) -> dict[str, dict[str, Any]]:
    """Cases, classes and types by operator, of the cases with one node and of those with its function."""
    found: dict[str, dict[str, Any]] = {}
    for case in dense_cases():
        operator = _operator(case)
        if operator is None or case.name not in verdicts:
            continue
        kind = verdicts[case.name].kind
        entry = found.setdefault(operator, {"cases": 0, "classes": {}, "types": []})
        entry["cases"] += 1
        entry["classes"][kind] = entry["classes"].get(kind, 0) + 1
        if kind in GOOD:
            entry["types"] = sorted({*entry["types"], *_types(case)})
        entry["classes"] = dict(sorted(entry["classes"].items()))
    return dict(sorted(found.items()))


def _operator(case: Case) -> str | None:
    """The operator that a case is about."""
    original = case if case.base is None else case_named(case.base)
    if original is None or original.kind != "node":
        return None
    nodes = original.load()[0].graph.node
    return qualified(nodes[0].op_type, nodes[0].domain) if len(nodes) == 1 else None


def _types(case: Case) -> set[str]:
    graph = case.load()[0].graph
    values: list[onnx.ValueInfoProto] = [*graph.input, *graph.output]
    return {str(element_type_of(values[0].type.tensor_type.elem_type))}


def page() -> str:
    """The page of the documentation."""
    rows = ["| operator | opsets | how | attributes | types | cases |", "|---|---|---|---|---|---|"]
    for entry in operators.operators():
        found = entry.conformance
        cases = f"{found.passed} of {found.cases}{entry.where(': ')}" if found.cases else "none"
        attributes = ", ".join(f"`{name}`" for name in entry.attributes)
        cells = [
            entry.name,
            ", ".join(map(str, entry.opsets)),
            entry.how,
            attributes,
            ", ".join(found.types),
            cases,
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return INTRODUCTION + "\n".join(rows) + "\n"


def data(verdicts: Mapping[str, Verdict]) -> str:
    """The contents of the file in the package, an operator a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in statistics(verdicts).items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write() -> None:
    """Write both files."""
    DATA.write_text(data(results.read()))
    operators.conformance.cache_clear()
    PAGE.write_text(page())


if __name__ == "__main__":
    write()
