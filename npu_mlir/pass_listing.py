"""The passes as `npu-opt --list-passes` shows them: name, first sentence, options."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import MISSING, Field, fields
from typing import TYPE_CHECKING, Any

from npu_mlir.passes import PASSES, load_pass

if TYPE_CHECKING:
    from xdsl.passes import ModulePass


def describe_passes() -> str:
    """One block of lines per pass, in the order of the registry."""
    return "\n".join(_describe(name) for name in PASSES)


def _describe(name: str) -> str:
    pass_class = load_pass(name)
    summary = inspect.cleandoc(pass_class.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    lines = [f"{name}", f"    {summary}"]
    docs = _field_docs(pass_class)
    for field in fields(pass_class):
        if field.init:
            lines.append(f"      {_option(field)}  {docs.get(field.name, '')}".rstrip())
    return "\n".join(lines)


def _option(field: Field[Any]) -> str:
    name = field.name.replace("_", "-")
    if field.default is MISSING and field.default_factory is MISSING:
        return f"{name}=<{field.type}>"
    default = field.default if field.default is not MISSING else ""
    return f"{name}=<{field.type}> (default {default})"


def _field_docs(pass_class: type[ModulePass]) -> dict[str, str]:
    """The string that follows each field in the class body: the documentation of that option."""
    body = ast.parse(textwrap.dedent(inspect.getsource(pass_class))).body[0]
    assert isinstance(body, ast.ClassDef)
    docs: dict[str, str] = {}
    for statement, following in zip(body.body, body.body[1:]):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
        ):
            docs[statement.target.id] = " ".join(str(following.value.value).split())
    return docs
