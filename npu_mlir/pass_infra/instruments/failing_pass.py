"""`--mlir-pass-pipeline-local-reproducer`: remembers the module as it was before the pass that runs."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from npu_mlir.ir.weights import copy_weights
from npu_mlir.pass_infra.pass_manager import PassInstrument


class FailingPass(PassInstrument):
    """Keeps a copy of the module from before the latest pass, and the pipeline that runs that pass alone."""

    def __init__(self) -> None:
        self.module: ModuleOp | None = None
        self.pipeline = ""

    def before_pass(self, pass_: ModulePass, op: Operation) -> None:
        root = op.get_toplevel_object()
        assert isinstance(root, ModuleOp)
        self.module = root.clone()
        copy_weights(root, self.module)
        self.pipeline = str(pass_)
        around: Operation | None = op
        while around is not None:
            self.pipeline = f"{around.name}({self.pipeline})"
            around = around.parent_op()
