"""The planted bugs: one changed line of a pass each, and the program that shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """The text `old` of `module` becomes `new`; `blamed` is the pass that has to be named."""

    name: str
    blamed: str
    program: str
    module: str
    old: str
    new: str
    precision: str = "f32"
    message: str = "changed"


TILER = "npu_mlir.passes.tile.tiler"
GRAPH_LOWERING = "npu_mlir.passes.linalg.graph_lowering"

BUGS = [
    # ---- graph
    Bug(
        "epsilon forgotten", "graph-fold-batch-norm", "conv",
        "npu_mlir.passes.graph.fold_batch_norm",
        "epsilon = np.asarray(op.epsilon.value.data,", "epsilon = np.asarray(0.0,",
    ),
    Bug(
        "weights transposed the wrong way", "graph-layout", "conv",
        "npu_mlir.passes.graph.transposes",
        "np.ascontiguousarray(array.transpose(perm)), anchor)",
        "np.ascontiguousarray(array.transpose(perm)[::-1]), anchor)",
    ),
    Bug(
        "rounded more than declared", "graph-set-precision", "matmul",
        "npu_mlir.passes.graph.set_precision",
        "converted = array.astype(dtype)", "converted = np.round(4 * array).astype(dtype) / 4",
        precision="f16",
    ),
    # ---- linalg
    Bug(
        "maximum starts from zero", "convert-graph-to-linalg", "chain",
        f"{GRAPH_LOWERING}.normalization",
        "return lowest(element), \"max\"", "return 0, \"max\"",
    ),
    Bug(
        "wrong pad value", "convert-graph-to-linalg", "conv",
        f"{GRAPH_LOWERING}.window",
        "return _slide(b, op, lowest(element), lowest(element), element, max_into)",
        "return _slide(b, op, 0, lowest(element), element, max_into)",
    ),
    Bug(
        "upper bound of a clip missing", "convert-graph-to-linalg", "matmul",
        f"{GRAPH_LOWERING}.elementwise",
        'return body.apply("min", x, high.value.data) if high is not None else x', "return x",
    ),
    Bug(
        "pads before and after swapped", "convert-graph-to-linalg", "asymmetric",
        f"{GRAPH_LOWERING}.convolution",
        "[*before, *pads[:count], *after], [*before, *pads[count:], *after]",
        "[*before, *pads[count:], *after], [*before, *pads[:count], *after]",
    ),
    Bug(
        "wrong constant in a formula", "linalg-expand-math", "rows",
        "npu_mlir.passes.linalg.formulas.tanh",
        'code.apply("exp", code.apply("mul", x, 2))', 'code.apply("exp", code.apply("mul", x, 1.9))',
    ),
    Bug(
        "merges what has other attributes", "cse", "clips",
        "npu_mlir.passes.cse",
        "        frozenset(op.properties.items()),\n", "",
    ),
    # ---- tile
    Bug(
        "halo forgotten", "tile-apply-schedule", "conv",
        f"{TILER}.operands",
        ", outer.constant\n    for d in outer.dims():", ", 0\n    for d in outer.dims():",
    ),
    Bug(
        "wrong stride of a tile's start", "tile-apply-schedule", "conv",
        f"{TILER}.operands",
        "coefficients[indices[term]] += e.coefficients[d]", "coefficients[indices[term]] += 1",
    ),
    Bug(
        "tail off by one", "tile-apply-schedule", "chain",
        f"{TILER}.tiler",
        "last = Position((*self.start(c), self.constant(extent - extent % step)), extent % step)",
        "last = Position((*self.start(c), self.constant(extent - extent % step - 1)), extent % step)",
    ),
    Bug(
        "reads beyond the border get the wrong value", "tile-apply-schedule", "conv",
        f"{TILER}.operands",
        "if op.pad is not None or not self._overhangs", "if op.pad is None and not self._overhangs",
    ),
    Bug(
        "the first piece of the accumulator over and over", "tile-apply-schedule", "matmul",
        f"{TILER}.contractions",
        "coefficients = [int(t in offsets) for t in indices] + [int(d == c) for d in dims]",
        "coefficients = [0 for t in indices] + [int(d == c) for d in dims]",
    ),
    Bug(
        "operands swapped", "tile-split-compute", "matmul",
        "npu_mlir.passes.tile.split_compute",
        "        copy.operands[i] = value\n", "        copy.operands[len(values) - 1 - i] = value\n",
    ),
    Bug(
        "overwrites a value that is used later", "tile-bufferize", "clips",
        "npu_mlir.passes.tile.bufferize",
        "and self._dies(value, op):\n                return buffer", "and True:\n                return buffer",
    ),
    Bug(
        "buffer reused too early", "tile-plan-memory", "wide",
        "npu_mlir.passes.tile.plan_memory",
        "max(numbers[a][1] for a in ancestors)", "min(numbers[a][1] for a in ancestors)",
    ),
    Bug(
        "result in GM overwritten", "tile-plan-memory", "chain",
        "npu_mlir.passes.tile.arena",
        "            last = max(last, order[ancestor_among(", "            last = min(last, order[ancestor_among(",
    ),
    Bug(
        "room for one slot only", "tile-plan-memory", "rows",
        "npu_mlir.passes.tile.plan_memory",
        "return alloc.num_slots * alloc.slot_bytes(target.cube)", "return alloc.slot_bytes(target.cube)",
    ),
    # ---- npu_isa
    Bug(
        "strides in the wrong order", "convert-tile-to-npu-isa", "matmul",
        "npu_mlir.analysis.strides",
        "return tuple(sum(row[d] * stride for row, stride in pairs) for d in range(num_dims))",
        "return tuple(sum(row[d] * stride for row, stride in pairs) for d in reversed(range(num_dims)))",
    ),
    Bug(
        "accumulators never start from zero", "convert-tile-to-npu-isa", "matmul",
        "npu_mlir.passes.npu_isa.tile_lowering.cube",
        'loop.lb, "eq")', 'loop.lb, "ne")',
    ),
    Bug(
        "a flag missing", "npu-isa-insert-sync", "matmul",
        "npu_mlir.passes.npu_isa.insert_sync",
        "for flag in plan.flags:", "for flag in plan.flags[:-1]:", message="hazard",
    ),
    Bug(
        "slots are never given back", "npu-isa-insert-sync", "matmul",
        "npu_mlir.passes.npu_isa.insert_sync",
        "            if flag.edge.back:\n", "            if False:\n", message="hazard",
    ),
    Bug(
        "every slot has the flag of the first", "npu-isa-insert-sync", "matmul",
        "npu_mlir.passes.npu_isa.insert_sync",
        "        index = None\n        if flag.edge.slot is not None:\n", "        index = None\n        if False:\n",
        message="if and only if",
    ),
    Bug(
        "no order between a read and a later write", "npu-isa-insert-sync", "rows",
        "npu_mlir.analysis.sync",
        "if not (one.write or other.write)", "if not (one.write and other.write)", message="hazard",
    ),
    Bug(
        "set behind the wrong instruction", "npu-isa-insert-sync", "matmul",
        "npu_mlir.passes.npu_isa.insert_sync",
        "_before(after, self._flag(npu_isa.SetFlagOp, flag, source, after))",
        "_before(source, self._flag(npu_isa.SetFlagOp, flag, source, source))", message="hazard",
    ),
    Bug(
        "moves scalar code before what it needs", "npu-isa-cleanup", "matmul",
        "npu_mlir.passes.npu_isa.cleanup",
        "home = max((_block_of(v) for v in op.operands)", "home = min((_block_of(v) for v in op.operands)",
        message="does not dominate",
    ),
    Bug(
        "erases flags as idle barriers", "npu-isa-cleanup", "matmul",
        "npu_mlir.passes.npu_isa.cleanup",
        "        if isinstance(op, npu_isa.BarrierOp):\n            if idle:",
        "        if isinstance(op, npu_isa.BarrierOp | npu_isa.SetFlagOp):\n            if idle:", message="hazard",
    ),
]  # fmt: skip
