"""Tables of the reference pages."""

from __future__ import annotations

from collections.abc import Iterable

HEAD = "The code writes this page: `python -m tests.documents.reference`."


def table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
