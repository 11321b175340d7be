"""What a question asks for: its words, the topics it may name, the time it speaks of, whether it asks of the past."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from palimpsest.domain.query_times import Period, period
from palimpsest.domain.query_topics import topic_keys
from palimpsest.domain.query_words import content_terms, folded, words

MAX_QUESTION = 4_000  # characters that are read
LEAST_NAME = 3

_WORD = re.compile(r"\w[\w\u2019'-]*")
_OWNED = re.compile(r"['\u2019]s?$")
_THE_USER = re.compile(r"\b(?:the )?user(?:['\u2019]s)?\b", re.IGNORECASE)
# Who asks so wants what held before as well.
_PAST = re.compile(
    r"\b(?:before|previous(?:ly)?|earlier|former(?:ly)?|original(?:ly)?|initial(?:ly)?|used to|at first|back then"
    r"|no longer|any ?more|in the past|history|changed?|switch(?:ed)?|replaced?"
    r"|früher|vorher|zuvor|ursprünglich|anfangs|ehemals?|avant|auparavant|autrefois|initialement|ancien(?:ne)?"
    r"|antes|anterior(?:mente)?|previamente|al principio|سابقا|قبل)\b"
    r"|以前|之前|原来|原先|当初|最初|もともと|이전|예전|전에|처음",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Query:
    """`searched` is what words and meaning are searched by; `terms` are its words as texts are compared within the
    process; `topic_keys` are keys that a topic of which it speaks may have, the most telling first.
    """

    text: str
    searched: str
    terms: tuple[str, ...]
    topic_keys: tuple[str, ...]
    period: Period | None
    asks_of_the_past: bool


def analysed(text: str, *, user: str, now: datetime) -> Query:
    """Read a question about a user, in any language.

    The user's own name says whose memory is asked, which is known: memories hardly ever hold it, and where they do it
    misleads. It is recognised by the user's id.
    """
    asked = " ".join(text[:MAX_QUESTION].split())
    searched = _without(asked, user)
    return Query(
        text=asked,
        searched=searched,
        terms=content_terms(searched),
        topic_keys=topic_keys(searched),
        period=period(asked, now=now),
        asks_of_the_past=_PAST.search(asked) is not None,
    )


def _without(text: str, user: str) -> str:
    """The text without the user's name, unless nothing else is in it."""
    names = {name for name in (*re.split(r"[^a-z]+", user.casefold()), user.casefold()) if len(name) >= LEAST_NAME}

    def kept(match: re.Match[str]) -> str:
        bare = re.sub(r"[\W_]", "", folded(_OWNED.sub("", match[0])))
        return "" if match[0][0].isupper() and bare in names else match[0]

    left = " ".join(_WORD.sub(kept, _THE_USER.sub("", text)).split())
    return left if words(left) else text
