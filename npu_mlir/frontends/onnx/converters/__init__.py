"""One function per family of ONNX operators; importing this package registers all of them."""

from __future__ import annotations

from importlib import import_module

import onnx

from npu_mlir.frontends.onnx.converters import (
    contraction,
    einsum,
    elementwise,
    fused,
    indexing,
    movement,
    normalization,
    numbers,
    optimizers,
    powers,
    quantization,
    recurrent,
    resize,
    sampling,
    spectra,
    structure,
    transposed,
    unpooling,
    window,
)
from npu_mlir.frontends.onnx.node import CONVERTERS, OPERATORS, Converter, is_default, qualified
from npu_mlir.support.plugins import load_installed_plugins

__all__ = [
    "CONVERTERS",
    "contraction",
    "converter_of",
    "einsum",
    "elementwise",
    "fused",
    "indexing",
    "movement",
    "normalization",
    "numbers",
    "optimizers",
    "powers",
    "quantization",
    "recurrent",
    "resize",
    "sampling",
    "spectra",
    "structure",
    "transposed",
    "unpooling",
    "window",
]


def converter_of(proto: onnx.NodeProto) -> Converter | None:
    """The converter of a node's operator, of an installed plugin as well; None if there is none."""
    name = qualified(proto.op_type, proto.domain)
    if name not in CONVERTERS and not is_default(proto.domain):
        load_installed_plugins()
        where = OPERATORS.get(name)
        if where is not None:
            import_module(where.partition(":")[0])
    return CONVERTERS.get(name)
