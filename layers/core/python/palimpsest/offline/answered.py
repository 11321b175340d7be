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
class _Answerable:
    """A question of the assistant, the form of an answer to it, and the statement that both make.
    `{answer}` in the statement is the answer, or the group of this name in it. Other names are
    groups of the question.
    """

    question: re.Pattern[str]
    answer: re.Pattern[str]
    statement: str


@cache
def _answerables() -> tuple[_Answerable, ...]:
    return tuple(
        _Answerable(
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
    for known in _answerables():
        match = known.question.search(last[0])
        if match is not None:
            return _stated(known, match, plain)
    return None


def _stated(known: _Answerable, question: re.Match[str], plain: str) -> str | None:
    lead = compiled(PACKAGE, _LEAD).match(plain)
    value = plain[lead.end() :] if lead is not None else plain
    is_short = 0 < len(value.split()) <= MOST_WORDS
    if not is_short or compiled(PACKAGE, _NO_ANSWER).fullmatch(value):
        return None
    form = known.answer.fullmatch(value)
    if form is None:
        return None
    value = form.groupdict().get("answer") or value
    article = "an" if value[0].lower() in _VOWELS else "a"
    named = {name: text or "" for name, text in question.groupdict().items()}
    return known.statement.format(answer=value, a=article, **named)
