"""Finds the person that a statement is about: a relative, a name, or an earlier person that "she",
"his" or "their" refers to.
"""

# ruff: noqa: RUF001 - two kinds of apostrophes
from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from palimpsest.text.word_files import compiled

PACKAGE: Final = "palimpsest.offline"
_PERSON = (
    r"\b(?:my|our|meine?|unsere?) (?:\w+ )?"
    r"(?:(?P<she>{women})|(?P<he>{men})|(?P<they>{several})|{anyone})\b"
    r"(?!['’])(?: {name_alone})?"
    r"|\b(?:called|named|name is|name['’]s|heißt|heisst|met|friend|with) (?P<name>{name_alone})"
)


_NAMED = (
    r"\b(?:{possessives}) (?:[\w-]+ )?(?:{women}|{men}|{anyone})"
    r"(?:,? (?:is |ist |est |es )?(?:called|named|name is|heißt|s['’]appelle|se llama)"
    r"|['’]s (?:called|named|name is))?,? (?P<name>{name_alone})(?!['’]s)\b"
)


def people_named(sentence: str) -> frozenset[str]:
    """Return the names of the user's relatives, friends and animals that the sentence gives: "Tom"
    in "My son Tom is six.".
    """
    return frozenset(match["name"] for match in compiled(PACKAGE, _NAMED).finditer(sentence))


_FIRST_WORD = re.compile(r"^\W*([^\W\d_][\w-]*\w)(?:['’]s)?(?= )")


def person_named_first(sentence: str, people: Collection[str]) -> str | None:
    """Return the one of the people whose name begins the sentence, or None."""
    first = _FIRST_WORD.match(sentence)
    return first[1] if first and first[1] in people else None


_ALSO_OWN = re.compile(
    r"(?:\b(?:and|und|et|y)|:)\s+(?:i(?:['’]m)?|ich|je|j['’]\w+|moi|yo)\b", re.IGNORECASE
)


_SOURCE = re.compile(
    r"\A\W*(?:(?:according to|selon|d['’]après|según) |laut (?=(?:mein|unser)e[rm]\b))"
    r"(?:(?P<my>mein|unser)e[rm]\b)?",
    re.IGNORECASE,
)
_SAME = {"hubby": "husband", "missus": "wife"}


def subject_of(text: str) -> str:
    """Return the relative or animal that a statement is about, or "user". "My wife and I live in
    Kiel" is about the user, too. "According to my wife, I snore" is about the wife.
    """
    about = compiled(PACKAGE, "{relations}").match(_SOURCE.sub(r"\g<my>", text))
    if about is None or _ALSO_OWN.search(text, about.end()):
        return "user"
    named = next(group for group in about.groups() if group).casefold()
    return _SAME.get(named, named)


_ONE = (
    r"(?:(?:{possessives}) (?:[\w'’-]+ ){0,2}?(?:{women}|{men}|{several}|{anyone})\b(?!['’])"
    r"(?:,? {name_alone})?|{name_alone})"
)
_ONLY_PEOPLE = r"^\W*" + _ONE + r"(?:(?:,|,? (?:{and})) " + _ONE + r")*\W*$"


def names_only_people(text: str) -> bool:
    """Return whether a text names people and says nothing of them, as "my wife, my friend Tom"
    does.
    """
    return compiled(PACKAGE, _ONLY_PEOPLE).search(text) is not None


_PRONOUN = re.compile(
    r"^(?P<opening>\W*(?:(?:and|but|also|und|aber)\b,? )?)"
    r"(?:(?P<she>she|sie|her)|(?P<he>he|er|his)|(?P<they>they|their))(?P<verb>['’](?:s|re|ve"
    r"|ll|d))?(?= )",
    re.IGNORECASE,
)
_POSSESSIVE = ("her", "his", "their")
_WRITTEN_OUT = {"s": " is", "re": " are", "ve": " have", "ll": " will", "d": " would"}
YOU = "sie"  # German: also "you" and "they"
MOST_LOOKED_AT = 8  # sentences before


_WITH_ME = re.compile(r"(?i)\W*they(?:['’]ve| have| just| finally| also)* \w+ (?:me|us|my|our)\b")


def with_names(sentence: str, before: Sequence[str]) -> str | None:
    """Return the sentence with a name or relative in place of the pronoun at its beginning. The
    pronoun refers to the last person in the sentences before that it fits. Return None if there is
    no such person, unless the sentence says what some people did with the speaker: "They moved me
    to nights".
    """
    match = _PRONOUN.match(sentence)
    if match is None:
        return sentence
    pronoun = next(name for name in ("she", "he", "they") if match[name])
    latest_first = before[: -MOST_LOOKED_AT - 1 : -1]
    named = (_last_named(earlier, pronoun) for earlier in latest_first)
    who = next(filter(None, named), None)
    if who is None:
        is_clear = match[pronoun].casefold() == YOU or _WITH_ME.match(sentence)
        return sentence if is_clear else None
    if match[pronoun].casefold() in _POSSESSIVE:
        who += "'" if who.endswith("s") else "'s"
    verb = _WRITTEN_OUT[match["verb"][1:].casefold()] if match["verb"] else ""
    return match["opening"] + who + verb + sentence[match.end() :]


def _last_named(sentence: str, pronoun: str) -> str | None:
    """Return the last person in the sentence that the pronoun fits."""
    named = None
    for person in compiled(PACKAGE, _PERSON).finditer(sentence):
        is_known = any(person[pronouns] for pronouns in ("she", "he", "they"))
        if person[pronoun] or (not is_known and pronoun != "they"):
            named = person["name"] or person[0]
    return named
