"""Tools start fast because they import little: what `npu-opt` on a small file must not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TEN_LINES = Path(__file__).resolve().parents[2] / "benchmarks" / "ten_lines.mlir"
SLOW = {
    "numpy",
    "onnx",
    "rich",
    "safetensors",
    "ml_dtypes",
    "onnxruntime",
    "npu_mlir.api",
    "npu_mlir.dialects.tile",
}


def loaded(code: str) -> set[str]:
    """The modules that are loaded after `code` ran."""
    script = f"{code}\nimport sys\nprint('\\n' + '\\n'.join(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(result.stdout.split("\n"))


def test_npu_opt_imports_what_it_needs():
    code = f"from npu_mlir.tools.npu_opt import main\nassert main([{str(TEN_LINES)!r}, '--cse']) == 0"
    modules = loaded(code)
    assert "xdsl.dialects.arith" in modules
    assert not modules & SLOW


def test_the_package_imports_nothing():
    assert not {name for name in loaded("import npu_mlir") if name.startswith(("xdsl", "numpy", "npu_mlir."))}


def test_xdsl_opt_does_not_import_our_dialects():
    code = "from xdsl.universe import Universe\nUniverse.get_multiverse()"
    modules = loaded(code)
    assert "npu_mlir.universe" in modules
    assert not modules & SLOW
