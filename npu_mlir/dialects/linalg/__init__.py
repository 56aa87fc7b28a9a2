"""The upstream dialect linalg, as far as our tools read it: xDSL's, with the named ops that it lacks or that differ."""

from __future__ import annotations

from xdsl.dialects.linalg import Linalg as XdslLinalg
from xdsl.ir import Dialect

from npu_mlir.dialects.linalg.named import (
    NAMED_OPS,
    ContractOp,
    ElementwiseKindAttr,
    ElementwiseOp,
    TypeFnAttr,
)
from npu_mlir.dialects.linalg.packing import PackOp, UnPackOp
from npu_mlir.dialects.linalg.special import MapOp, ReduceOp, SoftmaxOp

_OURS = [*NAMED_OPS.values(), ElementwiseOp, ContractOp, MapOp, PackOp, ReduceOp, SoftmaxOp, UnPackOp]
_NAMES = {op.name for op in _OURS}

Linalg = Dialect(
    "linalg",
    [*(op for op in XdslLinalg.operations if op.name not in _NAMES), *_OURS],
    [*XdslLinalg.attributes, TypeFnAttr, ElementwiseKindAttr],
)

__all__ = [
    "NAMED_OPS",
    "ContractOp",
    "ElementwiseKindAttr",
    "ElementwiseOp",
    "Linalg",
    "MapOp",
    "PackOp",
    "ReduceOp",
    "SoftmaxOp",
    "TypeFnAttr",
    "UnPackOp",
]
