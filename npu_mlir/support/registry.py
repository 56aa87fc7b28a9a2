"""Tables of names: where a pass, dialect, meaning or target is defined.

Each kind of thing has one table, `{"name": "module:Object"}` or `{"name": "file.toml"}`; what it names is imported or
read on use. The module of a kind makes its table, with what is ours; plugins add to it. Nothing is imported here, so
that modules of any layer may have a table.
"""

from __future__ import annotations

from collections.abc import Mapping

from npu_mlir.support.diagnostics import UserError

_TABLES: dict[str, dict[str, str]] = {}


def table(kind: str, own: Mapping[str, str] | None = None) -> dict[str, str]:
    """The one table of a kind, after adding our `own` names to it.

    A `UserError` if a name is taken by something else: by a plugin, whether it came before or after.
    """
    return _add(kind, own or {})


def add_names(kind: str, names: Mapping[str, str]) -> None:
    """Add what a plugin brings; a `UserError` as above."""
    _add(kind, names)


def _add(kind: str, names: Mapping[str, str]) -> dict[str, str]:
    found = _TABLES.setdefault(kind, {})
    for name, where in names.items():
        if found.setdefault(name, where) != where:
            raise UserError(f"a plugin brings the {kind} '{name}', which exists already")
    return found
