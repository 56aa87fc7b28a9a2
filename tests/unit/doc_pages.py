"""Runs what the pages of docs/ show.

A page is a list of fenced blocks. Those with a file name in their title are files:

    ```python title="my_pass.py"

and those of kind `console` are commands, each with what it prints:

    ```console
    $ npu-opt in.mlir --load-pass-plugin my_pass.py --my-pass
    builtin.module {
    ...
    ```

Commands run in one directory for each page, in a shell; a command that fails is fine if the page shows its message.
Long lines are cut. `python tests/unit/doc_pages.py --write` puts into the pages what the commands really print.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import served

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = ("tutorial", "add-a-pass", "add-an-op", "add-a-target", "add-a-frontend", "upstream")
WIDTH = 118

_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
_PROMPT = "$ "


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    kind: str
    title: str | None
    text: str
    start: int
    """Where its text starts in the page."""

    def commands(self) -> Iterator[tuple[str, str]]:
        """Each command with the output that the page shows."""
        for part in re.split(r"^(?=\$ )", self.text, flags=re.MULTILINE):
            command, _, output = part.partition("\n")
            if command:
                yield command.removeprefix(_PROMPT), output


def blocks(page: str) -> list[Block]:
    """The blocks of the page, in order."""
    found: list[Block] = []
    for match in _BLOCK.finditer(page):
        title = _TITLE.search(match[2])
        found.append(Block(match[1], title[1] if title else None, match[3], match.start(3)))
    return found


@cache
def tools() -> served.Tools:
    """Our tools, which start fast."""
    return served.start(os.environ)


def run(command: str, directory: Path) -> str:
    """What a command prints on both streams, long lines cut."""
    path = os.pathsep.join([str(tools().folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "COLUMNS": "110", "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = [
        line if len(line) <= WIDTH else line[: WIDTH - 2] + " …" for line in done.stdout.rstrip().split("\n")
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines) if done.stdout.strip() else ""


def current(page: str) -> str:
    """The page with what its commands really print."""
    with tempfile.TemporaryDirectory() as name:
        directory, parts, position = Path(name), list[str](), 0
        (directory / "examples").symlink_to(ROOT / "examples")
        for block in blocks(page):
            if block.title is not None:
                (directory / block.title).write_text(block.text)
            elif block.kind == "console":
                text = "".join(f"{_PROMPT}{c}\n{run(c, directory)}" for c, _ in block.commands())
                parts += [page[position : block.start], text]
                position = block.start + len(block.text)
        return "".join([*parts, page[position:]])


def main() -> None:
    """Bring the pages up to date."""
    for name in sys.argv[2:] or PAGES:
        path = DOCS / f"{name}.md"
        path.write_text(current(path.read_text()))


if __name__ == "__main__":
    main()
