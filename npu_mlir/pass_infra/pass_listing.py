"""The passes as `npu-opt --list-passes` and `--help` show them: name, first sentence, options with their defaults.

All of it is taken from the source text: importing every pass would take ten times as long as starting the tool.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from npu_mlir.passes import PASSES, load_pass


def describe_passes() -> Iterator[str]:
    """The lines about all passes, in the order of the registry; those about a pass are indented but for its name."""
    for name, where in PASSES.items():
        yield name
        definition = _definition(name, where)
        summary = inspect.cleandoc(ast.get_docstring(definition) or "").partition("\n\n")[0]
        yield f"    {' '.join(summary.split())}"
        yield from (f"      {line}" for line in _options(definition))


def pass_options(name: str) -> list[str]:
    """The lines about the options of a pass."""
    return list(_options(_definition(name, PASSES[name])))


def _definition(name: str, where: str) -> ast.ClassDef:
    """The class of the pass `name`, which the registry says is at `where`, as a syntax tree."""
    module, _, class_name = where.partition(":")
    spec = find_spec(module)
    if spec is not None and spec.origin is not None:
        for statement in ast.parse(Path(spec.origin).read_bytes()).body:
            if isinstance(statement, ast.ClassDef) and statement.name == class_name:
                return statement
    # A pass that is defined elsewhere than the registry says.
    statement = ast.parse(textwrap.dedent(inspect.getsource(load_pass(name)))).body[0]
    assert isinstance(statement, ast.ClassDef)
    return statement


def _options(definition: ast.ClassDef) -> Iterator[str]:
    """A line for each field: name, type, default and the string that follows it."""
    for statement, following in zip(definition.body, [*definition.body[1:], None]):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if ast.unparse(statement.annotation).startswith(("ClassVar", "typing.ClassVar")):
            continue
        option = f"{statement.target.id.replace('_', '-')}=<{ast.unparse(statement.annotation)}>"
        default = _default(statement.value)
        yield f"{option}{default}  {_text(following)}".rstrip()


def _default(value: ast.expr | None) -> str:
    if value is None:
        return ""
    if isinstance(value, ast.Constant):
        return f" (default {value.value})"
    return f" (default {ast.unparse(value)})"


def _text(statement: ast.stmt | None) -> str:
    """The string that a statement consists of, in one line."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return " ".join(str(statement.value.value).split())
    return ""
