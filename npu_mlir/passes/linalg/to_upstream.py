"""linalg-to-upstream: say a module in the dialects of upstream MLIR alone, for mlir-opt and other tools.

    builtin.module attributes {npu.target = "toy", npu.weights = "w.safetensors"} {
      ...
      %w = graph.weight @w : tensor<64x64xf32>
  becomes
    builtin.module {
      ...
      %w = arith.constant dense_resource<w> : tensor<64x64xf32>
    }
    {-# dialect_resources: { builtin: { w: "0x04000000..." } } #-}

The way back is `linalg-normalize`, which makes weights of resources. Our attributes (`npu.target`, `npu.node`, ...) are
dropped; locations name the nodes of the model, and are printed with `--mlir-print-debuginfo`.

Does not handle: graph, tile and npu_isa ops, which stay.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp, ShapedType
from xdsl.passes import ModulePass

from npu_mlir.dialects.graph.weight import WeightOp
from npu_mlir.support.locations import located, origin


class ToUpstream(ModulePass):
    """Say a module in the dialects of upstream alone."""

    name = "linalg-to-upstream"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            inner.location = origin(inner)
            for name in [name for name in inner.attributes if name.startswith("npu.")]:
                # The module forgets its weight file at the end: the entries are still read from it.
                if inner is not op or name not in ("npu.weights", "npu.weights_hash"):
                    del inner.attributes[name]
            if isinstance(inner, WeightOp):
                _replace(inner)
        _load_weights(op)


def _replace(op: WeightOp) -> None:
    type_, block = op.result.type, op.parent
    assert isinstance(type_, ShapedType) and block is not None
    with located(op):
        constant = ConstantOp.create(
            result_types=[op.result.type],
            properties={"value": DenseResourceAttr.from_params(op.entry_name, type_)},
            attributes=dict(op.attributes),
        )
    block.insert_op_before(constant, op)
    op.result.replace_all_uses_with(constant.result)
    block.erase_op(op)


def _load_weights(module: ModuleOp) -> None:
    """Take the resources into memory, and forget the file."""
    from npu_mlir.ir.resources import resources_of
    from npu_mlir.ir.weights import forget_weights, weights_of

    store = weights_of(module)
    for name in resources_of(module):
        store.set(name, store.get(name))
    forget_weights(module)
