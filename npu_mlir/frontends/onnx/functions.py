"""What a node computes in terms of other nodes: functions of the model, and those that define standard operators.

    y = Softplus(x)        opset 7
  has the body
    exp = Exp(x); one = Constant(1.0); one' = CastLike(one, x); sum = Add(exp, one'); y = Log(sum)       opset 18

A body has names and an opset of its own. Nothing of the model is changed: the importer reads the body in a scope of
its own, with the operands bound to its inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from xdsl.ir import SSAValue

from npu_mlir.dialects.graph import element_of, shape_of
from npu_mlir.frontends.onnx.node import Unsupported, Value, is_default
from npu_mlir.support.dtypes import numpy_dtype

DEEPEST = 16
"""How far bodies may consist of functions again."""


def opsets_of(entries: Sequence[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """The versions of operator sets by domain; the default domain is called ''."""
    return {"" if is_default(entry.domain) else entry.domain: entry.version for entry in entries}


def schema_of(proto: onnx.NodeProto, opsets: Mapping[str, int]) -> Any:
    """ONNX's definition of an operator, None if there is none."""
    domain = "" if is_default(proto.domain) else proto.domain
    try:
        return onnx.defs.get_schema(proto.op_type, opsets.get(domain, 0), domain)
    except onnx.defs.SchemaError:
        return None


def has_body(proto: onnx.NodeProto, opsets: Mapping[str, int]) -> bool:
    """Whether the operator is defined by a function."""
    schema = schema_of(proto, opsets)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def standard_body(
    proto: onnx.NodeProto, inputs: Sequence[Value | None], opsets: Mapping[str, int]
) -> onnx.FunctionProto | None:
    """The function that defines a node's operator for operands of these types and shapes; None if there is none.

    Where the function was written down later than the operator's version in use, it still means the same.
    """
    schema = schema_of(proto, opsets)
    version = opsets.get("" if is_default(proto.domain) else proto.domain, 0)
    node = _with_defaults(proto, schema)
    if schema.has_function:
        data = schema.get_function_with_opset_version(_closest(schema.function_opset_versions, version))
    else:
        chosen = _closest(schema.context_dependent_function_opset_versions, version)
        types = [_type_of(value).SerializeToString() for value in inputs]
        data = schema.get_context_dependent_function_with_opset_version(
            chosen, node.SerializeToString(), types
        )
    if not data:
        return None
    body = onnx.FunctionProto.FromString(data)
    return bound(body, node)


def _closest(versions: Sequence[int], wanted: int) -> int:
    """The newest version up to the wanted one, else the oldest."""
    return max((version for version in versions if version <= wanted), default=min(versions))


def _with_defaults(proto: onnx.NodeProto, schema: Any) -> onnx.NodeProto:
    """The node with its default attributes written out."""
    node = onnx.NodeProto()
    node.CopyFrom(proto)
    given = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.name:
            node.attribute.append(attribute.default_value)
    return node


def _type_of(value: Value | None) -> onnx.TypeProto:
    """The ONNX type of an operand; empty if it is not given."""
    if value is None:
        return onnx.TypeProto()
    dtype, shape = (
        (numpy_dtype(element_of(value)), shape_of(value))
        if isinstance(value, SSAValue)
        else (value.dtype, value.shape)
    )
    return onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(dtype), shape)


def bound(body: onnx.FunctionProto, node: onnx.NodeProto) -> onnx.FunctionProto:
    """The body for one call: attributes have the call's values, and inputs that it leaves out are not given."""
    result = onnx.FunctionProto()
    result.CopyFrom(body)
    if len(node.input) > len(body.input):
        raise Unsupported(f"it has {len(node.input)} inputs, the function takes {len(body.input)}")
    attributes = {attribute.name: attribute for attribute in (*body.attribute_proto, *node.attribute)}
    absent = {name for at, name in enumerate(body.input) if at >= len(node.input) or not node.input[at]}
    _bind(result.node, attributes, absent)
    return result


def _bind(
    nodes: Sequence[onnx.NodeProto], attributes: Mapping[str, onnx.AttributeProto], absent: set[str]
) -> None:
    for node in nodes:
        for at, name in enumerate(node.input):
            if name in absent:
                node.input[at] = ""
        kept: list[onnx.AttributeProto] = []
        for attribute in node.attribute:
            for inner in _graphs(attribute):
                _bind(inner.node, attributes, absent)
            if not attribute.ref_attr_name:
                kept.append(attribute)
            elif attribute.ref_attr_name in attributes:
                value = onnx.AttributeProto()
                value.CopyFrom(attributes[attribute.ref_attr_name])
                value.name = attribute.name
                kept.append(value)
        kept = [copy_of(attribute) for attribute in kept]
        del node.attribute[:]
        node.attribute.extend(kept)


def copy_of(attribute: onnx.AttributeProto) -> onnx.AttributeProto:
    """A copy that outlives the node."""
    copy = onnx.AttributeProto()
    copy.CopyFrom(attribute)
    return copy


def _graphs(attribute: onnx.AttributeProto) -> list[onnx.GraphProto]:
    return [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]
