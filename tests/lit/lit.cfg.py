"""lit configuration. From the root: `lit -v tests/lit`, or one file: `lit -v tests/lit/tools/npu-opt/flags.mlir`.

Our tools are forks of one process that has everything loaded (tests/served); with `--param real=1`, and always in
`tools/processes`, they are started as users start them.
"""

import os
import shutil
import sys
from pathlib import Path

import lit.formats

here = Path(__file__).resolve().parent
binaries = Path(sys.executable).parent

config.name = "npu-mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["inputs"]
config.test_source_root = str(here)
config.test_exec_root = str(here.parent.parent / "build" / "lit")

# The tools of the environment that lit itself runs in, whether it is activated or not.
config.real_path = os.pathsep.join([str(binaries), os.environ["PATH"]])
config.environment["PATH"] = config.real_path
# Terminal width and colours must not change what is compared; one BLAS thread, as two tests run at a time.
config.environment.update({"COLUMNS": "120", "NO_COLOR": "1", "OPENBLAS_NUM_THREADS": "1"})

python = sys.executable
if not lit_config.params.get("real"):
    sys.path.insert(0, str(here.parent))
    import served

    tools = served.start(config.environment)
    config.environment["PATH"] = os.pathsep.join([str(tools.folder), config.real_path])
    python = str(tools.python)

# Upstream's mlir-opt: `make test-mlir` installs it.
installed = sorted(here.parent.parent.glob(".venv-mlir/lib/python*/site-packages/mlir/bin/mlir-opt"))
mlir_opt = os.environ.get("MLIR_OPT") or (str(installed[0]) if installed else shutil.which("mlir-opt"))
if mlir_opt:
    config.available_features.add("mlir-opt")
    config.substitutions.append(("%mlir-opt", mlir_opt))

config.substitutions.append(("%examples", str(here.parent.parent / "examples")))
config.substitutions.append(("%inputs", str(here / "inputs")))
config.substitutions.append(("%targets", str(here.parent.parent / "npu_mlir" / "targets")))
config.substitutions.append(("%real_python", sys.executable))
config.substitutions.append(("%python", python))
