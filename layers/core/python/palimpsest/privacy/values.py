"""Decides whether a value looks like a secret: a password, a passphrase or a code."""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re

from palimpsest.privacy.phrases import whole, word_set
from palimpsest.text.analyser import function_words

MASK = "[secret]"
"""The text that replaces a secret."""

Mark = tuple[int, int, str]
"""The beginning and end of a part of a text, and the reason why it is marked."""

MOST_WORDS = 24  # most words of a passphrase
PASSPHRASE = 4  # this many words are a passphrase, whatever the first word is
LEAST_CODE, LEAST_KEY, LEAST_PASSWORD = 3, 8, 4
LEAST_LETTERS, LEAST_DIGITS = 4, 2  # of a token that isn't a word
TOKEN = re.compile(r"\S+")
AROUND = ".,;:)]}>\"'”’»`*"
NOT_SAID = re.compile(
    r"\[|<|\{|\$|%|\*{3,}|•|x{4,}$|\.{3}|…|_{3,}|(?:os|process|self|this|env|config|settings|args|"
    r"secrets?|vault|request|req|data|params?)[.\[]|\w+\([^)]*\)|https?://|None$|null$|your[-_]|my[-_]",
    re.IGNORECASE,
)
_ADDRESS_OR_PATH = re.compile(r"@\w+\.\w|://|^/|\w/\w|\.\w{2,4}$|^www\.|^\d+(?:st|nd|rd|th)$")
_SUFFIX = re.compile(
    r"\w{3,}(?:ed|(?<!l)ing|able|ible|ory|ive|ous|less|ful|ly|lich|ig|isch|bar|los|iert|é|ée|eux|ado|ada|ido|ida)"
)
_UNITS_AFTER = 2
_ARTICLE = re.compile(
    r"(?:(?:the|die|der|la|le|el|number|nummer) +){1,2}(?=[#*]?\d)", re.IGNORECASE
)
_TURNS = (
    r"\d{1,2}(?:[ ]?(?:left|right|links|rechts|gauche|droite|izquierda|derecha)?[,; –-]{1,3}"
    r"\d{1,2}){2,4}(?:[ ](?:left|right|links|rechts|gauche|droite|izquierda|derecha))?"
)


def is_no_word(value: str) -> bool:
    """Return whether a token does not look like a word. Such a token has a mark of passwords,
    inside or at its end, together with a digit or a capital inside. Or it has at least four letters
    and two digits. Addresses, paths and names of files are not such tokens.
    """
    if NOT_SAID.search(value) or _ADDRESS_OR_PATH.search(value) or _is_number(value):
        return False
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    has_mark = re.search(r"[!$%^&*?~+=#_](?=\w)|[!$%^&*~+=#]\Z", value[1:]) is not None
    is_mixed = digits > 0 or re.search(r"[a-z]\W?[A-Z]", value) is not None
    return (has_mark and is_mixed and letters > 1 and len(value) > LEAST_PASSWORD) or (
        letters >= LEAST_LETTERS and digits >= LEAST_DIGITS and value.isalnum()
    )


def code(text: str, start: int, *, least: int) -> tuple[int, int] | None:
    """Return beginning and end of a code. A code is digits, in groups or with letters or marks
    between them.
    """
    article = _ARTICLE.match(text, start)
    start = article.end() if article else start
    match = re.compile(
        rf"{_TURNS}|#?\*?(?=[A-Za-z*#-]{{0,12}}\d)[A-Za-z0-9*#]{{1,24}}"
        r"(?:[ -]\d[\d*#]{0,7}){0,4}"
    ).match(text, start)
    if match is None:
        return None
    digits = sum(letter.isdigit() for letter in match[0])
    after = text[match.end() : match.end() + 30].split(None, _UNITS_AFTER)[:1]
    is_counted = bool(after) and whole("units").fullmatch(after[0].strip(",.;!?")) is not None
    is_more = text[match.end() : match.end() + 1].isalpha()
    return None if digits < least or is_counted or is_more else match.span()


def is_counted(text: str, token: re.Match[str]) -> bool:
    """Return whether a number counts something, as in "12 characters"."""
    if not token[0].rstrip(AROUND).replace("-", "").isdigit():
        return False
    after = TOKEN.match(text, token.end() + 1)
    return after is not None and whole("units").fullmatch(after[0].rstrip(AROUND)) is not None


def plain(text: str, start: int) -> tuple[int, int] | None:
    """Return beginning and end of a password of plain words. It ends with its clause, or before the
    first function word ("and", "is").
    """
    end, words = start, list[str]()
    while len(words) < MOST_WORDS and (token := TOKEN.match(text, end + bool(words))) is not None:
        word = token[0].rstrip(AROUND + "!?…")
        if not word or _is_grammar(word):
            break
        words.append(word)
        end = token.start() + len(word)
        if len(word) < len(token[0]) or text[token.end() : token.end() + 1] != " ":
            break
    is_one = bool(words) and (len(words) >= PASSPHRASE or _may_be_password(words[0]))
    return (start, end) if is_one and end - start >= LEAST_PASSWORD else None


def _is_grammar(word: str) -> bool:
    folded = word.casefold()
    return folded in function_words() or folded in word_set("joins")


def _may_be_password(word: str) -> bool:
    folded = word.casefold()
    if folded in word_set("no_value") or not word[0].isalpha():
        return False
    return not (word.islower() and _SUFFIX.fullmatch(word))


def looks(value: str, *, least: int, strict: bool) -> bool:
    """Return whether a token looks like a secret and not like a word. A secret mixes letters with
    digits, has marks inside, or mixes upper and lower case.
    """
    if len(value) < least or NOT_SAID.search(value):
        return False
    has_digit = any(letter.isdigit() for letter in value)
    has_letter = any(letter.isalpha() for letter in value)
    has_mark = re.search(r"\w[!@#$%^&*?~+=_|]+|[!@#$%^&*~+=_|]+\w", value) is not None
    is_mixed = re.search(r"[a-z][A-Z]", value) is not None
    if strict:
        return has_letter and (has_digit or (has_mark and is_mixed)) and not _is_number(value)
    return has_digit or has_mark or (is_mixed and not value.isalpha()) or is_mixed


def _is_number(value: str) -> bool:
    """Return whether the value is a number with a unit, an ordinal, a year or a version, and
    therefore not a password.
    """
    return (
        re.fullmatch(
            r"v?\d+(?:[.,:]\d+)*(?:st|nd|rd|th|s|x|k|am|pm|h|fa|d|er|e|ª|º)?|\d+[A-Za-z]",
            value,
            re.IGNORECASE,
        )
        is not None
    )
