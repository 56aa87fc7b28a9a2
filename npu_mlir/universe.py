"""What `xdsl-opt` sees of npu-mlir, through the `xdsl.universe` entry point."""

from __future__ import annotations

from xdsl.universe import XDSL_UNIVERSE, Universe

from npu_mlir.dialects import OWN_DIALECTS, dialect_factory
from npu_mlir.passes import PASSES, pass_factory

NPU_UNIVERSE = Universe(
    all_dialects={name: dialect_factory(name) for name in OWN_DIALECTS},
    # Names that xDSL has too (canonicalize, cse, dce) would be rejected as duplicates.
    all_passes={name: pass_factory(name) for name in PASSES if name not in XDSL_UNIVERSE.all_passes},
)
