"""npu-gui, run without a terminal, offers our passes and those of plugins and runs them."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

import pytest

from npu_mlir.support.diagnostics import UserError
from npu_mlir.tools import npu_gui

MODULE = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""


async def drive(path: Path) -> tuple[set[str], list[str]]:
    """The names of the passes on offer; the output before and after one more of them is chosen with the keyboard."""
    app = npu_gui.make_app(argparse.Namespace(file=str(path)), [("graph-infer-shapes", "")])
    async with app.run_test() as pilot:
        await pilot.pause()
        outputs = [app.output_text_area.text]
        nodes = {str(node.label): node for node in app.passes_tree.root.children}
        app.passes_tree.focus()
        app.passes_tree.move_cursor(nodes["convert-graph-to-linalg"])
        await pilot.press("enter")
        await pilot.pause()
        return set(nodes), [*outputs, app.output_text_area.text]


def test_a_pass_is_chosen(tmp_path: Path):
    pytest.importorskip("textual", reason="pip install 'npu-mlir[gui]'")
    (tmp_path / "in.mlir").write_text(MODULE)
    offered, (before, after) = asyncio.run(drive(tmp_path / "in.mlir"))
    assert {"graph-layout", "npu-isa-insert-sync", "convert-scf-to-cf"} <= offered
    assert "graph.relu %x" in before
    assert "linalg.generic" in after and "graph.relu" not in after


def test_without_the_packages(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "xdsl.interactive.app", None)
    with pytest.raises(UserError, match="npu-gui needs packages that are not installed"):
        npu_gui.make_app(argparse.Namespace(file=None), [])


def test_without_a_terminal(capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("textual", reason="pip install 'npu-mlir[gui]'")
    assert npu_gui.main([]) == 1
    assert "error: npu-gui needs a terminal; npu-opt prints what passes do" in capsys.readouterr().err
