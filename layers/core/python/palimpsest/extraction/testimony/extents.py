"""Finds the end of material that a phrase announces."""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, lru_cache

from palimpsest.extraction.testimony.words import anywhere, in_lines, phrases

LONGEST_SENTENCE = 1_000  # most characters that are searched for the end of a sentence
LONGEST_QUOTATION = 4_000
MOST_OF_WORDS = 1_000  # most characters of others' words that nothing closes
CLOSERS = {
    '"': '"', "“": "”", "„": "“", "«": "»", "»": "«", "‘": "’", "'": "'", "”": "”", "‚": "‘",
    "‹": "›", "›": "‹", "「": "」", "『": "』", "`": "`",
}  # fmt: skip
OPENERS = '(?:["“„«‘‚‹「『`]|(?<!\\w)[»›](?=\\w))'
QUOTATION = rf"{OPENERS}|(?<=[\s:(])'(?=\w)"
_SENTENCE_END = re.compile(r"[.!?…。！？]+[\"'”’»)]*(?=\s|$)|\n")
_PARAGRAPH_END = re.compile(r"\n(?=[ \t]*\n)")
_BLANKS = re.compile(r"\s*")


def after_blanks(text: str, start: int) -> int:
    match = _BLANKS.match(text, start)
    return match.end() if match else start


def line_end(text: str, start: int) -> int:
    """Return the end of the line that contains `start`."""
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def sentence_end(text: str, start: int) -> int:
    """Return the end of the sentence that contains `start`."""
    limit = min(len(text), start + LONGEST_SENTENCE)
    match = _SENTENCE_END.search(text, start, limit)
    return match.end() if match else limit


def sentence_start(text: str, place: int) -> int:
    """Return the beginning of the sentence that contains `place`."""
    least = max(0, place - LONGEST_SENTENCE)
    ends = [text.rfind(mark, least, place) for mark in (". ", "! ", "? ", "\n")]
    return max(*ends, least - 1) + 1


def paragraph_end(text: str, start: int) -> int:
    """Return the end of the paragraph that contains `start`."""
    ends = _paragraph_ends(text)
    number = bisect_left(ends, start)
    return ends[number] if number < len(ends) else len(text)


@lru_cache(maxsize=8)
def _paragraph_ends(text: str) -> Sequence[int]:
    """Return the ends of all paragraphs but the last. They are searched only once per text, because
    a text with many letters needs the ends of many paragraphs.
    """
    return [match.start() for match in _PARAGRAPH_END.finditer(text)]


def quotation_end(text: str, start: int) -> int | None:
    """Return the end of the quotation that begins at `start`; None if none begins there. A
    quotation that is not closed ends with its paragraph.
    """
    closer = CLOSERS.get(text[start : start + 1])
    first = text[start + 1 : start + 3]
    if closer is None or not (first[:1].strip() or (text[start] in "«“‹" and first.strip())):
        return None
    place, limit = start, min(len(text), start + LONGEST_QUOTATION)
    while (place := text.find(closer, place + 1, limit)) >= 0:
        # An apostrophe before a letter is inside a word ("don't") and closes nothing.
        if closer not in "'’" or not text[place + 1 : place + 2].isalnum():
            return place + 1
    # People who type „ or “ often close it with the mark of their keyboard.
    if text[start] in "„“" and (place := text.find('"', start, limit)) >= 0:
        return place + 1
    if text[start] == "„" and (place := text.find("”", start, limit)) >= 0:
        return place + 1
    # A single mark that nothing closes is an apostrophe ("'tis").
    return None if closer in "'’" else min(paragraph_end(text, start), limit)


@cache
def signature() -> re.Pattern[str]:
    """Return a pattern for a closing such as "Best regards" on a line of its own, with a name on
    the next line.
    """
    return re.compile(
        rf"^[ \t]*(?:{phrases('closing')})[ \t]*(?:[,!.]|[ \t]*$)[ \t]*"
        rf"(?:(?P<here>[A-ZÀ-Þ][^\n,.!?]{{0,40}})"
        r"|\n\s*(?P<name>(?:(?:Dr|Prof|Mr|Mrs|Ms|St)\.[ ])*[^\n.!?]{1,40}))[ \t]*$",
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def greeting() -> str:
    """Return the source of a pattern for a greeting with at most three words after it, such as "Hi
    Tom,".
    """
    return rf"(?:{phrases('salutation')})(?!\w)(?: [^\W\d_]+){{0,3}}[ ]?[,!]"


@cache
def salutation() -> re.Pattern[str]:
    """Return a pattern for a line, or its beginning, that greets somebody by name."""
    return re.compile(
        rf"^[ \t]*(?i:{phrases('salutation')})[ \t]+(?!(?i:{phrases('not_a_person')})\b)"
        rf"(?:(?:Mr|Mrs|Ms|Dr|Herr|Frau|Madame|Monsieur|Señora?)\b\.?[ \t]*)*"
        rf"[A-ZÀ-Þ][\w'’-]*(?:[ \t][A-ZÀ-Þ][\w'’-]*){{0,2}}[ \t]*[,!:–-]",
        re.MULTILINE,
    )


def return_of_the_speaker(text: str, start: int, end: int) -> int:
    """Return where, between `start` and `end`, the speaker speaks of themselves again. Such a
    sentence begins with words like "By the way", or begins in the first person and has them later,
    as "I live in Bonn, by the way" does. Return `end` if there is no such sentence.
    """
    place = anywhere("returns").begins_sentence(text, start, end)
    limit = end if place is None else place
    for aside in anywhere("asides").finditer(text, start, limit):
        begun = after_blanks(text, sentence_start(text, aside.start()))
        if begun > start and begins_in_first_person(text, begun, aside.start()):
            return begun
    return limit


def text_end(text: str, start: int, *, is_long: bool) -> int:
    """Return the end of a text that a phrase announced and that begins at `start`."""
    first = after_blanks(text, start)
    is_mail = salutation().match(text, first) is not None
    is_below = is_mail or "\n" in text[start:first]
    is_long = is_long or is_below
    limit = len(text) if is_long else paragraph_end(text, first)
    signed = next(in_lines(signature(), text, first, limit), None)
    if signed:
        return signed.end()
    end = return_of_the_speaker(text, first, limit)
    reminder = None if is_below else anywhere("asks_to_remember").begins_sentence(text, first, end)
    return end if reminder is None else reminder


def end_of_words(text: str, start: int) -> int:
    """Return the end of others' words that begin at `start` and that nothing closes: their first
    sentence, and the sentences after it that begin in the first person and ask nothing.
    """
    most = min(paragraph_end(text, start), start + MOST_OF_WORDS)
    limit = return_of_the_speaker(text, start, most)
    place = min(sentence_end(text, start), limit)
    while place < limit:
        end = sentence_end(text, place)
        if "?" in text[place:end] or not begins_in_first_person(text, place, end):
            return place
        place = min(end, limit)
    return place


def begins_in_first_person(text: str, start: int, end: int) -> bool:
    first = anywhere("first_person").search(text, start, end)
    return first is not None and not any(map(str.isalnum, text[start : first.start()]))
