"""The summary of `make test` says what lit has found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = [
    {"name": "npu-mlir :: a.mlir", "code": "PASS", "output": ""},
    {"name": "npu-mlir :: b/c.test", "code": "FAIL", "output": "much"},
    {
        "name": "npu-mlir :: d.mlir",
        "code": "UNSUPPORTED",
        "output": "Test requires the following unavailable features: mlir-opt",
    },
]


def test_summary(tmp_path: Path):
    results = tmp_path / "lit.json"
    results.write_text(json.dumps({"tests": TESTS}))
    root = Path(__file__).resolve().parents[2]
    test = tmp_path / "test_sample.py"
    test.write_text("def test_it(): pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--confcutdir", str(root), "-c"]
    conftest = tmp_path / "conftest.py"
    conftest.write_text((root / "tests" / "conftest.py").read_text())
    environment = {**os.environ, "LIT_RESULTS": str(results)}
    done = subprocess.run(
        [*command, str(root / "pyproject.toml"), "--rootdir", str(root), str(test)],
        env=environment,
        capture_output=True,
        text=True,
    )
    *_, lit, failed, skipped, total, both, overall, closing = done.stdout.splitlines()
    assert " lit " in lit
    assert failed == "FAILED tests/lit/b/c.test"
    assert skipped == "SKIPPED tests/lit/d.mlir: needs mlir-opt (make test-mlir installs it)"
    assert total == "lit: 1 passed, 1 failed, 1 skipped"
    assert " lit and pytest " in both
    assert overall == "total: 2 passed, 1 failed, 1 skipped"
    assert "1 passed in" in closing
