"""The pages of docs/ show what the tools print."""

from __future__ import annotations

import re

import pytest

import doc_pages

NOT_WORDS = re.compile(r"[^A-Za-z_]+")
TABLE = ("│", "├", "└", "┃", "┏", "┡", "Lower bounds")
"""How lines with cycles begin: these numbers follow every change of a schedule or of a machine."""


@pytest.mark.parametrize("name", doc_pages.PAGES)
def test_page(name: str):
    """If not: python tests/unit/doc_pages.py --write"""
    page = (doc_pages.DOCS / f"{name}.md").read_text()
    assert steady(doc_pages.current(page)) == steady(page)


def steady(page: str) -> str:
    """The page with only the words of its tables."""
    return "\n".join(
        NOT_WORDS.sub(" ", line) if line.startswith(TABLE) else line for line in page.split("\n")
    )
