"""Finds material by its form: code, quoted lines, mails, logs, configuration, dialogues."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from palimpsest.extraction.testimony.letters import letters
from palimpsest.extraction.testimony.lines import Mark as Mark  # noqa: PLC0414 - given on
from palimpsest.extraction.testimony.lines import machine_lines, parts_of_works, profiles
from palimpsest.extraction.testimony.words import in_lines, phrases
from palimpsest.text.sought import Sought

LEAST_WORDS_OF_CODE = 3
_FENCE = Sought(r"^[ \t]{0,3}(```+|~~~+)[^\n]*$", re.MULTILINE)
_QUOTED = Sought(r"(?:^[ \t]{0,3}>(?!>)[^\n]*+(?:\n|\Z))++", re.MULTILINE)
_JSON = Sought(r"\{[^{}\n]*[\"'][^{}\n\"']*[\"'][ \t]*:[^{}\n]*\}")
_INDENTED = re.compile(r"(?:\A|(?<=\n\n))(?:^(?: {4}|\t)[^\n]*+(?:\n|\Z))++", re.MULTILINE)
_LIKE_CODE = re.compile(r"[={}();<>\[\]#$]|->|::")
_BETWEEN = Sought(
    r"(?<!>)>{2,3}[ \t]*(?=\w)[^<>\n]{8,2000}<<|(?<!<)<{2,3}[ \t]*(?=\w)[^<>\n]{8,2000}>>"
)
_ELEMENT = Sought(r"[ \t]*<(?P<tag>[a-zA-Z][\w:-]*)(?:[ ][^>\n]*)?>[^\n]{0,2000}?</(?P=tag)>")
_INLINE = Sought(r"`([^`\n]{1,500})`")


def fenced(text: str) -> Iterator[Mark]:
    """Yield the text between code fences. A fence that is not closed reaches to the end."""
    opened: re.Match[str] | None = None
    for fence in in_lines(_FENCE, text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and fence[0].strip() == fence[1]:
            yield opened.start(), fence.end(), "code"
            opened = None
    if opened is not None:
        yield opened.start(), len(text), "code"


def _marked_up(text: str) -> Iterator[Mark]:
    """Yield text between code fences, quoted lines, and elements such as "<page>…</page>"."""
    yield from fenced(text)
    for pattern, reason in ((_QUOTED, "quoted"), (_ELEMENT, "code")):
        for match in in_lines(pattern, text):
            yield match.start(), match.end(), reason


def blocks(text: str, *, user: str | None) -> Iterator[Mark]:
    """Yield all material that is recognized by its form."""
    yield from _marked_up(text)
    for match in _BETWEEN.finditer(text):
        yield match.start(), match.end(), "quoted"
    for match in _JSON.finditer(text):
        yield match.start(), match.end(), "json"
    yield from machine_lines(text)
    yield from parts_of_works(text)
    yield from profiles(text)
    for match in _INDENTED.finditer(text) if "\n\n" in text or text[:1] in "\t " else ():
        if _LIKE_CODE.search(match[0]):
            yield match.start(), match.end(), "code"
    for match in _INLINE.finditer(text):
        if len(match[1].split()) >= LEAST_WORDS_OF_CODE:
            yield match.start(), match.end(), "code"
    yield from letters(text, user=user)
    yield from _transcripts(text)


@cache
def _machine_line() -> Sought:
    return Sought(
        rf"^[ \t*]*[<\[]?({phrases('machine_labels')})(?: ?\d{{1,4}})?"
        r"(?:(?:[ ]\([^)\n]{1,20}\))?[ *]*\]?:|(?<=[\w.])[>\]]:?)[ *]*\S[^\n]*$",
        re.IGNORECASE | re.MULTILINE,
    )


def _transcripts(text: str) -> Iterator[Mark]:
    """Yield a pasted dialogue of roles, from its first line to its last."""
    lines = list(in_lines(_machine_line(), text))
    turns = [turn for turn in lines if len(turn[1]) > 1]
    letters = [turn for turn in lines if len(turn[1]) == 1]
    # One line such as "A: done" may be an item of a list. Several are a dialogue ("Q:", "A:").
    if len(letters) > 1 or (turns and letters):
        turns = sorted([*turns, *letters], key=lambda turn: turn.start())
    if turns:
        yield turns[0].start(), turns[-1].end(), "transcript"
