"""Draw the rooms of the package with their imports: `python docs/rooms.py` writes docs/images/rooms.svg.

An arrow leads from a room to one that it imports from. Those that follow from others are left out: what a room
reaches through another one is below it anyway.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from npu_mlir import ROOMS

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "rooms.svg"


@dataclass(frozen=True)
class Import:
    """An import of one module by another."""

    source: str
    target: str
    line: int
    in_function: bool
    for_types: bool
    """Below `if TYPE_CHECKING:`."""


def module_files() -> dict[str, Path]:
    """The modules of the package by their names."""
    names: dict[str, Path] = {}
    for path in sorted((ROOT / "npu_mlir").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def read_imports() -> list[Import]:
    """Every import of a module of the package by another."""
    files = module_files()
    return [found for name, path in files.items() for found in _imports(name, path, files)]


def _imports(name: str, path: Path, files: Mapping[str, Path]) -> Iterator[Import]:
    def visit(node: ast.AST, in_function: bool, for_types: bool) -> Iterator[Import]:
        in_function |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                yield from visit(child, in_function, True)
            for child in node.orelse:
                yield from visit(child, in_function, for_types)
            return
        for target in _targets(node, files):
            yield Import(name, target, node.lineno, in_function, for_types)  # type: ignore[attr-defined]
        for child in ast.iter_child_nodes(node):
            yield from visit(child, in_function, for_types)

    return visit(ast.parse(path.read_text()), False, False)


def _targets(node: ast.AST, files: Mapping[str, Path]) -> list[str]:
    """The modules of the package that a statement imports."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports say npu_mlir"
        module = node.module or ""
        names = [name if (name := f"{module}.{alias.name}") in files else module for alias in node.names]
    else:
        return []
    return [name for name in names if name in files]


def room_of(module: str) -> str | None:
    """The room of a module; None for the package itself, which anyone may import: it imports nothing."""
    return module.split(".")[1] if "." in module else None


def arrows() -> dict[str, set[str]]:
    """The rooms that each room needs at run time."""
    result: dict[str, set[str]] = {room: set() for room in ROOMS}
    order = list(ROOMS)
    for found in read_imports():
        source, target = room_of(found.source), room_of(found.target)
        downward = source and target and order.index(target) < order.index(source)
        if source and target and downward and not found.for_types:
            result[source].add(target)
    return result


def without_implied(needs: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """The arrows that don't follow from others, in the order of `ROOMS`."""

    def reached(room: str) -> set[str]:
        return needs[room].union(*map(reached, needs[room]))

    return {
        room: [b for b in ROOMS if b in below and not any(b in reached(c) for c in below - {b})]
        for room, below in needs.items()
    }


# The drawing: a grid of boxes, in which a room stands one row above the highest one that it needs.

COLUMNS = {
    "support": 1,
    "dialects": 1,
    "targets": 0,
    "ir": 2,
    "analysis": 0,
    "frontends": 3,
    "interpreters": 1,
    "passes": 1,
    "simulator": 0,
    "pass_infra": 1,
    "universe": 2,
    "validation": 0,
    "pipeline": 2,
    "report": 0,
    "api": 2,
    "tools": 1,
}
WIDTH, HEIGHT = 240, 50
PITCH_X, PITCH_Y = 300, 92
MARGIN = 40
LANE = 8
"""Between lines side by side."""


@dataclass(frozen=True)
class Box:
    """A room's place: the centre of the box."""

    x: float
    y: float

    @property
    def top(self) -> float:
        return self.y - HEIGHT / 2

    @property
    def bottom(self) -> float:
        return self.y + HEIGHT / 2

    def is_hit(self, x: float, top: float, bottom: float) -> bool:
        """Whether a vertical line crosses the box, or nearly."""
        return abs(x - self.x) < WIDTH / 2 + 6 and top < self.bottom and bottom > self.top


def rows(needs: Mapping[str, set[str]]) -> dict[str, int]:
    """The row of each room, 0 at the bottom."""
    result: dict[str, int] = {}
    for room in ROOMS:
        result[room] = max((result[below] + 1 for below in needs[room]), default=0)
    return result


def draw() -> str:
    """The picture."""
    needs = arrows()
    row = rows(needs)
    highest = max(row.values())
    boxes = {
        room: Box(
            MARGIN + WIDTH / 2 + COLUMNS[room] * PITCH_X,
            MARGIN / 2 + HEIGHT / 2 + (highest - row[room]) * PITCH_Y,
        )
        for room in ROOMS
    }
    width = 2 * MARGIN + 3 * PITCH_X + WIDTH
    height = MARGIN + highest * PITCH_Y + HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="Helvetica, Arial, sans-serif">',
        "<!-- Written by docs/rooms.py. -->",
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#607080"/></marker>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_arrows(without_implied(needs), boxes),
        *(_box(room, boxes[room]) for room in ROOMS),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _box(room: str, box: Box) -> str:
    fill = "#e8f0fa" if (ROOT / "npu_mlir" / room).is_dir() else "#fdf3dc"
    return (
        f'<rect x="{box.x - WIDTH / 2:g}" y="{box.top:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{fill}" '
        'stroke="#607080"/>'
        f'<text x="{box.x:g}" y="{box.y - 4:g}" text-anchor="middle" font-size="14" font-weight="bold" fill="#102030">'
        f"{room}</text>"
        f'<text x="{box.x:g}" y="{box.y + 15:g}" text-anchor="middle" font-size="12" fill="#405060">'
        f"{ROOMS[room]}</text>"
    )


def _arrows(drawn: Mapping[str, list[str]], boxes: Mapping[str, Box]) -> Iterator[str]:
    """A line for each arrow; those over more than one row run beside the boxes between them."""
    long = 0
    for room, below in drawn.items():
        for target in below:
            start, end = boxes[room], boxes[target]
            if end.y - start.y <= PITCH_Y:
                points = [(start.x, start.bottom), (end.x, end.top)]
            else:
                points = _around(start, end, list(boxes.values()), long)
                long += 1
            path = "L".join(f"{x:g} {y:g}" for x, y in points)
            yield f'<path d="M{path}" fill="none" stroke="#607080" stroke-width="1.4" marker-end="url(#head)"/>'


def _around(start: Box, end: Box, boxes: list[Box], number: int) -> list[tuple[float, float]]:
    """A line from box to box in a lane that is free of boxes: the closest to both."""
    shift = (number - 2) * LANE
    middle = (PITCH_Y - HEIGHT) / 2
    upper, lower = start.bottom + middle + shift / 2, end.top - middle - shift / 2
    columns = [MARGIN + WIDTH / 2 + column * PITCH_X for column in range(4)]
    lanes = [*columns, *(x + PITCH_X / 2 for x in columns), MARGIN / 2]
    free = [x for x in lanes if not any(box.is_hit(x, upper, lower) for box in boxes)]
    lane = min(free, key=lambda x: (abs(x - start.x) + abs(x - end.x), x)) + shift
    return [
        (start.x + shift, start.bottom),
        (start.x + shift, upper),
        (lane, upper),
        (lane, lower),
        (end.x + shift, lower),
        (end.x + shift, end.top),
    ]


if __name__ == "__main__":
    PICTURE.write_text(draw())
