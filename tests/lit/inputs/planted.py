"""Runs a tool with a planted bug (see tests/planted): `planted.py "BUG" npu_opt ARGUMENTS`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "planted"))

from bugs import BUGS
from planting import planted

if __name__ == "__main__":
    name, tool, *arguments = sys.argv[1:]
    bug = next(bug for bug in BUGS if bug.name == name)
    with planted(bug.module, bug.old, bug.new):
        sys.exit(importlib.import_module(f"npu_mlir.tools.{tool}").main(arguments))
