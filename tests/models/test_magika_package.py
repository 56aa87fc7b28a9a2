"""The whole magika package with compiled instructions in place of onnxruntime: real files get the same labels."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_mlir
import zoo
from fetch_model import CACHE, MODELS
from test_magika import FILES

REQUIREMENTS = (MODELS["magika"].requirement, "python-dotenv", "click")
"""What `import magika` needs; onnxruntime and NumPy are here already."""


@pytest.fixture(scope="module")
def magika() -> Any:
    """An instance of the package's class; installed on first use, away from this environment."""
    directory = CACHE / "magika-package"
    if not directory.exists():
        partial = directory.with_suffix(f".{os.getpid()}")
        command = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--target", str(partial)]
        subprocess.run([*command, *REQUIREMENTS], check=True)
        partial.rename(directory)
    sys.path.append(str(directory))
    try:
        import magika as package  # pyright: ignore[reportMissingImports]

        yield package.Magika()
    finally:
        sys.path.remove(str(directory))


class Session:
    """Stands in for the onnxruntime session: `run` for the one batch size that was compiled."""

    def __init__(self, precision: str):
        model = zoo.MODELS["magika"]
        self.program = npu_mlir.compile(model.path, precision=precision, **model.options)

    def run(self, names: Sequence[str], inputs: Mapping[str, Sequence[Sequence[int]]]) -> list[np.ndarray]:
        rows = [self.program.run([np.array([row], np.int32)]) for row in inputs["bytes"]]
        return [np.concatenate([row[name] for row in rows]) for name in names]


@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_labels_of_files(magika: Any, precision: str, monkeypatch: pytest.MonkeyPatch):
    files = {**FILES, "makefile": Path(__file__).parents[2].joinpath("Makefile").read_bytes()}
    expected = {name: magika.identify_bytes(contents) for name, contents in files.items()}
    monkeypatch.setattr(magika, "_onnx_session", Session(precision))
    for name, contents in files.items():
        found = magika.identify_bytes(contents)
        assert found.output.label == expected[name].output.label == name
        assert abs(found.score - expected[name].score) <= 2e-2
