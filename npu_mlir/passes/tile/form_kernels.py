"""Group the linalg operations of the host function into kernels.

A kernel is one loop nest: operations whose loop dims unite into classes (see `analysis.dims`), at most one of them a
contraction for the cube unit, which has no producer in the kernel; or two, if the second sums what the first has
become, from L1, and that is estimated to be faster (see `chain_choice`; `chains` asks for `always` or `never` instead).
Pads and slices in front of an operation become part of the load of the operand (see `load_maps`). Equal kernels are
made once and launched several times. What is left becomes a `tile.host`, which the host executes: operations that read
a tensor at places that depend on data (`tensor.extract` in the body), pads and slices that something other than a load
reads.

Before:

    func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
      %y = linalg.generic ... ins(%x, %w) ...                       // matrix product
      %z = linalg.generic ... ins(%y) ...                           // relu
      func.return %z
    }

After:

    func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
      %z = tile.launch @k0(%x, %w) : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
      func.return %z
    }
    tile.kernel @k0(%a: memref<8x16xf32, gm>, %b: memref<16x4xf32, gm>, %c: memref<8x4xf32, gm>) {
      %0 = tile.load %a[] ...                                       // whole operands, not placed yet
      ...
      tile.store %2, %c[] ...
      tile.return
    }

A loop of the host stays: it calls functions, in which kernels are formed as in any other.

Errors: a product of elements that the machine's cube does not multiply; a loop of the host that computes with tensors
itself.
Does not handle: dynamic shapes, slices that drop dims, operations with several results.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.group_blocks import joined_groups
from npu_mlir.analysis.grouping import form_groups
from npu_mlir.analysis.placed_parts import Layouts, is_in_place
from npu_mlir.analysis.structured.bodies import is_multiply_add
from npu_mlir.analysis.structured.gathers import rows_of
from npu_mlir.analysis.structured.nest import (
    describe,
    factor_type,
    is_indirect,
    loop_extents,
)
from npu_mlir.dialects import tile
from npu_mlir.dialects.graph import HostCallOp
from npu_mlir.ir.functions import body_of
from npu_mlir.ir.structural_keys import StructuralKeys
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.tile.chain_choice import ChainChoice, ChainPolicy
from npu_mlir.passes.tile.kernel_remarks import explain_groups
from npu_mlir.passes.tile.kernel_rules import is_legal
from npu_mlir.passes.tile.load_maps import fold_into_load
from npu_mlir.passes.tile.outline import Outline, build, outline_key, outline_of
from npu_mlir.passes.tile.scatter_kernels import scatter_kernel
from npu_mlir.support.diagnostics import UserError, located_errors
from npu_mlir.support.locations import hand_down, located, node_of, origin
from npu_mlir.support.node_names import joined, parts
from npu_mlir.support.remarks import RemarkKind, wanted
from npu_mlir.targets.module_target import keep_numbers, target_of
from npu_mlir.targets.target import Target

Tensor = TensorType[Attribute]


@dataclass(frozen=True)
class FormKernels(ModulePass):
    """Group linalg operations into kernels and launch them from the host function."""

    name = "tile-form-kernels"
    chains: str = "auto"
    """Where contractions that follow each other are one kernel: auto, always or never."""

    effort: int = 2
    """As that of `tile-choose-schedule`: with 1, chains are judged by estimates, and nothing is measured."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        keep_numbers(op)
        target = target_of(op)
        kernels = _Kernels(op)
        attributes = dict(op.attributes)
        choice = ChainChoice(
            target, _policy(self.chains), self.name, attributes=attributes, measures=self.effort > 1
        )
        for function in [f for f in op.ops if isinstance(f, FuncOp) and not f.is_declaration]:
            _form(function, target, kernels, choice)


def _policy(text: str) -> ChainPolicy:
    if text not in [*ChainPolicy]:
        raise UserError(f"'chains' is one of {', '.join(ChainPolicy)}, got '{text}'")
    return ChainPolicy(text)


def _form(function: FuncOp, target: Target, kernels: _Kernels, choice: ChainChoice) -> None:
    # What nothing reads would become a kernel without results.
    erase_dead_ops(function)
    block = body_of(function)
    for scatter in [op for op in block.ops if isinstance(op, tile.ScatterOp)]:
        _launch_scatter(scatter, kernels, target)
    _hand_on_gathered(block)
    _copy_for_views(block)
    _check_host_ops(block)
    computes = [describe(op) for op in block.ops if isinstance(op, linalg.GenericOp) and not is_indirect(op)]
    for product in (c for c in computes if c.contraction):
        with located_errors(cast("linalg.GenericOp", product.key)):
            target.cube.tile(factor_type(product))
    dependencies = _dependencies(block)
    choice.computes.update((compute.key, compute) for compute in computes)
    groups = form_groups(computes, dependencies, lambda g: is_legal(g, target), choice.pays)
    if any(wanted(kind, FormKernels.name) for kind in RemarkKind):
        explain_groups(groups, dependencies, target, FormKernels.name, choice)
    layouts = Layouts()
    for group in groups:
        _launch(group, block, kernels, layouts)
    for op in reversed(list(block.ops)):
        if isinstance(op, (*_ABSORBED, *_ON_HOST)) and not any(r.uses.get_length() for r in op.results):
            op.detach()
            op.erase()
    for op in [o for o in block.ops if isinstance(o, _COMPUTING) and not is_in_place(o)]:
        _leave_to_host(op)
    _sort_topologically(block)


_ABSORBED = (
    linalg.GenericOp,
    linalg.FillOp,
    tensor.EmptyOp,
    tensor.PadOp,
    tensor.ExtractSliceOp,
    arith.ConstantOp,
)
"""Operations that move into kernels."""

_COMPUTING = (linalg.GenericOp, linalg.FillOp, tensor.PadOp, tensor.ExtractSliceOp)
"""Of these, those that make a tensor: what is left of them is work for the host."""

_ON_HOST = (tensor.CollapseShapeOp, tensor.ExpandShapeOp, tensor.ExtractOp, tensor.FromElementsOp)
"""Operations that stay on the host: the same bytes under another shape, and scalars from and to tensors."""


def _check_host_ops(block: Block) -> None:
    for op in block.ops:
        known = isinstance(op, (*_ABSORBED, *_ON_HOST)) or is_in_place(op)
        if op.name.startswith(("linalg.", "tensor.")) and not known:
            raise UserError(
                f"'{op.name}' has no lowering to kernels; generalise it to linalg.generic", loc=op
            )
        if isinstance(op, scf.ForOp):
            _check_loop(op)
        # A call of the host may return what is known to be large or small only then.
        for value in () if isinstance(op, (HostCallOp, ReturnOp)) else (*op.operands, *op.results):
            if isinstance(value.type, TensorType) and DYNAMIC_INDEX in value.type.get_shape():
                raise UserError(f"kernels need static shapes, got {value.type}", loc=op)


def _hand_on_gathered(block: Block) -> None:
    """Put an operation that hands rows on behind each that takes rows of a table by indices.

    A kernel can hold it and what reads it; the rows become its operand, which is gathered instead of loaded."""
    for op in list(block.ops):
        rows = rows_of(op.results[0]) if isinstance(op, linalg.GenericOp) else None
        if rows is None:
            continue
        for value in (rows.table, rows.indices):
            if fold_into_load(value)[0] is not value:
                copy = _copied(value, op, block)
                value.replace_uses_with_if(
                    copy, lambda use, op=op: block.find_ancestor_op_in_block(use.operation) is op
                )
        result, after = op.results[0], op.next_op
        assert after is not None
        copy = _copied(result, after, block, op)
        result.replace_uses_with_if(copy, lambda use, copy=copy: use.operation is not copy.owner)


def _copy_for_views(block: Block) -> None:
    """Copy what lies in a larger tensor in front of a reshape that its gaps are in the way of."""
    for op in list(block.ops):
        if isinstance(op, tensor.CollapseShapeOp | tensor.ExpandShapeOp) and not Layouts().can_view(op):
            op.operands[0] = _copied(op.operands[0], op, block)


def _copied(value: SSAValue, before: Operation, block: Block, of: Operation | None = None) -> SSAValue:
    """The same elements, handed on by an operation before another."""
    of = of or before
    type_ = cast("Tensor", value.type)
    rank = len(type_.get_shape())
    identity = AffineMapAttr(AffineMap.identity(rank))
    body = Block(arg_types=[type_.element_type] * 2)
    with located(of):
        body.add_op(linalg.YieldOp(body.args[0]))
        empty = tensor.EmptyOp([], type_)
        parallel = ArrayAttr([IteratorTypeAttr.parallel()] * rank)
        copy = linalg.GenericOp(
            [value], [empty.tensor], Region(body), [identity, identity], parallel, [type_]
        )
    copy.attributes |= of.attributes
    block.insert_ops_before([empty, copy], before)
    return copy.results[0]


def _check_loop(loop: scf.ForOp) -> None:
    """Raise for a loop that does more than to call, and to take and place the parts of iterations."""
    for op in loop.body.block.ops:
        if isinstance(op, scf.ForOp):
            _check_loop(op)
        elif isinstance(op, linalg.FillOp | tensor.PadOp) or (
            op.name.startswith(("linalg.", "tensor.")) and not isinstance(op, _IN_LOOPS)
        ):
            raise UserError(
                f"'{op.name}' in a loop of the host: put what it computes into a function", loc=op
            )


_IN_LOOPS = (
    tensor.EmptyOp,
    tensor.ExtractSliceOp,
    tensor.InsertSliceOp,
    *_ON_HOST,
)
"""What a loop of the host does itself with tensors."""


def _dependencies(block: Block) -> dict[Hashable, list[Hashable]]:
    """For every operation of the block, those whose results it reads."""
    return {op: list[Hashable](_producers(op, block)) for op in block.ops}


def _producers(op: Operation, block: Block) -> list[Operation]:
    """The operations of the block whose results an operation reads, in its regions as well."""
    inside = op.walk() if op.regions else (op,)
    owners = (value.owner for inner in inside for value in inner.operands)
    return [owner for owner in owners if isinstance(owner, Operation) and owner.parent is block]


# ---- launches and kernels --------------------------------------------------------------------------------------------


def _launch(group: Sequence[LoopNestOp], host: Block, kernels: _Kernels, layouts: Layouts) -> None:
    """Launch the kernel of a group in place of the group's last operation."""
    outline = outline_of(group, layouts)
    name = kernels.name_of(outline)
    with located(outline.root):
        launch = tile.LaunchOp(name, outline.sources, [v.type for v in outline.outputs])
    launch.attributes["npu.node"] = StringAttr(_location(outline.generics))
    host.insert_op_before(launch, outline.generics[-1])
    inside = set[Operation](outline.generics)
    for value, result in zip(outline.outputs, launch.results, strict=True):
        value.replace_uses_with_if(result, lambda use: use.operation not in inside)


def _launch_scatter(op: tile.ScatterOp, kernels: _Kernels, target: Target) -> None:
    """Launch the kernel that puts rows into a tensor."""
    nodes = _location([op])
    with located(op):
        name = kernels.publish(scatter_kernel(op, target), nodes)
        launch = tile.LaunchOp(name, [op.dest, op.rows, op.value], [op.results[0].type])
    launch.attributes["npu.node"] = StringAttr(nodes)
    around = cast("Block", op.parent)
    around.insert_op_before(launch, op)
    op.results[0].replace_all_uses_with(launch.results[0])
    around.erase_op(op)


@dataclass
class _Kernels:
    """The kernels of a module, by what they compute."""

    module: ModuleOp
    _names: dict[Hashable, str] = field(default_factory=dict[Hashable, str])
    """By the structure of the kernel."""
    _known: dict[Hashable, str] = field(default_factory=dict[Hashable, str])
    """By the structure of the outline, which takes no building to find out. Different outlines may make equal kernels:
    a constant in the body of an operation, or one in front of it."""
    _keys: StructuralKeys = field(default_factory=StructuralKeys)

    def name_of(self, outline: Outline) -> str:
        """The name of the kernel with this outline: that of an equal one, or of a new one at the end of the module."""
        key = outline_key(outline, self._keys)
        if key not in self._known:
            self._known[key] = self._publish(outline)
        return self._known[key]

    def _publish(self, outline: Outline) -> str:
        """The name of the kernel that is built from an outline.

        A kernel remembers the model's multiply-adds, before any padding, for the utilisation of the cube."""
        block = build(outline)
        with located(outline.root):
            kernel = tile.KernelOp("k", Region(block), len(outline.outputs))
        products = [g for g in outline.generics if is_multiply_add(g)]
        macs = sum(math.prod(loop_extents(g)) // joined_groups(g) for g in products)
        if macs:
            kernel.attributes["npu.macs"] = IntegerAttr(macs, i64)
        return self.publish(kernel, _location(outline.generics))

    def publish(self, kernel: tile.KernelOp, loc: str) -> str:
        """The name of a kernel that has been built: that of an equal one, or its own at the end of the module."""
        key = self._keys.key(kernel)
        if key not in self._names:
            for op in kernel.body.block.ops:
                hand_down(op)
                op.location = origin(op)
                op.attributes.pop("npu.node", None)
            name = self._names[key] = f"k{len(self._names)}_{_slug(loc)}".rstrip("_")
            kernel.properties["sym_name"] = StringAttr(name)
            kernel.attributes = {"npu.node": StringAttr(loc), **kernel.attributes}
            self.module.body.block.add_op(kernel)
        return self._names[key]


def _slug(loc: str) -> str:
    return re.sub(r"\W+", "_", "".join(parts(loc)[:1]))[-24:].strip("_")


def _location(generics: Sequence[Operation]) -> str:
    """The graph operations that a group came from, at most three of them by name: of several products, these first."""
    products = [g for g in generics if isinstance(g, linalg.GenericOp) and is_multiply_add(g)]
    first = products if len(products) > 1 else ()
    named = [node for g in (*first, *generics) if (node := node_of(g)) is not None]
    # A product may have the names of what was fused into it behind it.
    names = dict.fromkeys(parts(node)[0] for node in named[: len(first)])
    names |= dict.fromkeys(part for node in named for part in parts(node))
    return joined(list(names)[:3])


def _leave_to_host(op: Operation) -> None:
    """Wrap an operation in a `tile.host`, with the empty tensors that only give its results their shape."""
    block = cast("Block", op.parent)
    inside = Block()
    with located(op):
        call = tile.HostOp(op.result_types, Region(inside))
    if (loc := op.attributes.get("npu.node")) is not None:
        call.attributes["npu.node"] = loc
    block.insert_op_before(call, op)
    for old, new in zip(op.results, call.results, strict=True):
        old.replace_all_uses_with(new)
    empty = [v.owner for v in op.operands if isinstance(v.owner, tensor.EmptyOp) and v.has_one_use()]
    for part in (*empty, op):
        part.detach()
        inside.add_op(part)
    with located(op):
        inside.add_op(tile.YieldOp(op.results))


def _sort_topologically(block: Block) -> None:
    """Reorder the operations so that each follows those it reads, otherwise in their present order."""
    ops = list(block.ops)
    producers = {op: _producers(op, block) for op in ops}
    # In the order in which they are placed.
    placed: dict[Operation, None] = {}
    for root in ops:
        stack = [root]
        while stack:
            op = stack[-1]
            missing = [] if op in placed else [p for p in producers[op] if p not in placed]
            if missing:
                stack += missing
                continue
            stack.pop()
            placed[op] = None
    order = list(placed)
    if order != ops:
        for op in ops:
            op.detach()
        block.add_ops(order)
