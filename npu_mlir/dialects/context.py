"""A context that asks the installed plugins for dialects that it does not know."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.ir import Attribute, Operation, TypeAttribute

from npu_mlir.dialects import DIALECTS, dialect_factory, register_dialects


class PluginContext(Context):
    """A context with the dialects of plugins, which are looked for once, at the first unknown name."""

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        found = super().get_optional_op(name, dialect_stack=dialect_stack)
        if found is not None or not self._add_plugins(name):
            return found
        return super().get_optional_op(name, dialect_stack=dialect_stack)

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        self._add_plugins(name)
        return super().get_optional_attr(name)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        self._add_plugins(name)
        return super().get_optional_type(name)

    def _add_plugins(self, name: str) -> bool:
        """Register the dialects of plugins if that of `name` is not known yet; whether it is now."""
        dialect, dot, _ = name.partition(".")
        if not dot or dialect in self.registered_dialect_names:
            return False
        from npu_mlir.support.plugins import load_installed_plugins

        load_installed_plugins()
        for added in DIALECTS.keys() - set(self.registered_dialect_names):
            self.register_dialect(added, dialect_factory(added))
        return dialect in self.registered_dialect_names


def make_context() -> Context:
    """A context in which every dialect of ours is registered."""
    ctx = PluginContext()
    register_dialects(ctx)
    return ctx
