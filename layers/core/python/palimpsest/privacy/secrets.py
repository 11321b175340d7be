"""Finds secrets in a text. It finds keys, tokens and private keys by their form, card and account
numbers by their check digits, and passwords and codes that the text names as such.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from palimpsest.privacy.said import said_secrets
from palimpsest.privacy.told import told_secrets
from palimpsest.privacy.values import MASK, Mark
from palimpsest.text.analyser import function_words
from palimpsest.text.folding import folded

LONGEST_SENTENCE = 1_000  # most characters that are searched for the ends of a sentence
_CARD = re.compile(
    r"(?<![\w+#-])(?<!\d[.,/])(?:"
    r"\d{13,19}|\d{4}([ .\u00a0-])\d{4}\1\d{4}\1\d{1,4}(?:\1\d{1,3})?"
    r"|3\d{3}([ .\u00a0-])\d{6}\2\d{4,5}"
    r")(?![\w-])(?![.,/]\d)"
)
_BRANDS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01]|720)\d{13}|3[47]\d{13}"
    r"|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|4[4-9]\d|5\d\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}"
    r"|(?:50|5[6-9]|6[0-9])\d{10,17}"
)
_NO_CARD = re.compile(
    r"(?:order|invoice|tracking|ticket|imei|serial|customer|reference|booking|shipment|parcel|isbn"
    r"|bestell\w*|auftrags?\w*|rechnungs?\w*|sendungs?\w*|kunden\w*|commande|facture|suivi"
    r"|pedido|factura|seguimiento)"
    r"(?: ?(?:no|nr|number|num|id|nummer|numéro|número|code|de suivi))?\.?[ :#]*"
    r"(?:(?:is|was|ist|lautet|est|es)[ :]*)?$",
    re.IGNORECASE,
)
_CHECK_DIGITS = re.compile(r"(?<![\w./#+-])(?<!\d )\d{3}(?![\w/-])(?![.,]\d)(?! \d)")
_AFTER_CARD = 80  # characters after a card's number that may have its check digits
LEAST_PHRASE = 11  # words; a phrase has 12, and one of them may be a word of grammar
LEAST_DIFFERENT = 8  # words of a phrase
_WORDS_ALONE = re.compile(
    rf"(?<![\w'-])(?:[^\W\d_A-Z]{{2,12}}[ ]){{{LEAST_PHRASE - 1},}}[^\W\d_A-Z]{{2,12}}(?![\w'-])"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_CARD_NAMED = re.compile(
    r"(?i)(?:card|karte|carte|tarjeta|visa|mastercard|amex|maestro)(?!\w)(?! (?:order|invoice))"
)
_DIGIT = re.compile(r"\d")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?=[ \u00a0-]?[A-Za-z0-9])")
_IBAN_NAMED = re.compile(r"(?i)(?<!\w)iban(?!\w)[^.!?\n]{0,24}$")
_LIKE_IBAN = re.compile(
    r"[A-Za-z]{2}\d{2}(?:[ \u00a0-]?[A-Z]{4})?"
    r"(?:[ \u00a0-]?(?=[A-Za-z]{0,4}\d)[A-Za-z0-9]{1,4}){3,8}"
)
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{1,60}-----|Private-MAC: *\S+")
_KEY_BEGINS = re.compile(r"-{1,5}[ \t]*$")
_TOKEN_GOES_ON = re.compile(r"[\w+/=-]*")
_JOINS = re.compile(
    r"[,;]? (?:and|but|und|aber|et|mais|y|pero) (?!\S{0,40}(?:password|passwort))|[;,] "
)
_SENTENCE_END = re.compile(r"[.!?…。！？]+[\"'”’»)]*(?=\s|$)|\n")  # noqa: RUF001
_TEN, _NINE, _MODULUS = 10, 9, 97
_BEFORE = 40  # characters before a number that may name it


@cache
def _data() -> Mapping[str, Any]:
    file = Path(__file__).with_name("shapes.json")
    data: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return data


@cache
def _shapes() -> tuple[tuple[tuple[str, ...], str], ...]:
    """Return the patterns of keys and tokens, each with some words. Every match of a pattern
    contains one of its words.
    """
    shapes = (*_data()["copied"], *_data()["added"])
    return tuple((tuple(shape["needs"]), shape["pattern"]) for shape in shapes)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern. Patterns are compiled at first use, because most are never
    needed.
    """
    return re.compile(pattern)


def holds_secret(text: str, *, is_data: bool = False) -> bool:
    """Return whether a text holds a secret. With `is_data`, nobody said the text. It is the name
    and the value of a field, or a tool's output.
    """
    return next(_places(text, is_data=is_data), None) is not None


def masked(text: str, *, is_data: bool = False) -> str:
    """Return the text with a mask in the place of each secret. The time it takes is proportional to
    the length of the text. `is_data` is as in `holds_secret`.
    """
    if not text:
        return text
    parts, place = [], 0
    for start, end, _ in sorted(_places(text, is_data=is_data)):
        if end <= place:
            continue
        if start >= place:
            parts += [text[place:start], MASK]
        place = end
    return "".join((*parts, text[place:])) if parts else text


def secrets(text: str) -> Iterator[Mark]:
    """Yield the clauses of a text that hold a secret."""
    for start, end, reason in _places(text):
        if reason == "private_key":
            yield start, end, reason
        else:
            yield (*_clause(text, start, end), reason)


def _places(text: str, *, is_data: bool = False) -> Iterator[Mark]:
    named = named_secrets(text)
    if is_data:
        yield from named
        return
    known = tuple(named)
    yield from known
    yield from told_secrets(text, known=known)


def named_secrets(text: str) -> Iterator[Mark]:
    """Yield the secrets that are known by their form, and those that the text names as such."""
    yield from _keys(text)
    yield from said_secrets(text)
    yield from _recovery_phrases(text)
    if _DIGIT.search(text) is None:
        return
    # One in ten other numbers passes the check of a card too, so the words before a number count.
    for match in _CARD.finditer(text):
        if is_card(match[0]) and not _is_of_another_kind(text, match.start()):
            yield match.start(), match.end(), "card"
            yield from (
                (*check.span(), "code")
                for check in _CHECK_DIGITS.finditer(text, match.end(), match.end() + _AFTER_CARD)
            )
    for match in _IBAN.finditer(text):
        end = _iban_end(text, match.start()) or _named_iban_end(text, match.start())
        if end is not None:
            yield match.start(), end, "account"


@cache
def _by_need() -> Mapping[str, Sequence[int]]:
    """Return the numbers of the shapes that a text with a certain word may have."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, (needs, _) in enumerate(_shapes()):
        for need in needs:
            numbers[need].append(number)
    return numbers


def _keys(text: str) -> Iterator[Mark]:
    numbers = _by_need()
    needs_found = filter(text.__contains__, numbers)
    for number in sorted({number for need in needs_found for number in numbers[need]}):
        needs, shape = _shapes()[number]
        pattern = _compiled(shape)
        if needs[0].startswith(("PRIVATE", "PuTTY")):
            yield from _private_keys(text, pattern)
            continue
        yield from _tokens(text, pattern)


def _tokens(text: str, pattern: re.Pattern[str]) -> Iterator[Mark]:
    """Yield the matches of a pattern, each extended to the end of its token. In an assignment only
    the value is a secret.
    """
    group = "value" if "value" in pattern.groupindex else 0
    place = 0
    while match := pattern.search(text, place):
        start, place = match.span(group)
        if group == 0:
            if (goes_on := _TOKEN_GOES_ON.match(text, place)) is not None:
                place = goes_on.end()
            # The match begins within a longer word.
            if text[max(0, start - 1) : start].isalnum():
                continue
        yield start, place, "token"


def _private_keys(text: str, pattern: re.Pattern[str]) -> Iterator[Mark]:
    place = 0
    while match := pattern.search(text, place):
        closing = _KEY_ENDS.search(text, match.end())
        dashes = _KEY_BEGINS.search(text, max(0, match.start() - 6), match.start())
        place = closing.end() if closing else len(text)
        yield dashes.start() if dashes else match.start(), place, "private_key"


def _is_grammar(word: re.Match[str]) -> bool:
    return folded(word[0]) in function_words()


def _recovery_phrases(text: str) -> Iterator[Mark]:
    """Yield the runs of so many words without a word of grammar between them that they are no
    sentence. Wallets show such words, 12 to 24 of them.
    """
    for run in _WORDS_ALONE.finditer(text):
        words = list(_LETTERS.finditer(text, *run.span()))
        for is_grammar, part in groupby(words, _is_grammar):
            phrase = list(part)
            several = len({word[0] for word in phrase}) >= LEAST_DIFFERENT
            if not is_grammar and several and len(phrase) >= LEAST_PHRASE:
                yield phrase[0].start(), phrase[-1].end(), "recovery_phrase"


def _is_of_another_kind(text: str, place: int) -> bool:
    """Return whether the words before a number say that it is no card's: "order number"."""
    before = text[max(0, place - _BEFORE) : place]
    return _NO_CARD.search(before) is not None and _CARD_NAMED.search(before) is None


def is_card(number: str) -> bool:
    """Return whether the digits begin like a card brand's numbers and pass the Luhn check."""
    compact = "".join(digit for digit in number if digit.isdigit())
    if not _BRANDS.fullmatch(compact):
        return False
    digits = [int(digit) for digit in compact]
    doubled = [2 * digit for digit in digits[-2::-2]]
    total = sum(digits[-1::-2]) + sum(d - _NINE if d > _NINE else d for d in doubled)
    return total % _TEN == 0 and any(digit != other for digit, other in pairwise(digits))


def is_iban(number: str) -> bool:
    """Return whether the text begins with an IBAN, which has the right length for its country and
    valid check digits.
    """
    return _iban_end(number, 0) is not None


def _iban_end(text: str, start: int) -> int | None:
    """Return the end of the IBAN that begins at `start`, or None if none begins there."""
    length = _data()["iban_lengths"].get(text[start : start + 2].upper())
    if length is None:
        return None
    letters: list[str] = []
    for place in range(start, min(len(text), start + 2 * length)):
        letter = text[place]
        if letter.isascii() and letter.isalnum():
            letters.append(letter.upper())
        elif letter not in " -\u00a0" or not text[place - 1].isalnum():
            return None
        if len(letters) == length:
            account = "".join((*letters[4:], *letters[:4]))
            is_valid = int("".join(str(int(letter, 36)) for letter in account)) % _MODULUS == 1
            return place + 1 if is_valid and not text[place + 1 : place + 2].isalnum() else None
    return None


def _named_iban_end(text: str, start: int) -> int | None:
    """Return the end of a number that the words before it call an IBAN. A digit of it may be wrong,
    so it need not pass the check.
    """
    named = _IBAN_NAMED.search(text, max(0, start - _BEFORE), start)
    number = _LIKE_IBAN.match(text, start) if named else None
    return number.end() if number else None


def _clause(text: str, start: int, end: int) -> tuple[int, int]:
    """Return beginning and end of the clause around a secret. Other clauses of the sentence are
    kept.
    """
    least = max(0, start - LONGEST_SENTENCE)
    ends = [text.rfind(mark, least, start) for mark in (". ", "! ", "? ", "\n")]
    first = max(*ends, least - 1) + 1
    limit = min(len(text), end + LONGEST_SENTENCE)
    stop = _SENTENCE_END.search(text, end, limit)
    last = stop.end() if stop else limit
    for join in _JOINS.finditer(text, first, start):
        first = join.end()
    after = _JOINS.search(text, end, last)
    return first, after.end() if after else last
