"""Tells sentences that mean something by themselves from sentences that mean nothing without their
conversation. The weights are learned from labelled sentences (`make lasting`) and lie in
`self_contained.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from palimpsest.memory.meaning.ends import ends_of
from palimpsest.memory.meaning.reading import fields_of, naming
from palimpsest.memory.states import names_a_state
from palimpsest.offline.implied import speaks_of_oneself
from palimpsest.text import salience
from palimpsest.text.analyser import function_words
from palimpsest.text.analyser import words as folded_words
from palimpsest.text.language import language_of
from palimpsest.text.packaged import packaged_json
from palimpsest.text.word_files import compiled, word_files

PACKAGE: Final = "palimpsest.offline"
Signs = Mapping[str, float]
MOST_NAMES, MOST_POINTING, MOST_FIELDS, LONGEST = 8, 4, 3, 12
FEW_NAMES, FEW_WORDS = 3, 7
LONG = 15  # words; such a sentence hardly ever needs its conversation
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")  # noqa: RUF001 - two kinds of apostrophes
_LETTERS = re.compile(r"[^\W\d_]+")
_CAPITAL = re.compile(r"(?<=[^.!?:] )[A-ZÀ-Þ](?!(?:['’]\w+)?(?: |$))")  # noqa: RUF001
_POINTING_AT_NOTHING = r"\b(?:{pointing_at_nothing})(?!\w)"
_POSSESSIVE = r"\b(?:{possessives})\b"
_BEGINS = r"^\W*(?:(?:{and})\W+)?(?:{own})"
_BEING = r"^\W*(?:(?:{and})\W+)?(?:{being})(?!\w)"


def signs_of(sentence: str) -> Signs:
    """Return the signs by which a sentence is judged, by their names."""
    words = _words(sentence)
    folded = folded_words(sentence)
    language = language_of(folded)
    content = len({word for word in folded if word not in function_words()})
    names = len(naming(sentence))
    pointing = sum(
        word in _listed("pointing", language)
        for word in _words(_of(_POINTING_AT_NOTHING).sub(" ", sentence))
    )
    fields = len(fields_of(sentence))
    is_own = speaks_of_oneself(sentence)
    is_clear = pointing == 0
    return {
        "names": min(MOST_NAMES, names),
        "few_names": float(names < FEW_NAMES),
        "pointing": min(MOST_POINTING, pointing),
        "fields": min(MOST_FIELDS, fields),
        "no_field": float(fields == 0),
        "few_words": float(len(words) < FEW_WORDS),
        "longest_word": min(LONGEST, max(map(len, _LETTERS.findall(sentence)), default=0)),
        "no_capital": float(_CAPITAL.search(sentence) is None),
        "number": float(salience.has_number(sentence)),
        "second_person": float(not _listed("second_person", language).isdisjoint(words)),
        "possessive": float(_of(_POSSESSIVE).search(sentence) is not None),
        "content": content / max(1, len(folded)),
        "begins_of_oneself": float(is_clear and _of(_BEGINS).match(sentence) is not None),
        "of_being": float(_of(_BEING).match(sentence) is not None),
        "short_of_oneself": float(is_clear and is_own and len(words) < FEW_WORDS),
        "of_oneself_without_field": float(is_own and fields == 0),
        "state": float(names_a_state(sentence)),
        "end": float(any(end.kind != "plain" for end in ends_of(sentence))),
    }


def _words(text: str) -> list[str]:
    return [word.casefold().replace("’", "'") for word in _WORD.findall(text)]  # noqa: RUF001


@cache
def _listed(name: str, language: str) -> frozenset[str]:
    """Return the words of one language in a list."""
    return frozenset(word_files(PACKAGE).get(language, {}).get("lists", {}).get(name, ()))


def _of(pattern: str) -> re.Pattern[str]:
    return compiled(PACKAGE, pattern)


@dataclass(frozen=True, slots=True)
class SelfContained:
    """The learned weights. A sentence whose sum is below `least` means nothing by itself."""

    constant: float
    weights: Signs
    least: float

    def odds(self, signs: Signs) -> float:
        """Return the logarithm of the odds that a sentence with these signs means something."""
        return self.constant + sum(self.weights[name] * value for name, value in signs.items())


def self_contained_of(stored: Mapping[str, Any]) -> SelfContained:
    """Return the weights that a file of `make lasting` holds."""
    return SelfContained(stored["constant"], stored["weights"], stored["least"])


@cache
def _learned() -> SelfContained:
    return self_contained_of(packaged_json(PACKAGE, "self_contained.json"))


def is_long(sentence: str) -> bool:
    """Return whether a sentence is so long that it counts as self-contained."""
    return sentence.count(" ") + 1 >= LONG


def is_self_contained(sentence: str) -> bool:
    """Return whether a sentence of no known kind means something without its conversation."""
    if is_long(sentence):
        return True
    learned = _learned()
    return learned.odds(signs_of(sentence)) >= learned.least
