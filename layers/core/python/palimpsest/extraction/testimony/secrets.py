"""Secrets in a text: keys and tokens by their shapes, private keys, passwords that are said as
such, numbers of cards and accounts by their check digits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from palimpsest.extraction.testimony.blocks import Mark
from palimpsest.extraction.testimony.extents import sentence_end, sentence_start
from palimpsest.extraction.testimony.words import phrases

_CARD = re.compile(r"(?<![\w.-])[3-6]\d{3}(?:[ -]?\d){9,15}(?![\w-])")
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}", re.IGNORECASE)
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{1,60}-----|Private-MAC: *\S+")
_JOINS = re.compile(r"[,;]? (?:and|but|und|aber|et|mais|y|pero) |[;,] ")
_VALUE = re.compile(r"\S*")
_TEN, _NINE, _MODULUS = 10, 9, 97


@cache
def _data() -> Mapping[str, Any]:
    file = Path(__file__).with_name("secrets.json")
    data: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return data


@cache
def _shapes() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    """The patterns of keys and tokens, each with the words of which a match has one."""
    shapes = (*_data()["copied"], *_data()["added"])
    return tuple((tuple(shape["needs"]), re.compile(shape["pattern"])) for shape in shapes)


@cache
def _password() -> re.Pattern[str]:
    return re.compile(
        rf"(?<!\w)(?=\w)(?:{phrases('passwords')})"
        r"|(?<!\S)\S{4,64} (?:is|ist|es|est) (?:my|mein|mi|mon) "
        r"(?:\w{1,20} )?(?:password|passwort|contraseña|mot de passe)\b",
        re.IGNORECASE,
    )


def secrets(text: str) -> Iterator[Mark]:
    """The clauses of a text that hold a secret."""
    for start, end, reason in _places(text):
        if reason == "private_key":
            closing = _KEY_ENDS.search(text, end)
            yield start, closing.end() if closing else len(text), reason
        else:
            yield (*_clause(text, start, end), reason)


def holds_secret(text: str) -> bool:
    return next(_places(text), None) is not None


def _places(text: str) -> Iterator[Mark]:
    yield from _keys(text)
    for match in _password().finditer(text):
        value = _VALUE.match(text, match.end())
        yield match.start(), value.end() if value else match.end(), "password"
    for reason, pattern, is_valid in (("card", _CARD, is_card), ("account", _IBAN, is_iban)):
        valid = (match for match in pattern.finditer(text) if is_valid(match[0]))
        yield from ((match.start(), match.end(), reason) for match in valid)


def _keys(text: str) -> Iterator[Mark]:
    for needs, pattern in _shapes():
        if any(need in text for need in needs):
            reason = "private_key" if needs[0].startswith(("PRIVATE", "PuTTY")) else "token"
            for match in pattern.finditer(text):
                yield match.start(), match.end(), reason


def is_card(number: str) -> bool:
    """Whether the digits pass Luhn's check."""
    digits = [int(digit) for digit in number if digit.isdigit()]
    doubled = [2 * digit for digit in digits[-2::-2]]
    total = sum(digits[-1::-2]) + sum(d - _NINE if d > _NINE else d for d in doubled)
    return total % _TEN == 0 and any(one != other for one, other in pairwise(digits))


def is_iban(number: str) -> bool:
    """Whether an IBAN of its country's length begins the text, by its check digits."""
    compact = re.sub("[ -]", "", number).upper()
    length = _data()["iban_lengths"].get(compact[:2])
    if length is None or len(compact) < length:
        return False
    account = compact[4:length] + compact[:4]
    return int("".join(str(int(letter, 36)) for letter in account)) % _MODULUS == 1


def _clause(text: str, start: int, end: int) -> tuple[int, int]:
    """The clause around a secret: other clauses of its sentence are told as before."""
    first, last = sentence_start(text, start), sentence_end(text, end)
    for join in _JOINS.finditer(text, first, start):
        first = join.end()
    after = _JOINS.search(text, end, last)
    return first, after.end() if after else last
