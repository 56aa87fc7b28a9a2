"""The ways in which a module can be made smaller. Each is a function that changes a module in place and may raise or
leave IR that does not verify: the search tries it on a copy.

Operations are named by their position in `positions(module)`, which is the same for a module and its copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import IsTerminator, SymbolOpInterface

from npu_mlir.dialects import tile
from npu_mlir.dialects.graph import GraphOp
from npu_mlir.ir.functions import body_of
from npu_mlir.ir.weights import forget_weights
from npu_mlir.passes.dce import erase_dead_ops

Replacement = Callable[[SSAValue, Operation], SSAValue | None]
"""A value to use instead of a result of an operation, or None where there is none of this kind."""


def positions(module: ModuleOp) -> list[Operation]:
    """The operations that may go: all but the module, its symbols and terminators."""
    return [
        op
        for op in module.walk()
        if op is not module
        and not op.has_trait(IsTerminator)
        and not op.has_trait(SymbolOpInterface)
        and not isinstance(op, FuncOp | tile.KernelOp)
    ]


def functions(module: ModuleOp) -> list[FuncOp]:
    """The functions that have a body."""
    return [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]


def clean(module: ModuleOp) -> None:
    """Erase what nothing needs: dead operations, kernels without launches, arguments without uses."""
    erase_dead_ops(module)
    for function in functions(module):
        _drop_unused_arguments(function)
    launched = {op.kernel.string_value() for op in module.walk() if isinstance(op, tile.LaunchOp)}
    if launched:
        for op in list(module.ops):
            if isinstance(op, tile.KernelOp) and op.sym_name.data not in launched:
                module.body.block.erase_op(op)
    if not any(op.name == "graph.weight" for op in module.walk()):
        forget_weights(module)


def _drop_unused_arguments(function: FuncOp) -> None:
    if _is_called(function):
        return
    block = body_of(function)
    for arg in reversed(block.args):
        if arg.first_use is None:
            block.erase_arg(arg)
    set_type(function)


def _is_called(function: FuncOp) -> bool:
    module = function.parent_op()
    assert module is not None
    return any(
        op.name == "func.call" and function.sym_name.data in str(op.properties.get("callee"))
        for op in module.walk()
    )


def set_type(function: FuncOp) -> None:
    """Bring the type of a function in line with its body; names of inputs or outputs whose number changed go."""
    block = body_of(function)
    last = block.last_op
    inputs = [arg.type for arg in block.args]
    outputs = [operand.type for operand in last.operands] if last is not None else []
    function.function_type = FunctionType.from_lists(inputs, outputs)
    for attribute, types in (("input_names", inputs), ("output_names", outputs)):
        names = function.attributes.get(attribute)
        if isinstance(names, ArrayAttr) and len(names.data) != len(types):
            del function.attributes[attribute]
    for attribute in ("arg_attrs", "res_attrs"):
        function.properties.pop(attribute, None)


# ---- functions -------------------------------------------------------------------------------------------------------


def erase_symbol(module: ModuleOp, index: int) -> None:
    """Erase a function or kernel."""
    module.body.block.erase_op(list(module.ops)[index])


def keep_results(function: FuncOp, kept: Sequence[int]) -> None:
    """Return some of the results only."""
    last = body_of(function).last_op
    assert isinstance(last, ReturnOp)
    last.operands = [last.operands[i] for i in kept]
    set_type(function)


def cut_after(function: FuncOp, count: int) -> None:
    """Keep the first `count` operations and return the results of the last of them."""
    block = body_of(function)
    ops = list(block.ops)
    for op in reversed(ops[count:]):
        block.erase_op(op, safe_erase=False)
    block.add_op(ReturnOp(*ops[count - 1].results))
    set_type(function)


def cut_before(function: FuncOp, count: int) -> None:
    """Drop the first `count` operations; what they computed and the others need becomes an argument."""
    block = body_of(function)
    ops = list(block.ops)
    dropped = set(ops[:count])
    for op in ops[:count]:
        for result in op.results:
            if any(block.find_ancestor_op_in_block(use.operation) not in dropped for use in result.uses):
                _replace_outside(result, block.insert_arg(result.type, len(block.args)), dropped, block)
    for op in reversed(ops[:count]):
        block.erase_op(op)
    set_type(function)


def _replace_outside(value: SSAValue, new: SSAValue, dropped: set[Operation], block: Block) -> None:
    for use in list(value.uses):
        if block.find_ancestor_op_in_block(use.operation) not in dropped:
            use.operation.operands[use.index] = new


# ---- operations ------------------------------------------------------------------------------------------------------


def erase_ops(module: ModuleOp, indices: Sequence[int], replacement: Replacement) -> None:
    """Erase operations after their results got a replacement; those for which there is none stay."""
    ops = positions(module)
    for i in reversed(indices):
        op = ops[i]
        if op.parent is None:
            continue
        values = [replacement(result, op) if result.first_use else result for result in op.results]
        if any(value is None for value in values):
            continue
        for result, value in zip(op.results, values, strict=True):
            if value is not result and value is not None:
                result.replace_all_uses_with(value)
        assert op.parent is not None
        op.parent.erase_op(op)
    for function in functions(module):
        set_type(function)


def operand_of_same_type(result: SSAValue, op: Operation) -> SSAValue | None:
    """An operand that may stand for the result."""
    return next((operand for operand in op.operands if operand.type == result.type), None)


def new_argument(result: SSAValue, op: Operation) -> SSAValue | None:
    """A new argument of the function that the operation stands in."""
    function = op.parent_op()
    if not isinstance(function, FuncOp) or not isinstance(result.type, TensorType):
        return None
    block = body_of(function)
    return block.insert_arg(result.type, len(block.args))


def zero(result: SSAValue, op: Operation) -> SSAValue | None:
    """A constant in place of the operation."""
    value = _zero(result.type)
    if value is None or isinstance(op, arith.ConstantOp):
        return None
    assert op.parent is not None
    constant = arith.ConstantOp(value, result.type)
    op.parent.insert_op_before(constant, op)
    return constant.result


def _zero(type_: Attribute) -> Any:
    if isinstance(type_, IndexType | IntegerType):
        return IntegerAttr(0, type_)
    if isinstance(type_, AnyFloat):
        return FloatAttr(0.0, type_)
    if isinstance(type_, TensorType):
        element: Any = type_.get_element_type()
        number = 0.0 if isinstance(element, AnyFloat) else 0
        return DenseIntOrFPElementsAttr.from_list(type_, [number])  # type: ignore[arg-type]
    return None


REPLACEMENTS: tuple[Replacement, ...] = (operand_of_same_type, new_argument, zero)


def inline_loop(module: ModuleOp, index: int) -> None:
    """Put the first iteration of a loop in its place."""
    loop = positions(module)[index]
    assert isinstance(loop, scf.ForOp)
    body, block = loop.body.block, loop.parent
    assert block is not None
    last = body.last_op
    assert last is not None
    for arg, value in zip(body.args, (loop.lb, *loop.iter_args), strict=True):
        arg.replace_all_uses_with(value)
    for op in list(body.ops):
        op.detach()
        if op is not last:
            block.insert_op_before(op, loop)
    for result, value in zip(loop.results, last.operands, strict=True):
        result.replace_all_uses_with(value)
    last.erase()
    block.erase_op(loop)


# ---- attributes ------------------------------------------------------------------------------------------------------


def drop_attributes(module: ModuleOp) -> None:
    """Drop where operations come from, and the names of inputs and outputs."""
    for op in module.walk():
        for name in ("npu.node", "input_names", "output_names"):
            op.attributes.pop(name, None)


# ---- shapes ----------------------------------------------------------------------------------------------------------


def extents(module: ModuleOp) -> list[int]:
    """The extents of the arguments of functions, largest first."""
    types = [arg.type for function in functions(module) for arg in body_of(function).args]
    found = {size for type_ in types if isinstance(type_, TensorType) for size in type_.get_shape()}
    return sorted((size for size in found if size > 1), reverse=True)


def shrink_extent(module: ModuleOp, old: int, new: int) -> None:
    """Give all arguments of functions another size where they have the size `old`, and infer what follows."""
    for function in functions(module):
        for arg in body_of(function).args:
            if isinstance(arg.type, TensorType):
                shape = [new if size == old else size for size in arg.type.get_shape()]
                Rewriter.replace_value_with_new_type(
                    arg, TensorType(arg.type.element_type, shape, arg.type.encoding)
                )
        for op in body_of(function).ops:
            if isinstance(op, GraphOp):
                Rewriter.replace_value_with_new_type(op.result, op.infer_type())
        set_type(function)
