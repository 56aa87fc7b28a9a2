"""The search for a small module: try edits, from coarse to fine, and keep those after which the problem still shows.

    functions and kernels      the ones that do not matter go
    results                    one is enough
    the end, the start         what comes behind the culprit, then what comes before it, in halving steps
    operations                 groups of them, half as many each time: their results become an operand, an argument or 0
    loops                      one iteration
    attributes, sizes          names and places go, extents become smaller

All of it is repeated until nothing helps any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npu_mlir.ir.functions import body_of
from npu_mlir.ir.printing import op_text
from npu_mlir.ir.verification import verify
from npu_mlir.support.diagnostics import UserError
from npu_mlir.validation.reducer import edits
from npu_mlir.validation.reducer.problems import Problem, copy_of

MAX_TESTS = 3000
"""How often the problem is looked for, unless asked otherwise."""

Edit = Callable[[ModuleOp], None]


@dataclass(frozen=True)
class Reduction:
    """What came out, and how many modules were tested on the way."""

    module: ModuleOp
    tests: int


def reduce_module(
    module: ModuleOp,
    problem: Problem,
    max_tests: int = MAX_TESTS,
    progress: Callable[[int, int], None] = lambda tests, size: None,
) -> Reduction:
    """A small module that shows the problem; `module` stays as it is. `progress` hears of each smaller one."""
    if not problem.shows(module):
        raise UserError("the module does not show the problem: there is nothing to reduce")
    search = _Search(module, problem, max_tests, progress)
    search.run()
    return Reduction(search.module, search.tests)


class _OutOfTests(Exception):
    """No more tests are allowed."""


class _Search:
    def __init__(
        self, module: ModuleOp, problem: Problem, max_tests: int, progress: Callable[[int, int], None]
    ):
        self.module = copy_of(module)
        self.problem = problem
        self.max_tests = max_tests
        self.progress = progress
        self.tests = 0
        self.size = _size(self.module)
        self.seen: set[str] = set()

    def run(self) -> None:
        """Reduce until nothing helps."""
        try:
            before = None
            while before != self.size:
                before = self.size
                self._round()
        except _OutOfTests:
            return

    def _round(self) -> None:
        self._symbols()
        for number in range(len(edits.functions(self.module))):
            self._results(number)
            self._end(number)
            self._start(number)
        for replacement in edits.REPLACEMENTS:
            self._operations(replacement)
        self._loops()
        self.attempt(edits.drop_attributes)
        self._extents()

    def attempt(self, edit: Edit) -> bool:
        """Try an edit; whether it made the module smaller and the problem still shows."""
        candidate = copy_of(self.module)
        try:
            edit(candidate)
            edits.clean(candidate)
            verify(candidate)
            size = _size(candidate)
        except Exception:
            # Edits are blind: some lead to IR that makes no sense.
            return False
        text = op_text(candidate)
        if size >= self.size or text in self.seen:
            return False
        self.seen.add(text)
        if self.tests >= self.max_tests:
            raise _OutOfTests
        self.tests += 1
        if not self.problem.shows(candidate):
            return False
        self.module, self.size = candidate, size
        self.progress(self.tests, size[0])
        return True

    def _symbols(self) -> None:
        count = len(self.module.body.block.ops)
        for i in reversed(range(count)):
            if len(self.module.body.block.ops) > max(i, 1):
                self.attempt(partial(edits.erase_symbol, index=i))

    def _function(self, module: ModuleOp, number: int) -> FuncOp | None:
        functions = edits.functions(module)
        return functions[number] if number < len(functions) else None

    def _on_function(self, number: int, change: Callable[[FuncOp], None]) -> bool:
        def edit(module: ModuleOp) -> None:
            function = self._function(module, number)
            assert function is not None
            change(function)

        return self.attempt(edit)

    def _results(self, number: int) -> None:
        function = self._function(self.module, number)
        last = body_of(function).last_op if function is not None else None
        for i in range(len(last.operands) if last is not None else 0):
            if self._on_function(number, partial(edits.keep_results, kept=[i])):
                return

    def _ends(self, number: int) -> list[int]:
        """After how many operations a function may end: behind each that computes something."""
        function = self._function(self.module, number)
        if function is None:
            return []
        ops = list(body_of(function).ops)[:-1]
        return [i + 1 for i, op in enumerate(ops) if op.operands and op.results]

    def _end(self, number: int) -> None:
        step = len(self._ends(number)) // 2
        while step:
            ends = self._ends(number)
            shorter = len(ends) > step and self._on_function(
                number, partial(edits.cut_after, count=ends[-1 - step])
            )
            step = step if shorter else step // 2

    def _start(self, number: int) -> None:
        step = len(self._ends(number)) // 2
        while step:
            ends = self._ends(number)
            shorter = len(ends) > step and self._on_function(
                number, partial(edits.cut_before, count=ends[step - 1])
            )
            step = step if shorter else step // 2

    def _operations(self, replacement: edits.Replacement) -> None:
        group = max(1, len(edits.positions(self.module)) // 2)
        while True:
            end = len(edits.positions(self.module))
            while end > 0:
                # Operations in front of the group stay where they are, whether or not it goes.
                start = max(0, end - group)
                self.attempt(partial(edits.erase_ops, indices=range(start, end), replacement=replacement))
                end = min(start, len(edits.positions(self.module)))
            if group == 1:
                return
            group //= 2

    def _loops(self) -> None:
        for i in reversed(range(len(edits.positions(self.module)))):
            ops = edits.positions(self.module)
            if i < len(ops) and isinstance(ops[i], scf.ForOp):
                self.attempt(partial(edits.inline_loop, index=i))

    def _extents(self) -> None:
        for old in edits.extents(self.module):
            for new in (1, 2, 3, old // 4, old // 2, old - 1):
                if 0 < new < old and self.attempt(partial(edits.shrink_extent, old=old, new=new)):
                    break


def _size(module: ModuleOp) -> tuple[int, int, int]:
    """What is to become smaller, the most important first: operations, elements of arguments, text."""
    return sum(1 for _ in module.walk()), sum(edits.extents(module)), len(op_text(module))
