"""Comparing texts by their words, within the process: how much they share, and whether they say the same."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import takewhile
from operator import eq

from palimpsest.text.analyser import accented_words, stems, terms
from palimpsest.text.cutting import ELLIPSIS, shortened

MAX_EXCERPTED = 50_000  # characters among which an excerpt is chosen
NEAR = 100  # characters within which an excerpt looks for the beginning of a word
K1, B = 1.2, 0.75  # BM25's

_BREAK = re.compile(r"[\s\u3002\uff01\uff1f]+")
# Words that may come or go without a change of meaning. Negations, past forms, directions and quantities are not here.
_EMPTY_WORDS = """
    a an the is are am be been being i my me we our us this that these those s m re ve user users person has have
    does do currently now really very also still already as in at and on of who which
    ich mein meine meinen bin ist sind der die das den dem ein eine einen und im am in jetzt derzeit auch sehr
    yo mi soy es el la los las un una y en ahora muy je mon ma mes suis est le les une et dans
"""
_EMPTY = frozenset(_EMPTY_WORDS.split())
# Endings of two forms of a word that mean the same: "lives, living", "city, cities". Past forms are not here.
_ENDINGS = frozenset(map(frozenset, (
    ("", "s"), ("", "es"), ("", "ing"), ("s", "ing"), ("es", "ing"), ("e", "ing"), ("y", "ies"),
)))  # fmt: skip
LEAST_STEM = 3  # letters that two forms of a word share
_SIGNS = re.compile(r"[#%&*@/]|(?<!\w)-(?=\w)|(?<=\w)-(?!\w)")  # "-5" is not "5", "A-" is not "A"


def coverage(asked: Sequence[str], found: Collection[str]) -> float:
    """The share (0..1) of the question's terms that a text holds."""
    return sum(term in found for term in asked) / len(asked) if asked else 0.0


def scores(asked: Sequence[str], texts: Sequence[Sequence[str]]) -> list[float]:
    """The BM25 score of each text, given as its terms, among these texts alone."""
    counts = [Counter(text) for text in texts]
    rarity = {term: _rarity(sum(term in count for count in counts), len(texts)) for term in asked}
    average = sum(map(len, texts)) / len(texts) if texts else 1.0
    return [
        sum(
            rarity[term] * (K1 + 1) * count[term] / (count[term] + K1 * (1 - B + B * len(text) / (average or 1.0)))
            for term in asked
            if term in count
        )
        for text, count in zip(texts, counts, strict=True)
    ]


def _rarity(holding: int, texts: int) -> float:
    return math.log1p((texts - holding + 0.5) / (holding + 0.5))


def excerpt(text: str, asked: Sequence[str], *, limit: int) -> str:
    """At most `limit` characters of the text: the part in which most of the question's terms are."""
    if len(text) <= limit:
        return text
    starts = [_beginning(text, start) for start in range(0, min(len(text), MAX_EXCERPTED), max(1, limit // 2))]
    best = max(starts, key=lambda start: (coverage(asked, frozenset(terms(text[start : start + limit]))), -start))
    before = ELLIPSIS if best else ""
    return before + shortened(text[best:], limit=limit - len(before), count=len)[0]


def _beginning(text: str, start: int) -> int:
    """A place near `start` where a word begins; the text's own beginning where there is none."""
    found = _BREAK.search(text, start, start + NEAR) if start else None
    return found.end() if found else 0


def says_the_same(one: str, other: str) -> bool:
    """Whether two statements of one topic have the same words that carry content, in the same order, and the same
    signs.

    A false no costs a new version with the same meaning; a false yes would lose a correction. So accents count, and two
    forms of a word are the same only if they have one stem and differ by no more than a plural, a third person or an
    "-ing".
    """
    if _signs(one) != _signs(other):
        return False
    ours, theirs = accented_words(one), accented_words(other)
    if ours == theirs:
        return True
    ours, theirs = ([word for word in every if word not in _EMPTY] for every in (ours, theirs))
    if not ours or len(ours) != len(theirs):
        return False
    return all(map(_is_same_word, ours, theirs, stems(ours), stems(theirs)))


def _signs(text: str) -> list[str]:
    """What means something and is in no word: symbols such as "+" or a currency's, and hyphens at one end of a word."""
    plain = unicodedata.normalize("NFKC", text)
    return _SIGNS.findall(plain) + [each for each in plain if unicodedata.category(each)[0] == "S"]


def _is_same_word(one: str, other: str, stem: str, other_stem: str) -> bool:
    if one == other:
        return True
    shared = sum(takewhile(bool, map(eq, one, other)))
    is_inflected = shared >= LEAST_STEM and frozenset((one[shared:], other[shared:])) in _ENDINGS
    return is_inflected and stem == other_stem
