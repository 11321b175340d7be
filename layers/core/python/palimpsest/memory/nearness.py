"""Whether two statements of one topic say the same in other words: strictly enough that no correction is lost."""

from __future__ import annotations

import re
import unicodedata

from palimpsest.memory.records import Record, normalized

# Words that may come or go without a change of meaning. Negations, past forms, directions and quantities are not here.
_WORDS = """
    a an the is are am be been being i my me we our us this that these those s m re ve user users person has have
    does do currently now really very also still already as in at on and of who which
    ich mein meine meinen bin ist sind der die das den dem ein eine einen und im am in jetzt derzeit auch sehr
    yo mi soy es el la los las un una y en ahora muy je mon ma mes suis est le les une et dans
"""
_EMPTY = frozenset(_WORDS.split())
_WORD = re.compile(r"\w+")
_ENDINGS = ("ing", "es", "ed", "s", "e")
LEAST_STEM = 3


def says_the_same(one: Record, other: Record) -> bool:
    """Whether both have the same words that carry content, in the same order.

    A false no costs a new version with the same meaning; a false yes would lose a correction: hence no similarity.
    """
    if normalized(one.content) == normalized(other.content):
        return True
    words = _content(one.content)
    return bool(words) and words == _content(other.content)


def _content(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    return [_stem(word) for word in _WORD.findall(folded) if word not in _EMPTY]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.isascii() and word.endswith(ending) and len(word) - len(ending) >= LEAST_STEM:
            return word.removesuffix(ending)
    return word
