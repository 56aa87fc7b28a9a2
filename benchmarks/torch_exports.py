"""PyTorch models with random weights, exported to ONNX where `real_models.py` looks for them (`.models/`).

    python benchmarks/torch_exports.py                      all that are not there yet
    python benchmarks/torch_exports.py resnet18 bert2       these

Runs in an environment of its own, since nothing of the project needs PyTorch:

    pip install torch torchvision onnxscript 'transformers<5'

Weights and the statistics of normalisations come from a seed. The exporter is the one that PyTorch recommends
(`dynamo=True`), at opset 18.
"""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

torch: Any = import_module("torch")

MODELS = Path(__file__).resolve().parent.parent / ".models"
SEED = 0
OPSET = 18
TOKENS = 128


class Taking(torch.nn.Module):
    """A module that calls another one with keywords, and gives one tensor of what it returns."""

    def __init__(self, module: Any, call: Callable[..., Any]):
        super().__init__()
        self.module, self.call = module, call

    def forward(self, *inputs: Any) -> Any:
        return self.call(self.module, *inputs)


@dataclass(frozen=True)
class Export:
    """How a module is made, and the names and examples of its inputs."""

    make: Callable[[], Any]
    inputs: dict[str, Any]


def _vision() -> Any:
    # A build of torchvision for CUDA beside a PyTorch without it lacks its own operators, which no classifier uses.
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        try:
            library.define(f"{name}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
        except RuntimeError:
            continue
    return import_module("torchvision.models")


def _exports() -> dict[str, Export]:
    t: Any = import_module("transformers")
    image = {"image": torch.randn(1, 3, 224, 224)}
    ids = {"input_ids": torch.randint(0, 1000, (1, TOKENS))}
    masked = {**ids, "attention_mask": torch.ones(1, TOKENS, dtype=torch.int64)}
    eager = {"attn_implementation": "eager"}

    def vision(name: str) -> Export:
        return Export(lambda: getattr(_vision(), name)(weights=None), image)

    def hidden(module: Any, input_ids: Any, attention_mask: Any) -> Any:
        return module(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    def logits(module: Any, input_ids: Any) -> Any:
        return module(input_ids=input_ids, use_cache=False).logits

    def bert(attention: str) -> Any:
        return Taking(t.BertModel(t.BertConfig(num_hidden_layers=2, attn_implementation=attention)), hidden)

    def distilbert() -> Any:
        return Taking(t.DistilBertModel(t.DistilBertConfig(n_layers=2, vocab_size=5000)), hidden)

    def gpt2() -> Any:
        config = t.GPT2Config(n_layer=2, vocab_size=5000, use_cache=False, **eager)
        return Taking(t.GPT2LMHeadModel(config), logits)

    def llama() -> Any:
        config = t.LlamaConfig(
            hidden_size=256,
            intermediate_size=688,
            num_hidden_layers=2,
            num_attention_heads=8,
            num_key_value_heads=4,
            vocab_size=2000,
            use_cache=False,
            **eager,
        )
        return Taking(t.LlamaForCausalLM(config), logits)

    def whisper() -> Any:
        config = t.WhisperConfig(
            d_model=384,
            encoder_layers=4,
            encoder_attention_heads=6,
            decoder_layers=1,
            encoder_ffn_dim=1536,
            **eager,
        )
        return Taking(t.WhisperModel(config).encoder, lambda module, mel: module(mel).last_hidden_state)

    def t5() -> Any:
        config = t.T5Config(vocab_size=4000, d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8)
        return Taking(t.T5EncoderModel(config), lambda module, ids: module(input_ids=ids).last_hidden_state)

    return {
        "resnet18": vision("resnet18"),
        "mobilenet-v2": vision("mobilenet_v2"),
        "mobilenet-v3-small": vision("mobilenet_v3_small"),
        "efficientnet-b0": vision("efficientnet_b0"),
        "shufflenet-v2": vision("shufflenet_v2_x1_0"),
        "regnet-y-400mf": vision("regnet_y_400mf"),
        "densenet121": vision("densenet121"),
        "convnext-tiny": vision("convnext_tiny"),
        "swin-t": vision("swin_t"),
        "vit-b-16": vision("vit_b_16"),
        "bert2": Export(lambda: bert("sdpa"), masked),
        "bert2-eager": Export(lambda: bert("eager"), masked),
        "distilbert2": Export(distilbert, masked),
        "gpt2-2l": Export(gpt2, ids),
        "llama2l": Export(llama, ids),
        "t5-small-encoder": Export(t5, ids),
        "whisper-tiny-encoder": Export(whisper, {"mel": torch.randn(1, 80, 3000)}),
    }


def _give_statistics(module: Any) -> None:
    """Normalisations with a mean of 0 and a variance of 1 would hide mistakes."""
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.5, 1.5)


def write(name: str, export: Export) -> None:
    """Make a model and write its file."""
    torch.manual_seed(SEED)
    module = export.make()
    _give_statistics(module)
    program = torch.onnx.export(
        module.eval(),
        tuple(export.inputs.values()),
        dynamo=True,
        opset_version=OPSET,
        input_names=list(export.inputs),
        verbose=False,
        external_data=False,
    )
    MODELS.mkdir(exist_ok=True)
    program.save(str(MODELS / f"torch-{name}.onnx"), external_data=False)


def main() -> None:
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    known = _exports()
    for name in sys.argv[1:] or [name for name in known if not (MODELS / f"torch-{name}.onnx").exists()]:
        if name not in known:
            sys.exit(f"no model '{name}': one of {', '.join(known)}")
        begin = time.perf_counter()
        write(name, known[name])
        print(f"torch-{name}: {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
