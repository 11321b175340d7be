"""Divides texts of any script into sentences, and long sentences into clauses."""
# ruff: noqa: RUF001 - the stops of other scripts look like those of this one

from __future__ import annotations

import re
from collections.abc import Iterator

from palimpsest.text.cutting import ELLIPSIS, shortened

LONGEST = 300
"""The most characters of one sentence; a longer one is divided at its clauses."""

# Full stops that end a sentence wherever they stand: CJK, Devanagari, Urdu, Arabic, Armenian, Ethiopic, Khmer, Burmese.
_STOPS = "。！？｡।॥۔؟։።፧។။"
_CLOSERS = "\"'”’»›)\\]}」』】）"
# The pattern takes linear time: a run of full stops is matched from its beginning only, and never given back.
_END = re.compile(rf"[{_STOPS}]++[{_CLOSERS}]*+|(?<![.!?{ELLIPSIS}])[.!?{ELLIPSIS}]++[{_CLOSERS}]*+(?=\s|$)")
_CLAUSE = re.compile(r"[;:,—–](?=\s)|[，；：、،؛]")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'])(?:[A-Za-z]|[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ss]t|[Nn]r|[Vv]s|approx|[Cc]a|e\.g|i\.e|z\.B|p\.ex|Sra?"
    r"|Mme|Fig|al)\.$"
)
_LIST_NUMBER = re.compile(r"^\d{1,3}\.$")
_TERMINATED = re.compile(rf"[.!?{ELLIPSIS}{_STOPS}][{_CLOSERS}]*$")


def sentences(text: str) -> Iterator[str]:
    """The text's sentences in order, with single spaces; the end of a line ends a sentence."""
    for line in text.splitlines():
        whole = " ".join(line.split())
        for sentence in _of_line(whole):
            yield from clauses(sentence, longest=LONGEST)


def sentences_at_the_ends(text: str, *, most: int) -> Iterator[str]:
    """All sentences of a text of at most `most` characters; of a longer one those of its beginning and of its end."""
    if len(text) <= most:
        yield from sentences(text)
        return
    half = most // 2
    yield from list(sentences(text[:half]))[:-1]  # the one at the cut may be a part
    yield from list(sentences(text[-half:]))[1:]


def is_terminated(sentence: str) -> bool:
    """Whether the sentence ends with a full stop or another final mark of any script."""
    return bool(_TERMINATED.search(sentence[-8:]))


def clauses(sentence: str, *, longest: int) -> Iterator[str]:
    """The sentence in parts of at most `longest` characters: divided at clauses if it has any, else between words, else
    between characters.
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


def _of_line(line: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(line):
        if _is_abbreviation(line, match):
            continue
        yield line[start : match.end()].strip()
        start = match.end()
    if rest := line[start:].strip():
        yield rest


def _is_abbreviation(line: str, match: re.Match[str]) -> bool:
    if match.end() == len(line) or match.group() != ".":
        return False
    before = line[max(0, match.end() - 12) : match.end()]
    return bool(_ABBREVIATION.search(before) or _LIST_NUMBER.search(before))
