"""Reads the topic and the value of a statement, whatever its wording: "Kiel is where I live" and
"my home is Kiel" have one topic and one value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from palimpsest.memory.meaning.reading import (
    begins_with,
    candidates,
    compiled,
    naming,
    shared,
    slot_entries,
    spoken,
)
from palimpsest.text.analyser import words

MOST_VALUE = 6  # words of a value
_BEYOND = re.compile(r"[,;.!?].*$")


@dataclass(frozen=True, slots=True)
class Slot:
    """The topic of a statement, its value in folded words, the text of the value, and the words
    that the statement has beyond it.
    """

    topic: str
    value: tuple[str, ...]
    text: str
    extra: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Phrase:
    name: str
    pattern: str
    value: str | None
    form: str


@cache
def _phrases() -> tuple[_Phrase, ...]:
    return tuple(
        _Phrase(name, entry["pattern"], entry.get("value"), form)
        for form, name, entry in slot_entries()
    )


@cache
def _rest() -> re.Pattern[str]:
    return compiled(rf"\s+{shared('value_ends')}\b.*$")


@cache
def _articles() -> re.Pattern[str]:
    return compiled(rf"^(?:{shared('prepositions')}\s+)+(?=\w)")


@cache
def _lead() -> re.Pattern[str]:
    return compiled(r"^(?:(?:{signals})\s*[,:.!;–—-]+\s*)+(?=\w)")


@lru_cache(maxsize=256)
def slot_of(text: str) -> Slot | None:
    """The topic and value of a statement; None if it has none that is known."""
    numbers = candidates("slots", text)
    said = spoken(text) if numbers else ""
    if begins_with(said, "signals"):
        said = _lead().sub("", said)
    for number in numbers:
        phrase = _phrases()[number]
        found = compiled(phrase.pattern).match(said)
        if found and (slot := _slot(phrase, found, said)):
            return slot
    return None


def _slot(phrase: _Phrase, match: re.Match[str], said: str) -> Slot | None:
    groups = match.groupdict()
    given = groups.get("value") or groups.get("other") or phrase.value
    if not given:
        return None
    text = _articles().sub("", _rest().sub("", given.strip()))
    value = tuple(map(_canonical, words(text)[:MOST_VALUE]))
    if not value:
        return None
    named = phrase.name
    if phrase.form != "slots":
        thing = map(_canonical, words(groups.get("thing") or ""))
        named = "_".join((named, *thing, *(value if phrase.form == "many" else ())))
    beyond = _BEYOND.search(said, match.end("value") if groups.get("value") else len(said))
    extra = set(naming(given)) - set(words(text)) | set(naming(beyond[0] if beyond else ""))
    return Slot(named, value, text, frozenset(extra))


@cache
def _canon() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), value) for pattern, value in shared("values"))


@lru_cache(maxsize=512)
def _canonical(word: str) -> str:
    return next((value for pattern, value in _canon() if pattern.match(word)), word)


def means_the_same(one: str, other: str) -> bool:
    """Whether two statements give the same value to the same topic, and say the same beyond it."""
    ours = slot_of(one)
    theirs = slot_of(other) if ours else None
    if ours is None or theirs is None or ours.topic != theirs.topic:
        return False
    return ours.value == theirs.value and ours.extra == theirs.extra
