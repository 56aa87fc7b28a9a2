"""What stays on the host: computation that no kernel does."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsTerminator, OpTrait, Pure
from xdsl.utils.exceptions import VerifyException


def _yield_traits() -> tuple[OpTrait, ...]:
    from npu_mlir.dialects.tile.programs import ProgramOp

    return IsTerminator(), HasParent(HostOp, ProgramOp)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends what the host computes, or a program of launches; its operands become the results.

    Example:

    ```mlir
    tile.yield %0 : tensor<4x8xf32>
    ```
    """

    name = "tile.yield"
    values = var_operand_def()
    traits = lazy_traits_def(_yield_traits)
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, values: Sequence[SSAValue] = ()):
        super().__init__(operands=[values])


@irdl_op_definition
class HostOp(IRDLOperation):
    """A call of the host between launches, which executes the ops of the region by their meanings. They see the values
    around it. The time of the call is not part of the cycles; reports name it.

    Example:

    ```mlir
    %y = tile.host -> tensor<4xf32> {
      %0 = arith.negf %x : tensor<4xf32>
      tile.yield %0 : tensor<4xf32>
    }
    ```
    """

    name = "tile.host"
    body = region_def("single_block")
    results_ = var_result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "`->` type($results_) attr-dict-with-keyword $body"

    def __init__(self, result_types: Sequence[Attribute], body: Region):
        super().__init__(result_types=[result_types], regions=[body])

    def verify_(self) -> None:
        last = self.body.block.last_op
        if not isinstance(last, YieldOp) or [v.type for v in last.values] != [r.type for r in self.results]:
            raise VerifyException("the region must end with a tile.yield of the types of the results")
