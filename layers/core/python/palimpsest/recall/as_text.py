"""Writes memories as the plain text that a model reads under `[User Memory]`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from palimpsest.clock import milliseconds
from palimpsest.conversations.spoken import name_of
from palimpsest.extraction.testimony.shown import is_material
from palimpsest.memory.as_line import names_a_date, quoted_in, unlabelled, when, with_one_date
from palimpsest.memory.record import KEYED, Record, is_in_first_person
from palimpsest.recall.answer import Passage, user_memory
from palimpsest.recall.found import FoundMemory
from palimpsest.recall.question import excerpt
from palimpsest.text.analyser import content_words

MAX_LINE = 600  # characters of one memory


ShownMemory = FoundMemory | Record | Mapping[str, Any]
"""A memory as the use cases return it, or as the API answers it."""


def quotes_material(memory: FoundMemory, *, user: str) -> bool:
    """Return whether the memory is a message that is mostly material, not testimony: by the other
    messages of its session, or because a user's text itself shows it.
    """
    if memory.record is not None:
        return False
    is_of_user = memory.speaker == "user"
    return memory.is_material or (is_of_user and is_material(memory.content, user=user))


def passage_of(memory: ShownMemory, *, user: str, now: datetime | None = None) -> Passage:
    """Return the memory as an answer quotes it, with the name of the speaker and its time. Times
    are relative to `now`. By default, that is the moment of the recall that found the memory, or
    else the present.
    """
    if isinstance(memory, Mapping):
        return _passage_of_row(memory, user=user)
    time: str | None
    material = False
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
        material = quotes_material(memory, user=user)
    return Passage(
        id=memory.id,
        content=with_one_date(unlabelled(memory.content, who), when=time),
        said_at=memory.valid_from,
        who=who,
        is_outdated=is_outdated,
        is_material=material,
        when=time,
        rests_on_changed=has_changed,
        names_its_day=is_record and names_a_date(memory.content),
    )


def _passage_of_row(row: Mapping[str, Any], *, user: str) -> Passage:
    is_quoted = row["type"] not in KEYED and is_in_first_person(row["content"])
    # Without a model, records are sentences of the user (docs/adr/0004), so a line quotes them.
    speaker = "user" if is_quoted or row.get("method") == "pattern" else None
    speaker = row.get("role") or speaker
    said_by = row.get("speaker")
    is_of_another = said_by is not None and said_by not in ("user", "assistant", "tool")
    own = name_of(speaker, user=user) if speaker else None
    who = said_by if is_of_another else own
    time = row.get("when")
    return Passage(
        id=row["id"],
        content=with_one_date(unlabelled(row["content"], who), when=time),
        said_at=milliseconds(datetime.fromisoformat(row["valid_from"])),
        who=who,
        is_material=bool(row.get("material")),
        when=time,
        rests_on_changed=bool(row.get("rests_on_changed")),
        names_its_day=row.get("role") is None and names_a_date(row["content"]),
        is_outdated=row.get("outdated_by") is not None,
    )


def format_as_context(
    memories: Iterable[ShownMemory],
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
    query_words = content_words(query)
    passages = []
    for memory in memories:
        passage = passage_of(memory, user=user)
        content = excerpt(passage.content, query_words, limit=MAX_LINE)
        score = _score_of(memory) if similarity else None
        passages.append(replace(passage, content=content, similarity=score))
    return user_memory(passages)


def _score_of(memory: ShownMemory) -> float | None:
    if isinstance(memory, Mapping):
        return memory.get("score")
    return memory.score if isinstance(memory, FoundMemory) else None
