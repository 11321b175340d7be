"""Tells the occasions apart on which statements hold: "at work", "at home", "in the evening"."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from palimpsest.memory.meaning.reading import PACKAGE
from palimpsest.text.word_files import word_files

MOST = 300  # characters of a statement that is read
PLACES: Final = frozenset({"work", "home"})
KINDS: Final = (
    PLACES,
    frozenset({"morning", "midday", "evening", "night"}),
    frozenset({"weekdays", "weekend"}),
)
"""Sets of occasions of which one excludes the others."""


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    phrases: dict[str, list[str]] = {}
    for file in word_files(PACKAGE).values():
        for name, those in file.get("occasions", {}).items():
            phrases.setdefault(name, []).extend(those)
    return {
        name: re.compile(rf"(?<!\w)(?:{'|'.join(those)})(?!\w)", re.IGNORECASE)
        for name, those in phrases.items()
    }


@lru_cache(maxsize=256)
def occasions_of(text: str) -> frozenset[str]:
    """Return the names of the occasions that a text names, such as `home` and `evening`."""
    plain = text[:MOST]
    return frozenset(name for name, pattern in _patterns().items() if pattern.search(plain))


def are_of_other_occasions(statement: str, other: str) -> bool:
    """Return whether two statements are about different occasions of one kind."""
    ours = occasions_of(statement)
    theirs = occasions_of(other) if ours else ours
    return any(ours & kind and theirs & kind and not ours & theirs & kind for kind in KINDS)


def place_in(text: str) -> str:
    """Return the place that a text names, `work` or `home`; empty if it names none or both."""
    places = occasions_of(text) & PLACES
    return next(iter(places)) if len(places) == 1 else ""
