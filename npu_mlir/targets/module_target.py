"""Which machine a module is for.

A module names its machine, and has its numbers unless it is one of the package, unchanged: they are then the module's
own, whatever becomes of the file that they came from.

    builtin.module attributes {npu.target = "ascend-910"} {
    builtin.module attributes {npu.target = "fast.toml", npu.machine = {name = "fast", l1 = 524288 : i64, ...}} {
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute

from npu_mlir.dialects import tile
from npu_mlir.support.diagnostics import UserError, located_errors
from npu_mlir.targets.numbers import GROUPS, Number, Written
from npu_mlir.targets.target import BUILT_IN, DEFAULT_TARGET, SET_BY_USER, Target, built_in, get_target

TARGET = "npu.target"
"""The module's attribute that names its machine."""

MACHINE = "npu.machine"
"""The module's attribute with its machine's numbers."""


def named_target(module: ModuleOp) -> str | None:
    """The name of the machine, or its TOML file, as the module has it in `npu.target`; None if it names none."""
    name = module.attributes.get(TARGET)
    return name.data if isinstance(name, StringAttr) else None


def target_of(module: ModuleOp) -> Target:
    """The machine that the module is for: its own numbers if it has any, else the machine that it names; if it names
    none, `DEFAULT_TARGET`. Numbers that are not those of a machine are a `UserError`."""
    name, numbers = named_target(module), module.attributes.get(MACHINE)
    if numbers is None:
        return get_target(name or DEFAULT_TARGET)
    with located_errors(module):
        return _decoded(numbers, name or DEFAULT_TARGET)


def set_target(module: ModuleOp, target: Target) -> None:
    """Make the module one for this machine."""
    name = target.origin or target.name
    module.attributes[TARGET] = StringAttr(name)
    module.attributes.pop(MACHINE, None)
    if name not in BUILT_IN or built_in(name) != target:
        module.attributes[MACHINE] = _encoded(target)


def keep_numbers(module: ModuleOp) -> None:
    """Write the machine's numbers into a module that only names it, from now on its own."""
    if named_target(module) is not None:
        set_target(module, target_of(module))


def change_target(module: ModuleOp, settings: Mapping[str, Written]) -> None:
    """Change numbers of the module's machine; a `UserError` if it has kernels, which were compiled for others."""
    own = target_of(module)
    machine = own.replace(settings)
    if machine == own:
        return
    if any(isinstance(op, tile.KernelOp) for op in module.ops):
        raise conflict(module, machine)
    set_target(module, machine)


def check_target(module: ModuleOp, asked: Target) -> None:
    """Raise a `UserError` if the module is for another machine than the one asked for."""
    if named_target(module) is not None and target_of(module) != asked:
        raise conflict(module, asked)


def conflict(module: ModuleOp, asked: Target) -> UserError:
    """The error that a module was compiled for another machine."""
    own, name, other = target_of(module), named_target(module) or DEFAULT_TARGET, asked.origin or asked.name
    notes = ["compile the model again for that target"]
    if name == other:
        other = "other numbers"
        notes.insert(
            0, f"it has {_listed(own.changes_from(asked))}; asked for: {_listed(asked.changes_from(own))}"
        )
    else:
        other = f"'{other}'"
    message = f"the module was compiled for the target '{name}' and can't be used with {other}"
    return UserError(message, notes=notes, loc=module)


def target_label(module: ModuleOp) -> str:
    """The machine's name for people, with the numbers that the machine of that name has otherwise."""
    name = named_target(module) or DEFAULT_TARGET
    base = _named(name)
    changes = target_of(module).changes_from(base) if base is not None else {}
    return f"{name} ({_listed(changes)})" if changes else name


def _listed(changes: Mapping[str, Number | None]) -> str:
    return ", ".join(f"{name} = {_text(value)}" for name, value in changes.items())


def _text(value: Number | None) -> str:
    return (
        ",".join(map(str, value)) if isinstance(value, tuple) else "nothing" if value is None else str(value)
    )


def _named(name: str) -> Target | None:
    """The machine of that name as it is now, None if there is none any more."""
    if name.endswith(".toml") and not Path(name).is_file():
        return None
    try:
        return get_target(name)
    except UserError:
        return None


# ---- numbers as an attribute -----------------------------------------------------------------------------------------


def _encoded(target: Target) -> DictionaryAttr:
    tree: dict[str, Any] = {}
    for name, value in target.values().items():
        group, dot, entry = name.rpartition(".")
        (tree.setdefault(group, {}) if dot else tree)[entry] = _attribute(value)
    return DictionaryAttr({k: DictionaryAttr(v) if isinstance(v, dict) else v for k, v in tree.items()})  # type: ignore[arg-type]


def _attribute(value: Number) -> Attribute:
    match value:
        case bool():
            return IntegerAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case _:
            return DenseArrayBase.from_list(i64, list(value))


@lru_cache(maxsize=16)
def _decoded(numbers: Attribute, origin: str) -> Target:
    values: dict[str, Any] = {}
    entries = numbers.data if isinstance(numbers, DictionaryAttr) else {MACHINE: numbers}
    for name, entry in entries.items():
        if name in GROUPS and isinstance(entry, DictionaryAttr):
            values |= {f"{name}.{key}": _value(value) for key, value in entry.data.items()}
        else:
            values[name] = _value(entry)
    base = _named(origin)
    known = base.values() if base is not None else {}
    sources = base.sources if base is not None else {}
    same = {name for name, value in known.items() if values.get(name) == value}
    origins = {
        name: sources.get(name, "") if name in same else SET_BY_USER for name in values if name != "name"
    }
    return Target.of(values, origins, origin)


def _value(entry: Attribute) -> Any:
    match entry:
        case IntegerAttr():
            value = cast("IntegerAttr[IntegerType]", entry)
            return bool(value.value.data) if value.type == IntegerType(1) else value.value.data
        case FloatAttr() | StringAttr():
            return entry.value.data if isinstance(entry, FloatAttr) else entry.data
        case DenseArrayBase():
            return tuple(int(v) for v in cast("DenseArrayBase[IntegerType]", entry).iter_values())
        case _:
            return str(entry)
