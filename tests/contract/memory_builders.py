"""Short ways to say a record, a topic, a commit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from palimpsest.jobs.job import Job, armed
from palimpsest.memory.ports import Memories, MemoryCommit, Pointer
from palimpsest.memory.record import Record, Source
from palimpsest.scope import UserScope

from tests.contract.builders import NOW

MOMENT = NOW * 1000
"""Epoch milliseconds."""


def record(number: int, content: str = "likes tea", **more: Any) -> Record:
    """A record without a topic, created in the `number`th second."""
    at = MOMENT + number * 1000
    return replace(
        Record(id=f"mem_{number:032x}", type="fact", content=content, created_at=at, valid_from=at),
        **more,
    )


def version(
    number: int, content: str = "works at A", *, topic: str = "employer", **more: Any
) -> Record:
    """One that is about a topic, said in message `number` of a session."""
    return record(
        number,
        content,
        topic_key=topic,
        **{"source": Source("talk", (f"m{number}",), (number,))} | more,
    )


def pointer(to: Record, *, at: int = 0) -> Pointer:
    return Pointer(str(to.topic_key), to.id, to.order, at)


def job(scope: UserScope, **more: Any) -> Job:
    made = armed(tenant=scope.tenant, kind="extract", session="talk", first=1, last=4, now=NOW)
    return replace(made, user=scope.user, **more)


class Memory:
    """A user's memory as one careful writer sees it."""

    def __init__(self, memories: Memories, scope: UserScope) -> None:
        self.memories = memories
        self.scope = scope

    def commit(self, *new: Record, **more: Any) -> None:
        epoch = more.pop("epoch", None)
        if epoch is None:
            epoch = self.memories.user(self.scope).epoch
        more.setdefault("new", new)
        self.memories.commit(self.scope, MemoryCommit(epoch=epoch, **more))

    def supersede(self, *chain: Record) -> None:
        """Put these versions of one topic, each in its turn."""
        for version in chain:
            topic = str(version.topic_key)
            before = self.memories.pointers(self.scope, [topic]).get(topic)
            moved = (
                replace(before, record=version.id, order=version.order)
                if before
                else pointer(version)
            )
            self.commit(version, pointers=(moved,))

    def erase(self, **more: Any) -> None:
        epoch = self.memories.user(self.scope).epoch
        self.memories.erase(
            self.scope, epoch=epoch, job=job(self.scope, id=f"job_erase_{epoch}", **more)
        )

    def ids(self, *wanted: Record) -> list[str]:
        return [
            record.id
            for record in self.memories.records(self.scope, [record.id for record in wanted])
        ]
