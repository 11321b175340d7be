"""Finds mails and letters of others: with headers, forwarded, or with a greeting and a
signature.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections.abc import Iterator
from functools import cache

from palimpsest.extraction.testimony.extents import (
    end_of_words,
    greeting,
    paragraph_end,
    salutation,
    sentence_start,
    signature,
)
from palimpsest.extraction.testimony.lines import Mark
from palimpsest.extraction.testimony.words import anywhere, in_lines, phrases
from palimpsest.text.sought import Sought

MOST_WORDS_OF_A_NAME = 4
LONGEST_WITHIN = 2_000  # characters of a letter that is within a paragraph
_WORD = re.compile(r"[^\W\d_]+")
_ID_IS_A_NAME = re.compile(r"[^\W\d_]+(?:[._ -][^\W\d_]+)*")
_FORWARDED = Sought(
    r"^[ \t>]*-{2,}[ ]?(?:[^\n-]{0,40}?(?:original|weitergeleitet|ursprünglich|forwarded|message"
    r"|nachricht|transféré|reenviado|mensaje|e-?mail)[^\n-]{0,40})-{2,}",
    re.IGNORECASE | re.MULTILINE,
)


@cache
def _headers() -> Sought:
    header = rf"^[ \t]*\**(?:{phrases('mail_headers')})\**[ \t]?:[ \t]?[^\n]*+(?:\n|\Z)"
    return Sought(rf"(?:{header}){{2,}}", re.IGNORECASE | re.MULTILINE)


@cache
def _wrote() -> re.Pattern[str]:
    """Return a pattern for the line that mail programs put above the answered mail, such as "On
    Monday Bob wrote:".
    """
    return re.compile(rf"^[ \t>]*(?:{phrases('wrote_line')})[ \t]*$", re.IGNORECASE | re.MULTILINE)


@cache
def _greeting() -> re.Pattern[str]:
    """Return a pattern for a line that greets somebody, with a name or without."""
    return re.compile(
        rf"^[ \t]*(?:{phrases('salutation')})\b[^\n.?]{{0,60}}[,!:–-]?[ \t]*$",
        re.IGNORECASE | re.MULTILINE,
    )


def letters(text: str, *, user: str | None) -> Iterator[Mark]:
    """Yield all mails and letters that the user did not write."""
    for pattern in (_FORWARDED, _wrote()):
        match = next(in_lines(pattern, text), None)
        if match:
            yield match.start(), len(text), "mail"
    place = 0
    while headers := next(in_lines(_headers(), text, place), None):
        signed = next(in_lines(signature(), text, headers.end()), None)
        signed = signed or _signed_by_name(text, headers)
        place = signed.end() if signed else len(text)
        yield headers.start(), place, "mail"
    yield from _signed(text, user=user)
    yield from _to_the_user(text, user=user)
    yield from _within_a_paragraph(text, user=user)


_SENDER = re.compile(r"(?im)^[ \t]*\**(?:from|von|de)\**[ \t]?:[ \t]?\"?(?P<name>[^\W\d_][\w'’-]*)")


def _signed_by_name(text: str, headers: re.Match[str]) -> re.Match[str] | None:
    """Return the line below a mail that has only the sender's name; None if there is none."""
    sender = _SENDER.search(headers[0])
    if sender is None:
        return None
    name = rf"(?:[-–—~]+[ \t]?)?{re.escape(sender['name'])}(?: [^\W\d_]+)?[ \t]*[.,]?"
    below = re.compile(rf"^[ \t]*{name}[ \t]*$", re.IGNORECASE | re.MULTILINE)
    return below.search(text, headers.end())


def signed_by(match: re.Match[str]) -> str | None:
    """Return the name below the closing of a letter; None if there is no name."""
    name = (match["here"] or match["name"] or "").strip()
    is_name = (
        name[:1].isupper()
        and len(name.split()) <= MOST_WORDS_OF_A_NAME
        and not anywhere("first_person").search(name)
    )
    return name if is_name else None


def is_users(name: str, user: str | None) -> bool:
    """Return whether a name contains a part of the user's id."""
    own = {word.casefold() for word in _WORD.findall(user or "")}
    words = [word.casefold() for word in _WORD.findall(name)]
    return bool(own) and bool(words) and (words[0] in own or own <= set(words))


def _signed(text: str, *, user: str | None) -> Iterator[Mark]:
    place, first = 0, len(text) - len(text.lstrip())
    while signed := next(in_lines(signature(), text, place), None):
        begun, place = place, max(signed.end(), place + 1)
        name = signed_by(signed)
        if name is None or is_users(name, user):
            continue
        start = _start_of_letter(text, begun, signed.start())
        is_first = start <= first
        by_name = salutation().match(text, start) is not None
        # This may be the user's own letter if the user's id isn't a name.
        if is_first and not by_name and not _ID_IS_A_NAME.fullmatch(user or ""):
            continue
        yield start, paragraph_end(text, signed.end()), "mail"


def _start_of_letter(text: str, begun: int, closing: int) -> int:
    """Return where a signed letter begins: at its greeting, or else at its paragraph."""
    greeted = next(in_lines(_greeting(), text, begun, closing), None) or next(
        in_lines(salutation(), text, begun, closing), None
    )
    if greeted:
        return greeted.start()
    body = begun + len(text[begun:closing].rstrip())
    return max(begun, text.rfind("\n\n", begun, body) + 2)


def _to_the_user(text: str, *, user: str | None) -> Iterator[Mark]:
    """Yield a letter that greets the user by name, without a closing."""
    place = 0
    while greeted := next(in_lines(salutation(), text, place), None):
        place = greeted.end()
        if any(is_users(name, user) for name in re.findall(r"[A-ZÀ-Þ][\w'’-]*", greeted[0])[-1:]):
            signed = next(in_lines(signature(), text, place), None)
            yield greeted.start(), signed.end() if signed else len(text), "mail"
            return


@cache
def _greeting_within() -> re.Pattern[str]:
    return re.compile(rf"(?<=[.!?:][ ]){greeting()}[ ]", re.IGNORECASE)


@cache
def _closing_within() -> re.Pattern[str]:
    return re.compile(
        rf"(?<=[.!?][ ])(?i:{phrases('closing')}),?[ ]"
        r"(?P<name>[A-ZÀ-Þ][\w'’-]*(?:[ ][A-ZÀ-Þ][\w'’-]*)?)(?=[.!?\s]|\Z)"
    )


def _within_a_paragraph(text: str, *, user: str | None) -> Iterator[Mark]:
    """Yield letters of others that have no lines of their own. Such a letter has a closing and a
    name, or the sentence before its greeting says that a letter came, as in "I got this from Tom:
    Hi, I moved".
    """
    place = 0
    while greeted := _greeting_within().search(text, place):
        place = greeted.end()
        limit = min(paragraph_end(text, place), place + LONGEST_WITHIN)
        signed = _closing_within().search(text, place, limit)
        before = text[sentence_start(text, greeted.start() - 2) : greeted.start()]
        comes = before.rstrip().endswith(":") and anywhere("presents").search(before) is not None
        if signed is not None and not is_users(signed["name"], user):
            place = signed.end()
        elif signed is None and comes:
            place = end_of_words(text, place)
        else:
            continue
        yield greeted.start(), place, "mail"
