"""What mkdocs does beside rendering: it adds the reference pages, and turns links that leave the site into names."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

os.environ["COLUMNS"] = "110"  # of the help texts

OUTSIDE = re.compile(r"\[([^]]+)\]\((\.\./[^)]*)\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the reference pages."""
    sys.path.insert(0, str(Path(__file__).parent))
    from mkdocs.structure.files import File

    import reference

    for name, text in reference.pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Files of the repository that are no pages of the site are named, not linked."""
    return OUTSIDE.sub(lambda match: f"{match[1]} (`{match[2].removeprefix('../')}`)", markdown)
