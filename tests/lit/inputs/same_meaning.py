"""Check that two modules compute the same.

python same_meaning.py A.mlir B.mlir
"""

from __future__ import annotations

import sys

import numpy as np

from npu_mlir.dialects.context import make_context
from npu_mlir.ir.module_io import load_module
from npu_mlir.ir.verification import verify
from npu_mlir.validation.evaluation import SAMPLES, evaluate, functions_of, random_inputs


def main(paths: list[str]) -> None:
    """Run each function of both modules on the same inputs."""
    modules = [load_module(make_context(), path) for path in paths]
    for module in modules:
        verify(module)
    functions = [{f.sym_name.data: f for f in functions_of(module)} for module in modules]
    assert functions[0].keys() == functions[1].keys(), "the modules have different functions"
    for name, function in functions[0].items():
        for sample in range(SAMPLES):
            inputs = random_inputs(function, 0, sample, (-8, 8))
            expected, found = (evaluate(m, f[name], inputs) for m, f in zip(modules, functions))
            for a, b in zip(expected, found, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-5, err_msg=f"@{name}")
    print(f"{len(functions[0])} function{'s' * (len(functions[0]) > 1)} agree")


if __name__ == "__main__":
    main(sys.argv[1:])
