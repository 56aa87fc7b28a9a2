"""Property tests draw new examples on each run of a developer, and the same ones in CI, where a run must mean something
about the change and not about the draw."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
