"""Attributes of the graph dialect."""

from __future__ import annotations

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.str_enum import StrEnum


class Layout(StrEnum):
    """Order of an image tensor's dimensions; with any number of spatial ones in place of HW."""

    NCHW = "NCHW"
    NHWC = "NHWC"


@irdl_attr_definition
class LayoutAttr(EnumAttribute[Layout], SpacedOpaqueSyntaxAttribute):
    """A dimension order, printed as `NHWC`."""

    name = "graph.layout"


class ReduceKind(StrEnum):
    """What a reduction computes."""

    SUM = "sum"
    MEAN = "mean"
    MAX = "max"
    MIN = "min"
    PROD = "prod"


@irdl_attr_definition
class ReduceKindAttr(EnumAttribute[ReduceKind], SpacedOpaqueSyntaxAttribute):
    """A kind of reduction, printed as `sum`."""

    name = "graph.reduce_kind"
