"""Reads corrections that say that they are corrections ("my mistake", "I had it wrong"), and finds
what they correct.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many languages
import re
from collections.abc import Sequence
from functools import cache, lru_cache

from palimpsest.memory.meaning.fitting import form_of
from palimpsest.memory.meaning.reading import (
    PACKAGE,
    clauses,
    compiled,
    empty_words,
    is_meant_by,
    naming,
    spoken,
)
from palimpsest.text.analyser import words
from palimpsest.text.folding import normalized
from palimpsest.text.sentences import is_question, sentences
from palimpsest.text.triggers import lowered, word_set
from palimpsest.text.word_files import filled_words

MOST = 2_000  # characters of a message that is read
LEAST_ALIKE = 0.4  # of the words of two clauses
FEWEST_WORDS = 3  # of a statement after an announcement
LONGEST = 75  # characters of an announcement
MOST_BLANKS = 14  # of a sentence that only admits a mistake
_MARK = re.compile(r"[:,;–—-]\s")
MOST_BESIDE = 1  # words that name something in a sentence that only admits a mistake


@cache
def _admission() -> re.Pattern[str]:
    return compiled(r"(?<!\w)(?:{correcting})(?!\w)")


@cache
def _announcement() -> re.Pattern[str]:
    return compiled(
        r"^(?P<announcement>[^.!?:–—]{3,70}?)"
        r"(?: ?:| [–—-]|[,;](?= (?:(?:{first_persons})\b|(?-i:[A-ZÀ-Þ]))))\s+(?=\S)"
    )


@lru_cache(maxsize=256)
def admits(text: str) -> bool:
    """Return whether a text says that something said before was wrong."""
    plain = text[:MOST]
    lower = lowered(plain)
    if _words_of_admissions().isdisjoint(word_set(lower)) and "what i said" not in lower:
        return False
    return _admission().search(plain.replace("\u2019", "'")) is not None


@cache
def _words_of_admissions() -> frozenset[str]:
    """Return words of which every admission has at least one."""
    return frozenset(filled_words(PACKAGE, ["{correcting_words}"]))


def without_announcement(sentence: str) -> str:
    """Return the sentence without the words that only announce a correction. "Correction for your
    files: I start on Monday" becomes "I start on Monday".
    """
    if _MARK.search(sentence, 0, LONGEST) is None:
        return sentence
    lead = _announcement().match(sentence)
    if lead is None or not only_admits(lead["announcement"]):
        return sentence
    rest = sentence[lead.end() :]
    return rest if rest.count(" ") + 1 >= FEWEST_WORDS else sentence


def only_admits(text: str) -> bool:
    """Return whether a text says no more than that something was wrong."""
    if text.count(" ") > MOST_BLANKS or not admits(text):
        return False
    left = _admission().sub(" ", text.replace("\u2019", "'"))
    return len(naming(left)) <= MOST_BESIDE and not any(map(str.isdigit, left))


def corrects_in(message: str, quote: str) -> bool:
    """Return whether a sentence of a message corrects an earlier message, because it says so or a
    neighbouring sentence does.
    """
    if not admits(message):
        return False
    parts = list(sentences(message[:MOST]))
    places = [place for place, part in enumerate(parts) if quote in part or part in quote]
    near = {place + step for place in places for step in (-1, 0, 1)}
    return any(
        admits(part) and not is_question(part) for place, part in enumerate(parts) if place in near
    )


def likeness(new: str, old: str) -> float:
    """Return how alike (0..1) a correction and the statement that it may correct are: the share of
    common words in their likest clauses. It is 0 if no clause has another value of the same form.
    """
    if normalized(new) == normalized(old):
        return 0.0
    return max(
        (
            _likeness(ours, theirs)
            for ours in clauses(spoken(new))
            for theirs in clauses(spoken(old))
        ),
        default=0.0,
    )


def _likeness(new: str, old: str) -> float:
    ours, theirs = _telling(new), _telling(old)
    if ours == theirs:
        return 0.0
    gained = [word for word in ours if not is_meant_by(word, theirs)]
    lost = [word for word in theirs if not is_meant_by(word, ours)]
    if not gained and not lost:
        return 1.0  # the same words in another order
    forms = {form_of(word) for word in gained} & {form_of(word) for word in lost}
    if not forms - {""}:
        return 0.0
    share = (len(ours) - len(gained) + len(theirs) - len(lost)) / max(1, len(ours) + len(theirs))
    return share if share >= LEAST_ALIKE else 0.0


def _telling(clause: str) -> Sequence[str]:
    """Return the words of a clause that name something, with days and numbers."""
    plain = clause.replace("-", " ").replace("\u2019", " ").replace("'", " ")
    return [word for word in words(plain) if word not in empty_words()]
