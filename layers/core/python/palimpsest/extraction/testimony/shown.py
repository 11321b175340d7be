"""Decides whether a message that a search found is testimony of its speaker."""

from __future__ import annotations

from functools import lru_cache

from palimpsest.extraction.testimony.extents import salutation, signature
from palimpsest.extraction.testimony.spans import own_text, spans

LEAST_OWN = 0.6


@lru_cache(maxsize=1_024)
def is_material(text: str, *, user: str | None) -> bool:
    """Return whether much of a user's text is material, so that the user's own words are less than
    the share `LEAST_OWN` of it. This share is above half, because a request such as "translate
    this" counts as the user's own words.
    """
    return letters_of(own_text(text, spans(text, user=user))) < LEAST_OWN * letters_of(text)


def is_mostly(material: str, text: str) -> bool:
    """Return whether this material leaves its speaker too little of the text, as in
    `is_material`.
    """
    return letters_of(text) - letters_of(material) < LEAST_OWN * letters_of(text)


def letters_of(text: str) -> int:
    """Return the number of letters and digits in a text."""
    return sum(map(str.isalnum, text))


def may_be_a_letter(text: str) -> bool:
    """Return whether a text greets somebody or is signed. Then the user's names are needed to
    decide who wrote it.
    """
    return any(pattern.search(text) is not None for pattern in (salutation(), signature()))
