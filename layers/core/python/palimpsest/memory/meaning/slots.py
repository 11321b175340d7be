"""Reads the topic and the value of a statement in any wording: "Kiel is where I live" and "my home
is Kiel" have the same topic and value.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many languages
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from palimpsest.memory.meaning.makes import is_make
from palimpsest.memory.meaning.occasions import place_in
from palimpsest.memory.meaning.reading import (
    after,
    begins_with,
    candidates,
    classes,
    compiled,
    naming,
    of_several_people,
    restated,
    rests,
    shared,
    slot_entries,
    spoken,
    without_grounds,
    without_present,
)
from palimpsest.text.analyser import words

MOST_NAMED = 4  # words that name something, in statements that are compared by these words
LEAST_PLURAL = 3  # letters of a word without the ending of its plural
MOST_VALUE = 6  # words of a value
OF_A_PLACE = frozenset({"os", "phone", "email", "vehicle"})
"""Topics that may have a value for work and another one at home."""
_LAST = re.compile(r",\s+(?:sorry|actually|i mean|instead|perdón|pardon|plutôt)$", re.IGNORECASE)


@cache
def _now() -> re.Pattern[str]:
    return compiled("{trailing_now}")


_NEW = frozenset(
    {"new", "current", "neue", "neuer", "neues", "nouveau", "nouvelle", "nuevo", "nueva"}
)
RESIDENCE = "residence"
BIRTHDAY = "birthday"
OF_THE_USER = "the user"  # in a model's words
_BEYOND = re.compile(r"[,;.!?].*$")


@dataclass(frozen=True, slots=True)
class Slot:
    """The topic of a statement, its value as folded words and as text, and the other words of the
    statement.
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
    thing: str


@cache
def _phrases() -> tuple[_Phrase, ...]:
    return tuple(
        _Phrase(name, entry["pattern"], entry.get("value"), form, entry.get("thing", ""))
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
    """Return the topic and value of a statement; None if no known phrase gives them."""
    sentence = spoken(text)
    numbers = candidates("slots", sentence)
    if not numbers:
        return None
    sentence = of_several_people(without_grounds(sentence))
    if begins_with(sentence, "signals"):
        sentence = after(_lead(), sentence)
    for said_so in _readings(_now().sub("", _LAST.sub("", sentence))):
        for number in numbers:
            phrase = _phrases()[number]
            match = compiled(phrase.pattern).match(said_so)
            if match and (slot := _slot(phrase, match, said_so)):
                return slot
    return None


@cache
def _clause() -> re.Pattern[str]:
    return compiled("{own_clause_after}")


@cache
def _time_at_the_end() -> re.Pattern[str]:
    return compiled(r"(?:,? (?:{trailing_times}))+$")


@cache
def _condition() -> re.Pattern[str]:
    return compiled("{condition}")


def _readings(sentence: str) -> Iterator[str]:
    """Yield the forms of a sentence in which a value may be found. In the first form, a sentence
    about a change states the new value. The second is the last clause about the user, unless a
    condition comes before it. The third lacks words such as "now", and the fourth a time at its
    end: "I got promoted to team lead as of Monday".
    """
    yield restated(sentence)
    joint = _clause().search(sentence)
    if joint is not None and not _condition().search(sentence):
        yield restated(spoken(sentence[joint.end() :]))
    timeless = without_present(sentence)
    if timeless != sentence:
        yield restated(timeless)
    undated = _time_at_the_end().sub("", sentence)
    if undated != sentence:
        yield restated(undated)


def _slot(phrase: _Phrase, match: re.Match[str], sentence: str) -> Slot | None:
    groups = match.groupdict()
    value_words = groups.get("value") or groups.get("other") or phrase.value
    if not value_words:
        return None
    text = _articles().sub("", _rest().sub("", value_words.strip()))
    value = tuple(map(_canonical, words(text)[:MOST_VALUE]))
    if not value:
        return None
    named = phrase.name
    if named == BIRTHDAY:
        value = _date_in_any_order(value)
    if named == RESIDENCE and is_make(text):
        return None
    if phrase.form != "slots":
        given_thing = _with_one_name(groups.get("thing") or phrase.thing)
        thing = (_canonical(word) for word in words(given_thing) if word not in _NEW)
        named = "_".join((named, *thing, *(value if phrase.form == "many" else ())))
    if named in OF_A_PLACE and (place := place_in(sentence)):
        named = f"{named}_{place}"
    beyond = _BEYOND.search(sentence, match.end("value") if groups.get("value") else len(sentence))
    extra = set(naming(value_words)) - set(words(text)) | set(naming(beyond[0] if beyond else ""))
    return Slot(named, value, text, frozenset(extra))


_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th|er)")
_UNITS = re.compile(r"[€$£%]")
_BESIDE_A_DATE = frozenset({"of", "the", "de", "le", "el", "on"})


def _date_in_any_order(value: Iterable[str]) -> tuple[str, ...]:
    """Return the words of a date in one order and form: those of "May 4th" are "4" and "may"."""
    named = (word for word in value if word not in _BESIDE_A_DATE)
    return tuple(sorted(_ORDINAL.sub(r"\1", word) for word in named))


def are_of_one_value(number_or_date: str, other: str) -> bool:
    """Return whether two texts are the same number or date, such as "May 4th" and "4 May"."""
    if _UNITS.findall(number_or_date) != _UNITS.findall(other):
        return False
    ours, theirs = (map(_canonical, words(text)) for text in (number_or_date, other))
    return _date_in_any_order(ours) == _date_in_any_order(theirs)


@cache
def _same_things() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), name) for pattern, name in shared("same_things"))


def _with_one_name(thing: str) -> str:
    """Return the one name of a thing that has several: "phone number" for "mobile number"."""
    names = (name for pattern, name in _same_things() if pattern.fullmatch(thing.casefold()))
    return next(names, thing)


def singular(word: str) -> str:
    """Return the singular of an English word, or of a German name of something that people eat or
    touch. The word must have no accents.
    """
    for plural, ending in shared("plurals"):
        if word.endswith(plural):
            return word.removesuffix(plural) + str(ending)
    if word.endswith("ies") and len(word) > LEAST_PLURAL:
        return word[:-3] + "y"
    is_plural = word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if is_plural and len(word) > LEAST_PLURAL else word


@cache
def _canon() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), value) for pattern, value in shared("values"))


@lru_cache(maxsize=512)
def _canonical(word: str) -> str:
    return next((value for pattern, value in _canon() if pattern.match(word)), word)


def is_of_one_slot(statement: str, other: str) -> bool:
    """Return whether two statements give a value to the same topic."""
    ours = slot_of(statement)
    theirs = slot_of(other) if ours else None
    return ours is not None and theirs is not None and ours.topic == theirs.topic


def means_the_same(statement: str, other: str) -> bool:
    """Return whether two statements give the same topic the same value, and do not differ
    otherwise.
    """
    ours = slot_of(statement)
    theirs = slot_of(other) if ours else None
    if ours is None or theirs is None or ours.topic != theirs.topic:
        return False
    if ours.value != theirs.value or ours.extra != theirs.extra:
        return False
    names, others = _names_beside(ours, statement), _names_beside(theirs, other)
    return not names or not others or not names.isdisjoint(others)  # "at Deloitte", "at Shelter"


def _names_beside(slot: Slot, statement: str) -> set[str]:
    """Return the names of where in a statement, if they are no part of its value: "at Deloitte"."""
    return {match[1] for match in _where().finditer(statement) if match[1] not in slot.text}


@cache
def _where() -> re.Pattern[str]:
    return compiled(r"\s(?:{before_where})\s((?-i:[A-ZÀ-Þ])[\w'’-]+)")


def says_the_same_of(statement: str, other: str) -> bool:
    """Return whether two statements without a topic say the same, by equal words or words of one
    class: "I love jazz" and "I'm a big fan of jazz".
    """
    ours, theirs = naming(statement), naming(other)
    if not ours or not theirs or max(len(ours), len(theirs)) > MOST_NAMED:
        return False
    if denials_of(statement) != denials_of(other):
        return False
    return all(_is_among(word, theirs) for word in ours) and all(
        _is_among(word, ours) for word in theirs
    )


_FORMS = frozenset(map(frozenset, (("", "s"), ("", "es"), ("", "ing"), ("e", "ing"), ("", "en"))))


def _is_among(word: str, others: Sequence[str]) -> bool:
    """Return whether one of the words equals the word, is a plain form of it, or is in the same
    class.
    """
    return any(
        word == other
        or bool(classes(word) & classes(other))
        or frozenset(rests(word, other)) in _FORMS
        for other in others
    )


_DENIAL = re.compile(
    r"(?i)\b(?:not|no|never|hate|nicht|keine?[nrsm]?|nie|pas|plus|jamais|nunca|hardly|only|used to"
    r"|will|would|want|might|was|were|had|war|hatte)\b|n['\u2019]t\b"
)


def denials_of(text: str) -> frozenset[str]:
    """Return the words of a text that deny or limit what it says."""
    return frozenset(word.casefold() for word in _DENIAL.findall(text))
