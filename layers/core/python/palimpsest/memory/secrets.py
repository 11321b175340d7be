"""Masks secrets in memories that callers save."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from palimpsest.conversations.secrets import masked_fields, masked_value
from palimpsest.memory.record import KEYED
from palimpsest.memory.statements import Statement
from palimpsest.privacy.secrets import masked


def without_secrets(statement: Statement) -> Statement:
    """Return the statement with a mask in place of each secret in its texts and metadata. A
    preference and a part of the graph stay as they are, because a caller stores them under a key.
    """
    if statement.type in KEYED:
        return statement
    quote, text = statement.source.quote, statement.source.text
    source = replace(statement.source, quote=quote and masked(quote), text=text and masked(text))
    texts = {name: getattr(statement, name) for name in _MASKS}
    return replace(statement, **masked_texts(texts), source=source)


def masked_texts(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of a record, by name, with a mask in place of each secret."""
    shown = {name: _MASKS[name](value) for name, value in fields.items() if name in _MASKS}
    return {**fields, **shown}


def _masked_words(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(masked, words))


_MASKS: Mapping[str, Callable[[Any], Any]] = {
    "content": masked,
    "keywords": _masked_words,
    "queries": _masked_words,
    "metadata": masked_fields,
    "data": partial(masked_value, is_data=True),
}
