"""Files are written whole or not at all, and messages say why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_mlir.support import files
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.files import check_writable, read_text, write_atomically


def test_write_and_replace(tmp_path: Path):
    path = tmp_path / "a.txt"
    write_atomically(str(path), "one")
    path.chmod(0o640)
    write_atomically(str(path), b"two")
    assert path.read_text() == "two"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_links_are_followed(tmp_path: Path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    write_atomically(str(link), "x")
    assert link.is_symlink()
    assert target.read_text() == "x"


def test_devices_are_written_in_place():
    write_atomically("/dev/null", "x")
    assert not Path("/dev/null").is_file()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises(UserError, match="cannot write '.*a.txt': no space left on device"):
        write_atomically(str(path), "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_reasons(tmp_path: Path):
    with pytest.raises(UserError, match="is a directory"):
        check_writable(str(tmp_path))
    with pytest.raises(UserError, match="the directory '.*' does not exist"):
        check_writable(str(tmp_path / "none" / "file"))
    check_writable("-")
    check_writable(str(tmp_path / "new"))
    (tmp_path / "binary").write_bytes(b"ab\xff")
    with pytest.raises(UserError, match=r"not a text file \(byte 2 is not UTF-8\)"):
        read_text(str(tmp_path / "binary"))
    with pytest.raises(UserError, match="cannot read .*: no such file or directory"):
        read_text(str(tmp_path / "missing"))
