"""Several launches as one program: the core goes from kernel to kernel without coming to rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, region_def, traits_def, var_result_def
from xdsl.traits import HasAncestor, HasParent, Pure
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.tile.host import YieldOp
from npu_mlir.dialects.tile.kernels import KernelOp
from npu_mlir.dialects.tile.spaces import Space, SpaceAttr, space_of
from npu_mlir.dialects.tile.transfers import STORES

STEPS = frozenset(
    {
        "affine.apply",
        "arith.constant",
        "builtin.unrealized_conversion_cast",
        "graph.weight",
        "npu_isa.prefetch",
        "scf.for",
        "scf.yield",
        "tensor.cast",
        "tensor.collapse_shape",
        "tensor.empty",
        "tensor.expand_shape",
        "tensor.extract_slice",
        "tensor.insert_slice",
        "tensor.reshape",
        "tile.launch",
        "tile.prefetch",
        "tile.reserve",
        "tile.yield",
    }
)
"""What a program may consist of, beside scalar arithmetic: launches, loops of them, and ops that only say where
operands and results lie."""


def is_step(op: Operation) -> bool:
    """Whether an op alone, without what is in it, may stand in a program."""
    if op.name in STEPS:
        return True
    return op.name.startswith("arith.") and not any(isinstance(r.type, TensorType) for r in op.results)


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """Launches that the core runs as one program. Each is a *section* of it, which begins where the one before has left
    the core, with pipes that may still be at work: its kernel orders itself behind them (`tile.boundary`).

    The launches see the values around the program. Between them may stand what computes no tensor: views, loops,
    prefetches. Results are those of launches, or views of them.

    Example:

    ```mlir
    %y = tile.program -> tensor<64xf32> {
      %0 = tile.launch @f(%x) : (tensor<64xf32>) -> tensor<64xf32>
      %1 = tile.launch @g(%0, %w) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      tile.yield %1 : tensor<64xf32>
    }
    ```
    """

    name = "tile.program"
    body = region_def("single_block")
    results_ = var_result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "(`->` type($results_)^)? attr-dict-with-keyword $body"

    def __init__(self, result_types: Sequence[Attribute], body: Region):
        super().__init__(result_types=[result_types], regions=[body])

    @property
    def yielded(self) -> YieldOp:
        """The op whose operands the results are."""
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    def verify_(self) -> None:
        last = self.body.block.last_op
        if not isinstance(last, YieldOp) or [v.type for v in last.values] != [r.type for r in self.results]:
            raise VerifyException("the region must end with a tile.yield of the types of the results")
        for op in _inside(self):
            if not is_step(op):
                raise VerifyException(
                    f"'{op.name}' can't be part of a program, which consists of launches, loops of them and views: "
                    "end the program before it"
                )


def _inside(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield inner
                yield from _inside(inner)


HEAD = frozenset(
    {
        "affine.apply",
        "npu_isa.at",
        "npu_isa.buffer",
        "npu_isa.load_l1",
        "npu_isa.load_ub",
        "npu_isa.slot",
        "tile.alloc",
        "tile.await_stored",
        "tile.load",
        "tile.slot",
    }
)
"""What may stand before a boundary, beside scalar arithmetic."""


def ops_before(op: Operation) -> Iterator[Operation]:
    """The ops before another one in its block, backwards."""
    while op.prev_op is not None:
        op = op.prev_op
        yield op


def _reads_argument(op: Operation) -> bool:
    return space_of(op.operands[0].type) is Space.GM


@irdl_op_definition
class StoredOp(IRDLOperation):
    """What the next section of a program loads ahead of its boundary is stored from here on: by the stores that stand
    above, when a kernel comes here, which it does once.

    Example:

    ```mlir
    tile.kernel @copy(%a: memref<64xf32, #tile.space<gm>>, %b: memref<64xf32, #tile.space<gm>>) {
      %t = tile.load %a[] map affine_map<(d0) -> (d0)>
        : memref<64xf32, #tile.space<gm>> -> tensor<64xf32, #tile.space<ub>>
      tile.store %t, %b[] map affine_map<(d0) -> (d0)>
        : tensor<64xf32, #tile.space<ub>>, memref<64xf32, #tile.space<gm>>
      tile.stored
      tile.return
    }
    ```
    """

    name = "tile.stored"
    traits = traits_def(HasAncestor(KernelOp))
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class AwaitStoredOp(IRDLOperation):
    """In the head of a kernel: the loads that follow read what the section directly before has stored by the time of
    its `tile.stored`, not what it stores later. It stores from UB or L0C, as is said.

    Example:

    ```mlir
    tile.kernel @copy(%a: memref<64xf32, #tile.space<gm>>, %b: memref<64xf32, #tile.space<gm>>) {
      tile.await_stored from <ub>
      %t = tile.load %a[] map affine_map<(d0) -> (d0)>
        : memref<64xf32, #tile.space<gm>> -> tensor<64xf32, #tile.space<ub>>
      tile.boundary
      tile.store %t, %b[] map affine_map<(d0) -> (d0)>
        : tensor<64xf32, #tile.space<ub>>, memref<64xf32, #tile.space<gm>>
      tile.return
    }
    ```
    """

    name = "tile.await_stored"
    space = prop_def(SpaceAttr)
    traits = traits_def(HasParent(KernelOp))
    assembly_format = "`from` $space attr-dict"

    def __init__(self, space: Space):
        super().__init__(properties={"space": SpaceAttr(space)})

    def verify_(self) -> None:
        if self.space.data not in STORES:
            raise VerifyException(f"nothing is stored from {self.space.data}")
        behind: Operation | None = self
        while behind is not None and behind.name != "tile.boundary":
            behind = behind.next_op
            if behind is not None and behind.name == self.name:
                raise VerifyException(
                    "a kernel waits once for what is stored, and there is another one behind it"
                )
        if behind is None:
            raise VerifyException("it stands before the boundary of a kernel, which waits for everything")


@irdl_op_definition
class BoundaryOp(IRDLOperation):
    """Where a kernel waits, as a section of a program, for what ran before it on the core.

    What stands before it is the *head* of the kernel: loads from GM that may run while sections before are still at
    work. They read what no section of the program writes, weights for example. In front of the head, the kernel waits
    only until the bytes on chip are free that the head writes. Without anything before it, a boundary is a no-op.

    Example:

    ```mlir
    tile.boundary
    ```
    """

    name = "tile.boundary"
    traits = traits_def(HasParent(KernelOp))
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()

    def verify_(self) -> None:
        for op in ops_before(self):
            if op.name == self.name:
                raise VerifyException("a kernel has one boundary, and there is one before it")
            if op.name not in HEAD and not op.name.startswith("arith."):
                raise VerifyException(f"'{op.name}' can't stand before it: only loads from GM run ahead")
            if op.name == "tile.load" and not _reads_argument(op):
                raise VerifyException("what stands before it loads from GM")
