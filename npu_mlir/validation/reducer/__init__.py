"""Make a module that shows a problem as small as possible: what `npu-reduce` does."""

from npu_mlir.validation.reducer.problems import PipelineProblem, Problem, ScriptProblem
from npu_mlir.validation.reducer.search import Reduction, reduce_module

__all__ = ["PipelineProblem", "Problem", "Reduction", "ScriptProblem", "reduce_module"]
