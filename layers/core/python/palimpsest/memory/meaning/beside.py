"""Decides whether a statement is about a thing, or only names it in passing. An end of the thing
does not end a statement that names it in passing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from palimpsest.memory.meaning.reading import PACKAGE, compiled, is_meant_by, naming, spoken
from palimpsest.text.folding import folded
from palimpsest.text.word_files import filled_words

MOST_LEAD = 3  # words before a name that is the subject of a sentence
_TOKEN = re.compile(r"[\w'\u2019]+|[,;.:!?()]|-")
_ENGLISH = re.compile(r"(?i)\b(?:i|my|our|the|is|are|we|you|they|he|she)\b")
_OWN = re.compile(r"(?i)(?:my|our) \w+(?: \w+)?$")
_VERB = re.compile(r"is|was|has|had|will|would|can|could|does|did|[a-z]{2,}(?:s|ed)")
_NO_NOUN = re.compile(r".{2,}(?:ly|ed)")


def is_only_beside(thing: Sequence[str], content: str) -> bool:
    """Return whether a content names a thing of one word only in passing. The word may be a part of
    another thing's name ("bakery clogs"), or the time or cause of something ("wrecked after
    Lisburn"). It may also be one of two possibilities ("in Lyon or in Leeds"), or somebody who does
    something ("Neil charged 380").
    """
    if len(set(thing)) > 1:
        return False
    text = spoken(content)
    tokens = _TOKEN.findall(text)
    named, is_english = set(naming(text)), _ENGLISH.search(text) is not None
    places = [
        place
        for place, token in enumerate(tokens)
        if folded(token) in named and is_meant_by(folded(token), thing)
    ]
    return bool(places) and all(
        (is_english and _is_part_of_a_name(place, tokens, named))
        or _is_circumstance(place, tokens)
        or _is_possibility(place, tokens)
        or _is_doer(place, tokens)
        for place in places
    )


@cache
def _no_other_thing() -> frozenset[str]:
    """Return words that do not name another thing: nouns that add nothing, as in "padel training",
    numbers, and words that are no nouns.
    """
    listed = ["{same_as_thing}", "{no_nouns}", "{number_words}"]
    return frozenset(folded(word) for word in filled_words(PACKAGE, listed))


@cache
def _circumstances() -> re.Pattern[str]:
    return compiled(r"(?<!\w)(?:{circumstances})(?: (?:{owners}|the|der|die|das|dem|den))?$")


@cache
def _possibilities() -> re.Pattern[str]:
    return compiled(r"(?<!\w)(?:or|oder|ou)(?: (?:in|at|to|the|a|an|nach|à|en))*$")


def _is_part_of_a_name(place: int, tokens: list[str], named: set[str]) -> bool:
    """Return whether a lower-case word stands right before another noun. A verb follows the subject
    with which a sentence begins.
    """
    if place + 1 >= len(tokens) or place <= 1 or tokens[place][0].isupper():
        return False
    head = tokens[place + 1]
    is_word = head.isalpha() and head.islower()
    is_noun = is_word and folded(head) in named and not _NO_NOUN.fullmatch(head)
    return is_noun and folded(head) not in _no_other_thing()


def _is_circumstance(place: int, tokens: list[str]) -> bool:
    return _circumstances().search(" ".join(tokens[:place])) is not None


def _is_possibility(place: int, tokens: list[str]) -> bool:
    before, after = " ".join(tokens[:place]), tokens[place + 1 : place + 2]
    return _possibilities().search(before) is not None or after in (["or"], ["oder"], ["ou"])


def _is_doer(place: int, tokens: list[str]) -> bool:
    """Return whether a name is the subject of a verb at the beginning of a sentence: "Neil is 66",
    "my accountant Neil wants it by Friday".
    """
    lead, after = tokens[:place], tokens[place + 1 : place + 2]
    is_subject = not lead or (len(lead) <= MOST_LEAD and _OWN.match(" ".join(lead)) is not None)
    is_name = is_subject and tokens[place][0].isupper() and bool(after)
    return is_name and _VERB.fullmatch(after[0]) is not None
