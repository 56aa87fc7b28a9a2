"""ONNX models as modules of graph ops.

    module = import_model("model.onnx", dims={"N": 1})

The result is one `func.func @main` on static tensors whose weights lie in the module's weight store.
"""

from npu_mlir.frontends.frontend import Frontend
from npu_mlir.frontends.onnx.importer import import_model

ONNX = Frontend("ONNX", import_model, reference="onnxruntime", options=("bake", "fallback", "left", "unroll"))

__all__ = ["ONNX", "import_model"]
