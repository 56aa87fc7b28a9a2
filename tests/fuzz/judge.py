"""What becomes of a case: a right value, a refusal, or a finding: wrong values, an exception of ours, a hang."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import npu_mlir.api
from fuzz.graphs import GraphCase, distance
from fuzz.limits import SECONDS, Hang, limited
from fuzz.reference import Array
from npu_mlir.api import Program
from npu_mlir.interpreters.errors import IndexOutOfRange
from npu_mlir.support.diagnostics import PassCrash, UserError
from npu_mlir.support.levels import LEVELS

ROUNDINGS = 4.0
"""How many times the error that is expected of a value it may have."""


@dataclass(frozen=True)
class Outcome:
    """`right`, `refused`, or a finding: `wrong`, `crash`, `hang`. The signature is the same for findings of a kind."""

    kind: str
    signature: str = ""
    text: str = ""

    @property
    def is_finding(self) -> bool:
        return self.kind not in ("right", "refused")


def is_same(a: Outcome, b: Outcome) -> bool:
    """Whether two findings are of a kind: a wrong value may show in different ways."""
    return a.kind == b.kind and (a.kind == "wrong" or a.signature == b.signature)


class Wrong(Exception):
    """A result differs from the right one."""


def outcome_of(run: Callable[[], None], seconds: float = SECONDS) -> Outcome:
    """How a run ends within the limits."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), limited(seconds):
            warnings.simplefilter("ignore")
            run()
    except Hang:
        return Outcome("hang", "hang", traceback.format_exc())
    except Wrong as error:
        return Outcome("wrong", _abstract(str(error)), str(error))
    except PassCrash as error:
        return Outcome("crash", _place(error.__cause__ or error), traceback.format_exc())
    except UserError as error:
        return Outcome("refused", _reason(error))
    except SystemExit:
        return Outcome("refused", "the process ends")
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return Outcome("crash", _place(error), traceback.format_exc())
    return Outcome("right")


def judge_graph(case: GraphCase, emit: str = "isa") -> Outcome:
    """Compile a random graph to instructions, simulate them with all checks, and compare; or only to a level above,
    which is interpreted: what the frontend gets wrong shows there in a tenth of the time."""

    def run() -> None:
        source = npu_mlir.api.read(case.model, target=case.target, precision=case.precision, dims=case.dims)
        if case.level and LEVELS.index(case.level) <= LEVELS.index(emit):
            with through_text(source.lower(case.level)) as program:
                run_and_check(program)
        else:
            run_and_check(source.lower(emit))

    def run_and_check(program: Program) -> None:
        if LEVELS.index(program.level) < LEVELS.index(emit):
            program.lower(emit)
        if emit != "isa":
            check(program.run(case.inputs), case.outputs, case.errors)
            return
        try:
            outputs = program.named(program.simulate(case.inputs, check=True).outputs)
        except IndexOutOfRange:
            raise
        except UserError as error:
            # Our own instructions misuse the machine.
            raise Wrong(f"{type(error).__name__}: {error.message}") from error
        check(outputs, case.outputs, case.errors)

    return outcome_of(run)


@contextmanager
def through_text(program: Program) -> Generator[Program]:
    """The program as it is read from a file that it was written to; its weights are read when they are needed."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "program.mlir"
        program.save(path)
        try:
            again = npu_mlir.api.load(path)
        except UserError as error:
            raise Wrong(f"text of ours is refused: {error.message}") from error
        yield again


def check(found: Mapping[str, Array], right: Mapping[str, Array], errors: Mapping[str, Array | None]) -> None:
    """Raise `Wrong` unless all outputs are what they should be, as far as they may be off."""
    if list(found) != list(right):
        raise Wrong(f"outputs {list(found)} instead of {list(right)}")
    for name, array in right.items():
        value = found[name]
        if value.shape != array.shape or value.dtype != array.dtype:
            raise Wrong(f"{value.dtype} {value.shape} instead of {array.dtype} {array.shape}")
        error = errors.get(name)
        if error is None:
            if not np.array_equal(value, array, equal_nan=array.dtype.kind == "f"):
                raise Wrong(f"values differ: {_first(value, array, value != array)}")
            continue
        away = distance(value, array)
        far = ~(away <= ROUNDINGS * error)
        if far.any():
            ratio = np.nanmax(np.where(far, away / error, 0))
            raise Wrong(f"values are off: {_first(value, array, far)}, {ratio:.3g} of what is expected")


def _first(value: Array, array: Array, differs: Array) -> str:
    place = tuple(np.argwhere(differs)[0]) if differs.any() else ()
    return f"{value[place]} instead of {array[place]} at {tuple(map(int, place))}"


def _abstract(text: str) -> str:
    """A message without what is different in each case."""
    text = text.partition(":")[0] if text.startswith("values ") else text
    return re.sub(r"0x[0-9a-f]+|'[^']*'|-?\d+(\.\d+)?(e[-+]?\d+)?|%\w+|\S*/\S*", "#", text)[:160]


def _reason(error: UserError) -> str:
    text = error.notes[0].message if "cannot be imported" in error.message and error.notes else error.message
    found = re.match(r"node '[^']*' \((\w+)\): (.*)", text, re.DOTALL)
    return (f"{found[1]}: " if found else "") + _abstract(found[2] if found else text)


def _place(error: BaseException) -> str:
    """The type of an exception, and the last place in our own code that it went through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/npu_mlir/" in f.filename]
    if not frames:
        return f"{type(error).__name__}: {_abstract(str(error))}"
    file = frames[-1].filename.rpartition("/npu_mlir/")[2]
    return f"{type(error).__name__} in {file}:{frames[-1].name}"
