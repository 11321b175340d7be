"""Reads statements about one of the user's people in the user's own voice, so that they can be
compared as statements about the user are. An example is "Anna has moved to Linz", after "My sister
Anna lives in Graz".
"""

# ruff: noqa: RUF001 - two kinds of apostrophes
from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

from palimpsest.memory.meaning.ends import ends_of
from palimpsest.memory.meaning.reading import compiled, naming
from palimpsest.memory.meaning.slots import Slot, slot_of
from palimpsest.memory.meaning.standing import leans
from palimpsest.text.sentences import is_question

MOST = 300  # characters of a statement that is read
LEAST_BLANKS = 2  # of a statement with a name, a verb and more
_OWNER = r"(?:my|our|meine?|unsere?|mon|ma|notre|mi|nuestr[oa])"
_ANYBODY = ("my sister", "meine Schwester", "ma sœur", "mi hermana")
_NAME = re.compile(r"([A-ZÀ-Þ][\w-]*\w)(?= |['’]s )")
_IS = re.compile(r"^['’]s ")
_SHORT = re.compile(r"^['’]s (?=\w+ed\b|got\b|left\b|become\b|been\b|back\b|gone\b|quit\b|now\b)")


@dataclass(frozen=True, slots=True)
class Person:
    """One of the user's people: how the user calls them ("my sister"), and their name."""

    called: str
    name: str


@cache
def _named() -> re.Pattern[str]:
    return compiled(
        rf"(?<!\w)(?P<called>{_OWNER} (?:{{unique}}|{{others}}|{{acquaintances}}|{{pets}}))"
        r"(?:,? | (?:is|ist|est|es) (?:called |named )?| heißt | s'appelle | se llama )"
        r"(?P<name>(?-i:[A-ZÀ-Þ])[\w-]*\w)(?!['’]s)\b"
    )


@cache
def _related_first() -> re.Pattern[str]:
    return compiled(rf"(?P<called>{_OWNER} (?:{{unique}}|{{others}}|{{acquaintances}}))\b")


@cache
def _of_somebody() -> re.Pattern[str]:
    return compiled(
        r"(?<!\w)(?:of|for|at|bei|von|für|de|chez|pour|para) "
        r"(?:my|our|mein\w*|unser\w*|mon|ma|notre|mi|nuestr[oa]) "
        r"(?P<of>{unique}|{others}|{acquaintances}|{relatives})\b"
        r"|(?<!\w)(?:my|our) (?P<whose>{unique}|{others}|{acquaintances}|{relatives})['’]s\b"
    )


def is_of_another(text: str, known: str) -> bool:
    """Return whether a text is about something of one of the user's people whom the known text does
    not name: "Bei meiner Freundin ist die Miete erhöht worden".
    """
    plain = known.casefold()
    named = (match["of"] or match["whose"] for match in _of_somebody().finditer(text[:MOST]))
    return any(person.casefold() not in plain for person in named)


@cache
def _third_person() -> re.Pattern[str]:
    return compiled(r" (?:{third_person})(?!\w)")


@lru_cache(maxsize=512)
def people_of(text: str) -> tuple[Person, ...]:
    """Return the people whom a text introduces: "my sister Anna"."""
    return tuple(
        Person(match["called"].casefold(), match["name"])
        for match in _named().finditer(text[:MOST])
    )


def first_name(text: str) -> str | None:
    """Return the word with a capital at the beginning of a text that may be a name, or None."""
    match = _NAME.match(text)
    return match[1] if match and naming(match[1]) else None


def may_begin_with_a_person(text: str) -> bool:
    """Return whether a text begins with a word that may be a name, or as "my sister" does."""
    return first_name(text) is not None or _related_first().match(text) is not None


def person_first(text: str, known: Iterable[str]) -> Person | None:
    """Return the person that a statement begins with, by name or as "my sister". The texts in
    `known` or the statement itself introduce that person. Return None for nobody, and if several
    people have that name or relation.
    """
    name, relation = first_name(text), _related_first().match(text)
    people: set[Person] = set()
    if relation is not None:
        called = relation["called"].casefold()
        texts = (other for other in known if called in other.casefold())
        introduced = (person for other in texts for person in people_of(other))
        people |= set(people_of(text)) or {
            person for person in introduced if person.called == called
        }
    elif name is not None:
        texts = (other for other in (text, *known) if name in other)
        introduced = (person for other in texts for person in people_of(other))
        people |= {person for person in introduced if person.name == name}
    return people.pop() if len(people) == 1 else None


def said_of(person: Person, text: str) -> str | None:
    """Return the words of a statement after the person at its beginning: " has moved to Linz".
    Return None for a statement about somebody or something else.
    """
    own = re.compile(
        rf"(?:{re.escape(person.called)}(?:,? {re.escape(person.name)})?"
        rf"|(?-i:{re.escape(person.name)})),?(?= |['’]s )",
        re.IGNORECASE,
    )
    match = own.match(text)
    return _SHORT.sub(" has ", text[match.end() :]) if match else None


def in_own_voice(rest: str) -> str:
    """Return the words after a person as the user would say them of themselves."""
    return f"The user{rest}"


def slot_of_person(person: Person, rest: str) -> Slot | None:
    """Return the topic of the person that the words after them give a value: where they live."""
    return slot_of(f"{person.called}{rest}")


def _has_slot(rest: str) -> bool:
    """Return whether words after a person give a topic of theirs a value, in any language."""
    return any(slot_of_person(Person(called, ""), rest) for called in _ANYBODY)


def may_be_about_a_person(text: str) -> bool:
    """Return whether a statement that begins with a name gives that person a value, or ends
    something of theirs, if the user has introduced them before.
    """
    name = first_name(text)
    if name is None or is_question(text):
        return False
    rest = _SHORT.sub(" has ", text[len(name) :])
    if _third_person().match(rest) is None:
        return False
    voice = in_own_voice(rest)
    return slot_of(voice) is not None or bool(ends_of(voice)) or _has_slot(rest)


def may_tell_of_a_person(text: str) -> bool:
    """Return whether a statement begins with a name and a verb of the third person. It is worth
    remembering if the user has introduced somebody of that name: "Rex is scared of fireworks".
    """
    name = first_name(text)
    if name is None or text.count(" ") < LEAST_BLANKS or is_question(text) or leans(text):
        return False
    rest = _SHORT.sub(" has ", text[len(name) :])
    return _third_person().match(_IS.sub(" is ", rest)) is not None and len(naming(text)) > 1
