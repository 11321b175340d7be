"""Shows the service's answers on the command line: tables for people, JSON for programs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

NEVER_BROKEN = ("id", "session", "since", "until", "last", "at")
UNLIMITED = 10_000
"""The width of an output that is not a terminal. A program that reads a table gets each row on one
line.
"""
MOST_ROWS = 10_000
"""The most rows that a command shows, because a list may be endless."""
LONGEST_SENTENCE = 500
TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(\.\d+)?Z")

console = Console(width=None if sys.stdout.isatty() else UNLIMITED)
errors = Console(stderr=True)


def as_json(document: Any) -> None:
    """Show one JSON document, an object or a list."""
    print(json_of(document, indent=2))


def json_of(document: Any, **form: Any) -> str:
    """Return JSON in which control characters are escaped, so that a terminal does not obey
    them.
    """
    text = json.dumps(document, ensure_ascii=False, default=str, **form)
    return "".join(
        character if character == "\n" or character.isprintable() else json.dumps(character)[1:-1]
        for character in text
    )


def sentence(message: Any) -> Text:
    """Return an error message as one shortened line."""
    text = " ".join(str(message).split())
    return plain(text if len(text) <= LONGEST_SENTENCE else text[:LONGEST_SENTENCE] + " …")


def rows(
    listed: Iterable[Mapping[str, Any]], columns: Mapping[str, str], *, json_wanted: bool
) -> None:
    """Show a table with a column for each field. A dot in a column's name leads into a nested
    field. Stored texts are shown as plain text. Markup in them is not interpreted, and no control
    character reaches the terminal.
    """
    rows = list(islice(listed, MOST_ROWS + 1))
    if len(rows) > MOST_ROWS:
        errors.print(f"There are more rows than these {MOST_ROWS:,}.")
        del rows[MOST_ROWS:]
    if json_wanted:
        as_json(rows)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in columns:
        table.add_column(title, overflow="fold", no_wrap=title in NEVER_BROKEN)
    for row in rows:
        table.add_row(*(plain(_minutes(_field(row, path))) for path in columns.values()))
    console.print(table if rows else "[dim]Nothing.[/dim]")


def facts(fields: Mapping[str, Any], *, json_wanted: bool) -> None:
    """Show an object, with one line for each field that has a value."""
    if json_wanted:
        as_json(fields)
        return
    for name, value in fields.items():
        if value not in (None, [], {}, ""):
            console.print(plain(f"{name}: ", style="bold").append_text(plain(value)))


def text(lines: str) -> None:
    """Show a text of several lines."""
    console.print(plain(lines.rstrip("\n")) if lines else "[dim]Nothing.[/dim]")


def as_it_comes(text: str) -> None:
    """Show a piece of a reply, after the pieces shown before."""
    console.print(plain(text), end="")


def plain(value: Any, *, style: str = "") -> Text:
    """Return a value as text without control characters that a terminal would obey."""
    text = _words(value)
    shown = "".join(
        character if character == "\n" or character.isprintable() else f"\\x{ord(character):02x}"
        for character in text
    )
    return Text(shown, style=style)


def _words(value: Any) -> str:
    """Return a value in words. The parts of a list or an object are joined by commas, and empty
    parts of an object are left out. A fraction has four significant digits.
    """
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    if isinstance(value, Mapping):
        return ", ".join(
            f"{name} {_words(part)}"
            for name, part in value.items()
            if part not in (None, [], {}, "")
        )
    if isinstance(value, float):
        return f"{value:.4g}"
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _minutes(value: Any) -> Any:
    """Return a time in a form for people, in UTC. Return any other value unchanged."""
    match = TIME.fullmatch(value) if isinstance(value, str) else None
    return f"{match[1]} {match[2]}" if match else value


def _field(row: Mapping[str, Any], path: str) -> Any:
    value: Any = row
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
