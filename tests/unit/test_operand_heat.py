"""Which operands are expected in L2 when schedules are chosen."""

from __future__ import annotations

from dataclasses import replace

from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.passes.tile.operand_heat import cold_operands
from npu_mlir.targets.target import Target, get_target

TEXT = """
builtin.module {
  func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %w = graph.weight @w : tensor<64x64xf32>
    %v = graph.weight @v : tensor<64x64xf32>
    %0 = tile.launch @first(%x, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = tile.launch @second(%0, %v) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %2 = tile.launch @third(%1, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    func.return %2 : tensor<64x64xf32>
  }
  KERNELS
}
"""
KERNEL = """tile.kernel @NAME(%a: memref<64x64xf32, #tile.space<gm>>, %b: memref<64x64xf32, #tile.space<gm>>,
                              %c: memref<64x64xf32, #tile.space<gm>>) { tile.return }
"""


def cold(target: Target) -> dict[str, set[int]]:
    kernels = "".join(KERNEL.replace("NAME", name) for name in ("first", "second", "third"))
    module = parse_module(make_context(), TEXT.replace("KERNELS", kernels), "heat.mlir")
    return {name: set(found) for name, found in cold_operands(module, target).items()}


def test_what_was_touched_or_can_be_prefetched_is_there():
    """Nothing is there for the first launch. Then results are, weights by prefetches, and an input that was read."""
    assert cold(get_target("ascend-910")) == {"first": {0, 1}, "second": set(), "third": set()}


def test_a_small_cache_holds_only_what_comes_right_before():
    """Room for four tensors: a weight and its launch, but not the launch before and this one."""
    machine = get_target("ascend-910")
    small = replace(machine, l2=dict(machine.l2) | {"size": 4 * 64 * 64 * 4})
    assert cold(small) == {"first": {0, 1}, "second": {0}, "third": {0, 1}}


def test_without_a_cache_nothing_is_said():
    assert cold(get_target("toy")) == {}
