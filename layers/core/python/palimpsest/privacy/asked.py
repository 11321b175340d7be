"""Recognizes secrets that are sent without a name, by the message before them."""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from functools import cache

from palimpsest.privacy.phrases import phrases, whole, word_set
from palimpsest.privacy.values import PASSPHRASE

MOST_READ = 600
"""How many characters at the end of a message are searched for a question."""

LONGEST_ANSWER = 200
MOST_WORDS = 24  # of a recovery phrase
LEAST_DIGITS, LEAST_LETTERS = 3, 4
_WORD = re.compile(r"\S+")
_AROUND = ".,;:!?()[]{}<>\"'“”„«»‘’`*"


@cache
def _named() -> re.Pattern[str]:
    """Return a pattern for the name of a secret, but not for things about secrets such as "password
    manager".
    """
    kinds = "|".join(phrases(name) for name in ("passwords", "keys", "codes", "asked_codes"))
    return re.compile(
        rf"(?<!\w)(?:{kinds})(?!\w)(?![ -]?(?:{phrases('no_password')})(?!\w))", re.IGNORECASE
    )


@cache
def _asks() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{phrases('asks_for')})(?!\w)|[?:]\s*$", re.IGNORECASE)


@cache
def _asks_whether() -> re.Pattern[str]:
    """Return a pattern for sentences that name a secret but do not ask for it. These are warnings,
    and questions such as "Do you have a password?". The question's verb is the first or second
    word. A warning may be anywhere in the sentence.
    """
    return re.compile(
        rf"\W*(?:[\w'’]+\W+){{0,1}}?(?:{phrases('asks_whether')})(?!\w)"
        rf"|.*(?<!\w)(?:{phrases('warns')})(?!\w)",
        re.IGNORECASE,
    )


@cache
def _lead() -> re.Pattern[str]:
    return re.compile(rf"\W*(?:(?:{phrases('answer_lead')})(?!\w)\W*)*", re.IGNORECASE)


@cache
def _asks_what() -> re.Pattern[str]:
    """Return a pattern for questions for a value, such as "What is your PIN?"."""
    return re.compile(rf"\W*(?:\w+\W+)?(?:{phrases('asks_what')})(?!\w)", re.IGNORECASE)


def _names_secret(sentence: str) -> bool:
    """Return whether a sentence names a secret, not an activity as in "do you code"."""
    named = _named().search(sentence)
    if named is None:
        return False
    before = sentence[: named.start()].casefold().split()[-1:]
    return not {*before} & word_set("askers")


def asks_for_secret(text: str) -> bool:
    """Return whether the last sentences of a message ask for a password, a code or a key."""
    for sentence in re.split(r"(?<=[.!?])\s+|\n", text[-MOST_READ:])[-3:]:
        if not _names_secret(sentence):
            continue
        if _asks_what().match(sentence) and sentence.rstrip().endswith("?"):
            return True
        if _asks().search(sentence) and not _asks_whether().match(sentence):
            return True
    return False


@cache
def _names_own() -> re.Pattern[str]:
    kinds = "|".join(phrases(name) for name in ("passwords", "codes"))
    return re.compile(
        rf"(?<!\w)(?:{kinds})(?!\w)(?![ -]?(?:{phrases('no_password')})(?!\w))", re.IGNORECASE
    )


@cache
def _is_it() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{phrases('it_is')})\s+(?P<value>\S+)\s*\Z", re.IGNORECASE)


def names_secret(text: str) -> bool:
    """Return whether a short message names a password or a code, as "forgot my PIN again" does."""
    return len(text) <= LONGEST_ANSWER and _names_own().search(text) is not None


def gives_it(text: str) -> bool:
    """Return whether a sentence at the beginning of a message says that "it" is a number or another
    value that isn't a word, as in "ah wait, it's 8306!". A message before it named the secret.
    """
    for sentence in re.split(r"(?<=[.!?])\s+|\n", text[:MOST_READ])[:3]:
        match = _is_it().search(sentence)
        value = match["value"].strip(_AROUND) if match else ""
        if _is_no_word(value) or (value.isdigit() and len(value) >= LEAST_DIGITS):
            return True
    return False


def is_bare_secret(text: str) -> bool:
    """Return whether an answer to a question for a secret is that secret, with few words
    around it.
    """
    if not text.strip() or len(text) > LONGEST_ANSWER or "?" in text.rstrip()[-1:]:
        return False
    lead = _lead().match(text)
    words = [match[0].strip(_AROUND) for match in _WORD.finditer(text, lead.end() if lead else 0)]
    words = [word for word in words if word]
    if not words or len(words) > MOST_WORDS:
        return False
    first = words[0]
    if any(char.isdigit() for char in first) or _is_no_word(first):
        return sum(map(str.isdigit, "".join(words))) >= LEAST_DIGITS or _is_no_word(first)
    if whole("no_answer").match(" ".join(words)):
        return False
    if len(words) < PASSPHRASE and first.casefold() in word_set("no_value"):
        return False
    is_phrase = not any(word.casefold() in word_set("joins") for word in words)
    return is_phrase and len("".join(words)) >= LEAST_LETTERS and _is_alone(words)


def _is_alone(words: list[str]) -> bool:
    """Return whether words do not form a sentence: one word, or several without a word of
    grammar.
    """
    from palimpsest.text.analyser import function_words

    return len(words) == 1 or not any(word.casefold() in function_words() for word in words)


def _is_no_word(word: str) -> bool:
    """Return whether a word has letters and digits, marks inside, or capitals inside."""
    has_digit = any(map(str.isdigit, word)) and any(map(str.isalpha, word))
    has_mark = re.search(r"\w[!@#$%^&*?~+=_|]+", word) is not None
    return has_digit or has_mark or re.search(r"[a-z][A-Z]", word) is not None
