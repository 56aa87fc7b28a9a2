"""Every planted bug is found at the pass that has it, and the programs are fine without."""

from __future__ import annotations

import pytest

from bugs import BUGS, Bug
from npu_mlir.dialects.context import make_context
from npu_mlir.pass_infra.pass_manager import PassManager
from npu_mlir.pipeline import make_pipeline
from npu_mlir.support.diagnostics import UserError, render
from npu_mlir.validation.equivalence import EquivalenceChecker
from planting import planted
from programs import PROGRAMS, make_program


def compile_checked(program: str, precision: str = "f32") -> None:
    """Run the default pipeline on a program, checking every pass. Schedules are chosen by the estimate: measuring them
    runs the passes that come later, whose bugs would show too soon."""
    options = {"graph-set-precision": f"precision={precision}", "tile-choose-schedule": "effort=1"}
    manager = PassManager(make_pipeline(None, "isa", options), instruments=[EquivalenceChecker()])
    manager.run(make_context(), make_program(program))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_programs_pass_the_check(program: str, precision: str):
    compile_checked(program, precision)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_pass_with_the_bug_is_named(bug: Bug):
    with planted(bug.module, bug.old, bug.new), pytest.raises(UserError) as caught:
        compile_checked(bug.program, bug.precision)
    message = render(caught.value)
    assert f"pass '{bug.blamed}'" in message
    assert bug.message in message


def test_a_module_has_its_own_code_again():
    bug = BUGS[0]
    with planted(bug.module, bug.old, bug.new):
        pass
    compile_checked(bug.program)


def test_text_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="0 times"), planted("npu_mlir.analysis.memory", "no such text", ""):
        pass
