"""Modules and their weights, to and from files.

`model.mlir` names its weight file in the attribute `npu.weights`, relative to itself. A module that is written to a
file gets its weights beside it; one that goes to standard output carries those that no file has as a resource
section behind its text:

    {-#
      external_resources: {
        npu_weights: {
          "conv1.w": "0x0000803F..."
        }
      }
    #-}
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp, StringAttr

from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.printing import PLAIN, PrintOptions, op_text
from npu_mlir.ir.resources import dialect_resources, read_dialect_resources
from npu_mlir.support.diagnostics import SourceLocation, UserError
from npu_mlir.support.files import STDIN_NAME, is_stream, read_text, write_atomically, write_together

if TYPE_CHECKING:
    import numpy as np
    from xdsl.context import Context

_WEIGHTS = "npu.weights"
_WEIGHTS_HASH = "npu.weights_hash"
RESOURCES = re.compile(r"^\{-#.*?^#-\}\s*\Z", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*"0x([0-9A-Fa-f]*)"')


def load_module(ctx: Context, path: str) -> ModuleOp:
    """Parse the module in the file `path` (`-`: standard input) and connect it with its weights."""
    text, name = read_text(path)
    return parse_with_weights(ctx, text, name)


def parse_with_weights(ctx: Context, text: str, name: str, *, implicit_module: bool = True) -> ModuleOp:
    """Parse `text`, the contents of the file `name`, and connect the module with its weights."""
    section = RESOURCES.search(text) if "{-#" in text else None
    contents = text[: section.start()] if section else text
    module = parse_module(ctx, contents, name, implicit_module=implicit_module)
    if section is None and _WEIGHTS not in module.attributes:
        return module

    from npu_mlir.ir.weights import weights_of

    store = weights_of(module)
    store.directory = Path("." if name == STDIN_NAME else name).parent
    if section is not None:
        line = text.count("\n", 0, section.start()) + 1
        loc = SourceLocation(name, line, 1)
        _read_section(module, section.group(), loc)
        read_dialect_resources(module, section.group(), loc)
    return module


def save_module(module: ModuleOp, path: str, options: PrintOptions = PLAIN) -> None:
    """Write a module to `path` and its weights beside it, both or none; to a stream (`-`, a device) all in one text."""
    if is_stream(path):
        write_atomically(path, module_text(module, options))
    elif _uses_weights(module):
        from npu_mlir.ir.weights import weights_data

        weights = Path(path).with_suffix(".safetensors")
        if str(weights) == path:
            raise UserError(f"the weights of '{path}' would be the same file: give the module another suffix")
        data, saved = weights_data(module, weights)
        text = op_text(module, options) + _section(module, [], options)
        # Who reads the text has to find its weights.
        write_together({str(weights): data, path: text})
        saved()
    else:
        for name in (_WEIGHTS, _WEIGHTS_HASH):
            module.attributes.pop(name, None)
        write_atomically(path, op_text(module, options) + _section(module, [], options))


def module_text(module: ModuleOp, options: PrintOptions = PLAIN) -> str:
    """The text of a module that stands alone: `npu.weights` is relative to the current directory, and weights
    that no file has are part of the text."""
    if not _uses_weights(module):
        return op_text(module, options) + _section(module, [], options)

    from npu_mlir.ir.weights import weight_names, weights_of

    store = weights_of(module)
    new = [name for name in weight_names(module) if store.is_new(name)]
    if store.path is not None and len(new) < len(weight_names(module)):
        module.attributes[_WEIGHTS] = StringAttr(os.path.relpath(store.directory / store.path))
        store.directory = Path()
    return op_text(module, options) + _section(module, new, options)


def _uses_weights(module: ModuleOp) -> bool:
    return any(op.name == "graph.weight" for op in module.walk())


def _section(module: ModuleOp, weights: list[str], options: PrintOptions) -> str:
    """The resource section: these weights, and the resources that the module refers to."""
    parts = [
        _external_resources(module, weights, options),
        dialect_resources(module, options.elide_resources),
    ]
    body = ",\n".join(part for part in parts if part)
    return f"\n{{-#\n{body}\n#-}}\n" if body else ""


def _external_resources(module: ModuleOp, weights: list[str], options: PrintOptions) -> str:
    if not weights:
        return ""

    from npu_mlir.ir.weights import weights_of

    store, longest = weights_of(module), options.elide_resources
    texts = {name: f'"0x{store.get(name).tobytes().hex().upper()}"' for name in weights}
    entries = [
        f'      "{_escape(name)}": {text}'
        for name, text in texts.items()
        if longest is None or len(text) <= longest
    ]
    body = ",\n".join(entries)
    return f"  external_resources: {{\n    npu_weights: {{\n{body}\n    }}\n  }}" if entries else ""


def _read_section(module: ModuleOp, text: str, loc: SourceLocation) -> None:
    import numpy as np

    from npu_mlir.dialects.graph.weight import WeightOp
    from npu_mlir.ir.weights import weights_of
    from npu_mlir.support.dtypes import numpy_dtype

    store = weights_of(module)
    blobs = {_unescape(name): data for name, data in _ENTRY.findall(text)}
    for op in module.walk():
        if not isinstance(op, WeightOp) or op.entry_name not in blobs:
            continue
        dtype: np.dtype[Any] = numpy_dtype(op.infer_element_type())
        data = bytes.fromhex(blobs[op.entry_name])
        if len(data) != int(np.prod(op.infer_shape())) * dtype.itemsize:
            raise UserError(
                f"the resource '{op.entry_name}' has {len(data)} bytes, not those of its type", loc=loc
            )
        store.set(op.entry_name, np.frombuffer(data, dtype).reshape(op.infer_shape()))


def _escape(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _unescape(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)
