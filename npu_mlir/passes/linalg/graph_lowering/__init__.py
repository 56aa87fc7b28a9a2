"""How each graph op is said in linalg: one function per op, by family.

`LOWERINGS` maps the class of an op to a function of a builder and the op, which appends what computes the op's result
and returns it. The operands of the op are lowered already.
"""

from npu_mlir.passes.linalg.graph_lowering import (
    contraction,
    convolution,
    elementwise,
    movement,
    normalization,
    quantization,
    window,
)
from npu_mlir.passes.linalg.graph_lowering.registry import LOWERINGS, Lowering, lowering

__all__ = [
    "LOWERINGS",
    "Lowering",
    "contraction",
    "convolution",
    "elementwise",
    "lowering",
    "movement",
    "normalization",
    "quantization",
    "window",
]
