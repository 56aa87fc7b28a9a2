"""Which machine a module is for."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr

from npu_mlir.targets.target import DEFAULT_TARGET, Target, get_target

TARGET = "npu.target"
"""The module's attribute that names its machine."""


def named_target(module: ModuleOp) -> str | None:
    """The name of the machine, or its TOML file, as the module has it in `npu.target`; None if it names none."""
    name = module.attributes.get(TARGET)
    return name.data if isinstance(name, StringAttr) else None


def set_target(module: ModuleOp, name: str) -> None:
    """Make the module one for the machine `name`."""
    module.attributes[TARGET] = StringAttr(name)


def target_of(module: ModuleOp) -> Target:
    """The machine that the module is for; `DEFAULT_TARGET` if it names none."""
    return get_target(named_target(module) or DEFAULT_TARGET)
