"""Check that the second module takes fewer cycles than the first.

python fewer_cycles.py BEFORE.mlir AFTER.mlir
"""

from __future__ import annotations

import sys

from npu_mlir import api


def main(paths: list[str]) -> None:
    """Simulate both."""
    before, after = (program.simulate(program.random_inputs()).cycles for program in map(api.load, paths))
    assert after < before, f"{after} cycles are not fewer than {before}"
    print(f"{before} cycles before, {after} after")


if __name__ == "__main__":
    main(sys.argv[1:])
