"""magika on real files: the compiled model names the same type as onnxruntime does."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest

import zoo
from npu_mlir.dialects.context import make_context
from npu_mlir.frontends.onnx import import_model
from npu_mlir.interpreters import run_function
from npu_mlir.passes import load_pass
from npu_mlir.pipeline import PIPELINE

ROOT = Path(__file__).resolve().parent.parent.parent
PART, BLOCK, PADDING = 1024, 4096, 256


def features(contents: bytes) -> np.ndarray:
    """What magika looks at: the first and last 1024 bytes without white space around, padded on the inside."""
    first = contents[:BLOCK].strip() if len(contents) <= BLOCK else contents[:BLOCK].lstrip()
    last = contents[-BLOCK:].strip() if len(contents) <= BLOCK else contents[-BLOCK:].rstrip()
    tokens = np.full(2 * PART, PADDING, np.int32)
    begin, end = first[:PART], last[-PART:]
    tokens[: len(begin)] = list(begin)
    tokens[2 * PART - len(end) :] = list(end)
    return tokens[None]


def archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("README.md", (ROOT / "README.md").read_text() * 3)
    return stream.getvalue()


FILES = {
    "python": Path(__file__).read_bytes(),
    "markdown": (ROOT / "README.md").read_bytes(),
    "toml": (ROOT / "pyproject.toml").read_bytes(),
    "zip": archive(),
    "json": json.dumps([{"id": index, "name": f"item {index}"} for index in range(200)], indent=2).encode(),
}


@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_labels(precision: str):
    model = zoo.MODELS["magika"]
    module = import_model(model.path, **model.options)
    for name in next(phase.passes for phase in PIPELINE if phase.level == "graph"):
        options = {"precision": precision} if name == "graph-set-precision" else {}
        load_pass(name)(**options).apply(make_context(), module)
    labels: set[int] = set()
    tolerance = zoo.F32 if precision == "f32" else zoo.F16
    for name, contents in FILES.items():
        tokens = features(contents)
        (expected,) = zoo.reference(onnx.load(model.path), {model.input: tokens})
        (actual,) = run_function(module, "main", [tokens])
        assert actual.argmax() == expected.argmax(), name
        assert zoo.excess(actual, expected, **tolerance) <= 1, name
        labels.add(int(actual.argmax()))
    assert len(labels) == len(FILES)
