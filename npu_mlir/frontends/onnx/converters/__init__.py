"""One function per family of ONNX operators; importing this package registers all of them."""

from npu_mlir.frontends.onnx.converters import (
    contraction,
    einsum,
    elementwise,
    indexing,
    movement,
    normalization,
    numbers,
    powers,
    quantization,
    recurrent,
    resize,
    sampling,
    spectra,
    structure,
    transposed,
    window,
)
from npu_mlir.frontends.onnx.node import CONVERTERS

__all__ = [
    "CONVERTERS",
    "contraction",
    "einsum",
    "elementwise",
    "indexing",
    "movement",
    "normalization",
    "numbers",
    "powers",
    "quantization",
    "recurrent",
    "resize",
    "sampling",
    "spectra",
    "structure",
    "transposed",
    "window",
]
