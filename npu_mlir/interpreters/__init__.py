"""What the operations of every level mean: one small NumPy function per operation.

A dialect's functions live in the module of this package that bears its name and are imported when the first
of its operations is met. `registry` says how an operation gets its meaning, `framework` runs a module.
"""

from npu_mlir.interpreters.framework import Interpreter, run_function
from npu_mlir.interpreters.registry import Results, impl, prepare

__all__ = ["Interpreter", "Results", "impl", "prepare", "run_function"]
