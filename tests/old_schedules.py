"""Rewrites schedules on standard input as they were before sizes were given per level, to compare snapshots.

    #tile.schedule<l1 = [4, 3, 8], l0 = [0, 0, 4], ub = [2, 0, 0], order = [0], slots = {l1 = 2}, bypass_ub>
  was
    #tile.schedule<{tile = array<i64: 4, 3, 8>, inner = array<i64: 2, 3, 4>, order = array<i64: 0>, direct,
                    slots = {l1 = 2 : i64}}>

Class by class: `tile` is the size in `l1`, or in `ub` where `l1` has none; `inner` that in `l0`, or in `ub`, or `tile`.

    python tests/old_schedules.py < tests/unit/snapshots.txt | diff - <(git show REVISION:tests/unit/snapshots.txt)
"""

from __future__ import annotations

import re
import sys

_LISTS = re.compile(r"(l1|l0|ub|order) = \[([^\]]*)\](?:, )?")
_SLOTS = re.compile(r"slots = \{([^}]*)\}")


def _old(text: str) -> tuple[list[int], list[int], list[int], list[tuple[str, str]], bool]:
    """tile, inner, order, slots, direct."""
    lists = {key: [int(n) for n in values.split(",") if n] for key, values in _LISTS.findall(text)}
    slots = _SLOTS.search(text)
    pairs = [tuple(pair.split(" = ")) for pair in slots[1].split(", ")] if slots else []
    count = max(len(lists.get(level, [])) for level in ("l1", "l0", "ub"))
    l1, l0, ub = (lists.get(level, [0] * count) for level in ("l1", "l0", "ub"))
    tile = [a or c for a, c in zip(l1, ub, strict=True)]
    inner = [b or c or t for b, c, t in zip(l0, ub, tile, strict=True)]
    return tile, inner, lists.get("order", []), pairs, "bypass_ub" in text  # type: ignore[return-value]


def _attribute(match: re.Match[str]) -> str:
    tile, inner, order, slots, direct = _old(match[1])

    def array(values: list[int]) -> str:
        return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"

    entries = [f"{key} = {array(v)}" for key, v in (("tile", tile), ("inner", inner), ("order", order))]
    entries += ["direct"] if direct else []
    entries.append(f"slots = {{{', '.join(f'{space} = {n} : i64' for space, n in slots)}}}")
    return f"#tile.schedule<{{{', '.join(entries)}}}>"


def _line(match: re.Match[str]) -> str:
    """A line of `schedules.txt`."""
    tile, inner, order, slots, direct = _old(match[2])
    counts = ", ".join(f"{space} {n}" for space, n in slots)
    return f"{match[1]}tile {tile}, inner {inner}, order {order}, slots {counts}{' direct' if direct else ''}"


if __name__ == "__main__":
    text = sys.stdin.read()
    text = re.sub(r"#tile\.schedule<((?:l1|ub|order|slots) = [^>]*)>", _attribute, text)
    text = re.sub(r"^(  f(?:32|16) \w+: )((?:l1|ub|order|slots) = .*)$", _line, text, flags=re.MULTILINE)
    sys.stdout.write(text)
