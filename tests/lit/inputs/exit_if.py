"""Exits with status 1 if a file has a word in it: `exit_if.py WORD FILE`."""

import sys
from pathlib import Path

sys.exit(sys.argv[1] in Path(sys.argv[2]).read_text())
