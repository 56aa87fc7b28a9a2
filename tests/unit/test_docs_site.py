"""The documentation builds without a warning, and its reference covers everything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from npu_mlir.dialects import OWN_DIALECTS, dialect_factory
from npu_mlir.passes import PASSES
from npu_mlir.targets.target import target_names

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    pytest.importorskip("mkdocs")
    directory = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(directory)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


def test_every_pass_target_and_op_has_its_place(site: Path):
    passes = (site / "reference/passes.html").read_text()
    assert [name for name in PASSES if f'id="{name}"' not in passes] == []
    targets = (site / "reference/targets.html").read_text()
    assert [name for name in target_names() if f'id="{name}"' not in targets] == []
    for dialect in OWN_DIALECTS:
        page = (site / f"reference/{dialect}.html").read_text()
        assert [
            op.name for op in dialect_factory(dialect)().operations if f"<code>{op.name}</code>" not in page
        ] == []
