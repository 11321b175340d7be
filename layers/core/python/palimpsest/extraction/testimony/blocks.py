"""Material that is known by its form: code, quoted lines, mails, logs, configuration, pasted
chats.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections.abc import Iterator
from functools import cache

from palimpsest.extraction.testimony.extents import salutation, signature
from palimpsest.extraction.testimony.words import phrases

Mark = tuple[int, int, str]
"""Beginning, end and reason."""

LEAST_WORDS_OF_CODE = 3
_FENCE = re.compile(r"^[ \t]{0,3}(```+|~~~+)[^\n]*$", re.MULTILINE)
_RUNS = {
    "quoted": re.compile(r"(?:^[ \t]{0,3}>[^\n]*+(?:\n|\Z))++", re.MULTILINE),
    "log": re.compile(
        r"(?:^[ \t]*+(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d[.,\d]*)?Z?\]?[^\n]*?"
        r"\b(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL)\b"
        r"|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL)\b[\]:|]"
        r"|Traceback \(most recent|File \"[^\n\"]+\", line \d|at [\w.$<>]+\([^\n)]*\)$"
        r"|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d )[^\n]*+(?:\n|\Z))++",
        re.MULTILINE,
    ),
    "chat": re.compile(
        r"(?:^[ \t]*+(?:\[[^\]\n]{0,12}\d{1,2}:\d\d[^\]\n]{0,12}\]"
        r"|\(?\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?\)?(?: [-–])?"
        r"|\d{1,4}[-./]\d{1,2}[-./]\d{1,4},? \d{1,2}:\d\d(?: ?[AaPp][Mm])?(?: [-–])?)"
        r" ?+<?[^\W\d_][\w .'-]{0,30}>?: [^\n]*+(?:\n|\Z))++",
        re.MULTILINE,
    ),
    "code": re.compile(
        r"(?:^[ \t]*+(?:[}\])]+[;,]?[ \t]*$"
        r"|(?:def|class|import|from|const|let|var|function|return|public|private|export"
        r"|#include|SELECT|INSERT|UPDATE|if|for|while)\b[^\n]*[{;(=)][^\n\w]*$"
        r"|(?:const|let|var) \w+ ?=|import \w+[\w.]*$|from [\w.]+ import "
        r"|print\(|console\.log\(|\w+\([^\n]*\);?[ \t]*$|[A-Za-z_][\w.\[\]]* ?[+:]?= ?[\"'\d\[{]"
        r"|[A-Z][A-Z0-9_]{2,}=\S|//|/\*|\* @|<!--|</?\w+[^>\n]*>[ \t]*$|--[ ]\w+|\$ \w)"
        r"[^\n]*+(?:\n|\Z))++",
        re.MULTILINE,
    ),
    "config": re.compile(
        r"(?:^[ \t]*+(?:[\"'][\w .-]{1,60}[\"'][ \t]*:[ \t]|[{\[][ \t]*$|[a-z]+[_.][\w.]*:[ ]"
        r"|\[[\w.-]+\][ \t]*$|- ?\w+:[ ]|[\w]+:[ \t]*$(?=\n[ \t]+\S))[^\n]*+(?:\n|\Z))++",
        re.MULTILINE,
    ),
    "json": re.compile(r"\{[^{}\n]*\"[^{}\n\"]*\"[ \t]*:[^{}\n]*\}"),
}
_INDENTED = re.compile(r"(?:\A|(?<=\n\n))(?:^(?: {4}|\t)[^\n]*+(?:\n|\Z))++", re.MULTILINE)
_LIKE_CODE = re.compile(r"[={}();<>\[\]#$]|->|::")
_INLINE = re.compile(r"`([^`\n]{1,500})`")


def fenced(text: str) -> Iterator[Mark]:
    """What is between fences; an open fence reaches to the end."""
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and fence[0].strip() == fence[1]:
            yield opened.start(), fence.end(), "code"
            opened = None
    if opened is not None:
        yield opened.start(), len(text), "code"


def blocks(text: str, *, user: str | None) -> Iterator[Mark]:
    """All material that its form shows."""
    yield from fenced(text)
    for reason, run in _RUNS.items():
        for match in run.finditer(text):
            yield match.start(), match.end(), reason
    for match in _INDENTED.finditer(text):
        if _LIKE_CODE.search(match[0]):
            yield match.start(), match.end(), "code"
    for match in _INLINE.finditer(text):
        if len(match[1].split()) >= LEAST_WORDS_OF_CODE:
            yield match.start(), match.end(), "code"
    yield from _mails(text, user=user)
    yield from _transcripts(text)


@cache
def _headers() -> re.Pattern[str]:
    header = rf"^[ \t]*(?:{phrases('mail_headers')})[ \t]?:[ \t]?[^\n]*+(?:\n|\Z)"
    return re.compile(rf"(?:{header}){{2,}}", re.IGNORECASE | re.MULTILINE)


def _mails(text: str, *, user: str | None) -> Iterator[Mark]:
    """Mails with headers, and letters that greet somebody and are signed by somebody else."""
    place = 0
    while headers := _headers().search(text, place):
        signed = signature().search(text, headers.end())
        place = signed.end() if signed else len(text)
        yield headers.start(), place, "mail"
    place = 0
    while greeted := salutation().search(text, place):
        signed = signature().search(text, greeted.end())
        if signed is None:
            return
        name = (signed["here"] or signed["name"] or "").strip().casefold()
        if name != (user or "").casefold():
            yield greeted.start(), signed.end(), "mail"
        place = signed.end()


@cache
def _machine_line() -> re.Pattern[str]:
    return re.compile(
        rf"^[ \t*]*(?:{phrases('machine_labels')})[ *]*:[ *]*\S[^\n]*$",
        re.IGNORECASE | re.MULTILINE,
    )


def _transcripts(text: str) -> Iterator[Mark]:
    """The turns of a pasted dialogue of roles, from its first line to its last."""
    turns = list(_machine_line().finditer(text))
    if len(turns) > 1:
        yield turns[0].start(), turns[-1].end(), "transcript"
