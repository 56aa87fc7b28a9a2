"""The queue that brings data from HBM to L2."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from npu_mlir.dialects.tile.prefetch import PrefetchBase


@irdl_op_definition
class PrefetchOp(PrefetchBase):
    """HBM -> L2, in the host function, by a queue that belongs to no core: begins when the launches before are over and
    the prefetches before are complete. Nothing waits for it but loads that are the faster for it.

    Example:

    ```mlir
    npu_isa.prefetch %w : tensor<64x32xf16>
    ```
    """

    name = "npu_isa.prefetch"
