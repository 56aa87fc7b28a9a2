"""Installed packages bring passes, dialects with meanings, costs and targets through an entry point."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from npu_mlir.dialects.npu_isa import VectorWork, Work
from npu_mlir.passes import PASSES
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.plugins import Plugin, add_plugin
from npu_mlir.support.registry import add_names, table
from npu_mlir.targets import cost
from npu_mlir.targets.target import TARGETS, get_target

FILES = {
    "my_package-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n",
    "my_package-1.0.dist-info/entry_points.txt": "[npu_mlir.plugins]\nmine = my_package:PLUGIN\n",
    "my_package/__init__.py": """
from pathlib import Path
from npu_mlir.support.plugins import Plugin

PLUGIN = Plugin(
    passes={"my-lowering": "my_package.lowering:MyLowering"},
    dialects={"my": "my_package.dialect:My"},
    meanings={"my": "my_package.meanings"},
    targets={"my-npu": Path(__file__).with_name("my_npu.toml")},
)
""",
    "my_package/dialect.py": """
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def


@irdl_op_definition
class TwiceOp(IRDLOperation):
    name = "my.twice"
    value = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"


My = Dialect("my", [TwiceOp])
""",
    "my_package/meanings.py": """
from npu_mlir.interpreters.registry import impl


@impl("my.twice")
def twice(interp, op, args):
    return (args[0] * 2,)
""",
    "my_package/lowering.py": """
from typing import ClassVar

from xdsl.passes import ModulePass

from my_package.dialect import TwiceOp
from npu_mlir.dialects.graph import AddOp
from npu_mlir.passes.graph.rewriting import insert_before, replace


class MyLowering(ModulePass):
    name = "my-lowering"
    runs_after: ClassVar[str] = "graph-infer-shapes"

    def apply(self, ctx, op):
        for twice in [o for o in op.walk() if isinstance(o, TwiceOp)]:
            replace(twice, insert_before(twice, AddOp(twice.value, twice.value)))
""",
    "my_package/my_npu.toml": Path(TARGETS["toy"]).read_text(),
}
MODULE = """
builtin.module attributes {npu.target = "my-npu"} {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = my.twice %x : tensor<4x8xf32> -> tensor<4x8xf32>
    %1 = graph.relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    func.return %1 : tensor<4x8xf32>
  }
}
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder that looks like one with an installed package."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "in.mlir").write_text(MODULE)
    return tmp_path


def npu_opt(package: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run npu-opt where the package is installed."""
    command = [sys.executable, "-m", "npu_mlir.tools.npu_opt", *arguments]
    environment = os.environ | {"PYTHONPATH": str(package)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=package, check=False)


def test_an_installed_package_goes_to_the_instructions(package: Path):
    """Its op is parsed, run, lowered by its pass, and compiled for its target."""
    done = npu_opt(
        package, "in.mlir", "--my-lowering", "--lower-to=isa", "--check-equivalence", "-o", "out.mlir"
    )
    assert done.returncode == 0, done.stderr
    assert "npu_isa.vbinary" in (package / "out.mlir").read_text()


def test_its_pass_has_a_name_in_pipelines(package: Path):
    done = npu_opt(package, "in.mlir", "--pass-pipeline=builtin.module(my-lowering)")
    assert "graph.add" in done.stdout, done.stderr


def test_a_package_that_cannot_be_imported_is_named(package: Path):
    (package / "my_package/__init__.py").write_text("import a_package_that_nobody_has")
    done = npu_opt(package, "in.mlir", "--my-lowering")
    assert done.returncode == 1
    assert "the plugin 'mine' (my_package:PLUGIN) cannot be imported: ModuleNotFoundError" in done.stderr


def test_a_name_that_is_taken():
    assert "cse" in PASSES
    with pytest.raises(UserError, match="a plugin brings the pass 'cse', which exists already"):
        add_plugin(Plugin(passes={"cse": "somewhere:Else"}))


def test_a_name_of_ours_that_a_plugin_took_before():
    add_names("test", {"here": "one:Thing"})
    with pytest.raises(UserError, match="a plugin brings the test 'here', which exists already"):
        table("test", {"here": "another:Thing"})


def test_a_kind_of_work_with_its_cost(monkeypatch: pytest.MonkeyPatch):
    class MyWork(VectorWork):
        """A subclass costs what its base costs, until it has a cost of its own."""

    work, target = MyWork("add", 1, 32), get_target("toy")
    before = cost.cost_of(work, target)
    assert before == cost.cost_of(VectorWork("add", 1, 32), target)
    monkeypatch.setattr(cost, "_costs", dict(cost._costs))
    cost.cost(MyWork)(lambda work, target: cost.Cost(7, 3))
    assert cost.cost_of(work, target) == cost.Cost(7, 3) != before


def test_a_kind_of_work_without_a_cost():
    class OtherWork(Work):
        """Not one that the machine model knows."""

    with pytest.raises(UserError, match="no cost is known for OtherWork: @cost\\(OtherWork\\) gives it one"):
        cost.cost_of(OtherWork(), get_target("toy"))


def test_a_file_brings_what_a_plugin_object_in_it_says(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(Path(TARGETS["toy"]).read_text())
    (tmp_path / "mine.py").write_text(
        "from pathlib import Path\nfrom npu_mlir.support.plugins import Plugin\n"
        "PLUGIN = Plugin(targets={'mine': Path(__file__).with_name('mine.toml')})\n"
    )
    (tmp_path / "in.mlir").write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = graph.relu %x : (tensor<4xf32>) -> tensor<4xf32>\n  func.return %0 : tensor<4xf32>\n}\n"
    )
    command = ["npu_mlir.tools.npu_compile", "in.mlir", "--target", "mine", "--load-pass-plugin=mine.py"]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'npu.target = "mine"' in done.stdout
