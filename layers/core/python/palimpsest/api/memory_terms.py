"""Metadata terms as they stand in a query: `name=value`, each value read as what it is."""

from __future__ import annotations

import json
from collections.abc import Sequence

from palimpsest.api.memory_requests import Scalar
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.memory.records import MAX_METADATA_TERMS


def read_terms(given: Sequence[str]) -> dict[str, Scalar] | None:
    """The terms by name, None for none. A value that is a JSON number, true, false or a quoted text is that; any other
    is a text as it stands. Raises `Unprocessable`.
    """
    if len(given) > MAX_METADATA_TERMS:
        raise _refused(f"at most {MAX_METADATA_TERMS} terms")
    terms = {}
    for term in given:
        name, is_told, value = term.partition("=")
        if not name or not is_told:
            raise _refused("must be name=value")
        terms[name] = _value(value)
    return terms or None


def _value(text: str) -> Scalar:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, Scalar) else text


def _refused(message: str) -> Unprocessable:
    return Unprocessable(
        f"The request breaks the schema: metadata: {message}", errors=(FieldError("metadata", message),)
    )
