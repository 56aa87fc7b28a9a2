"""Steps that follow each other: a function of the module, run a number of times."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, SymbolRefAttr, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure, SymbolTable
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.graph.base import ANY_TENSOR, INT, INTS, element_of, int_attr, ints, shape_of
from npu_mlir.dialects.symbols import lookup_symbol


@irdl_op_definition
class RepeatOp(IRDLOperation):
    """
    A function that is run `count` times, one run behind the other: recurrent networks, and ONNX's Scan and Loop.

    It takes, in this order: the number of the run (from 0, a tensor of rank 0) if the op is `numbered`; what is
    carried on, `carry` at first and then what the run before returned; one position of the leading dim of each of
    `each`, without that dim; and `with`, the same in each run. It returns what is carried on, and then values that are
    put together along a new leading dim. Results are what was carried on last, and these. `backwards_each` has a 1 for
    a sequence that is read from its end, `backwards_stacks` a 1 for values that are put together in reverse.

    ```mlir
    %end, %all = graph.repeat @step 100 times carry(%start : tensor<8xf32>) each(%xs : tensor<100x8xf32>)
      -> tensor<8xf32>, tensor<100x8xf32>
    ```
    """

    name = "graph.repeat"

    callee = prop_def(SymbolRefAttr)
    count = prop_def(INT)
    numbered = opt_prop_def(UnitAttr)
    backwards_each = opt_prop_def(INTS)
    backwards_stacks = opt_prop_def(INTS)
    carried = var_operand_def(ANY_TENSOR)
    sequences = var_operand_def(ANY_TENSOR)
    kept = var_operand_def(ANY_TENSOR)
    results_ = var_result_def(ANY_TENSOR)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())
    assembly_format = (
        "(`numbered` $numbered^)? $callee $count `times` (`carry` `(` $carried^ `:` type($carried) `)`)? "
        "(`each` `(` $sequences^ `:` type($sequences) `)`)? (`with` `(` $kept^ `:` type($kept) `)`)? "
        "(`backwards_each` $backwards_each^)? (`backwards_stacks` $backwards_stacks^)? "
        "attr-dict `->` type($results_)"
    )

    def __init__(
        self,
        callee: str,
        count: int,
        carried: Sequence[SSAValue],
        sequences: Sequence[SSAValue],
        kept: Sequence[SSAValue],
        types: Sequence[Attribute],
        *,
        numbered: bool = False,
        backwards_each: Sequence[bool] = (),
        backwards_stacks: Sequence[bool] = (),
    ):
        super().__init__(
            operands=[carried, sequences, kept],
            result_types=[types],
            properties={
                "callee": SymbolRefAttr(callee),
                "count": int_attr(count),
                "numbered": UnitAttr() if numbered else None,
                "backwards_each": ints(backwards_each) if any(backwards_each) else None,
                "backwards_stacks": ints(backwards_stacks) if any(backwards_stacks) else None,
            },
        )

    @property
    def times(self) -> int:
        """How often the function is run."""
        return self.count.value.data

    @property
    def stacks(self) -> int:
        """How many of the results, counted from the last, are put together of values of all runs."""
        return len(self.results_) - len(self.carried)

    def reads_backwards(self) -> list[bool]:
        """For each sequence, whether it is read from its end."""
        return _flags(self.backwards_each, len(self.sequences))

    def stacks_backwards(self) -> list[bool]:
        """For each result that is put together, whether that is in reverse."""
        return _flags(self.backwards_stacks, self.stacks)

    def verify_(self) -> None:
        if self.times < 1:
            raise VerifyException(f"{self.times} runs: it has to run at least once")
        if self.stacks < 0:
            raise VerifyException(f"{len(self.carried)} values are carried on, and there are fewer results")
        for given, size in ((self.backwards_each, len(self.sequences)), (self.backwards_stacks, self.stacks)):
            if given is not None and len(given.get_values()) != size:
                raise VerifyException(f"{len(given.get_values())} directions for {size} values")
        for value in (*self.operands, *self.results):
            if min(shape_of(value), default=0) < 0:
                raise VerifyException(f"operands and results have static shapes, got {value.type}")
        for value in (*self.sequences, *self.results[len(self.carried) :]):
            if shape_of(value)[:1] != (self.times,):
                raise VerifyException(f"{self.times} runs, and a leading dim of another size: {value.type}")
        self._verify_callee()

    def _verify_callee(self) -> None:
        table = self.parent_op()
        while table is not None and not table.has_trait(SymbolTable):
            table = table.parent_op()
        name = self.callee.string_value()
        function = lookup_symbol(table, self.callee) if table is not None else None
        if table is None:
            return
        if not isinstance(function, FuncOp):
            raise VerifyException(f"'@{name}' is not a function of the module")
        inputs, outputs = list(function.function_type.inputs), list(function.function_type.outputs)
        if self.numbered is not None:
            number = inputs.pop(0) if inputs else None
            if (
                not isinstance(number, TensorType)
                or number.get_shape()
                or not isinstance(number.element_type, IntegerType)
            ):
                raise VerifyException(f"the first argument of '@{name}' is not an integer of rank 0")
        carried = [value.type for value in self.carried]
        if inputs != [*carried, *map(_part, self.sequences), *(value.type for value in self.kept)]:
            raise VerifyException(f"the operands are not what '@{name}' takes")
        if [v.type for v in self.results[: len(carried)]] != carried or outputs != [
            *carried,
            *map(_part, self.results[len(carried) :]),
        ]:
            raise VerifyException(f"the results are not what '@{name}' returns")


def _flags(given: INTS | None, count: int) -> list[bool]:  # type: ignore[valid-type]
    return [bool(flag) for flag in given.get_values()] if given is not None else [False] * count


def _part(value: SSAValue) -> TensorType[Attribute]:
    """The type of one position of the leading dim."""
    return TensorType(element_of(value), shape_of(value)[1:])
