"""Writes a JSON value as a line that people and models read, without brackets and quotes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def readable(value: Any) -> str:
    """Return the value in words. A text stays as it is, an object becomes `name: value` joined by
    `;`, and a list is joined by `,`. A list or object within another one is put in parentheses if
    the line would be ambiguous without them. Null, an empty list and an empty object give an empty
    text.
    """
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case Mapping():
            return "; ".join(
                f"{name}: {_within(inner, is_listed=False)}" for name, inner in value.items()
            )
        case list() | tuple():
            return ", ".join(_within(inner, is_listed=True) for inner in value)
    return json.dumps(value)


def _within(value: Any, *, is_listed: bool) -> str:
    """Return a value that is inside a list (`is_listed`) or inside an object."""
    text = readable(value) or "none"
    is_compound = isinstance(value, Mapping) or (is_listed and isinstance(value, list | tuple))
    return f"({text})" if is_compound and value else text
