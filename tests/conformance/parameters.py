"""Which inputs of ONNX operators say something about shapes, axes or counts, and which decide what is executed.

The suite passes these at run time too. Where a program of static shapes can't be made without them, they become
constants. Data never does: the elements of tensors, indices, lengths.
"""

from __future__ import annotations

import onnx

SHAPES: dict[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "CumProd": (1,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "Dropout": (1, 2),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "NonMaxSuppression": (2, 3, 4),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "ReduceL1": (1,),
    "ReduceL2": (1,),
    "ReduceLogSum": (1,),
    "ReduceLogSumExp": (1,),
    "ReduceMax": (1,),
    "ReduceMean": (1,),
    "ReduceMin": (1,),
    "ReduceProd": (1,),
    "ReduceSum": (1,),
    "ReduceSumSquare": (1,),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}
"""Positions of inputs by operator."""

CONDITIONS = frozenset({("If", 0), ("Loop", 0), ("Loop", 1)})
"""Operators with positions of inputs that decide which part of a model is executed, and how often. A case of which
nothing is left once they are constants doesn't count."""


def parameters_of(graph: onnx.GraphProto) -> dict[str, tuple[str, int]]:
    """Inputs of a graph that are read only as shapes, axes or the like, or as conditions, each with where."""
    found: dict[str, tuple[str, int]] = {}
    data: set[str] = {value.name for value in graph.output}
    for node in graph.node:
        for position, name in enumerate(node.input):
            slot = (node.op_type, position)
            if slot in CONDITIONS or position in SHAPES.get(node.op_type, ()):
                found[name] = slot
            else:
                data.add(name)
    return {name: slot for name, slot in found.items() if name not in data}
