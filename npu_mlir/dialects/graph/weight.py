"""The graph op that stands for an entry of the weight file."""

from __future__ import annotations

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, SymbolRefAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def

from npu_mlir.dialects.graph.base import GraphOp, element_of, shape_of
from npu_mlir.dialects.graph.shapes import Shape


@irdl_op_definition
class WeightOp(GraphOp):
    """
    A constant tensor whose elements lie in the module's weight file under this name.

    ```mlir
    %w = graph.weight @"conv1/kernel" : tensor<16x8x3x3xf32>
    ```
    """

    name = "graph.weight"

    entry = prop_def(FlatSymbolRefAttrConstr)

    assembly_format = "$entry attr-dict `:` type($result)"

    def __init__(self, entry: str, type: TensorType[Attribute]):
        super().__init__([], {"entry": SymbolRefAttr(entry)}, type)

    @property
    def entry_name(self) -> str:
        """The name of the entry in the weight store."""
        return self.entry.root_reference.data

    def infer_element_type(self) -> Attribute:
        return element_of(self.result)

    def infer_shape(self) -> Shape:
        return shape_of(self.result)
