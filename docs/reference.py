"""The reference pages, made from the definitions: dialects, passes, targets and tools.

`make docs` adds them to the site; nothing of them is kept in the repository.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import takewhile
from pathlib import Path

from xdsl.irdl import (
    IRDLOperation,
    OptionalDef,
    OptOperandDef,
    OptPropertyDef,
    OptResultDef,
    VarOperandDef,
    VarResultDef,
)

from npu_mlir.dialects import OWN_DIALECTS, dialect_factory
from npu_mlir.dialects.linalg.layouts import ELEMENTWISE, layouts
from npu_mlir.pass_infra.pass_listing import pass_options
from npu_mlir.passes import PASSES, load_pass
from npu_mlir.pipeline import PIPELINE
from npu_mlir.targets.target import TARGETS, Target, get_target, target_names
from npu_mlir.tools.common import ArgumentParser

TOOLS = {
    "npu-opt": ("npu_mlir.tools.npu_opt_options", "OptParser"),
    "npu-compile": ("npu_mlir.tools.npu_compile", "_make_parser"),
    "npu-run": ("npu_mlir.tools.npu_run", "_make_parser"),
    "npu-reduce": ("npu_mlir.tools.npu_reduce", "_make_parser"),
    "npu-gui": ("npu_mlir.tools.npu_gui", "_make_parser"),
}


def pages() -> dict[str, str]:
    """All reference pages as Markdown, by their path."""
    return {
        **{f"reference/{name}.md": dialect_page(name) for name in OWN_DIALECTS},
        "reference/linalg.md": linalg_page(),
        "reference/passes.md": passes_page(),
        "reference/targets.md": targets_page(),
        "reference/tools.md": tools_page(),
    }


# ---- dialects --------------------------------------------------------------------------------------------------------


def dialect_page(name: str) -> str:
    """The operations, attributes and types of a dialect."""
    dialect = dialect_factory(name)()
    module = import_module(OWN_DIALECTS[name].partition(":")[0])
    parts = [f"# Dialect `{name}`", inspect.cleandoc(module.__doc__ or "")]
    if dialect.attributes:
        parts += ["## Attributes and types"]
        for attribute in sorted(dialect.attributes, key=lambda a: a.name):
            parts += [f"### `{attribute.name}`", documentation(attribute)]
    parts += ["## Operations"]
    for op in sorted(dialect.operations, key=lambda o: o.name):
        parts += [f"### `{op.name}`", documentation(op), *operands_of(op)]
    return "\n\n".join(parts) + "\n"


def documentation(definition: type) -> str:
    """The docstring of a class itself."""
    return inspect.cleandoc(definition.__doc__ or "")


def operands_of(op: type) -> Iterator[str]:
    """The pipe of an instruction, and a table of what an operation takes and gives."""
    pipe = getattr(op, "PIPE", None)
    if pipe is not None:
        yield f"Runs on the pipe {getattr(pipe, 'name', pipe)}."
    kinds = getattr(op, "KINDS", ())
    if len(kinds) > 1:
        yield f"Kinds: {', '.join(f'`{kind}`' for kind in sorted(kinds))}."
    assert issubclass(op, IRDLOperation)
    definition = op.get_irdl_definition()
    rows = [("operand", name, many(d)) for name, d in definition.operands]
    rows += [("property", name, many(d)) for name, d in definition.properties.items()]
    rows += [("attribute", name, many(d)) for name, d in definition.attributes.items()]
    rows += [("region", name, "") for name, _ in definition.regions]
    rows += [("result", name, many(d)) for name, d in definition.results]
    if rows:
        yield "\n".join(["| | name | |", "|---|---|---|", *(f"| {a} | `{b}` | {c} |" for a, b, c in rows)])


def many(definition: object) -> str:
    """How often an operand, property or result may be there, unless exactly once."""
    if isinstance(definition, OptOperandDef | OptResultDef | OptPropertyDef | OptionalDef):
        return "optional"
    return "any number" if isinstance(definition, VarOperandDef | VarResultDef) else ""


def linalg_page() -> str:
    """The named ops of upstream that our tools read."""
    rows = [
        f"| `linalg.{name}` | `{', '.join(' '.join('+'.join(t) for t in terms) for terms in layout.operands[:-1])}"
        f" -> {' '.join(layout.operands[-1])}` |"
        for name, layout in layouts().items()
    ]
    module = import_module("npu_mlir.dialects.linalg.layouts")
    elementwise = ", ".join(f"`linalg.{name}`" for name in ELEMENTWISE)
    return "\n\n".join(
        [
            "# Dialect `linalg`",
            "The upstream dialect as far as our tools read it. Beside `linalg.generic`, `fill`, `map`, `reduce`, "
            "`broadcast`, `transpose`, `softmax`, `elementwise` and `contract` these are the named ops.",
            "## Products, convolutions, pools",
            inspect.cleandoc(module.__doc__ or "").partition("\n\n")[2],
            "\n".join(["| op | operands -> result |", "|---|---|", *rows]),
            "## Elementwise",
            f"{elementwise}.\n",
        ]
    )


# ---- passes ----------------------------------------------------------------------------------------------------------


def passes_page() -> str:
    """What each pass does, with its options."""
    parts = ["# Passes", "The default pipeline, as `npu-compile` runs it:"]
    parts += ["\n".join(f"- **{phase.level}**: {', '.join(map(link, phase.passes))}" for phase in PIPELINE)]
    for name in PASSES:
        pass_class = load_pass(name)
        module = import_module(pass_class.__module__)
        text = spaced(inspect.cleandoc(module.__doc__ or pass_class.__doc__ or ""))
        parts += [f"## `{name}` {{ #{name} }}", text.removeprefix(f"{name}: ")]
        if options := pass_options(name):
            parts += ["Options:", "\n".join(f"    {line}" for line in options)]
    return "\n\n".join(parts) + "\n"


def spaced(text: str) -> str:
    """Docstring text with the blank lines that Markdown wants between prose and indented IR."""
    lines: list[str] = []
    for line in text.split("\n"):
        if lines and line.strip() and lines[-1].strip() and _is_code(line) != _is_code(lines[-1]):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def _is_code(line: str) -> bool:
    return line.startswith("    ")


def link(name: str) -> str:
    """A link to the pass on its page."""
    return f"[`{name}`](#{name})"


# ---- targets ---------------------------------------------------------------------------------------------------------


def targets_page() -> str:
    """What each number means, and the numbers of each machine with their sources."""
    docs = field_docs(Target)
    meanings = [
        f"| `{name}` | {docs.get(name, '')} |"
        for name in Target.__dataclass_fields__
        if name not in ("sources", "origin")
    ]
    parts = ["# Targets", "Sizes in bytes, rates in bytes per cycle, times in cycles."]
    parts += ["\n".join(["| entry | meaning |", "|---|---|", *meanings])]
    for name in target_names():
        target = get_target(name)
        values = target.values()
        lines = Path(TARGETS[name]).read_text().split("\n")
        comment = [line[1:].strip() for line in takewhile(lambda line: line[:1] == "#", lines)]
        rows = [f"| `{key}` | {values[key]} | {source} |" for key, source in target.sources.items()]
        parts += [
            f"## {name}",
            " ".join(comment),
            "\n".join(["| entry | value | source |", "|---|---|---|", *rows]),
        ]
    return "\n\n".join(parts) + "\n"


def field_docs(definition: type) -> dict[str, str]:
    """The string that follows each field of a dataclass."""
    body = ast.parse(inspect.getsource(definition)).body[0]
    assert isinstance(body, ast.ClassDef)
    docs: dict[str, str] = {}
    for field, following in zip(body.body, body.body[1:]):
        if isinstance(field, ast.AnnAssign) and isinstance(following, ast.Expr):
            docs[ast.unparse(field.target)] = " ".join(ast.literal_eval(following.value).split())
    return docs


# ---- tools -----------------------------------------------------------------------------------------------------------


def tools_page() -> str:
    """The help text of each tool."""
    parts = ["# Tools"]
    for name, (module, attribute) in TOOLS.items():
        make: Callable[[], ArgumentParser] = getattr(import_module(module), attribute)
        summary = inspect.cleandoc(import_module(module).__doc__ or "").partition("\n")[0]
        parts += [f"## {name}", summary.removeprefix(f"{name}: ")]
        text = make().format_help().partition("\npasses, run in")[0]
        parts += [f"```text\n{text.rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


def write(directory: Path) -> None:
    """Write all pages below a directory."""
    for name, text in pages().items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
