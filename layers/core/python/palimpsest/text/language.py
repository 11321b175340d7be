"""Recognizes the language of a text by its commonest words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Final

from palimpsest.text.word_files import word_files

PACKAGE: Final = "palimpsest.text"
ENGLISH: Final = "en"


@cache
def _common_words() -> Mapping[str, frozenset[str]]:
    """Return the commonest words of each language that has a list of them. A word that is common in
    English and in another language ("was", "in") does not count.
    """
    files = word_files(PACKAGE)
    english = frozenset(files[ENGLISH]["function_words"])
    by_language = {
        language: frozenset((*file.get("function_words", ()), *file["common_words"]))
        for language, file in files.items()
        if "common_words" in file
    }
    others = frozenset[str]().union(*by_language.values())
    return {
        **{language: own - english for language, own in by_language.items()},
        ENGLISH: english - others,
    }


def language_of(words: Collection[str]) -> str:
    """Return the code of the language of a text with these folded words. It is the language that
    most of its common words belong to. A text without common words counts as English.
    """
    distinct = frozenset(words)
    counts = {language: len(distinct & common) for language, common in _common_words().items()}
    english = counts.pop(ENGLISH)
    language = max(counts, key=lambda language: counts[language])
    return language if counts[language] > english else ENGLISH


def is_english(words: Collection[str]) -> bool:
    """Return whether a text with these folded words is English by one of its words at least."""
    has_english = not _common_words()[ENGLISH].isdisjoint(words)
    return has_english and language_of(words) == ENGLISH
