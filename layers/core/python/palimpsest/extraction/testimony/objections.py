"""Explains why a finding is rejected: because the user did not state it about themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from palimpsest.conversations.message import Message, text_of
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.testimony.reading import Withheld
from palimpsest.extraction.testimony.words import whole
from palimpsest.privacy.secrets import holds_secret
from palimpsest.text.salience import is_own

_WORD = re.compile(r"[^\W_]+")
LEAST_NAME = 3


class Heard(Protocol):
    """The messages that an extractor read, and the words of these messages that were withheld from
    it.
    """

    @property
    def messages(self) -> tuple[Message, ...]: ...
    @property
    def before(self) -> tuple[Message, ...]: ...
    @property
    def withheld(self) -> Mapping[int, Withheld]: ...


def not_testimony(finding: Finding, heard: Heard) -> str | None:
    """Return the reason to reject a finding, or None. It is rejected if it holds a secret. It is
    also rejected if its quote, or a name or number of its content, occurs only in withheld words.
    """
    terms = " \n".join((*finding.keywords, *finding.queries))
    about = f"{finding.topic or ''}\n{finding.subject or ''}"
    is_said = holds_secret(f"{finding.content}\n{finding.quote}")
    if is_said or holds_secret(f"{terms}\n{about}", is_data=True):
        return "secret"
    spans = [span for seq in finding.seqs for span in heard.withheld.get(seq, ())]
    if not spans:
        return None
    own = _words(text_of(message.chat) for message in (*heard.messages, *heard.before))
    foreign = {word for word in _names(finding) if word not in own}
    every = {word for word in _words([finding.content, terms]) - own if len(word) >= LEAST_NAME}
    quoted = set(_WORD.findall(finding.quote.casefold()))
    for kind, text in spans:
        words = _words([text])
        # A secret may be any word. Other withheld words may also be everyday words of the finding.
        if (every if kind == "secret" else foreign) & words or (
            not quoted <= own and quoted <= words
        ):
            return kind
    return None


_WHEN = re.compile(
    r"(?: (?:yesterday|today|earlier|last night|this morning|gestern|heute|vorhin|hier|ce matin"
    r"|ayer|hoy))?(?: \(\d{4}[^)]*\))?$",
    re.IGNORECASE,
)
"""When somebody said something, and the date that is added to it."""


def announces_only(content: str) -> bool:
    """Return whether a content only announces words, as "My teacher wrote" and "Shorten this:" do,
    or only says that a text arrived: "Mail I got.".
    """
    plain = content.strip()
    if plain.endswith(":") and not is_own(plain):
        return True
    return whole("stubs").fullmatch(_WHEN.sub("", plain.rstrip(".…!:, "))) is not None


def _names(finding: Finding) -> Sequence[str]:
    """Return the words of a content that are names or numbers."""
    return [
        word.casefold()
        for word in _WORD.findall(finding.content)
        if len(word) >= LEAST_NAME and (word[0].isupper() or word[0].isdigit())
    ]


def _words(texts: Iterable[str]) -> set[str]:
    return set().union(*map(_words_of, texts))


@lru_cache(maxsize=64)  # each finding of a chunk asks for the words of all its messages
def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
