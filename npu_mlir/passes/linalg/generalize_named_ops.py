"""linalg-generalize-named-ops: say named linalg ops as `linalg.generic`.

    %0 = linalg.matmul ins(%x, %y : tensor<4x8xf16>, tensor<8x2xf16>) outs(%z : tensor<4x2xf32>) -> tensor<4x2xf32>
  becomes
    %0 = linalg.generic {indexing_maps = [(d0, d1, d2) -> (d0, d2), (d0, d1, d2) -> (d2, d1),
                         (d0, d1, d2) -> (d0, d1)], iterator_types = ["parallel", "parallel", "reduction"]} ... {
    ^bb0(%a: f16, %b: f16, %c: f32):
      %a32 = arith.extf %a : f16 to f32
      %b32 = arith.extf %b : f16 to f32
      %p = arith.mulf %a32, %b32 : f32
      %s = arith.addf %p, %c : f32
      linalg.yield %s : f32
    }

`linalg.fill` stays, as the init of reductions. `linalg.softmax` becomes four operations: maximum, exponentials, sum and
quotient.

Does not handle: named ops that our dialect lacks (`linalg.pack`, `linalg.unpack`, Winograd transforms).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from npu_mlir.dialects.linalg import SoftmaxOp
from npu_mlir.dialects.linalg.generic_form import generic_of, is_named, take_body
from npu_mlir.locations import located
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.graph_lowering.normalization import softmax_of


class GeneralizeNamedOps(ModulePass):
    """Turn named linalg ops into `linalg.generic`."""

    name = "linalg-generalize-named-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for named in list(op.walk()):
            with located(named):
                if isinstance(named, SoftmaxOp):
                    builder = Builder()
                    softmax_of(builder, named.input, named.dimension.value.data)
                    _replace(named, builder.ops)
                elif is_named(named):
                    _replace(named, [generic_of(named, named.operands, take_body(named))])


def _replace(op: Operation, new: Sequence[Operation]) -> None:
    """Put `new` in place of `op`; the last one has the results."""
    block = op.parent
    assert block is not None
    for part in new:
        part.attributes.update(
            {k: v for k, v in op.attributes.items() if k != "linalg.memoized_indexing_maps"}
        )
        block.insert_op_before(part, op)
    for old, result in zip(op.results, new[-1].results, strict=True):
        old.replace_all_uses_with(result)
    block.erase_op(op)
