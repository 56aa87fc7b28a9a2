"""The tour of the README: one small kernel at every level, with what the tools really print.

python examples/tour.py            prints it
python examples/tour.py --write    puts it into README.md; a test checks that it is up to date
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- tour -->", "<!-- end of the tour -->"
WIDTH = 112

MAKE = "python tests/lit/inputs/make_model.py dense dense.onnx"

LEVELS = {
    "graph": "**graph**: the operators of the model on static tensors. Large weights are in a file beside it.",
    "linalg": "**linalg**: everything that computes is a `linalg.generic`, a loop nest with a scalar body; bias and"
    " relu are fused already.",
    "tile": "**tile, on tensors**: the three ops became one kernel, tiled over the reduction. Loads and stores move"
    " tiles between memories (`gm` is off chip, `l1`, `l0a`, `l0b`, `l0c` and `ub` are on chip), and a"
    " `linalg.generic` on `l0` tiles is work for the cube.",
    "tile-memref": "**tile, on buffers**: tiles have become buffers with addresses. Those that one unit fills while"
    " another reads have two slots, so that both can work at the same time.",
    "isa": "**npu_isa**: instructions, and the flags that order them between the units. Where an instruction waits for"
    " a slot, the flag's number depends on the slot.",
}


def run(command: str, directory: Path) -> str:
    """What a command prints, run in `directory` with the tools of this environment."""
    arguments = command.split()
    program = sys.executable if arguments[0] == "python" else str(Path(sys.executable).parent / arguments[0])
    arguments = [str(ROOT / a) if a.startswith("tests/") else a for a in arguments[1:]]
    environment = os.environ | {"COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    result = subprocess.run(
        [program, *arguments], cwd=directory, env=environment, check=True, capture_output=True, text=True
    )
    return result.stdout


def kernel_of(text: str) -> str:
    """The kernel of a module: its host function is the same from the level tile on."""
    start = text.find("  tile.kernel")
    if start < 0:
        return text
    end = text.rindex("}")
    return f"// the host function is as above\n{text[start:end]}"


def block(kind: str, text: str) -> str:
    lines = [line if len(line) <= WIDTH else line[: WIDTH - 2] + " …" for line in text.rstrip().split("\n")]
    return "\n".join([f"```{kind}", *(line.rstrip() for line in lines), "```"])


def tour() -> str:
    """The whole section as Markdown."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        run(MAKE, directory)
        parts = [block("", f"$ {MAKE}")]
        for level, text in LEVELS.items():
            command = f"npu-compile dense.onnx --target toy --emit {level} -o dense.mlir"
            run(command, directory)
            module = (directory / "dense.mlir").read_text()
            shown = module if level in ("graph", "linalg", "tile") else kernel_of(module)
            parts += [text, block("", f"$ {command}"), block("mlir", shown)]
        command = "npu-run dense.mlir --compare onnxruntime --reference dense.onnx"
        parts += [
            "The simulator executes and times the instructions:",
            block("", f"$ {command}\n{run(command, directory)}"),
        ]
    return "\n\n".join(parts)


def main() -> None:
    text = tour()
    if sys.argv[1:] == ["--write"]:
        readme = README.read_text()
        before, after = readme.split(BEGIN)[0], readme.split(END)[1]
        README.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
    else:
        print(text)


if __name__ == "__main__":
    main()
