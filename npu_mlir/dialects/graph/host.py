"""What a model asks for and no kernel computes: nodes of the model that the host runs as they are."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.graph.base import ANY_TENSOR, INT, int_attr

if TYPE_CHECKING:
    import onnx


@irdl_op_definition
class HostCallOp(IRDLOperation):
    """
    Nodes of an ONNX model that the host runs between launches: by onnxruntime where it is installed, else by ONNX's
    reference evaluator. The operators are named with their domain unless it is that of the standard, and in the
    version of the standard `opset`. `model` is an ONNX model of just these nodes, in base64: its inputs are the
    operands, its outputs the results, in order. Results may have open extents, which only a return may read. The op
    is the same at every level; its time is not part of the cycles.

    ```mlir
    %d = graph.host_call ["Det"] opset 17 model
      "CAoSADo1CgsKAWESAWIiA0RldBIEaG9zdFoTCgFhEg4KDAgBEggKAggCCgIIAmILCgFiEgYKBAgBEgBCBAoAEBE="
      (%x) : (tensor<2x2xf32>) -> tensor<f32>
    ```
    """

    name = "graph.host_call"

    operators = prop_def(ArrayAttr[StringAttr])
    opset = prop_def(INT)
    model = prop_def(StringAttr)
    arguments = var_operand_def(ANY_TENSOR)
    results_ = var_result_def(ANY_TENSOR)

    traits = traits_def(Pure())

    assembly_format = (
        "$operators `opset` $opset `model` $model `(` $arguments `)` attr-dict `:` "
        "functional-type(operands, results)"
    )

    def __init__(self, model: onnx.ModelProto, arguments: Sequence[SSAValue], types: Sequence[Attribute]):
        super().__init__(
            operands=[arguments],
            result_types=[types],
            properties={
                "operators": ArrayAttr([StringAttr(name) for name in operators_of(model)]),
                "opset": int_attr(opset_of(model)),
                "model": StringAttr(b64encode(model.SerializeToString(deterministic=True)).decode()),
            },
        )

    def verify_(self) -> None:
        model = nodes_of(self)
        graph, operators, opset = model.graph, operators_of(model), opset_of(model)
        named = [name.data for name in self.operators]
        if not named or named != operators:
            raise VerifyException(f"model computes {operators}, not {named}")
        if self.opset.value.data != opset:
            raise VerifyException(f"model is of opset {opset}, not {self.opset.value.data}")
        for what, values, count in (
            ("operands", self.arguments, len(graph.input)),
            ("results", self.results_, len(graph.output)),
        ):
            if len(values) != count:
                raise VerifyException(f"model has {count} {what}, the call {len(values)}")
        for value in self.arguments:
            if min(cast("TensorType[Attribute]", value.type).get_shape(), default=0) < 0:
                raise VerifyException(f"operand has an open extent: {value.type}")


def nodes_of(op: HostCallOp) -> onnx.ModelProto:
    """The nodes of a call as an ONNX model; a `VerifyException` if `model` is none."""
    import onnx
    from google.protobuf.message import DecodeError

    model = onnx.ModelProto()
    try:
        model.ParseFromString(b64decode(op.model.data, validate=True))
    except (Base64Error, DecodeError) as error:
        raise VerifyException("model is not an ONNX model in base64") from error
    return model


def operators_of(model: onnx.ModelProto) -> list[str]:
    """The operators of the nodes of a model, in order; those outside of the standard as `domain::name`."""
    return [
        f"{node.domain}::{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
        for node in model.graph.node
    ]


def opset_of(model: onnx.ModelProto) -> int:
    """The version of the standard operators, 0 if the model has none."""
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
