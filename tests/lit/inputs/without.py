"""Runs a tool as if a module were not installed: `without.py MODULE TOOL ARGUMENTS...`."""

import sys
from importlib import import_module

module, tool, *arguments = sys.argv[1:]
sys.modules[module] = None  # type: ignore[assignment]
sys.exit(import_module(f"npu_mlir.tools.{tool}").main(arguments))
