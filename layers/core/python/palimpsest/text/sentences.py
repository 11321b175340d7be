"""Divides texts of any script into sentences, and recognizes sentences that ask, that greet, and
that need the sentence before.

It knows such words of the most common languages.
"""
# ruff: noqa: RUF001 - the stops and words of other scripts look like those of this one

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Literal

from palimpsest.text.cutting import ELLIPSIS, shortened
from palimpsest.text.date_words import date_words
from palimpsest.text.matching import PACKAGE, either, patterns_by_writing
from palimpsest.text.triggers import Triggers, word_set
from palimpsest.text.word_files import entries, word_files

LONGEST = 300
"""The most characters of one sentence. A longer sentence is divided at its clauses."""
FILLER_WORDS = 12  # a longer sentence says more than hello
SHORT_WORDS, SHORT_LETTERS = 3, 4

# Full stops that end a sentence in any place: CJK, Devanagari, Urdu, Arabic, Armenian, Ethiopic,
# Khmer, Burmese.
_STOPS = "。！？｡।॥۔؟։።፧។။"
_CLOSERS = "\"'”’»›)\\]}」』】）"
# The pattern takes linear time: a run of full stops is matched from its beginning only, and never
# given back.
_END = re.compile(
    rf"[{_STOPS}.!?{ELLIPSIS}](?:(?<=[{_STOPS}])[{_STOPS}]*+[{_CLOSERS}]*+"
    rf"|(?<=[.!?{ELLIPSIS}])(?<![.!?{ELLIPSIS}]{{2}})[.!?{ELLIPSIS}]*+[{_CLOSERS}]*+(?=\s|$))"
)
_CLAUSE = re.compile(r"[;:,—–](?=\s)|[，；：、،؛]")
_ABBREVIATION = re.compile(
    r"(?:(?:^|[\s(\"'])(?:[A-Za-z]|[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ss]t|[Nn]r|[Vv]s"
    r"|approx|[Cc]a|e\.g|i\.e|z\.B|p\.ex|Sra?"
    r"|Mme|Fig|al)|^\d{1,3})\.$"
)
LONGEST_DAY = len("30.12.") + 1  # with the character before it
ABBREVIATED = 8  # characters, with the one before it and the full stop
_TERMINATED = re.compile(rf"[.!?{ELLIPSIS}{_STOPS}][{_CLOSERS}]*$")
_NUMBER = re.compile(r"\d")
_DAY_IN_NUMBERS = re.compile(r"(?<!\d)(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.$")
_DAY_OF_A_MONTH = re.compile(r"\D?(?P<day>\d{1,2}\.) ([^\W\d_]+)")
_QUESTION = re.compile(r"[?？؟][\"'”’»)」』]*$")
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(
    # Thai to Chinese
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)


_OPENING = r"\W*+"  # marks and blanks before a sentence's first word


def _begins(field: str) -> re.Pattern[str]:
    """Return a pattern for texts that begin with a phrase from this field of the word files."""
    return either(*patterns_by_writing(field), opening=_OPENING)


@cache
def _filler() -> re.Pattern[str]:
    """Return a pattern that matches greetings, thanks and offers of help at the beginning of a
    sentence.
    """
    return _begins("filler")


@cache
def _short_answer() -> re.Pattern[str]:
    """Return a pattern that matches the beginning of an answer that says little without its
    question.
    """
    return _begins("short_answer")


@cache
def _who_the_user_is() -> Sequence[re.Pattern[str]]:
    """Return the patterns of sentences in which users say who they are and what they like. They
    also match the third person, which an earlier summary by a model uses.
    """
    return tuple(
        re.compile(phrase["pattern"])
        if file.get("joins_words")
        else either([phrase["pattern"]], flags=re.IGNORECASE)
        for file in word_files(PACKAGE).values()
        for phrase in file.get("who_the_user_is", ())
    )


@cache
def _who_triggers() -> Triggers:
    words_ = [phrase["words"] for phrase in entries(PACKAGE, "who_the_user_is")]
    return Triggers(words_, asked_together=True)


Says = Literal["something", "little", "question", "nothing"]


def sentences(text: str) -> Iterator[str]:
    """Yield the text's sentences in order, with single spaces. The end of a line ends a
    sentence.
    """
    for line in text.splitlines():
        whole = " ".join(line.split())
        for start, end in pairwise((0, *_ends(whole), len(whole))):
            sentence = whole[start:end].strip()
            if len(sentence) > LONGEST:
                yield from clauses(sentence, longest=LONGEST)
            elif sentence:
                yield sentence


def sentences_at_the_ends(text: str, *, most: int) -> Iterable[str]:
    """Return all sentences of a text with at most `most` characters. If the text is longer, return
    the sentences of its beginning and of its end.
    """
    if len(text) <= most:
        return sentences(text)
    half = most // 2
    beginning, end = list(sentences(text[:half])), list(sentences(text[-half:]))
    return (*beginning[:-1], *end[1:])  # sentences at the cut may be incomplete


def is_terminated(sentence: str) -> bool:
    """Return whether the sentence ends with a full stop or another final mark of any script."""
    return bool(_TERMINATED.search(sentence[-8:]))


def clauses(sentence: str, *, longest: int) -> Iterator[str]:
    """Yield the sentence in parts of at most `longest` characters. It is divided between clauses if
    possible, otherwise between words, otherwise between characters.
    """
    start = 0
    while len(sentence) - start > longest:
        end = _clause_end(sentence, start, longest)
        if part := sentence[start:end].strip():
            yield part
        start = end
    if part := sentence[start:].strip():
        yield part


def _clause_end(sentence: str, start: int, longest: int) -> int:
    least, limit = start + longest // 4, start + longest
    if ends := [match.end() for match in _CLAUSE.finditer(sentence, least, limit)]:
        return ends[-1]
    blank = sentence.rfind(" ", least, limit)
    if blank > 0:
        return blank
    beginning, size = shortened(sentence[start : limit + 1], limit=longest, count=len)
    return start + (len(beginning.removesuffix(ELLIPSIS)) or size or longest)


def _ends(line: str) -> Iterator[int]:
    """Yield the positions within the line at which sentences end."""
    for match in _END.finditer(line):
        end = match.end()
        may_go_on = match[0] == "." and (
            end == len(line)
            or _ABBREVIATION.search(line, max(0, end - ABBREVIATED), end)
            or _is_day_of_a_month(line, end)
        )
        if not may_go_on:
            yield end


def _is_day_of_a_month(line: str, end: int) -> bool:
    """Return whether the full stop before `end` follows the number of a day, as in "am 1. Oktober"
    and "am 1.10. nach Rom".
    """
    if _DAY_IN_NUMBERS.search(line, max(0, end - LONGEST_DAY), end):
        return line[end + 1 : end + 2].islower()
    month = _DAY_OF_A_MONTH.match(line, max(0, end - 3))
    return (
        month is not None and month.end("day") == end and month[2].casefold() in date_words().months
    )


def is_question(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence[-8:]))


@cache
def _question_without_mark() -> re.Pattern[str]:
    """Return a pattern of the beginning of a question, after words such as "remind me" (`lead`) or
    not.
    """
    words_, attached = patterns_by_writing("question_words")
    leads, _ = patterns_by_writing("question_leads")
    question = either(words_, attached).pattern
    return re.compile(rf"{_OPENING}(?P<lead>(?:{'|'.join(leads)})\W+)?{question}")


def asks(sentence: str) -> bool:
    """Return whether the sentence asks. It may ask without a question mark, as "where do I live"
    and "Remind me where I live" do.
    """
    if is_question(sentence):
        return True
    begins = _question_without_mark().match(sentence.lower())
    return begins is not None and (begins["lead"] is not None or not is_terminated(sentence))


def is_filler(sentence: str, bag: frozenset[str]) -> bool:
    """Return whether a sentence with these words (`bag`) is a greeting, thanks or an offer of help,
    or has hardly a word.
    """
    return _is_polite(sentence, bag) or (
        len(sentence) < SHORT_LETTERS and not _NUMBER.search(sentence)
    )


def _is_polite(sentence: str, bag: frozenset[str]) -> bool:
    """Return whether a sentence is a greeting, thanks or an offer of help."""
    return (
        len(bag) <= FILLER_WORDS
        and bool(_filler().match(sentence.lower()))
        and not _NUMBER.search(sentence)
    )


def says(text: str) -> Says:
    """Return how much a whole text says. It is `question` if the text ends with a question, and
    `nothing` if each sentence is a greeting, thanks or an offer of help. It is `little` if the text
    has so few words that it needs the text before. Otherwise it is `something`.
    """
    if is_question(text.rstrip()):
        return "question"
    if all(
        _is_polite(sentence, words(sentence)) and not tells_who_the_user_is(sentence)
        for sentence in sentences(text)
    ):
        return "nothing"
    return "little" if len(words(text)) <= SHORT_WORDS else "something"


def leans_on_a_question(sentence: str) -> bool:
    """Return whether the sentence says little without the question before it."""
    return (
        len(words(sentence)) <= SHORT_WORDS or _short_answer().match(sentence.lower()) is not None
    )


def tells_who_the_user_is(sentence: str) -> bool:
    """Return whether users say in this sentence who they are or what they like."""
    likely = _who_triggers().candidates(sentence)
    return bool(likely) and any(_who_the_user_is()[number].search(sentence) for number in likely)


def words(sentence: str) -> frozenset[str]:
    """Return the sentence's words in lower case. In scripts without spaces, return the pairs of its
    characters.
    """
    if sentence.isascii():
        return word_set(sentence.lower())
    grams: set[str] = set()
    for word in _WORD.findall(sentence.casefold()):
        if _UNSPACED.search(word):
            grams.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            grams.add(word)
    return frozenset(grams)
