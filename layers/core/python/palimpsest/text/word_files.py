"""Reads the words of each language from the JSON files of a package, at their first use.

Each package keeps its files in a folder `words`, with a README that explains them.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

SHARED = "shared"  # the file of entries that belong to no language
FIRST = (SHARED, "en")  # then the other languages by their codes
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


@cache
def word_files(package: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the content of the package's word files by language."""
    from importlib import resources  # not at import: most requests read no words

    folder = resources.files(package).joinpath("words")
    files = {
        file.name.removesuffix(".json"): json.loads(file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".json")
    }
    first = [language for language in FIRST if language in files]
    return {language: files[language] for language in (*first, *sorted({*files}.difference(first)))}


def entries(package: str, field: str) -> Iterator[Any]:
    """Yield the entries of all languages in a field that is a list."""
    for file in word_files(package).values():
        yield from file.get(field, ())


@cache
def _pieces(package: str) -> Mapping[str, str]:
    """Return the parts of patterns by name. A list of words becomes one part, which has the words
    of all languages as alternatives.
    """
    lists: dict[str, list[str]] = defaultdict(list)
    parts: dict[str, str] = {}
    for file in word_files(package).values():
        parts |= file.get("parts", {})
        for name, words in file.get("lists", {}).items():
            lists[name] += words
    return parts | {name: "|".join(words) for name, words in lists.items()}


def filled(package: str, pattern: str) -> str:
    """Return the pattern with each name in braces (`{name}`) replaced by the part of that name."""
    pieces = _pieces(package)
    while _PLACEHOLDER.search(pattern):
        pattern = _PLACEHOLDER.sub(lambda piece: pieces[piece[1]], pattern)
    return pattern


@cache
def compiled(package: str, pattern: str) -> re.Pattern[str]:
    """Return the filled pattern, which ignores case."""
    return re.compile(filled(package, pattern), re.IGNORECASE)


def filled_words(package: str, words: list[str]) -> list[str]:
    """Return the words in lower case. The name of a list is replaced by the list's words."""
    return [word.lower() for entry in words for word in filled(package, entry).split("|")]
