"""Reads that somebody has found what they were looking for: "I found a great apartment"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from palimpsest.memory.meaning.ends import is_unreal
from palimpsest.memory.meaning.reading import (
    PACKAGE,
    any_of,
    candidates,
    clauses,
    compiled,
    is_meant_by,
    naming,
    spoken,
)
from palimpsest.text.sentences import is_question
from palimpsest.text.word_files import entries

MOST_BLANKS = 20  # of a sentence that is read
_MORE = re.compile(
    r"\s(?:for|in|near|with|to|that|at|on|für|mit|bei|nach|pour|dans|avec|à|para|con|en)\s",
    re.IGNORECASE,
)
"""Where the sought thing ends: "a garage for my car" is a garage."""


@cache
def _patterns() -> Sequence[re.Pattern[str]]:
    return [compiled(entry["pattern"]) for entry in entries(PACKAGE, "finds")]


@lru_cache(maxsize=64)
def found_in(sentence: str) -> tuple[str, ...]:
    """Return the words that name what the speaker says to have found or got."""
    numbers = candidates("finds", sentence)
    if not numbers or sentence.count(" ") > MOST_BLANKS or is_question(sentence):
        return ()
    if is_unreal(spoken(sentence)):
        return ()
    matches = (
        _patterns()[number].match(spoken(clause))
        for clause in clauses(sentence)
        for number in numbers
    )
    return tuple(word for match in matches if match for word in naming(match["what"]))


def is_search_for(content: str, thing: Sequence[str]) -> bool:
    """Return whether a statement says that the user is looking for the thing with these words."""
    plain = spoken(content)
    search = any_of("searching").search(plain)
    if search is None:
        return False
    sought = naming(_MORE.split(plain[search.end() :], maxsplit=1)[0])
    return any(is_meant_by(word, sought) for word in thing)
