"""Memories as the plain text that a model reads under `[User Memory]`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from palimpsest.conversations.spoken import name_of
from palimpsest.memory.record import Record, quoted_in
from palimpsest.recall.answer import Passage, user_memory
from palimpsest.recall.found import FoundMemory
from palimpsest.recall.question import excerpt
from palimpsest.text.analyser import content_terms

MAX_LINE = 600  # characters of one memory


def passage_of(one: FoundMemory | Record, *, user: str) -> Passage:
    """The memory as an answer quotes it, with the name of the speaker."""
    if isinstance(one, Record):
        return Passage(
            id=one.id, content=one.content, said_at=one.valid_from, who=quoted_in(one, user=user)
        )
    who = quoted_in(one.record, user=user) if one.record else name_of(one.speaker or "", user=user)
    is_outdated = one.outdated_by is not None
    return Passage(
        id=one.id, content=one.content, said_at=one.valid_from, who=who, is_outdated=is_outdated
    )


def format_as_context(
    memories: Iterable[FoundMemory | Record],
    *,
    user: str = "user",
    query: str = "",
    similarity: bool = False,
) -> str:
    """Write memories as text for a model: the heading `[User Memory]`, then one line for each
    memory, in the order given.
    The memories come from a recall, a search or a list. No memory can end its line. A long memory
    is cut to the part that fits the `query` best.

    `user` is the id of the user, who is named where the user is quoted. With `similarity` each line
    that a recall found ends in its score (0..1).
    """
    asked = content_terms(query)
    passages = []
    for one in memories:
        passage = passage_of(one, user=user)
        score = one.score if similarity and isinstance(one, FoundMemory) else None
        passages.append(
            replace(passage, content=excerpt(one.content, asked, limit=MAX_LINE), similarity=score)
        )
    return user_memory(passages)
