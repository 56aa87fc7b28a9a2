"""The links at the root lead into the package: nothing may see a module twice because of them."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINKS = ("dialects", "passes", "tools")


def modules_on_disk() -> set[str]:
    return {
        str(path.relative_to(ROOT))
        for pattern in ("*.py", "*.toml", "py.typed")
        for path in (ROOT / "npu_mlir").rglob(pattern)
    }


def run(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_the_links_are_links():
    for name in LINKS:
        assert (ROOT / name).is_symlink()
        assert (ROOT / name).resolve() == ROOT / "npu_mlir" / name


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the sdist, and the wheel built from it."""
    directory = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory), str(ROOT))
    return directory


def test_the_sdist_holds_each_module_once(archives: Path):
    with tarfile.open(next(archives.glob("*.tar.gz"))) as sdist:
        names = [member.name.partition("/")[2] for member in sdist.getmembers() if member.isfile()]
    assert len(names) == len(set(names))
    assert not [name for name in names if name.split("/")[0] in LINKS]
    assert modules_on_disk() <= set(names)


def test_the_wheel_holds_each_module_once(archives: Path):
    with zipfile.ZipFile(next(archives.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    assert len(names) == len(set(names))
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"npu_mlir"}
    assert modules_on_disk() <= set(names)


def test_ruff_sees_each_file_once():
    files = run(sys.executable, "-m", "ruff", "check", "--show-files").split("\n")
    paths = [Path(line) for line in files if line]
    assert len({path.resolve() for path in paths}) == len(paths)
    assert not [path for path in paths if path.relative_to(ROOT).parts[0] in LINKS]


def test_pyright_sees_each_file_once():
    """Pyright says how many files it found before it checks any."""
    command = [sys.executable, "-m", "pyright", "--verbose"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = next(line for line in process.stdout if line.startswith("Found "))
        process.kill()
    assert int(found.split()[1]) == len([name for name in modules_on_disk() if name.endswith(".py")])


def test_pytest_collects_nothing_through_the_links():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert set(LINKS) <= set(config["norecursedirs"])
    assert all(path.startswith("tests/") for path in config["testpaths"])


def test_imports_through_the_links_are_rejected():
    command = [sys.executable, "-m", "ruff", "check", "--quiet", "--stdin-filename", "npu_mlir/x.py", "-"]
    for name in LINKS:
        source = f"import {name}\n\nprint({name})\n"
        result = subprocess.run(command, cwd=ROOT, input=source, capture_output=True, text=True)
        assert result.returncode == 1
        assert "TID251" in result.stdout
