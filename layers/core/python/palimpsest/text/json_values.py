"""Writes a JSON value as a line that people and models read, without brackets and quotes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def readable(value: Any) -> str:
    """The value in words: a text as it is, `name: value` of an object joined by `;`, a list joined
    by `,`. A list or object within another is put in parentheses where the line would be ambiguous
    without them. Empty for null, for an empty list, and for an empty object.
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
    """A value inside an object, or inside a list (`is_listed`)."""
    said = readable(value) or "none"
    is_compound = isinstance(value, Mapping) or (is_listed and isinstance(value, list | tuple))
    return f"({said})" if is_compound and value else said
