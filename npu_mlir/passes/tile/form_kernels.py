"""Group the linalg operations of the host function into kernels.

A kernel is one loop nest: operations whose loop dims unite into classes (see `analysis.dims`), at most one of them a
contraction for the cube unit, which has no producer in the kernel. Pads and slices in front of an operation become
part of the load of the operand (see `load_maps`). Equal kernels are made once and launched several times. What is left
becomes a `tile.host`, which the host executes: operations that read a tensor at places that depend on data
(`tensor.extract` in the body), pads and slices that something other than a load reads.

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

An error: a product of elements that the machine's cube does not multiply.
Does not handle: dynamic shapes, slices that drop dims, operations with several results.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.grouping import form_groups
from npu_mlir.analysis.structured.bodies import is_multiply_add
from npu_mlir.analysis.structured.nest import (
    describe,
    factor_type,
    init_of,
    is_indirect,
    is_shape_only,
    loop_extents,
    root_of,
)
from npu_mlir.dialects import tile
from npu_mlir.dialects.graph import HostCallOp
from npu_mlir.ir.structural_keys import StructuralKeys
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.tile.kernel_remarks import explain_groups
from npu_mlir.passes.tile.kernel_rules import is_legal
from npu_mlir.passes.tile.load_maps import fold_into_load
from npu_mlir.support.diagnostics import UserError, located_errors
from npu_mlir.support.locations import fill_locations, hand_down, located, node_of, origin
from npu_mlir.support.node_names import joined, parts
from npu_mlir.support.remarks import RemarkKind, wanted
from npu_mlir.targets.module_target import keep_numbers, target_of
from npu_mlir.targets.target import Target

Tensor = TensorType[Attribute]


class FormKernels(ModulePass):
    """Group linalg operations into kernels and launch them from the host function."""

    name = "tile-form-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        keep_numbers(op)
        target = target_of(op)
        kernels = _Kernels(op)
        for function in [f for f in op.ops if isinstance(f, FuncOp) and not f.is_declaration]:
            _form(function, target, kernels)


def _form(function: FuncOp, target: Target, kernels: _Kernels) -> None:
    # What nothing reads would become a kernel without results.
    erase_dead_ops(function)
    block = function.body.block
    _check_host_ops(block)
    computes = [describe(op) for op in block.ops if isinstance(op, linalg.GenericOp) and not is_indirect(op)]
    for product in (c for c in computes if c.contraction):
        with located_errors(cast("linalg.GenericOp", product.key)):
            target.cube.tile(factor_type(product))
    groups = form_groups(computes, _dependencies(block), lambda g: is_legal(g, target))
    if any(wanted(kind, FormKernels.name) for kind in RemarkKind):
        explain_groups(groups, _dependencies(block), target, FormKernels.name)
    for group in groups:
        _outline(group, block, kernels)
    for op in reversed(list(block.ops)):
        if isinstance(op, (*_ABSORBED, *_ON_HOST)) and not any(r.uses.get_length() for r in op.results):
            op.detach()
            op.erase()
    for op in [o for o in block.ops if isinstance(o, _COMPUTING)]:
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
        if op.name.startswith(("linalg.", "tensor.")) and not isinstance(op, (*_ABSORBED, *_ON_HOST)):
            raise UserError(
                f"'{op.name}' has no lowering to kernels; generalise it to linalg.generic", loc=op
            )
        # A call of the host may return what is known to be large or small only then.
        for value in () if isinstance(op, (HostCallOp, ReturnOp)) else (*op.operands, *op.results):
            if isinstance(value.type, TensorType) and DYNAMIC_INDEX in value.type.get_shape():
                raise UserError(f"kernels need static shapes, got {value.type}", loc=op)


def _dependencies(block: Block) -> dict[Hashable, list[Hashable]]:
    """For every operation of the block, those whose results it reads."""
    return {op: list[Hashable](_producers(op, block)) for op in block.ops}


def _producers(op: Operation, block: Block) -> list[Operation]:
    """The operations of the block whose results an operation reads, in its regions as well."""
    owners = (value.owner for inner in op.walk() for value in inner.operands)
    return [owner for owner in owners if isinstance(owner, Operation) and owner.parent is block]


# ---- building the kernel ---------------------------------------------------------------------------------------------


@dataclass
class _Builder:
    """The kernel under construction: its block, its arguments by host value, and the copies of host values in it."""

    block: Block
    args: dict[SSAValue, BlockArgument] = field(default_factory=dict[SSAValue, BlockArgument])
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def argument(self, value: SSAValue) -> BlockArgument:
        if value not in self.args:
            type_ = cast("Tensor", value.type)
            gm = MemRefType(type_.element_type, type_.get_shape(), NoneAttr(), tile.SpaceAttr(tile.Space.GM))
            self.args[value] = self.block.insert_arg(gm, len(self.block.args))
        return self.args[value]

    def operand(self, value: SSAValue) -> SSAValue:
        """The copy of a value in the kernel: a load of an argument if nothing in the kernel makes it."""
        if value not in self.values:
            source, map_, pad = fold_into_load(value)
            load = tile.LoadOp(self.argument(source), [], map_, value.type, None, pad)
            self.block.add_op(load)
            self.values[value] = load.results[0]
        return self.values[value]

    def copy(self, op: Operation, user: Operation) -> Operation:
        new = op.clone(self.values)
        fill_locations(new, origin(user))
        self.block.add_op(new)
        return new

    def add(self, op: linalg.GenericOp) -> None:
        for i, value in enumerate(op.inputs):
            if is_shape_only(op, i):
                self.values[value] = self.copy(cast("Operation", value.owner), op).results[0]
            else:
                self.operand(value)
        init = init_of(op)
        if isinstance(init, linalg.FillOp):
            for part in (*init.operands, init.results[0]):
                self.values[part] = self.copy(cast("Operation", part.owner), op).results[0]
        elif isinstance(init, tensor.EmptyOp):
            self.values[init.tensor] = self.copy(init, op).results[0]
        else:
            self.operand(cast("SSAValue", init))
        new = cast("linalg.GenericOp", self.copy(op, op))
        _sink_constants(new)
        self.values[op.results[0]] = new.results[0]


def _sink_constants(op: linalg.GenericOp) -> None:
    """Copy the constants that the body reads from outside into it."""
    block = op.body.block
    copies: dict[Operation, Operation] = {}
    for inner in list(block.ops):
        for i, value in enumerate(inner.operands):
            owner = value.owner
            if block in (owner, owner.parent):
                continue
            if not isinstance(owner, arith.ConstantOp):
                maker = f"'{owner.name}'" if isinstance(owner, Operation) else "an argument"
                raise UserError(f"'{inner.name}' reads {maker} from outside of the body", loc=op)
            if owner not in copies:
                copies[owner] = owner.clone()
                block.insert_op_before(copies[owner], cast("Operation", block.first_op))
            inner.operands[i] = copies[owner].results[0]


def _outline(group: Sequence[LoopNestOp], host: Block, kernels: _Kernels) -> None:
    """Make the kernel of a group (or find an equal one) and launch it in place of the group's last operation."""
    generics = [cast("linalg.GenericOp", op.key) for op in group]
    builder = _Builder(Block())
    for op in generics:
        with located(op):
            builder.add(op)
    inside = set(generics)
    outputs = [g.results[0] for g in generics if any(u.operation not in inside for u in g.results[0].uses)]
    for value in outputs:
        rank = len(cast("Tensor", value.type).get_shape())
        with located(value.owner):
            arg = builder.block.insert_arg(builder_type(value), len(builder.block.args))
            builder.block.add_op(tile.StoreOp(builder.values[value], arg, [], AffineMap.identity(rank)))
    macs = sum(math.prod(loop_extents(g)) for g in generics if is_multiply_add(g))
    with located(root_of(group)):
        builder.block.add_op(tile.ReturnOp())
        name = kernels.publish(builder.block, len(outputs), _location(generics), macs)
        launch = tile.LaunchOp(name, list(builder.args), [v.type for v in outputs])
    launch.attributes["npu.node"] = StringAttr(_location(generics))
    host.insert_op_before(launch, generics[-1])
    for value, result in zip(outputs, launch.results, strict=True):
        value.replace_uses_with_if(result, lambda use: use.operation not in inside)


def builder_type(value: SSAValue) -> MemRefType[Attribute]:
    """The GM buffer of a tensor value."""
    type_ = cast("Tensor", value.type)
    return MemRefType(type_.element_type, type_.get_shape(), NoneAttr(), tile.SpaceAttr(tile.Space.GM))


@dataclass
class _Kernels:
    """The kernels of a module, by what they compute."""

    module: ModuleOp
    names: dict[Hashable, str] = field(default_factory=dict[Hashable, str])
    keys: StructuralKeys = field(default_factory=StructuralKeys)

    def publish(self, block: Block, outputs: int, loc: str, macs: int) -> str:
        """The name of the kernel with this body: that of an equal one, or of a new one at the end of the module.

        A kernel remembers its multiply-adds before any padding, for the utilisation of the cube."""
        kernel = tile.KernelOp("k", Region(block), outputs)
        key = self.keys.key(kernel)
        if key not in self.names:
            for op in block.ops:
                hand_down(op)
                op.location = origin(op)
                op.attributes.pop("npu.node", None)
            name = self.names[key] = f"k{len(self.names)}_{_slug(loc)}".rstrip("_")
            kernel.properties["sym_name"] = StringAttr(name)
            kernel.attributes["npu.node"] = StringAttr(loc)
            if macs:
                kernel.attributes["npu.macs"] = IntegerAttr(macs, i64)
            self.module.body.block.add_op(kernel)
        return self.names[key]


def _slug(loc: str) -> str:
    return re.sub(r"\W+", "_", "".join(parts(loc)[:1]))[-24:].strip("_")


def _location(generics: Sequence[Operation]) -> str:
    """The graph operations that a group came from, at most three of them by name."""
    names = dict.fromkeys(part for g in generics if (node := node_of(g)) is not None for part in parts(node))
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
    placed: set[Operation] = set()
    order: list[Operation] = []
    for root in ops:
        stack = [root]
        while stack:
            op = stack[-1]
            missing = [producer for producer in _producers(op, block) if producer not in placed]
            if missing and op not in placed:
                stack += missing
                continue
            stack.pop()
            if op not in placed:
                placed.add(op)
                order.append(op)
    if order != ops:
        for op in ops:
            op.detach()
        block.add_ops(order)
