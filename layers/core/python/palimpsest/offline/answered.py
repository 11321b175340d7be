"""Reads a short answer to a question of the assistant about the user, such as "Oslo" after "Where
do you live?".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from palimpsest.text.word_files import compiled, entries, filled

PACKAGE: Final = "palimpsest.offline"
LONGEST_ANSWER = 60
MOST_WORDS = 5
LONGEST_QUESTION = 200
_QUESTION = re.compile(rf"[^\n.!?]{{1,{LONGEST_QUESTION}}}\?[\"”»)* ]*\Z")
_LEAD = r"\W*(?:(?:{before_an_answer})(?!\w)[,.!:]* *)*"
_NO_ANSWER = r"(?:{no_answers})(?!\w).*"
_VOWELS = frozenset("aeiou")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question of the assistant, the form of an answer to it, and the statement that both make.
    `{answer}` in the statement is the answer, or the group of this name in it. Other names are
    groups of the question.
    """

    question: re.Pattern[str]
    answer: re.Pattern[str]
    statement: str


@cache
def _asked() -> tuple[_Asked, ...]:
    return tuple(
        _Asked(
            compiled(PACKAGE, entry["question"]),
            re.compile(filled(PACKAGE, entry["answer"]), re.IGNORECASE),
            entry["statement"],
        )
        for entry in entries(PACKAGE, "answers")
    )


def answered(question: str, answer: str) -> str | None:
    """Return the statement that a user makes with a short answer. `question` is the message of the
    assistant right before. Return None if the message does not end with a question about the user
    that is known, or if the answer has another form.
    """
    plain = answer.strip().rstrip(".!… ")
    if not plain or len(plain) > LONGEST_ANSWER or "\n" in plain or "?" in plain:
        return None
    last = _QUESTION.search(question.rstrip())
    if last is None:
        return None
    for asked in _asked():
        match = asked.question.search(last[0])
        if match is not None:
            return _stated(asked, match, plain)
    return None


def _stated(asked: _Asked, question: re.Match[str], plain: str) -> str | None:
    lead = compiled(PACKAGE, _LEAD).match(plain)
    value = plain[lead.end() :] if lead is not None else plain
    is_short = 0 < len(value.split()) <= MOST_WORDS
    if not is_short or compiled(PACKAGE, _NO_ANSWER).fullmatch(value):
        return None
    given = asked.answer.fullmatch(value)
    if given is None:
        return None
    value = given.groupdict().get("answer") or value
    article = "an" if value[0].lower() in _VOWELS else "a"
    named = {name: text or "" for name, text in question.groupdict().items()}
    return asked.statement.format(answer=value, a=article, **named)
