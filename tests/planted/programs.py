"""Small programs at the level of graphs that between them use what the planted bugs break."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr

from npu_mlir.dialects.context import make_context
from npu_mlir.dialects.graph import WeightOp
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.verification import verify
from npu_mlir.ir.weights import weights_of

PROGRAMS = {
    # A padded convolution with stride, normalisation, activation and a padded pool, channels first.
    "conv": """
func.func @main(%x: tensor<1x3x11x9xf32>) -> tensor<1x5x3x3xf32> {
  %w = graph.weight @w : tensor<5x3x3x3xf32>
  %scale = graph.weight @scale : tensor<5xf32>
  %bias = graph.weight @bias : tensor<5xf32>
  %mean = graph.weight @mean : tensor<5xf32>
  %variance = graph.weight @variance : tensor<5xf32>
  %0 = graph.conv %x, %w strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1]
    : (tensor<1x3x11x9xf32>, tensor<5x3x3x3xf32>) -> tensor<1x5x6x5xf32>
  %1 = graph.batch_norm %0, %scale, %bias, %mean, %variance epsilon 1.0e-01
    : (tensor<1x5x6x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<1x5x6x5xf32>
  %2 = graph.leaky_relu %1 alpha 0.1 : (tensor<1x5x6x5xf32>) -> tensor<1x5x6x5xf32>
  %3 = graph.max_pool %2 kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1]
    : (tensor<1x5x6x5xf32>) -> tensor<1x5x3x3xf32>
  func.return %3 : tensor<1x5x3x3xf32>
}""",
    # A matrix product too large for one tile, what follows it in pieces, and a clip.
    "matmul": """
func.func @main(%x: tensor<37x50xf32>, %y: tensor<37x29xf32>) -> tensor<37x29xf32> {
  %w = graph.weight @w : tensor<50x29xf32>
  %b = graph.weight @b : tensor<29xf32>
  %0 = graph.matmul %x, %w : (tensor<37x50xf32>, tensor<50x29xf32>) -> tensor<37x29xf32>
  %1 = graph.add %0, %b : (tensor<37x29xf32>, tensor<29xf32>) -> tensor<37x29xf32>
  %2 = graph.sub %1, %y : (tensor<37x29xf32>, tensor<37x29xf32>) -> tensor<37x29xf32>
  %3 = graph.clip %2 min -1.0 max 1.0 : (tensor<37x29xf32>) -> tensor<37x29xf32>
  func.return %3 : tensor<37x29xf32>
}""",
    # Reductions along a long row: softmax and normalisation, in two kernels.
    "rows": """
func.func @main(%x: tensor<6x129xf32>, %y: tensor<6x129xf32>) -> tensor<6x129xf32> {
  %scale = graph.weight @scale : tensor<129xf32>
  %bias = graph.weight @bias : tensor<129xf32>
  %0 = graph.softmax %x axis 1 : (tensor<6x129xf32>) -> tensor<6x129xf32>
  %1 = graph.layer_norm %y, %scale, %bias axis 1 epsilon 1.0e-05
    : (tensor<6x129xf32>, tensor<129xf32>, tensor<129xf32>) -> tensor<6x129xf32>
  %2 = graph.tanh %1 : (tensor<6x129xf32>) -> tensor<6x129xf32>
  %3 = graph.sub %0, %2 : (tensor<6x129xf32>, tensor<6x129xf32>) -> tensor<6x129xf32>
  func.return %3 : tensor<6x129xf32>
}""",
    # A maximum and a sum over everything, chunk by chunk, and a chain of kernels.
    "chain": """
func.func @main(%x: tensor<8x16xf32>, %y: tensor<3001xf32>) -> (tensor<8x16xf32>, tensor<1xf32>, tensor<1xf32>) {
  %w = graph.weight @w : tensor<16x16xf32>
  %0 = graph.matmul %x, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %1 = graph.matmul %0, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %2 = graph.matmul %1, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %3 = graph.matmul %2, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %4 = graph.add %3, %1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %5 = graph.reduce max %y axes [0] keepdims : (tensor<3001xf32>) -> tensor<1xf32>
  %6 = graph.reduce sum %y axes [0] keepdims : (tensor<3001xf32>) -> tensor<1xf32>
  func.return %4, %5, %6 : tensor<8x16xf32>, tensor<1xf32>, tensor<1xf32>
}""",
    # Rows that fill the memory, so that buffers have to share it.
    "wide": """
func.func @main(%x: tensor<3x120xf32>) -> tensor<3x120xf32> {
  %0 = graph.softmax %x axis 1 : (tensor<3x120xf32>) -> tensor<3x120xf32>
  %1 = graph.sub %0, %x : (tensor<3x120xf32>, tensor<3x120xf32>) -> tensor<3x120xf32>
  func.return %1 : tensor<3x120xf32>
}""",
    # Padding that is not the same on both sides.
    "asymmetric": """
func.func @main(%x: tensor<1x6x7x3xf32>) -> tensor<1x6x7x4xf32> {
  %w = graph.weight @w : tensor<2x2x3x4xf32>
  %0 = graph.conv %x, %w strides [1, 1] pads [1, 0, 0, 1] dilations [1, 1] layout NHWC
    : (tensor<1x6x7x3xf32>, tensor<2x2x3x4xf32>) -> tensor<1x6x7x4xf32>
  func.return %0 : tensor<1x6x7x4xf32>
}""",
    # Two operations that only their attributes tell apart.
    "clips": """
func.func @main(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = graph.clip %x min -1.0 max 1.0 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %1 = graph.clip %x min -0.5 max 0.5 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = graph.sub %0, %1 : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return %2 : tensor<5x7xf32>
}""",
}


def make_program(name: str, target: str = "toy") -> ModuleOp:
    """The program with random weights, for a target."""
    module = parse_module(make_context(), PROGRAMS[name], f"{name}.mlir")
    verify(module)
    module.attributes["npu.target"] = StringAttr(target)
    generator = np.random.default_rng(0)
    store = weights_of(module)
    for op in module.walk():
        if isinstance(op, WeightOp):
            array = generator.standard_normal(op.infer_shape(), np.float32)
            store.set(op.entry_name, np.abs(array) if op.entry_name == "variance" else array)
    return module
