"""The passes of npu-mlir: one file per pass, and the registry that finds them by name.

A registry line is data, `"pass-name": "module:Class"`; the module is imported when the pass is used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from npu_mlir.support.registry import table

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

_OWN: dict[str, str] = {
    # any level
    "canonicalize": "npu_mlir.passes.canonicalize:Canonicalize",
    "cse": "npu_mlir.passes.cse:CommonSubexpressionElimination",
    "dce": "npu_mlir.passes.dce:DeadCodeElimination",
    "inline-calls": "npu_mlir.passes.inline_calls:InlineCalls",
    # graph
    "graph-infer-shapes": "npu_mlir.passes.graph.infer_shapes:InferShapes",
    "graph-fold-constants": "npu_mlir.passes.graph.fold_constants:FoldConstants",
    "graph-fold-batch-norm": "npu_mlir.passes.graph.fold_batch_norm:FoldBatchNorm",
    "graph-quantize-ops": "npu_mlir.passes.graph.quantize_ops:QuantizeOps",
    "graph-form-sigmoid": "npu_mlir.passes.graph.form_sigmoid:FormSigmoid",
    "graph-form-activations": "npu_mlir.passes.graph.form_activations:FormActivations",
    "graph-form-normalizations": "npu_mlir.passes.graph.form_normalizations:FormNormalizations",
    "graph-set-precision": "npu_mlir.passes.graph.set_precision:SetPrecision",
    "graph-layout": "npu_mlir.passes.graph.layout:SetLayout",
    "graph-select-channels": "npu_mlir.passes.graph.select_channels:SelectChannels",
    "graph-block-groups": "npu_mlir.passes.graph.block_groups:BlockGroups",
    # linalg
    "convert-graph-to-linalg": "npu_mlir.passes.linalg.convert_graph_to_linalg:ConvertGraphToLinalg",
    "linalg-expand-math": "npu_mlir.passes.linalg.expand_math:ExpandMath",
    "linalg-fold-empty": "npu_mlir.passes.linalg.fold_empty:FoldEmpty",
    "linalg-fold-transposes": "npu_mlir.passes.linalg.fold_transposes:FoldTransposes",
    "linalg-fold-unit-reshapes": "npu_mlir.passes.linalg.fold_unit_reshapes:FoldUnitReshapes",
    "linalg-fuse-elementwise": "npu_mlir.passes.linalg.fuse_elementwise:FuseElementwise",
    "linalg-generalize-named-ops": "npu_mlir.passes.linalg.generalize_named_ops:GeneralizeNamedOps",
    "linalg-to-upstream": "npu_mlir.passes.linalg.to_upstream:ToUpstream",
    "linalg-normalize": "npu_mlir.passes.linalg.normalize:Normalize",
    "linalg-materialize-indices": "npu_mlir.passes.linalg.materialize_indices:MaterializeIndices",
    "linalg-transpose-reductions": "npu_mlir.passes.linalg.transpose_reductions:TransposeReductions",
    "linalg-widen-biases": "npu_mlir.passes.linalg.widen_biases:WidenBiases",
    "linalg-split-contractions": "npu_mlir.passes.linalg.split_contractions:SplitContractions",
    "linalg-place-pieces": "npu_mlir.passes.linalg.place_pieces:PlacePieces",
    "linalg-sink-collapses": "npu_mlir.passes.linalg.sink_collapses:SinkCollapses",
    # tile
    "tile-copy-for-loops": "npu_mlir.passes.tile.copy_for_loops:CopyForLoops",
    "tile-form-kernels": "npu_mlir.passes.tile.form_kernels:FormKernels",
    "tile-split-epilogues": "npu_mlir.passes.tile.split_epilogues:SplitEpilogues",
    "tile-init-accumulators": "npu_mlir.passes.tile.init_accumulators:InitAccumulators",
    "tile-annotate-bounds": "npu_mlir.passes.tile.annotate_bounds:AnnotateBounds",
    "tile-choose-schedule": "npu_mlir.passes.tile.choose_schedule:ChooseSchedule",
    "tile-apply-schedule": "npu_mlir.passes.tile.apply_schedule:ApplySchedule",
    "tile-split-compute": "npu_mlir.passes.tile.split_compute:SplitCompute",
    "tile-fold-reductions": "npu_mlir.passes.tile.fold_reductions:FoldReductions",
    "tile-split-windows": "npu_mlir.passes.tile.split_windows:SplitWindows",
    "tile-fold-fixpipe": "npu_mlir.passes.tile.fold_fixpipe:FoldFixpipe",
    "tile-bufferize": "npu_mlir.passes.tile.bufferize:Bufferize",
    "tile-keep-operands": "npu_mlir.passes.tile.keep_operands:KeepOperands",
    "tile-double-buffer": "npu_mlir.passes.tile.double_buffer:DoubleBuffer",
    "tile-link-kernels": "npu_mlir.passes.tile.link_kernels:LinkKernels",
    "tile-load-ahead": "npu_mlir.passes.tile.load_ahead:LoadAhead",
    "tile-plan-memory": "npu_mlir.passes.tile.plan_memory:PlanMemory",
    "tile-prefetch-weights": "npu_mlir.passes.tile.prefetch_weights:PrefetchWeights",
    # npu_isa
    "convert-tile-to-npu-isa": "npu_mlir.passes.npu_isa.convert_tile_to_npu_isa:ConvertTileToNpuIsa",
    "npu-isa-insert-sync": "npu_mlir.passes.npu_isa.insert_sync:InsertSync",
    "npu-isa-cleanup": "npu_mlir.passes.npu_isa.cleanup:Cleanup",
}
"""Our passes, by the names used in pipelines and flags."""

PASSES = table("pass", _OWN)
"""Every pass, those of plugins included."""


def is_pass(name: str) -> bool:
    """Whether there is a pass of this name, here or in an installed plugin."""
    if name not in PASSES:
        from npu_mlir.support.plugins import load_installed_plugins

        load_installed_plugins()
    return name in PASSES


def pass_factory(name: str) -> Callable[[], type[ModulePass]]:
    """A function that imports the class of the pass `name` when it is called."""
    return lambda: load_pass(name)


def load_pass(name: str) -> type[ModulePass]:
    """The class of the pass `name`, which has to be a key of `PASSES`."""
    module, _, attribute = PASSES[name].partition(":")
    pass_class: type[ModulePass] = getattr(import_module(module), attribute)
    assert pass_class.name == name, f"{PASSES[name]} calls itself '{pass_class.name}', not '{name}'"
    return pass_class
