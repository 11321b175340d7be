"""Whether a message that a search found is its speaker's testimony."""

from __future__ import annotations

from functools import lru_cache

from palimpsest.extraction.testimony.spans import own_text, spans

LEAST_OWN = 0.6


@lru_cache(maxsize=1_024)
def is_material(text: str, *, user: str | None) -> bool:
    """Whether much of a user's text is not the user's own words. Of a text to translate the request
    is theirs, so less than half is enough.
    """
    letters = sum(map(str.isalnum, text))
    own = sum(map(str.isalnum, own_text(text, spans(text, user=user))))
    return own < LEAST_OWN * letters
