"""Recognizes questions and requests without their marks, as in chats: "whats a fair rate", "any
ideas". Takes them off the statements beside them.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - several kinds of dashes
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from palimpsest.memory.meaning.frames import changes_a_value, dates_a_thing
from palimpsest.memory.meaning.people import may_be_about_a_person
from palimpsest.memory.meaning.reading import after
from palimpsest.offline.implied import implies_the_user
from palimpsest.offline.people import people_named
from palimpsest.offline.subjects import with_subject
from palimpsest.text.salience import is_own
from palimpsest.text.sentences import is_question
from palimpsest.text.word_files import compiled

PACKAGE: Final = "palimpsest.offline"
_OPENING = (
    r"^\W*(?:(?:{before_a_request}|{before_a_remark}|{additions}|{and}|{greetings})\b[,!]* )*"
)
_PATTERNS = {
    "question": _OPENING + r"(?:{questions})",
    "what": _OPENING + r"(?:{question_words})\b",
    "thing": _OPENING + r"(?:{requests_for_things})",
    "request": _OPENING + r"(?:(?:{requests})|(?:{more_requests})|(?:{requests_for_things}))",
    "joints": r"[,;!.…]+\s+|\s[–—-]\s+|\s\(|\s(?:{and})\s+(?=(?:{joined_requests})|(?:{questions}))"
    r"|\s+(?=(?:{questions_inside})\b)",
    "please": r"\b(?:{please})\W*$",
    "confirmation": _OPENING + r"(?:{asks_for_confirmation})",
    "goes_on": r"^\W*(?:{goes_on})\b",
    "relative": r"^\W*(?:{relative_words})\b",
    "inside": r"^\W*(?:{questions_inside})\b",
    "own": r"(?<!\w)(?:{own})",
    "own_thing": r"\b(?:{possessives})\b",
    "reason": r"^\W*(?:{reasons_first}) (?={own})",
    "asserts": r"^\W*(?:{asserting_tags})\W*$",
    "things": r"\b(?:{things_asked_for})\b",
}
FEWEST_WORDS = 2  # of what is left of a sentence
WORDS_OF_A_TAG = 3  # at most: "isn't it?"


def _pattern(name: str) -> re.Pattern[str]:
    return compiled(PACKAGE, _PATTERNS[name])


def asks_what(text: str) -> bool:
    """Return whether a text is a question for something: "what do I have to bring?"."""
    return is_question(text) and _pattern("what").match(text) is not None


def _asks_without_mark(clause: str) -> bool:
    """Return whether the clause is a question that may lack its mark: "what do i wear"."""
    return _pattern("question").match(clause) is not None


@lru_cache(maxsize=64)
def only_asks(sentence: str) -> bool:
    """Return whether each clause of the sentence is a question or a request."""
    clauses = [sentence[start:end] for start, end in _clauses(sentence)]
    return all(_asks_without_mark(clause) or _asks(clause) for clause in clauses)


def is_only_polite(text: str) -> bool:
    """Return whether a text asks for something only by the "please" at its end."""
    without_please = _pattern("please").sub("", text)
    return without_please != text and not only_asks(without_please)


@lru_cache(maxsize=64)
def asks_for_confirmation(sentence: str) -> bool:
    """Return whether the sentence asks whether it is right: "I live in Kiel, don't I?"."""
    clauses = [sentence[start:end] for start, end in _clauses(sentence)]
    return len(clauses) > 1 and any(map(_asks_for_confirmation, clauses))


def without_asking(sentence: str) -> str:
    """Return the sentence without the questions and requests before and after its statements.
    "wife's a nurse, any gift ideas" becomes "wife's a nurse".

    The sentence is returned unchanged in four cases. It only asks. It asks whether it is right ("I
    live in Kiel, is that right"). The request before the statements may be about a text ("write to
    Tom, I'm sick"). It has a question mark, and its other clauses are not about the speaker: they
    may belong to the question.
    """
    places = _clauses(sentence)
    if len(places) == 1:  # the question of a reason may have been left out before
        is_alone = len(_pattern("own").findall(sentence)) == 1
        return _without_reason(sentence) if is_alone else sentence
    stated = range(0) if asks_for_confirmation(sentence) else _stated(sentence, places)
    if not 0 < len(stated) < len(places):
        return sentence
    rest = sentence[places[stated[0]][0] : places[stated[-1]][1]].rstrip(" ,;:-–—(")
    if len(stated) == 1:
        rest = _without_reason(rest)
    if is_question(sentence) and not (_is_of_speaker(rest) or _changes(rest)):
        return sentence
    return rest if rest.count(" ") + 1 >= FEWEST_WORDS else sentence


def _is_of_speaker(rest: str) -> bool:
    return is_own(with_subject(rest)) or implies_the_user(rest)


def _changes(rest: str) -> bool:
    """Return whether a statement changes a known value, gives a thing its day, or may tell of
    somebody who is known.
    """
    return changes_a_value(rest) or may_be_about_a_person(rest) or dates_a_thing(rest)


def _stated(sentence: str, places: Sequence[tuple[int, int]]) -> range:
    """Return the numbers of the clauses between the questions and requests at both ends."""
    clauses = [sentence[start:end] for start, end in places]
    first, last = 0, len(clauses)
    while last and _asks(clauses[last - 1]):
        last -= 1
    while first < last and _asks_for_a_thing(clauses[first]):
        first += 1
    if first and (first == last or _pattern("goes_on").match(clauses[first])):
        first = 0
    return range(first, last)


def _without_reason(clause: str) -> str:
    """Return the clause without the word that makes it the reason of a question: "since I'm
    allergic to nuts" becomes "I'm allergic to nuts".
    """
    return after(_pattern("reason"), clause)


def _asks(clause: str) -> bool:
    """Return whether a clause after the statements only asks. It does not if it names one of the
    user's people. Of a clause with a colon, only the words after it count.
    """
    asking = clause.rpartition(":")[2]
    if people_named(clause) or _is_relative(asking):
        return False
    return (
        is_question(asking)
        or _asks_without_mark(asking)
        or _pattern("request").match(asking) is not None
        or (_pattern("please").search(asking) is not None and not is_own(clause))
    )


def _is_relative(clause: str) -> bool:
    """Return whether a clause only tells more of a thing before it: "who is a nurse"."""
    if is_question(clause) or _pattern("relative").match(clause) is None:
        return False
    return _pattern("inside").match(clause) is None


def _asks_for_a_thing(clause: str) -> bool:
    """Return whether a clause before the statements only asks for something."""
    if ":" in clause or _pattern("own_thing").search(clause):
        return False
    return _asks_without_mark(clause) or _pattern("thing").match(clause) is not None


def _asks_for_confirmation(clause: str) -> bool:
    """Return whether a clause only asks whether the other clauses are right: "is that right",
    "isn't it?".
    """
    if _pattern("confirmation").match(clause):
        return True
    if not is_question(clause) or clause.count(" ") >= WORDS_OF_A_TAG:
        return False
    is_something_else = _asks_without_mark(clause) or _pattern("things").search(clause)
    return not (is_something_else or _pattern("asserts").match(clause))


@lru_cache(maxsize=64)  # several questions are asked about the same sentence
def _clauses(sentence: str) -> Sequence[tuple[int, int]]:
    """Return where each clause of the sentence starts and ends."""
    places, start = [], 0
    for joint in _pattern("joints").finditer(sentence):
        if joint.start() > start:
            places.append((start, joint.start()))
        start = joint.end()
    if start < len(sentence):
        places.append((start, len(sentence)))
    return places
