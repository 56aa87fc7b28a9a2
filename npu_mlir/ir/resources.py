"""Resources of upstream: the data of `dense_resource<NAME>`, which stand behind the text of a module.

    {-#
      dialect_resources: {
        builtin: {
          weight: "0x040000000000803F..."
        }
      }
    #-}

A blob begins with its alignment in four bytes. Here the data are entries of the module's weight store.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from npu_mlir.support.diagnostics import SourceLocation, UserError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp

_ENTRY = re.compile(r'("(?:[^"\\]|\\.)*"|[\w$.-]+)\s*:\s*"0x([0-9A-Fa-f]*)"')
_IDENTIFIER = re.compile(r"[A-Za-z_][\w$.]*")
_ALIGNMENT_BYTES = 4


def resources_of(module: ModuleOp) -> dict[str, DenseResourceAttr]:
    """The resources that constants of the module refer to, by name."""
    from xdsl.dialects.builtin import DenseResourceAttr

    values = [op.properties.get("value") for op in module.walk() if op.name == "arith.constant"]
    return {value.resource_handle.data: value for value in values if isinstance(value, DenseResourceAttr)}


def dialect_resources(module: ModuleOp, longest: int | None) -> str:
    """The entry of the section with the data of the module's resources, or nothing; texts longer than `longest` are
    left out."""
    names = list(resources_of(module))
    if not names:
        return ""

    from npu_mlir.ir.weights import weights_of

    store = weights_of(module)
    texts = {name: f'"0x{_blob(store.get(name)).hex().upper()}"' for name in names}
    lines = [
        f"      {quoted(name)}: {text}"
        for name, text in texts.items()
        if longest is None or len(text) <= longest
    ]
    if not lines:
        return ""
    return "  dialect_resources: {\n    builtin: {\n" + ",\n".join(lines) + "\n    }\n  }"


def _blob(array: Any) -> bytes:
    alignment = max(array.dtype.itemsize, 1)
    return alignment.to_bytes(_ALIGNMENT_BYTES, "little") + array.tobytes()


def read_dialect_resources(module: ModuleOp, section: str, loc: SourceLocation) -> None:
    """Put the data of the module's resources into its weight store."""
    import numpy as np

    from npu_mlir.ir.weights import weights_of
    from npu_mlir.support.dtypes import numpy_dtype, static_shape

    start = section.find("dialect_resources")
    if start < 0:
        return
    blobs = {_unquoted(name): data for name, data in _ENTRY.findall(section, start)}
    for name, attr in resources_of(module).items():
        if name not in blobs:
            raise UserError(f"the resource '{name}' is not in the file", loc=loc)
        data = bytes.fromhex(blobs[name])[_ALIGNMENT_BYTES:]
        dtype, shape = numpy_dtype(attr.type), static_shape(attr.type)
        if len(data) != int(np.prod(shape)) * dtype.itemsize:
            raise UserError(f"the resource '{name}' has {len(data)} bytes, not those of {attr.type}", loc=loc)
        weights_of(module).set(name, np.frombuffer(data, dtype).reshape(shape))


def quoted(name: str) -> str:
    """The name of a resource as it stands in text."""
    if _IDENTIFIER.fullmatch(name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _unquoted(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name.startswith('"') else name
