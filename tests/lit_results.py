"""What lit has found, from the file that `lit --output` writes."""

from __future__ import annotations

import json
from pathlib import Path

MISSING = "Test requires the following unavailable features: "
HINTS = {"mlir-opt": "make test-mlir installs it"}


def summary(path: Path) -> tuple[dict[str, int], list[str]]:
    """How many tests of lit's JSON file passed, failed and were skipped, and a line for each that didn't pass."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    lines: list[str] = []
    for test in json.loads(path.read_text())["tests"]:
        name = test["name"].partition(" :: ")[2]
        match test["code"]:
            case "PASS":
                counts["passed"] += 1
            case "UNSUPPORTED":
                counts["skipped"] += 1
                reason = test["output"].strip()
                if reason.startswith(MISSING):
                    features = reason.removeprefix(MISSING)
                    hint = HINTS.get(features)
                    reason = f"needs {features}{f' ({hint})' if hint else ''}"
                lines.append(f"SKIPPED tests/lit/{name}: {reason}")
            case _:
                counts["failed"] += 1
                lines.append(f"FAILED tests/lit/{name}")
    numbers = ", ".join(f"{count} {what}" for what, count in counts.items())
    return counts, [*lines, f"lit: {numbers}"]
