"""The default pipeline: what `npu-compile` runs, as one readable list.

A phase ends at a level that can be printed, edited and run; `npu-compile --emit LEVEL` stops there, and
`npu-opt --lower-to=LEVEL` runs the rest of the list on a file of any earlier level. Passes read the target from the
module (`npu.target`), so they need no options here. The list stands below the passes, since choosing a schedule tries
it with those that come after.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Phase:
    """Passes that take a module from the level before to `level`."""

    level: str
    passes: tuple[str, ...]


PIPELINE: tuple[Phase, ...] = (
    Phase(
        "graph",
        (
            "graph-infer-shapes",
            # Before constants are folded: that makes numbers of the integers that weights are given as.
            "graph-quantize-ops",
            "graph-fold-constants",
            "canonicalize",
            # Before precision and layout, so that weights are scaled in f32 and only once.
            "graph-fold-batch-norm",
            "graph-form-sigmoid",
            "graph-form-activations",
            "graph-form-normalizations",
            "cse",
            # Casts of weights are folded when they are made, so precision comes after folding.
            "graph-set-precision",
            # Whatever it transposes has its final type then.
            "graph-layout",
            "graph-select-channels",
            # By type and layout.
            "graph-block-groups",
        ),
    ),
    Phase(
        "linalg",
        (
            "inline-calls",
            "convert-graph-to-linalg",
            # Files of other producers, which may say anything in linalg, go through this phase as well.
            "linalg-generalize-named-ops",
            "linalg-fold-empty",
            "linalg-place-pieces",
            "linalg-normalize",
            "linalg-materialize-indices",
            "linalg-split-contractions",
            "linalg-sink-collapses",
            "linalg-fold-unit-reshapes",
            "linalg-expand-math",
            "linalg-fuse-elementwise",
            # Behind fusion, which tells what reorders nothing but what it reads.
            "linalg-fold-transposes",
            "linalg-transpose-reductions",
            # Behind both, as columns of accumulators follow from the order of dims.
            "linalg-widen-biases",
            "canonicalize",
            "cse",
        ),
    ),
    Phase(
        "tile",
        (
            "tile-copy-for-loops",
            "tile-split-epilogues",
            "tile-form-kernels",
            # Functions that loops of the host call: kernels are formed in each alone.
            "inline-calls",
            "tile-init-accumulators",
            # On whole kernels: what they have to do does not depend on how they are tiled.
            "tile-annotate-bounds",
            "tile-choose-schedule",
            # No cse from here to bufferization: it would merge destinations.
            "tile-apply-schedule",
            "tile-split-compute",
            "tile-split-windows",
            "tile-fold-fixpipe",
            "tile-fold-reductions",
        ),
    ),
    Phase(
        "tile-memref",
        (
            "tile-bufferize",
            "tile-keep-operands",
            "tile-double-buffer",
            "tile-link-kernels",
            "tile-load-ahead",
            "tile-plan-memory",
            # What is in L2 depends on where results lie.
            "tile-prefetch-weights",
        ),
    ),
    Phase("isa", ("convert-tile-to-npu-isa", "npu-isa-insert-sync", "npu-isa-cleanup")),
)
