"""The operators of ONNX and what of them is supported, as `npu-compile --list-ops` and docs/operators.md show it.

How an operator is translated, its attributes among it, is taken from the converters themselves: an attribute that a
converter doesn't ask for is refused. Where operators run, for which types, and how many of ONNX's own cases pass comes
from the conformance suite (`make conformance` writes `conformance.json`).
"""

from __future__ import annotations

import ast
import fnmatch
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import onnx

from npu_mlir.frontends.onnx import converters
from npu_mlir.frontends.onnx.control_flow import BODIES
from npu_mlir.frontends.onnx.converters import CONVERTERS
from npu_mlir.frontends.onnx.fold import DOUBTFUL, NOT_PURE
from npu_mlir.frontends.onnx.node import qualified
from npu_mlir.frontends.onnx.sequences import SEQUENCE_OPERATORS
from npu_mlir.frontends.onnx.upgrade import OLDEST_OPSET

PASSED = ("device", "views", "folded", "device+host")
"""What may have become of a case that passes: kernels, a change of shape alone, constants, kernels and the host."""

ASKING = ("attribute", "integer", "real", "integers", "text", "require", "axis")
"""Methods of `Node` that read an attribute; the name is their first argument, but for `axis`."""


@dataclass(frozen=True)
class Conformance:
    """What the conformance suite says about an operator."""

    cases: int = 0
    classes: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many cases are in each class of `PASSED`, and of "host", "refused" and the like."""
    types: tuple[str, ...] = ()
    """Element types of the first operands of cases that pass."""

    @property
    def passed(self) -> int:
        """How many cases pass."""
        return sum(self.classes.get(kind, 0) for kind in PASSED)


@dataclass(frozen=True)
class Operator:
    """An operator of one of ONNX's domains."""

    name: str
    """With the domain, unless that is the default one."""
    opsets: tuple[int, ...]
    """The versions of its definition that we read: each holds up to the next."""
    how: str
    """What the importer does with it."""
    attributes: tuple[str, ...]
    """The attributes that it may have, some with the only value."""
    conformance: Conformance

    def lines(self) -> Iterator[str]:
        """What `--list-ops` says; all lines but the first are indented."""
        yield self.name
        yield f"    opsets {', '.join(map(str, self.opsets))}; {self.how}"
        if self.attributes:
            yield f"    attributes: {', '.join(self.attributes)}"
        if self.conformance.types:
            yield f"    types: {', '.join(self.conformance.types)}"
        yield f"    {self.conformance.passed} of {self.conformance.cases} conformance cases{self.where(': ')}"

    def where(self, before: str = "") -> str:
        """Where the cases that pass run."""
        classes = self.conformance.classes
        parts = [f"{kind} {classes[kind]}" for kind in PASSED if classes.get(kind)]
        return before + ", ".join(parts) if parts else ""


def operators() -> list[Operator]:
    """All operators, by name: first those of the default domain."""
    versions: dict[str, list[Any]] = {}
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda schema: schema.domain):
        versions.setdefault(qualified(schema.name, schema.domain), []).append(schema)
    return [_operator(name, schemas) for name, schemas in sorted(versions.items(), key=_order)]


def _order(entry: tuple[str, Any]) -> tuple[bool, str]:
    return "::" in entry[0], entry[0]


def _operator(name: str, schemas: list[Any]) -> Operator:
    schemas.sort(key=lambda schema: schema.since_version)
    read = [s for s, following in zip(schemas, [*schemas[1:], None]) if _is_read(s, following)]
    how, attributes = _how(name, schemas[-1])
    opsets = tuple(schema.since_version for schema in read)
    return Operator(name, opsets, how, attributes, conformance().get(name, Conformance()))


def _is_read(schema: Any, following: Any) -> bool:
    """Whether a version of a definition is in force in an opset that we read."""
    if schema.domain:
        return not schema.deprecated
    return not schema.deprecated and (following is None or following.since_version > OLDEST_OPSET)


def _how(name: str, schema: Any) -> tuple[str, tuple[str, ...]]:
    if name in CONVERTERS:
        asked = attributes_of(CONVERTERS[name])
        return "translated", tuple(sorted({each for name in asked for each in _matching(name, schema)}))
    if name == "Constant":
        return "a constant", tuple(sorted(schema.attributes))
    if name == "If":
        return "the branch that a known condition takes", tuple(sorted(schema.attributes))
    if name in BODIES:
        return "its body, as often as it is known to run", tuple(sorted(schema.attributes))
    if name in SEQUENCE_OPERATORS:
        return "while the model is imported", tuple(sorted(schema.attributes))
    if schema.has_function or schema.has_context_dependent_function:
        return "expanded into the function that defines it", tuple(sorted(schema.attributes))
    return "not supported" if name in NOT_PURE | DOUBTFUL else "on constants only", ()


def _matching(name: str, schema: Any) -> list[str]:
    """The attributes of a definition that a name with a `*` may be; another name as it is."""
    return fnmatch.filter(schema.attributes, name) if "*" in name else [name]


@cache
def conformance() -> Mapping[str, Conformance]:
    """What the conformance suite says, by operator."""
    text = resources.files("npu_mlir.frontends.onnx").joinpath("conformance.json").read_text()
    return {
        name: Conformance(entry["cases"], entry["classes"], tuple(entry["types"]))
        for name, entry in json.loads(text).items()
    }


# ---- attributes ------------------------------------------------------------------------------------------------------


def attributes_of(converter: Any) -> set[str]:
    """The attributes that a converter asks for, itself or in what it calls; `name=value` where it takes no other."""
    found: set[str] = set()
    waiting, seen = [converter], set[Any]()
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        names = vars(sys.modules[function.__module__])
        for call in ast.walk(ast.parse(inspect.getsource(function))):
            if not isinstance(call, ast.Call):
                continue
            if isinstance(call.func, ast.Attribute) and call.func.attr in ASKING:
                found |= _asked(call, call.func.attr)
            elif isinstance(call.func, ast.Name):
                called = names.get(call.func.id)
                waiting += [called] if _is_converters(called) else []
    return found


def _is_converters(called: Any) -> bool:
    """Whether a function or class belongs to the modules with converters."""
    is_code = inspect.isfunction(called) or inspect.isclass(called)
    return is_code and called.__module__.startswith(converters.__name__)


def _asked(call: ast.Call, method: str) -> set[str]:
    """The attribute that a call of a method of `Node` reads."""
    if method == "axis":
        named = [*call.args[2:], *(entry.value for entry in call.keywords if entry.arg == "name")]
        return {_text_of(named[0])} if named else {"axis"}
    name, *values = (_text_of(argument) for argument in call.args)
    if not isinstance(name, str):
        return set()
    only = method == "require" and len(values) == 1
    return {f"{name}={values[0]}" if only else name}


def _text_of(argument: ast.expr) -> Any:
    """The value of a constant; what is put together at run time has a `*` where it isn't constant. None for others."""
    if isinstance(argument, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in argument.values)
    return argument.value if isinstance(argument, ast.Constant) else None
