"""Finds the text below a sentence that asks to work on it or to judge it. Such a sentence is
recognized by the kinds of words in it, not by a phrase.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal

from palimpsest.extraction.testimony.extents import (
    QUOTATION,
    after_blanks,
    begins_in_first_person,
    paragraph_end,
    quotation_end,
    sentence_end,
    text_end,
)
from palimpsest.extraction.testimony.heads import end_below, text_below
from palimpsest.extraction.testimony.lines import Mark
from palimpsest.extraction.testimony.words import anywhere, is_own_label, phrases, whole

Strength = Literal["strong", "weak"]
LONGEST_TASK = 200
WORDS_OF_A_LABEL = 3
MOST_PARAGRAPHS = 20
"""How many paragraphs are searched for a task, each at its beginning."""

_PARAGRAPH = re.compile(r"(?:\A|(?<=\n\n))[ \t]*(?=\S)")
_ENDS = re.compile(r"[?:]\s*$")
_MARK = re.compile(r"[ ][-–—][ ]|[ ]?:[ ]")  # noqa: RUF001 - marks of many scripts
_LETTERS = re.compile(r"[^\W\d_]+")
_QUOTED = re.compile(rf"(?:{QUOTATION})\w")


def tasks(text: str) -> Iterator[Mark]:
    """Yield texts that follow a task at the beginning of a paragraph."""
    done = 0
    for number, paragraph in enumerate(_PARAGRAPH.finditer(text)):
        if number == MOST_PARAGRAPHS:
            return
        start = paragraph.end()
        if start < done:
            continue
        mark = _of_paragraph(text, start)
        if mark is not None:
            done = mark[1]
            yield mark


def _of_paragraph(text: str, start: int) -> Mark | None:
    end = sentence_end(text, start)
    runs_on = _without_mark(text, start, end)
    if runs_on is not None:
        return runs_on, text_end(text, runs_on, is_long=False), "request"
    mark = _MARK.search(text, start, end)
    end = mark.end() if mark is not None else end
    task = text[start:end]
    how = strength(task) if len(task) <= LONGEST_TASK else None
    begun = after_blanks(text, end)
    is_apart = "\n" in text[end - 1 : begun] or ":" in task[-2:]
    if how is None or begun == len(text) or not (how == "strong" or is_apart):
        return None
    below = text_below(text, end) if not is_apart else None
    if below is not None:
        return below, end_below(text, below), "request"
    quoted = quotation_end(text, begun)
    return begun, quoted or _end_of_text(text, end, begun, task, is_apart=is_apart), "request"


def _end_of_text(text: str, end: int, begun: int, task: str, *, is_apart: bool) -> int:
    """Return the end of a text that begins at `begun`, after a task that ends at `end`. If the task
    is a question, a text on its line ends with the question mark.
    """
    is_on_line = "\n" not in text[end:begun]
    question_end = text.find("?", begun, sentence_end(text, begun)) + 1
    if is_on_line and question_end and _question().match(task):
        return question_end
    if not is_apart:
        return text_end(text, end, is_long=False)
    below = end_below(text, begun)
    return _before_last_remark(text, begun, below) if is_on_line else below


def _before_last_remark(text: str, begun: int, end: int) -> int:
    """Return the end of a text that begins on the line of its task. If the text has one paragraph
    and the rest of the message is one sentence in the first person, that sentence is the
    speaker's own.
    """
    first = paragraph_end(text, begun)
    rest = after_blanks(text, first)
    is_remark = (
        rest < end == len(text)
        and sentence_end(text, rest) >= len(text.rstrip())
        and begins_in_first_person(text, rest, end)
    )
    return first if is_remark else end


def _without_mark(text: str, start: int, end: int) -> int | None:
    """Return where a text begins that follows its task without a mark, such as "I work" in "turn
    into bullet points I work at Lidl".
    """
    for match in anywhere("task_operations").finditer(text, start, end):
        begun = after_blanks(text, match.end())
        own = anywhere("first_person").search(text, begun, end)
        if own is not None and own.start() == begun and not _states(text[start:begun]):
            return begun
    return None


def strength(sentence: str) -> Strength | None:
    """Return how surely a sentence is a task about a text; None if it isn't one. A sentence in
    which the speaker states something about themselves, such as "My spelling is bad", is not a
    task. Neither is a task for later, or a task with its text in quotation marks.
    """
    if _is_label(sentence) or _states(sentence) or _QUOTED.search(sentence):
        return None
    if _has("deferred", sentence) or _has("turns_to_oneself", sentence):
        return None
    names_it = _has("task_deictics", sentence) or _has("task_texts", sentence)
    is_asked = _ENDS.search(sentence) is not None or _begins_as_task(sentence)
    if _has("task_operations", sentence) or _works(sentence, names_it=names_it):
        return "strong"
    if is_asked and names_it and _has("task_qualities", sentence):
        return "strong"
    if is_asked and _has("task_faults", sentence):
        return "strong"
    is_judged = _has("task_of_others", sentence) or (names_it and _has("task_judges", sentence))
    is_question = "?" in sentence[-3:] or _begins_as_task(sentence)
    return "weak" if is_question and is_judged else None


def _is_label(sentence: str) -> bool:
    """Return whether a sentence is a label of the speaker's own words, such as "Note to self:"."""
    label = sentence.strip().removesuffix(":")
    is_short = len(label.split()) <= WORDS_OF_A_LABEL
    return is_short and is_own_label(label)


def _works(sentence: str, *, names_it: bool) -> bool:
    """Return whether a sentence asks for work on a text that it names, or for work without naming
    an object, such as "translate for my nan".
    """
    work = anywhere("work").search(sentence)
    if work is None or names_it:
        return work is not None
    left = _polite().sub(" ", f"{sentence[: work.start()]} {sentence[work.end() :]}")
    return _LETTERS.search(left) is None


@cache
def _polite() -> re.Pattern[str]:
    return re.compile(
        rf"(?<!\w)(?:{phrases('task_polite')}|{phrases('bare_objects')})(?!\w)", re.IGNORECASE
    )


def _has(name: str, sentence: str) -> bool:
    return anywhere(name).search(sentence) is not None


def _states(sentence: str) -> bool:
    """Return whether a sentence has words in the first person, apart from polite phrases of asking
    ("can you tell me").
    """
    asking = _asking().sub(lambda match: " " * len(match[0]), sentence)
    return anywhere("first_person").search(asking) is not None


@cache
def _asking() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{phrases('task_polite')})(?!\w)", re.IGNORECASE)


def _begins_as_task(sentence: str) -> bool:
    """Return whether a sentence begins as an order or a question."""
    first = _LETTERS.search(sentence)
    if first is None or whole("first_person").fullmatch(first[0]):
        return False
    orders = ("task_operations", "work", "work_on_this", "task_polite")
    if any(anywhere(name).begins_sentence(sentence, 0, len(sentence)) == 0 for name in orders):
        return True
    return _question().match(sentence) is not None


@cache
def _question() -> re.Pattern[str]:
    return re.compile(rf"\W*(?:{phrases('questions')})(?!\w)", re.IGNORECASE)
