"""Reproducers: a module with the pipeline that shows a problem, in one file, as mlir-opt writes them.

    builtin.module { ... }

    {-#
      external_resources: {
        mlir_reproducer: {
          pipeline: "builtin.module(cse)",
          disable_threading: true,
          verify_each: true
        }
      }
    #-}

`npu-opt --run-reproducer FILE` runs it.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr

from npu_mlir.ir.module_io import RESOURCES, module_text
from npu_mlir.support.diagnostics import Note, PassCrash, UserError
from npu_mlir.support.files import write_atomically
from npu_mlir.support.plugins import LOADED_FILES

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npu_mlir.pass_infra.instruments.failing_pass import FailingPass
    from npu_mlir.pass_infra.pass_manager import PassInstrument

_OPENING = "{-#\n  external_resources: {\n"
_ENTRY = re.compile(r'\bmlir_reproducer\s*:\s*\{.*?\bpipeline\s*:\s*"((?:[^"\\]|\\.)*)"(.*?)\}', re.DOTALL)
_VERIFY = re.compile(r"\bverify_each\s*:\s*(true|false)")


class ReproducerWriter:
    """Writes the file that shows a failure again: for every crash, and for other failures if there is a `path`.

    `original` makes the module again as it was before the passes. With `local`, the file has only the pass that failed
    and the module as it was before that one.
    """

    def __init__(
        self,
        original: Callable[[], ModuleOp],
        pipeline: str,
        verify_each: bool,
        path: str | None,
        local: bool = False,
    ) -> None:
        self._original = original
        self._pipeline = pipeline
        self._verify_each = verify_each
        self._path = path
        self._local = local
        self._latest: FailingPass | None = None

    def instruments(self) -> Sequence[PassInstrument]:
        """What has to watch the passes for it."""
        if not self._local:
            return ()

        from npu_mlir.pass_infra.instruments.failing_pass import FailingPass

        self._latest = FailingPass()
        return (self._latest,)

    def write(self, path: str | None) -> str:
        """Write the file; where it is then."""
        if self._latest is not None and self._latest.module is not None:
            return write_reproducer(self._latest.module, self._latest.pipeline, self._verify_each, path)
        return write_reproducer(self._original(), self._pipeline, self._verify_each, path)

    def write_for(self, error: UserError) -> None:
        """Write the file if `error` asks for one, and say so in a note."""
        if self._path is not None or isinstance(error, PassCrash):
            plugins = "".join(f" --load-pass-plugin {path}" for path in LOADED_FILES)
            command = f"npu-opt --run-reproducer {self.write(self._path)}{plugins}"
            error.notes.append(Note(f"{command} shows this again"))


@contextmanager
def reproduced(
    original: Callable[[], ModuleOp], pipeline: Callable[[], str], path: str | None
) -> Generator[None]:
    """Leave a reproducer when a pass crashes, or fails while there is a `path` to write to."""
    try:
        yield
    except UserError as error:
        ReproducerWriter(original, pipeline(), verify_each=True, path=path).write_for(error)
        raise


def write_reproducer(module: ModuleOp, pipeline: str, verify_each: bool, path: str | None = None) -> str:
    """Write a reproducer to `path`, or to a new file in the directory for temporary files; where it is then."""
    if path is None:
        descriptor, path = tempfile.mkstemp(prefix="npu-opt-reproducer-", suffix=".mlir")
        os.close(descriptor)
    write_atomically(path, reproducer_text(module, pipeline, verify_each))
    return path


def reproducer_text(module: ModuleOp, pipeline: str, verify_each: bool) -> str:
    """The module, its weights if no file has them, and the pipeline."""
    text = module_text(module)
    weights = module.attributes.get("npu.weights")
    if isinstance(weights, StringAttr):
        # A reproducer may be written anywhere, so the weight file is named by its absolute path.
        module.attributes["npu.weights"] = StringAttr(os.path.abspath(weights.data))
        text = module_text(module)
    escaped = pipeline.replace("\\", "\\\\").replace('"', '\\"')
    entry = (
        f'    mlir_reproducer: {{\n      pipeline: "{escaped}",\n      disable_threading: true,\n'
        f"      verify_each: {str(verify_each).lower()}\n    }}"
    )
    if _OPENING in text:
        before, _, after = text.rpartition(_OPENING)
        return f"{before}{_OPENING}{entry},\n{after}"
    return f"{text}\n{_OPENING}{entry}\n  }}\n#-}}\n"


def read_reproducer(text: str, name: str) -> tuple[str, bool]:
    """The pipeline in the text of a reproducer, and whether to verify after each pass."""
    section = RESOURCES.search(text) if "{-#" in text else None
    entry = _ENTRY.search(section.group()) if section is not None else None
    if entry is None:
        raise UserError(f"--run-reproducer: '{name}' has no 'mlir_reproducer' resource with a pipeline")
    verify = _VERIFY.search(entry.group(2))
    return re.sub(r"\\(.)", r"\1", entry.group(1)), verify is None or verify.group(1) == "true"
