"""Finds secrets that a sentence tells without naming them, as in "just use plover22 to get in". The
weights are learned from labelled sentences (`make told`) and lie in `told.json`.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from palimpsest.privacy.phrases import SENTENCE_END
from palimpsest.privacy.values import MASK, NOT_SAID, Mark
from palimpsest.text.folding import folded
from palimpsest.text.labelling import LabelWeights, label_weights
from palimpsest.text.packaged import packaged_json

PACKAGE: Final = "palimpsest.privacy"
TELLS, NAMES, NOTHING = "tells", "names", "no"
"""A sentence that tells a secret, one after which a secret is likely to be told, and any other."""

MOST_READ = 2_000
"""How many characters at each end of a text are read. People tell secrets in messages, not inside a
pasted text.
"""
LAST_READ = 600
"""How many characters at the end of a message are read for what the next message may tell."""

MOST_TOKENS = 60  # of a sentence
STEM = 5  # letters
LONGEST, MOST_DIGITS, MOST_RUNS, MANY = 12, 9, 7, 10
LEAST_DIGITS = 2
MOST_DIGITS_OF_CODE = 12  # a longer number is an id, or a card or an account with check digits
_TOKEN = re.compile(
    r"(?P<id>https?://[^\s\"<>]+"
    r"|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[a-z]{2,5}_[0-9a-f]{32}"
    r"|(?<![\w+])[+0](?=(?:[ /-]?\d){8})[\d /-]*\d(?!\w)"
    r"|\$?\{?\w+[.\[({][^\s]*[\])}]"
    r"|[\x00-\x08\x0e-\x1b\x7f][^\s]*)"
    r"|(?<!\S)\d(?:[ -]\d){2,7}(?![\w-])"
    r"|[^\s\"“”„«»`,;()\[\]{}<>:=|]+"
)
_BEFORE, _AFTER = "'‘’*¿¡-–—", ".!?…'’‘*"
_LOOKS = ("plain", "numbers")
_LOOKING = {
    "mark": re.compile(r"\w[!@#$%^&*?~+_]+\w"),
    "camel": re.compile(r"[a-z][A-Z]"),
    "dash": re.compile(r"\w[-–]\w"),
}


class Run(NamedTuple):
    """A run of characters in a text. Its kind is `word`, or says what makes it odd: `num` (digits
    alone), `mix` (letters and digits), `mark`, `camel` or `dash`. An `id` names something and
    opens nothing: an address, a UUID, a telephone number, an expression of code, a placeholder or a
    control sequence.
    """

    start: int
    end: int
    text: str
    kind: str

    @property
    def form(self) -> str:
        if self.kind == "word":
            return folded(self.text)
        if self.kind == "num":
            return f"#{min(_digits(self.text), MOST_DIGITS)}"
        return f"@{self.kind}"


def told_secrets(
    text: str, *, is_named: bool = False, known: Sequence[Mark] = ()
) -> Iterator[Mark]:
    """Yield beginning, end and reason of the secrets that a text tells. These are the odd tokens of
    a sentence that tells one, or the whole sentence if it has none. `is_named` says that the
    message before has asked for a secret or named what one opens. Sentences with `known` or
    masked secrets are not read.
    """
    for start, end in sentences_of(text):
        is_known = any(start < last and first < end for first, last, _ in known)
        if not is_known and text.find(MASK, start, end) < 0:
            for first, last in _told_in(text[start:end], is_named=is_named):
                yield start + first, start + last, "told"


@lru_cache(maxsize=1_024)
def _told_in(sentence: str, *, is_named: bool) -> Sequence[tuple[int, int]]:
    """Return the places of the secrets that a sentence tells. A sentence is often asked about again
    as a quote and as a memory.
    """
    tokens = tokens_of(sentence, 0, len(sentence))
    if not tokens or label_of(tokens, learned(), is_named=is_named) != TELLS:
        return ()
    odd = [(token.start, token.end) for token in tokens if _may_be_secret(token)]
    has_id = any(token.kind == "id" for token in tokens)
    return odd if odd or has_id else [(0, len(sentence))]


def names_what_is_secret(text: str) -> bool:
    """Return whether the next message is likely to tell a secret, as after "what was the code for
    the shed?" or "I can't get into the tablet".
    """
    end = text[-LAST_READ:]
    return any(label_of(tokens_of(end, *place), learned()) == NAMES for place in sentences_of(end))


def label_of(tokens: Sequence[Run], weights: LabelWeights, *, is_named: bool = False) -> str:
    """Return the label of a sentence by these weights."""
    likely = weights.likely(signs_of(tokens, is_named=is_named))
    return next((name for name in (TELLS, NAMES) if likely[name] >= weights.least[name]), NOTHING)


def signs_of(tokens: Sequence[Run], *, is_named: bool) -> frozenset[str]:
    """Return the words of a sentence, their first letters, the pairs of its neighbouring words, and
    the forms of its odd tokens.
    """
    forms = [token.form for token in tokens]
    stems = [form[:STEM] for form in forms]
    odd = [token for token in tokens if token.kind not in ("word", "id")]
    how_many = f"words {min(len(tokens), MANY)}"
    signs = {how_many, *forms, *(f"{form[:STEM]}*" for form in forms if len(form) > STEM)}
    signs.update(map(" ".join, pairwise(["^", *stems, "$"])))
    for token in odd:
        size = min(len(token.text), LONGEST)
        signs |= {f"shape {_shape(token.text)}", f"len {token.kind} {size}"}
    has_odd = not {token.kind for token in odd}.isdisjoint(("mix", "mark"))
    look = "odd" if has_odd else _LOOKS[bool(odd)]
    signs.add(look)
    if is_named:
        signs |= {"named", f"named {how_many}", f"named {look}"}
    return frozenset(signs)


def tokens_of(text: str, start: int, end: int) -> list[Run]:
    """Return the first tokens of a part of a text."""
    tokens: list[Run] = []
    for match in _TOKEN.finditer(text, start, end):
        after_marks = match[0].lstrip(_BEFORE)
        first = match.end() - len(after_marks)
        inner = after_marks.rstrip(_AFTER)
        if inner:
            kind = "id" if match["id"] else _kind(inner)
            tokens.append(Run(first, first + len(inner), inner, kind))
        if len(tokens) == MOST_TOKENS:
            break
    return tokens


def _kind(text: str) -> str:
    if text.islower() and text.isalpha():
        return "word"
    if NOT_SAID.search(text):
        return "id"
    if any(map(str.isalpha, text)) and any(map(str.isdigit, text)):
        return "mix"
    if (digits := _digits(text)) > 0:
        return "num" if digits <= MOST_DIGITS_OF_CODE else "id"
    return next((name for name, look in _LOOKING.items() if look.search(text)), "word")


def _digits(text: str) -> int:
    return sum(map(str.isdigit, text))


def _shape(text: str) -> str:
    """Return the sorts of a token's characters, each run of one sort once, such as "Aa-9"."""
    return "".join(sort for sort, _ in groupby(map(_sort, text)))[:MOST_RUNS]


def _sort(char: str) -> str:
    if char.isdigit():
        return "9"
    if char.isalpha():
        return "A" if char.isupper() else "a"
    return char


def _may_be_secret(token: Run) -> bool:
    if token.kind == "num":
        return _digits(token.text) >= LEAST_DIGITS
    return token.kind in ("mix", "mark")


def sentences_of(text: str) -> Iterator[tuple[int, int]]:
    """Yield beginning and end of the sentences that are read."""
    is_long = len(text) > 2 * MOST_READ
    parts = [(0, MOST_READ), (len(text) - MOST_READ, len(text))] if is_long else [(0, len(text))]
    for first, last in parts:
        start = first
        for match in SENTENCE_END.finditer(text, first, last):
            yield start, match.start()
            start = match.end()
        yield start, last


@cache
def learned() -> LabelWeights:
    """Return the weights of told secrets. The first call reads them in some 10 ms."""
    return label_weights(packaged_json(PACKAGE, "told.json"))
