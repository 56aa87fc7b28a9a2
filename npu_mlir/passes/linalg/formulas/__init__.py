"""Formulas: how the vector unit computes functions that it has no instruction for.

A formula is a Python function that writes scalar operations, with what it is for and how far it is off:

    @formula("sigmoid", element=f16, accuracy=FAST, error=Error(ulp=2, absolute=3e-4))
    def fast(code: Code, x: SSAValue) -> SSAValue:
        '''`1 / (1 + exp(-x))` in f16: four instructions.'''
        return code.apply("div", 1, code.apply("add", code.apply("exp", code.apply("mul", x, -1)), 1))

To add one, put a file into this folder, or load it as a plugin (`--load-pass-plugin`). Of the formulas that the
accuracy of an op allows (`npu.accuracy`, `--fast-math`), the one is taken that costs the target's vector unit least.
Errors are against the exact function of the operand as it is; `tests/unit/test_formulas.py` holds every formula to
what it declares, in f16 at all 65,536 numbers.
"""

from npu_mlir.passes.linalg.formulas.registry import Error, Formula, choose, formula, formulas

__all__ = ["Error", "Formula", "choose", "formula", "formulas"]
