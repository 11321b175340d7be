"""Knows which statements mean the same although they share no telling word, such as "I'm a
vegetarian" and "I don't eat meat".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Final

from palimpsest.memory.meaning.reading import SLOT_FORMS, slot_entries
from palimpsest.memory.meaning.slots import slot_of
from palimpsest.text.word_files import word_files

PACKAGE: Final = "palimpsest.memory"
_APOSTROPHES = re.compile("[\u2018\u2019]")
_DENIAL = re.compile(
    r"\b(?:not|no|never|without|nicht|keine?[nrsm]?|nie|ohne|ne|pas|jamais|sans|nunca|sin)\b|n't\b",
    re.IGNORECASE,
)


def meanings(content: str) -> Iterator[str]:
    """Yield the value of a statement's topic, and the states that it names or denies. The form is
    the same for all wordings.
    """
    slot = slot_of(content)
    if slot is not None:
        yield f"{slot.topic}={' '.join(slot.value)}"
    plain = _APOSTROPHES.sub("'", content)
    for state, pattern in _states():
        match = pattern.search(plain)
        if match is not None:
            # The name of a state may have a denial of its own ("eat no meat"), which does not deny
            # the state.
            around = f"{plain[: match.start()]} {plain[match.end() :]}"
            yield f"{'not ' if _DENIAL.search(around) else ''}{state}"


def names_a_state(content: str) -> bool:
    """Return whether a statement names one of the states, denied or not."""
    return _any_state().search(_APOSTROPHES.sub("'", content)) is not None


@cache
def topics_of_one_value() -> frozenset[str]:
    """The topics that have one value at a time, such as `residence`."""
    of_one = SLOT_FORMS[0]
    return frozenset(name for form, name, _ in slot_entries() if form == of_one)


@cache
def _states() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((state, _any_of(words)) for state, words in _words_by_state().items())


@cache
def _any_state() -> re.Pattern[str]:
    return _any_of(chain.from_iterable(_words_by_state().values()))


def _words_by_state() -> Mapping[str, Sequence[str]]:
    every: dict[str, list[str]] = {}
    for file in word_files(PACKAGE).values():
        for state, words in file.get("states", {}).items():
            every.setdefault(state, []).extend(words)
    return every


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", re.IGNORECASE)
