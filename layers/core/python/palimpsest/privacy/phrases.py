"""The phrases that people use to name secrets and to keep words off the record, in all
languages.
"""

from __future__ import annotations

import re
from functools import cache

from palimpsest.text.sought import Sought
from palimpsest.text.word_files import entries

PACKAGE = "palimpsest.privacy"
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")


@cache
def phrases(name: str) -> str:
    """Return a pattern for any phrase of this name. Longer phrases come first."""
    return "|".join(sorted(set(entries(PACKAGE, name)), key=len, reverse=True))


@cache
def anywhere(name: str) -> Sought:
    """Return the phrases of this name as whole words, wherever they are."""
    return Sought(rf"(?<!\w)(?:{phrases(name)})(?!\w)", re.IGNORECASE | re.MULTILINE)


@cache
def whole(name: str) -> re.Pattern[str]:
    """Return a pattern for `fullmatch` that matches exactly one of the phrases of this name."""
    return re.compile(rf"(?:{phrases(name)})", re.IGNORECASE)


@cache
def word_set(name: str) -> frozenset[str]:
    return frozenset(entries(PACKAGE, name))
