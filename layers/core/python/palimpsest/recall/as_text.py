"""Memories as the plain text that a model reads under `[User Memory]`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from palimpsest.conversations.spoken import name_of
from palimpsest.memory.as_line import names_a_date, quoted_in, unlabelled, when, with_one_date
from palimpsest.memory.record import Record
from palimpsest.recall.answer import Passage, user_memory
from palimpsest.recall.found import FoundMemory
from palimpsest.recall.question import excerpt
from palimpsest.text.analyser import content_terms

MAX_LINE = 600  # characters of one memory


def passage_of(memory: FoundMemory | Record, *, user: str, now: datetime | None = None) -> Passage:
    """The memory as an answer quotes it, with the name of the speaker, and with its time as it is
    seen from `now` (default: the present), or from the moment of the recall that found it.
    """
    time: str | None
    is_record = isinstance(memory, Record) or memory.record is not None
    has_changed = isinstance(memory, FoundMemory) and memory.rests_on_changed
    if isinstance(memory, Record):
        who, is_outdated = quoted_in(memory, user=user), False
        time = when(memory, now=now or datetime.now(UTC))
    elif memory.record:
        who, is_outdated = quoted_in(memory.record, user=user), memory.outdated_by is not None
        time = memory.when
    else:
        who = memory.name or name_of(memory.speaker or "", user=user)
        is_outdated, time = memory.outdated_by is not None, None
    return Passage(
        id=memory.id,
        content=with_one_date(unlabelled(memory.content, who), when=time),
        said_at=memory.valid_from,
        who=who,
        is_outdated=is_outdated,
        when=time,
        rests_on_changed=has_changed,
        names_its_day=is_record and names_a_date(memory.content),
    )


def format_as_context(
    memories: Iterable[FoundMemory | Record],
    *,
    user: str = "user",
    query: str = "",
    similarity: bool = False,
) -> str:
    """Write memories as text for a model: the heading `[User Memory]`, then one line for each
    memory, in the given order.

    The memories come from a recall, a search or a list. Each memory stays in its own line. A long
    memory is cut to the part that fits the `query` best.

    `user` is the id of the user; lines that quote the user begin with that name. With `similarity`,
    the line of each memory that a recall found ends in its score (0..1).
    """
    query_terms = content_terms(query)
    passages = []
    for memory in memories:
        passage = passage_of(memory, user=user)
        content = excerpt(passage.content, query_terms, limit=MAX_LINE)
        score = memory.score if similarity and isinstance(memory, FoundMemory) else None
        passages.append(replace(passage, content=content, similarity=score))
    return user_memory(passages)
