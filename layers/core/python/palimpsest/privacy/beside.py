"""Finds secrets that a sentence uses without naming them as such, as in "my garage opens with
1207", "use swordfish as the password" or "my login is bob@example.com with Giraffe!88".
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections.abc import Iterator
from functools import cache

from palimpsest.privacy.phrases import phrases, whole
from palimpsest.privacy.values import (
    AROUND,
    LEAST_PASSWORD,
    NOT_SAID,
    TOKEN,
    Mark,
    is_no_word,
    looks,
    plain,
)
from palimpsest.text.sought import Sought, Stems

_STEM = Stems(
    r"pass|pwd|\bpw\b|kennwort|log|credential|creds|sign|phrase|wort|daten|mdp|identifiant|contras"
    r"|credencial|usuario|recovery|backup|mnemonic|answer|antwort|réponse|palabra|código|code"
)
MOST_BETWEEN = 200  # characters between a name for secrets and the secret
_FIGURES = re.compile(r"\d{4}|\d-\d")
_DIGIT = re.compile(r"\d")
_STOP = re.compile(r"[.!?]\s+(?=[A-ZÀ-Þ])|\n")
_NOT_COUNTED = (
    r"(?:(?!\b(?:number|no\b|nr\b|nummer|numéro|número|id\b|size|price|cost|model))[^\d.!?\n])"
)
"""A pattern for a character between a lock and its code. It does not match before words such as
"number", because "my locker number is 12" names no code.
"""
_LOCK_VALUE = r"(?!(?:19|20)\d\d(?!\d))\d{4,8}|\d{1,2}(?:-\d{1,2}){2,5}"
_PAIR_WITH_MAIL = Sought(r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,64}:(?P<value>[^\s/:;,]{4,64})")
_PAIR_OF_LABELS = Sought(
    r"(?<!\w)(?:u|usr|user|username|login|name|id|nutzer|benutzer|usuario|utilisateur)"
    r"[ \t]?[:=][ \t]?\S{2,64}[ \t,;/|]+"
    r"(?:p|pw|pwd|pass|k)[ \t]?[:=][ \t]?(?P<value>[^\s,;]{4,64})",
    re.IGNORECASE,
)


@cache
def _used() -> Sought:
    """Return a pattern for a plain word that is used as a password, as in "use swordfish as the
    password".
    """
    return Sought(
        rf"(?<!\w)(?:{phrases('uses')})[ \t]+[\"'“”„«»`]?(?P<value>[^\s\"'“”„«»`]{{4,64}})"
        rf"[\"'“”„«»`]?[ \t]+(?:as|for|als|comme|como)[ \t]+(?:{phrases('mine')})[ \t]+"
        rf"(?:\w{{1,20}}[ \t]+){{0,2}}?(?:{phrases('passwords')})(?!\w)",
        re.IGNORECASE,
    )


@cache
def _used_password() -> Sought:
    """Return a pattern for a plain word right after the word "password", as in "I reused the
    password rainbowfish".
    """
    return Sought(
        rf"(?<!\w)(?:{phrases('uses')})[ \t]+(?:\w{{1,12}}[ \t]+){{0,2}}?(?:{phrases('passwords')})"
        rf"[ \t]+(?!(?:{phrases('no_password')})(?!\w))(?=[\"'“„«`]?[^\W\d_])",
        re.IGNORECASE,
    )


@cache
def _locked() -> Sought:
    """Return a pattern for numbers that open something, as in "the keypad takes 5567"."""
    return Sought(
        rf"(?<!\w)(?:{phrases('locks')})(?!\w){_NOT_COUNTED}{{0,30}}?(?<!\w)"
        rf"(?:{phrases('set_to')})[ \t]*:?[ \t]+(?P<value>{_LOCK_VALUE})(?=[ \t]*(?:[.,;:!?)#]|$))"
        rf"|(?<!\w)(?:{phrases('set_to')})[ \t]+(?P<typed>\d{{4,8}}#)",
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def _opens() -> Sought:
    return Sought(
        rf"(?<!\w)(?:{phrases('opens')})(?!\w)[^\d.!?\n]{{0,40}}"
        r"(?P<value>(?<![\w.,:/-])[#*]?\d{4,8}[#*]?)(?![\w:/-]|[.,]\d)",
        re.IGNORECASE,
    )


def _unlocking(text: str) -> Iterator[Mark]:
    """Yield codes with which a sentence opens something, such as "my garage opens with 1207"."""
    for match in _locked().finditer(text):
        yield *match.span("value" if match["value"] else "typed"), "code"
    for match in _opens().finditer(text):
        after = TOKEN.match(text, match.end() + 1)
        if after is None or not whole("units").fullmatch(after[0].rstrip(AROUND)):
            yield *match.span("value"), "code"


@cache
def _credentials() -> Sought:
    no = rf"(?![ -]?(?:{phrases('no_password')})(?!\w))"
    return Sought(rf"(?<!\w)(?:{phrases('credentials')})(?!\w){no}", re.IGNORECASE)


def _beside_names(text: str) -> Iterator[Mark]:
    """Yield tokens that can only be a secret in a sentence that names secrets: letters with digits
    or marks between them.
    """
    for match in _credentials().finditer(text):
        end = min(len(text), match.end() + MOST_BETWEEN)
        stop = _STOP.search(text, match.end(), end)
        for token in TOKEN.finditer(text, match.end(), stop.start() if stop else end):
            value = token[0].strip("\"'“”„«»`‘’,.:;()")
            if value and is_no_word(value):
                start = token.start() + token[0].index(value)
                yield start, start + len(value), "password"


def _pairs(text: str) -> Iterator[Mark]:
    """Yield the passwords of pairs such as "bob@example.com:Giraffe88" or "u: admin p: hunter2"."""
    for match in _PAIR_WITH_MAIL.finditer(text):
        if looks(match["value"], least=LEAST_PASSWORD, strict=True):
            yield *match.span("value"), "password"
    for match in _PAIR_OF_LABELS.finditer(text):
        if not NOT_SAID.match(match["value"]):
            yield *match.span("value"), "password"


@cache
def _entered() -> Sought:
    """Return a pattern for a value with which somebody logs in, or a code that somebody types at a
    lock, as in "you can log in with swordfish7" or "type 58B21 at the keypad".
    """
    typed = r"(?P<typed>(?=[A-Za-z#*-]{0,6}\d)(?=\w*\d\w*\d)[A-Za-z0-9#*]{3,12})"
    value = r"[\"'“”„«»`]?(?P<value>[^\s\"'“”„«»`]{4,64})"
    return Sought(
        rf"(?<!\w)(?:{phrases('logs_in')})[ \t]*:?[ \t]+{value}"
        rf"|(?<!\w)(?:{phrases('typed')})[ \t]+{typed}[ \t]+(?:\w{{1,12}}['’ \t]+){{1,4}}?"
        rf"(?:{phrases('locks')})(?!\w)",
        re.IGNORECASE,
    )


def _given_values(text: str) -> Iterator[Mark]:
    """Yield the values that a sentence tells somebody to enter."""
    for match in _entered().finditer(text):
        if match["typed"]:
            yield *match.span("typed"), "code"
            continue
        value = match["value"].rstrip(AROUND + "!?…")
        if looks(value, least=LEAST_PASSWORD, strict=True):
            yield match.start("value"), match.start("value") + len(value), "password"


def used_secrets(text: str) -> Iterator[Mark]:
    """Yield the codes that open something, and the passwords that a sentence uses."""
    yield from _pairs(text)
    if _DIGIT.search(text):
        yield from _given_values(text)
    if _FIGURES.search(text):
        yield from _unlocking(text)
    if not _STEM.are_in(text):
        return
    yield from _beside_names(text)
    for match in _used_password().finditer(text):
        place = plain(text, match.end())
        if place is not None:
            yield *place, "password"
    for match in _used().finditer(text):
        # "I use Bitwarden for my passwords" names a program.
        is_program = match["value"][0].isupper() and match[0].endswith("words")
        if not is_program and not NOT_SAID.match(match["value"]):
            yield *match.span("value"), "password"
