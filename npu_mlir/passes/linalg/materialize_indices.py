"""linalg-materialize-indices: read from constants what bodies compute from the position alone.

    %0 = linalg.generic {maps = [(d0, d1) -> (d0, d1), ...]} ins(%x : tensor<4x4xf32>) ... {
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %1 = arith.cmpi sge, %i, %j : index
      %2 = arith.select %1, %in, %low : f32
      linalg.yield %2 : f32 }
  becomes
    %m = graph.weight @index : tensor<4x4xi1>
    %0 = linalg.generic {maps = [(d0, d1) -> (d0, d1), (d0, d1) -> (d0, d1), ...]} ins(%x, %m) ... {
      %2 = arith.select %in_m, %in, %low : f32
      linalg.yield %2 : f32 }

The vector unit doesn't know where it is, and has no integer division. What depends on positions and constants alone
is computed here, by the interpreter, over the loops that it uses: a mask of rows and columns is one matrix, however
many heads there are. Where a position meets data (`%i < %length`), it is read as i32, and so is what is computed from
both.

Leaves alone: bodies without `linalg.index`.
Does not handle: positions in `tensor.extract` (a gather) or in the body of a `tensor.pad`, which stay; positions that
do not fit i32.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass

from npu_mlir.interpreters.framework import run_function
from npu_mlir.ir.constants import make_constant
from npu_mlir.ir.weights import WeightStore, weights_of
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.scalar_ops import cast_op
from npu_mlir.passes.linalg.structure import Generic, loop_extents, replace, take_apart
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import located

INDEX = IndexType()


class MaterializeIndices(ModulePass):
    """Read from constants what bodies compute from the position alone."""

    name = "linalg-materialize-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        constants = _Constants(weights_of(op))
        for generic in [o for o in op.walk() if isinstance(o, GenericOp)]:
            parts = take_apart(generic)
            if parts is not None and _reads_position(parts.block):
                with located(generic):
                    _Materializer(parts, constants).run()
        erase_dead_ops(op)


def _reads_position(block: Block) -> bool:
    ops = list(block.ops)
    gathers = any(isinstance(op, tensor.ExtractOp) for op in ops)
    return any(isinstance(op, IndexOp) for op in ops) and not gathers


class _Constants:
    """Makes constants, equal ones of one weight."""

    def __init__(self, store: WeightStore):
        self._store = store
        self._made: dict[tuple[str, tuple[int, ...], bytes], Operation] = {}

    def make(self, array: np.ndarray) -> Operation:
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._made:
            self._made[key] = make_constant(self._store, array, "index")
        return self._made[key].clone()


class _Materializer:
    """Rewrites one generic."""

    def __init__(self, parts: Generic, constants: _Constants):
        self.parts = parts
        self.constants = constants
        self.builder = Builder()
        self.extents = loop_extents(parts)
        self.loops: dict[SSAValue, tuple[int, ...]] = {}
        """Of the values that positions alone decide, the loops on which they depend."""
        self.replaced: dict[SSAValue, SSAValue] = {}
        """What is read in their place; for any value of type index, the same as i32."""

    def run(self) -> None:
        for op in self.parts.block.ops:
            loops = self._loops(op)
            if loops:
                self.loops[op.results[0]] = loops
        for op in list(self.parts.block.ops):
            if not any(result in self.loops for result in op.results):
                self._rewrite(op)
        for op in reversed(list(self.parts.block.ops)):
            if op.results and not any(any(result.uses) for result in op.results):
                self.parts.block.erase_op(op)
        replace(self.parts, self.builder.ops)

    def _loops(self, op: Operation) -> tuple[int, ...]:
        """The loops that decide the result of an op, none if something else does as well."""
        if isinstance(op, IndexOp):
            return (op.dim.value.data,)
        if len(op.results) != 1 or not op.name.startswith(("arith.", "math.")):
            return ()
        varying = [v for v in op.operands if not isinstance(v.owner, arith.ConstantOp)]
        if any(v not in self.loops for v in varying):
            return ()
        return tuple(sorted({d for v in varying for d in self.loops[v]}))

    def _rewrite(self, op: Operation) -> None:
        """Let an op that not only positions decide read constants, and integers instead of indices."""
        if isinstance(op, arith.ConstantOp):
            return
        for k, value in enumerate(op.operands):
            if value in self.loops:
                op.operands[k] = self._read(value)
        types = {value.type for value in (*op.operands, *op.results)}
        if INDEX in types or any(v in self.replaced for v in op.operands):
            self._narrow(op)

    def _read(self, value: SSAValue) -> SSAValue:
        """The argument of the body for a value that is computed beforehand."""
        if value not in self.replaced:
            loops, parts = self.loops[value], self.parts
            constant = self.constants.make(self._computed(value, loops))
            self.builder.add(constant)
            k = len(parts.inputs)
            parts.inputs.append(constant.results[0])
            parts.maps.insert(k, [AffineExpr.dimension(d) for d in loops])
            self.replaced[value] = parts.block.insert_arg(_as_integer(value.type), k)
        return self.replaced[value]

    def _computed(self, value: SSAValue, loops: tuple[int, ...]) -> np.ndarray:
        """The value at all positions of the loops on which it depends."""
        b, shape, type_ = Builder(), tuple(self.extents[d] for d in loops), _as_integer(value.type)

        def build(body: Body) -> SSAValue:
            mapping: dict[SSAValue, SSAValue] = {}
            for op in self._computing(value):
                if isinstance(op, IndexOp):
                    mapping[op.result] = body.index(loops.index(op.dim.value.data))
                else:
                    body.append(op.clone(mapping))
            result = mapping[value]
            return result if result.type == type_ else body.append(arith.IndexCastOp(result, type_))

        result = b.map([], [], shape, type_, build)
        block = Block([*b.ops, ReturnOp(result)])
        function = FuncOp("main", ((), (result.type,)), Region(block))
        return run_function(ModuleOp([function]), "main", [])[0]

    def _computing(self, value: SSAValue) -> list[Operation]:
        """The ops of the body that a value is computed by, and the constants around it, in order."""
        needed, pending = dict[Operation, None](), [value]
        while pending:
            op = cast("Operation", pending.pop().owner)
            needed.pop(op, None)
            needed[op] = None
            pending += op.operands
        return list(reversed(needed))

    def _narrow(self, op: Operation) -> None:
        """The same computation on i32 in place of an op on values of type index."""
        operands = [self._integer(value) for value in op.operands]
        if isinstance(op, arith.IndexCastOp):
            new = _converted(operands[0], _as_integer(op.result.type))
        elif op.name.startswith("arith."):
            types = [_as_integer(result.type) for result in op.results]
            new = type(op).create(operands=operands, result_types=types, properties=op.properties)
        elif not op.results:
            return
        else:
            raise UserError(f"'{op.name}' in a body cannot read positions", loc=op)
        if isinstance(new, Operation):
            self.parts.block.insert_op_before(new, op)
            new = new.results[0]
        if op.results[0].type == INDEX:
            self.replaced[op.results[0]] = new
        else:
            op.results[0].replace_all_uses_with(new)

    def _integer(self, value: SSAValue) -> SSAValue:
        """An i32 in place of an index; any other value itself."""
        if value in self.replaced or value.type != INDEX:
            return self.replaced.get(value, value)
        attr = cast("arith.ConstantOp", value.owner).value
        constant = arith.ConstantOp(IntegerAttr(cast("IntegerAttr[IndexType]", attr).value.data, i32))
        self.parts.block.insert_op_before(constant, cast("Operation", self.parts.block.first_op))
        return constant.result


def _as_integer(type_: Attribute) -> Attribute:
    return i32 if type_ == INDEX else type_


def _converted(value: SSAValue, type_: Attribute) -> Operation | SSAValue:
    """An integer as one of another width, signed."""
    return value if value.type == type_ else cast_op(value, type_)
