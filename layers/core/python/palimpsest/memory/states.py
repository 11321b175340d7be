"""Knows which statements mean the same although they share no telling word, such as "I'm a
vegetarian" and "I don't eat meat".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
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


@cache
def topics_of_one_value() -> frozenset[str]:
    """The topics that have one value at a time, such as `residence`."""
    of_one = SLOT_FORMS[0]
    return frozenset(name for form, name, _ in slot_entries() if form == of_one)


@cache
def _states() -> tuple[tuple[str, re.Pattern[str]], ...]:
    every: dict[str, list[str]] = {}
    for file in word_files(PACKAGE).values():
        for state, words in file.get("states", {}).items():
            every.setdefault(state, []).extend(words)
    return tuple(
        (state, re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", re.IGNORECASE))
        for state, words in every.items()
    )
