"""Compares two statements of one topic: whether they say the same in other words."""

from __future__ import annotations

import re
import unicodedata
from itertools import takewhile
from operator import eq

from palimpsest.text.analyser import accented_words, stems

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
