"""Statements of long conversations, each beside known ones of the same speaker. Nearly all of them
leave these as they are, so training learns how rare a change is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC
from itertools import chain, islice

from palimpsest.memory.meaning.reading import is_meant_by, naming
from palimpsest.memory.meaning.signs import Said

from benchmarks.retrieval.labelled.form import Conversation
from benchmarks.truth.long_talks import conversations
from benchmarks.truth.relating.pairs import Pair, stated

NEWEST = 4  # known statements beside each new one, and as many that share a word with it
SPOKEN = ("user",)


def of_talks(*, is_odd: bool) -> Iterator[Pair]:
    """Yield the pairs of every second one of our labelled conversations."""
    for talk in conversations(is_odd=is_odd):
        yield from _of_talk(talk)


def _of_talk(talk: Conversation) -> Iterator[Pair]:
    known: dict[str | None, list[Said]] = defaultdict(list)
    for session in talk.sessions:
        for message in session.messages:
            if message.role in SPOKEN and message.content:
                before = known[message.name]
                now = stated(message.content, message.timestamp.astimezone(UTC))
                for new in now:
                    for one in _beside(new, before):
                        yield Pair("talks", talk.id, new, one, "leave")
                before += now


def _beside(new: Said, known: Sequence[Said]) -> dict[Said, None]:
    """Return the newest known statements, and the newest that share a word with the new one."""
    named = naming(new.text)
    near = (
        one for one in reversed(known) if any(is_meant_by(word, named) for word in naming(one.text))
    )
    return dict.fromkeys(chain(islice(near, NEWEST), islice(reversed(known), NEWEST)))
