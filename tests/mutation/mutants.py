"""Mutants: small changes of the code of functions, one each, as a careless author would make them.

    a < b        a <= b            n + 1        n - 1             max(a, b)    min(a, b)
    a and b      a or b            if c:        if not c:         x += y       the statement is left out
    7            8                 True         False             for ...:     one iteration only

Docstrings, annotations, assertions (`strict=True` among them), messages of errors, and the names that make IR readable
are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_CALLS = {"max": "min", "min": "max", "any": "all", "all": "any", "sorted": "list", "reversed": "list"}

_COSMETIC = {"name_hint", "location"}


@dataclass(frozen=True)
class Mutant:
    """A change of one node: `key` names it as long as the line around it stays as it is."""

    module: str
    function: str
    line: int
    text: str
    change: str
    source: str
    number: int
    """Which node of the source is changed, and `choice`, in which of the possible ways."""
    choice: int
    lines: range
    """The lines of the statement around the node, without those of a body: what reaches none of them misses it."""

    def tree(self) -> ast.Module:
        """The module with the change."""
        tree = ast.parse(self.source)
        node = _nodes(tree)[self.number][1]
        list(_changes(node))[self.choice][1](node)
        return ast.fix_missing_locations(tree)

    @property
    def key(self) -> str:
        """What names the mutant in the list of survivors."""
        return f"{self.module}:{self.function}: `{self.text}`: {self.change}"


Change = Callable[[ast.AST], None]


def mutants_of(module: str, source: str) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its lines."""
    tree = ast.parse(source)
    lines = source.splitlines()
    spans = _spans(tree)
    for number, (function, node) in enumerate(_nodes(tree)):
        for choice, (what, _) in enumerate(_changes(node)):
            line = node.lineno  # type: ignore[attr-defined]
            text = lines[line - 1].strip()
            yield Mutant(module, function, line, text, what, source, number, choice, spans[node])


def functions_of(source: str) -> dict[str, tuple[int, str]]:
    """The first line and the text of each function that is not inside of another."""
    found: dict[str, tuple[int, str]] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                visit(statement.body, f"{prefix}{statement.name}.")
            elif isinstance(statement, ast.FunctionDef):
                text = ast.get_source_segment(source, statement) or ""
                found[prefix + statement.name] = (statement.lineno, text)

    visit(ast.parse(source).body, "")
    return found


def _spans(tree: ast.Module) -> dict[ast.AST, range]:
    """For each node, the lines of the innermost statement around it, without those of the statement's body."""
    spans: dict[ast.AST, range] = {}

    def visit(node: ast.AST, span: range) -> None:
        # No line of its own is seen where `continue` and `break` are: the jump before them goes on at once.
        if isinstance(node, ast.stmt) and not isinstance(node, ast.Continue | ast.Break):
            body = getattr(node, "body", None)
            end = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
            span = range(node.lineno, end + 1)
        spans[node] = span
        for child in ast.iter_child_nodes(node):
            visit(child, span)

    visit(tree, range(0))
    return spans


def _nodes(tree: ast.Module) -> list[tuple[str, ast.AST]]:
    """The nodes of the bodies of functions that may be changed, each with the name of the outermost function."""
    found: list[tuple[str, ast.AST]] = []

    def classes(body: list[ast.stmt], prefix: str) -> None:
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                classes(statement.body, f"{prefix}{statement.name}.")
            elif isinstance(statement, ast.FunctionDef):
                for part in statement.body:
                    visit(part, prefix + statement.name)

    def visit(node: ast.AST, function: str) -> None:
        if _is_left_alone(node):
            return
        if hasattr(node, "lineno"):
            found.append((function, node))
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, function)

    classes(tree.body, "")
    return found


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
        return node.targets[0].attr in _COSMETIC
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return True  # An assertion, too.
    # The type of a cast says nothing at run time.
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("cast", "TypeVar")
    )


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """What can be done to a node: how a list of survivors calls it, and the change."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARE:
        new = _COMPARE[type(node.ops[0])]
        yield f"{_symbol(node.ops[0])} becomes {_symbol(new())}", _set_compare(new)
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _ARITHMETIC:
        new_op = _ARITHMETIC[type(node.op)]
        yield f"{_symbol(node.op)} becomes {_symbol(new_op())}", _set_operator(new_op)
    elif isinstance(node, ast.BoolOp):
        is_and = isinstance(node.op, ast.And)
        yield ("and becomes or" if is_and else "or becomes and"), _set_operator(ast.Or if is_and else ast.And)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "unary - becomes +", _set_operator(ast.UAdd)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield f"{node.value} becomes {not node.value}", _set_value(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield f"{node.value} becomes {node.value + 1}", _set_value(node.value + 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        yield f"{node.func.id} becomes {_CALLS[node.func.id]}", _rename_call(_CALLS[node.func.id])
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "the condition is negated", _negate
    if isinstance(node, ast.For):
        yield "the loop ends after one iteration", _break
    if _is_droppable(node):
        yield "the statement is left out", _drop


def _is_droppable(node: ast.AST) -> bool:
    return isinstance(node, ast.AugAssign | ast.Continue | ast.Break) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    )


def _symbol(op: ast.AST) -> str:
    if isinstance(op, ast.cmpop):
        return ast.unparse(ast.Compare(ast.Name("a"), [op], [ast.Name("b")]))[2:-2]
    assert isinstance(op, ast.operator)
    return ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b")))[2:-2]


def _set_compare(new: type[ast.cmpop]) -> Change:
    def change(node: ast.AST) -> None:
        assert isinstance(node, ast.Compare)
        node.ops[0] = new()

    return change


def _set_operator(new: type[ast.AST]) -> Change:
    return lambda node: setattr(node, "op", new())


def _set_value(value: int) -> Change:
    return lambda node: setattr(node, "value", value)


def _rename_call(name: str) -> Change:
    def change(node: ast.AST) -> None:
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        node.func.id = name
        if name == "list":
            node.keywords = []

    return change


def _negate(node: ast.AST) -> None:
    assert isinstance(node, ast.If | ast.IfExp | ast.While)
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _break(node: ast.AST) -> None:
    assert isinstance(node, ast.For)
    node.body.append(ast.Break())


def _drop(node: ast.AST) -> None:
    """Make the statement one that does nothing."""
    location = {
        name: getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")
    }
    node.__class__ = ast.Pass
    node.__dict__.clear()
    node.__dict__.update(location)
