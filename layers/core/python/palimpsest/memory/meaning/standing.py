"""Separates sentences that mean something by themselves from sentences that need their
conversation.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many languages
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import filterfalse

from palimpsest.memory.meaning.reading import NAME_OR_NUMBER, PACKAGE, candidates, naming
from palimpsest.text.analyser import content_terms
from palimpsest.text.pieces import is_of_beginning
from palimpsest.text.triggers import lowered, word_set
from palimpsest.text.word_files import word_files

LONG = 13  # words; a longer sentence names its subject
SHORT = 12
LEAST_NAMED = 2  # words with content in the statement that "it" may refer to
MOST_AFTER = 4  # words after a pronoun that dangles
_OWN_CLAUSE = re.compile(
    r"\W*(?:i(?:['’](?:m|ve|d))?|we(?:['’](?:re|ve))?|my|our|ich|wir|mein\w*"
    r"|je|j['’]|nous|mon|ma|yo|mi)"
    r"(?!\w)(?P<said>[^,;]{6,}?)"
    r"(?:[,;]| (?:and|but|because|so|und|aber|weil|et|mais|car|y|pero)\b)",
    re.IGNORECASE,
)
_MARKER = re.compile(r"^\W*(?:\d{1,2}[.)] )?(?:[A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*)?: )?")
"""A number of a list, and the name of a speaker, at the beginning of a sentence."""


_Pattern = re.Pattern[str]


@cache
def _patterns() -> Sequence[tuple[_Pattern, _Pattern, Sequence[_Pattern]]]:
    """Return the patterns of each language: one for the beginning of a text, one for any place, and
    the parts of the second one.
    """
    leanings = [file["leaning"] for file in word_files(PACKAGE).values() if "leaning" in file]
    return [_divided([*leaning["patterns"], *leaning.get("referring", ())]) for leaning in leanings]


@cache
def _referring() -> re.Pattern[str]:
    return _any_of(_of_leaning("referring"))


def _divided(patterns: Sequence[str]) -> tuple[_Pattern, _Pattern, Sequence[_Pattern]]:
    anywhere = list(filterfalse(is_of_beginning, patterns))
    compiled_patterns = [re.compile(pattern, re.IGNORECASE) for pattern in anywhere]
    return _any_of(filter(is_of_beginning, patterns)), _any_of(anywhere), compiled_patterns


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    groups = [f"(?:{pattern})" for pattern in patterns]
    return re.compile("|".join(groups) or "(?!)", re.IGNORECASE)


@cache
def _orders() -> re.Pattern[str]:
    return re.compile(
        rf"^\W*(?:(?:ok(?:ay)?|please|just|then|now|and|so|well|fine|great|bitte|dann|und|jetzt|"
        rf"s'il te plaît|alors|et|por favor|y|entonces|pues)\b[,:]? *)*"
        rf"(?:{'|'.join(_of_leaning('orders'))})(?![\w'])",
        re.IGNORECASE,
    )


@cache
def _momentary() -> _Pattern:
    return _any_of(_of_leaning("momentary"))


@cache
def _dangling() -> _Pattern:
    return _any_of(_of_leaning("dangling"))


@cache
def _pronouns() -> frozenset[str]:
    return frozenset(_of_leaning("pronouns"))


def _of_leaning(name: str) -> Iterator[str]:
    for file in word_files(PACKAGE).values():
        yield from file.get("leaning", {}).get(name, ())


@lru_cache(maxsize=64)
def is_of_the_moment(text: str) -> bool:
    """Return whether a short sentence means nothing later: it says only what the speaker feels or
    does at the moment ("I'm crying"), or names nothing for its pronoun ("I told him so").
    """
    if text.count(" ") > LONG:
        return False
    plain = _MARKER.sub("", text.replace("’", "'")).rstrip(" .!…")
    if plain.count(" ") + 1 >= LONG or NAME_OR_NUMBER.search(plain) is not None:
        return False
    return _momentary().fullmatch(plain) is not None or _dangles(plain)


def _dangles(plain: str) -> bool:
    """Return whether the first pronoun of a sentence has no word before it that it may mean, and
    only few words after it.
    """
    if _pronouns().isdisjoint(word_set(lowered(plain))):
        return False
    pronoun = _dangling().search(plain)
    if pronoun is None or len(plain[pronoun.end() :].split()) > MOST_AFTER:
        return False
    return len(naming(plain[: pronoun.start()])) <= 1  # at most the verb


@lru_cache(maxsize=64)
def leans(text: str) -> bool:
    """Return whether the sentence refers to something that it does not name itself, because
    earlier messages of the conversation name it: "the second one", "that's our rule".
    """
    numbers = candidates("leaning", text)
    plain = _MARKER.sub("", text.replace("’", "'")).strip() if numbers else ""
    if not numbers or plain.count(" ") + 1 >= LONG:
        return False
    ending = plain.rstrip(" .!")
    for number in numbers:
        begins, anywhere, parts = _patterns()[number]
        if begins.match(ending):  # nothing is before it
            return True
        if anywhere.search(ending) and any(_points(pattern, ending) for pattern in parts):
            return True
    return False


def refers(text: str) -> bool:
    """Return whether the sentence points at one of several things, a place or a way that it does
    not name: "use the first variant there". A mere "it", as in "keep it short", may mean what is
    written.
    """
    return leans(text) and _referring().search(text.rstrip(" .!")) is not None


def _points(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether the first match of a pattern refers to something that the text does
    not name.
    """
    match = pattern.search(text)
    return match is not None and not _is_anchored(text[: match.start()])


def _is_anchored(before: str) -> bool:
    """Return whether the words before "it" in its sentence name something of the speaker's that
    "it" may mean: "I own a house in Nevada and I love it".
    """
    own = _OWN_CLAUSE.match(before)
    return own is not None and len(content_terms(own["said"])) >= LEAST_NAMED


def begins_as_order(text: str) -> bool:
    """Return whether a text begins with a verb that tells the assistant to do something."""
    return _orders().match(text.replace("’", "'")) is not None


@lru_cache(maxsize=64)
def is_order(text: str) -> bool:
    """Return whether the sentence asks the assistant to work on the text or topic at hand."""
    plain = _MARKER.sub("", text.replace("’", "'")).strip()
    return bool(_orders().match(plain)) and plain.count(" ") < SHORT
