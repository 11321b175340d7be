"""Tells sentences that mean something by themselves from those that need their conversation."""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many languages
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import filterfalse

from palimpsest.memory.meaning.reading import PACKAGE, candidates
from palimpsest.text.pieces import is_of_beginning
from palimpsest.text.word_files import word_files

LONG = 13  # words: a longer sentence says what it is about
SHORT = 12
_MARKER = re.compile(r"^\W*(?:\d{1,2}[.)] )?")


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """The patterns of each language: those for a beginning, and those for any place."""
    found = [file["leaning"] for file in word_files(PACKAGE).values() if "leaning" in file]
    return tuple(
        (
            _any_of(filter(is_of_beginning, leaning["patterns"])),
            _any_of(filterfalse(is_of_beginning, leaning["patterns"])),
        )
        for leaning in found
    )


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    each = [f"(?:{pattern})" for pattern in patterns]
    return re.compile("|".join(each) or "(?!)", re.IGNORECASE)


@cache
def _orders() -> re.Pattern[str]:
    verbs = [
        verb
        for file in word_files(PACKAGE).values()
        for verb in file.get("leaning", {}).get("orders", ())
    ]
    return re.compile(
        rf"^\W*(?:(?:ok(?:ay)?|please|just|then|now|and|so|well|fine|great|bitte|dann|und|jetzt|"
        rf"s'il te plaît|alors|et|por favor|y|entonces|pues)\b[,:]? *)*"
        rf"(?:{'|'.join(verbs)})(?![\w'])",
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def leans(text: str) -> bool:
    """Whether the sentence points at something that only its conversation names: "the second one",
    "that's our rule".
    """
    numbers = candidates("leaning", text)
    plain = _MARKER.sub("", text.replace("’", "'")).strip() if numbers else ""
    if not numbers or plain.count(" ") + 1 >= LONG:
        return False
    ending = plain.rstrip(" .!")
    for number in numbers:
        begins, anywhere = _patterns()[number]
        if begins.match(ending) or anywhere.search(ending):
            return True
    return False


@lru_cache(maxsize=64)
def is_order(text: str) -> bool:
    """Whether the sentence tells the assistant what to do with what is at hand."""
    plain = _MARKER.sub("", text.replace("’", "'")).strip()
    return bool(_orders().match(plain)) and plain.count(" ") < SHORT
