"""The names of several nodes in one text: joined by `+`, which frameworks put into names of nodes too.

There a `+` of a name itself, and a backslash, have a backslash in front. A text without either is the name of one node
as it stands, so attributes and locations read like the model wherever they can.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_PART = re.compile(r"(?:[^+\\]|\\.|\\$)+", re.DOTALL)
_SPECIAL = re.compile(r"[+\\]")
_ESCAPED = re.compile(r"\\([+\\])")


def joined(names: Iterable[str]) -> str:
    r"""One text for the names of nodes, each once.

    >>> joined(["conv", "relu", "conv"])
    'conv+relu'
    >>> print(joined(["a+b"]))
    a\+b
    """
    return "+".join(_SPECIAL.sub(r"\\\g<0>", name) for name in dict.fromkeys(names))


def parts(text: str) -> list[str]:
    r"""The names in a text that `joined` made; empty ones are none.

    >>> parts(joined(["a+b", "c"]))
    ['a+b', 'c']
    """
    return [_ESCAPED.sub(r"\1", part) for part in _PART.findall(text)]


def shown(text: str) -> str:
    r"""The names in a text for people to read: as they are in the model, `+` between them.

    >>> shown(joined(["a+b", "c"]))
    'a+b+c'
    """
    return "+".join(parts(text))
