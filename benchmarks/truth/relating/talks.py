"""Pairs of a statement in a long conversation and an earlier statement of the same speaker, which
it leaves unchanged. Labelled changes are left out. From these pairs, training learns how rare a
change is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC
from functools import cache
from itertools import chain, islice

from palimpsest.memory.meaning.reading import is_meant_by, naming
from palimpsest.memory.meaning.signs import Said

from benchmarks.retrieval.labelled.dataset import LONG_TALKS, load
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
    known, changed = defaultdict[str | None, list[tuple[str, Said]]](list), _changed()
    for session in talk.sessions:
        for message in session.messages:
            if message.role in SPOKEN and message.content:
                before = known[message.name]
                now = stated(message.content, message.timestamp.astimezone(UTC))
                for new in now:
                    for place, statement in _beside(new, before):
                        if (place, message.id) not in changed:
                            yield Pair("talks", talk.id, new, statement, "leave")
                before += [(message.id, statement) for statement in now]


@cache
def _changed() -> frozenset[tuple[str, str]]:
    """Return the messages that state what changes later, each with the message that changes it."""
    supersessions = (
        supersession for path in LONG_TALKS for supersession in load(path).supersessions
    )
    return frozenset(
        (old.message, supersession.new.message)
        for supersession in supersessions
        for old in supersession.old
    )


def _beside(new: Said, known: Sequence[tuple[str, Said]]) -> dict[tuple[str, Said], None]:
    """Return the newest known statements, and the newest that share a word with the new one. Each has the
    id of its message.
    """
    named = naming(new.text)
    near = (
        statement
        for statement in reversed(known)
        if any(is_meant_by(word, named) for word in naming(statement[1].text))
    )
    return dict.fromkeys(chain(islice(near, NEWEST), islice(reversed(known), NEWEST)))
