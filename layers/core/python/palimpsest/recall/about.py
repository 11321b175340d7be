"""Finds the person other than the user whom a question is about, and the statements that are only
about the user.
"""

# ruff: noqa: RUF001 - two kinds of apostrophes
from __future__ import annotations

import re
from functools import cache
from typing import Final

from palimpsest.offline.people import subject_of
from palimpsest.recall.found import FoundMemory
from palimpsest.text.analyser import words
from palimpsest.text.folding import folded
from palimpsest.text.word_files import filled

PACKAGE: Final = "palimpsest.offline"
USER: Final = "user"
_RELATIVE = "(?:{women}|{men}|{anyone}|{several})"
_OWNER = "(?:{possessives}|his|her|their|sein\\w*|ihr\\w*|son|sa|ses|sus?)"
_VERB = (
    r"(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|should"
    r"|spricht|isst|macht|arbeitet|wohnt|lebt|hat|ist)"
)
_FIRST_PERSON = re.compile(r"^\W*(?:I\b|My\b|Mine\b|Ich\b|Je\b|J['’]|Yo\b)")


@cache
def _person() -> re.Pattern[str]:
    """Return a pattern of the person whose job, home or doings a question asks for. Who a person is
    asks for nothing of theirs.
    """
    relative, name = rf"\b(?i:{_OWNER} (?:\w+ )?({_RELATIVE}))", r"\b([A-Z][a-zà-ÿ]+)"
    doing = rf"(?<!\w)(?i:{_VERB}) (?:{relative}|{name}) (?!(?:called|named)\b)(?=[a-z])"
    owning = rf"(?:{relative}|{name})['’]s (?!(?:\w+ )?(?:name|{_RELATIVE})\b)"
    return re.compile(filled(PACKAGE, f"{doing}|{owning}"))


def person_asked_for(question: str) -> str | None:
    """Return the folded name of the person whom the question is about, or the word for a relative
    ("wife"). Return None if it is about the user. `question` is in the user's voice.
    """
    match = _person().search(question)
    return folded(next(filter(None, match.groups()))) if match else None


def is_only_of_the_user(sentence: str, memory: FoundMemory, person: str, *, user: str) -> bool:
    """Return whether a sentence of the memory is about the user, while the memory names the person
    nowhere.
    """
    subject = memory.record.subject if memory.record is not None else None
    if person in words(" ".join((memory.content, memory.said_by, subject or ""))):
        return False
    if subject is not None and folded(subject) not in {USER, folded(user)}:
        return False
    if subject_of(sentence) != USER:
        return False
    if memory.record is not None:
        return True
    return _FIRST_PERSON.match(sentence) is not None
