"""The answers about memories that several operations and tools share: saved memories, pages of
memories, pages of versions, and forgotten memories.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Literal

from aws_lambda_powertools.event_handler import Response

from palimpsest.api.answers import WouldForget
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import Json
from palimpsest.api.pages import Order, listing
from palimpsest.api.resources.jobs import awaited
from palimpsest.api.resources.memories.shapes import SavedMemories, shown
from palimpsest.errors import NotFound, ReadOnlyBlock
from palimpsest.memory.decisions import Remembered
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.versions import Version
from palimpsest.scope import UserScope


def saved(service: Service, scope: UserScope, made: Sequence[Remembered]) -> SavedMemories:
    versions, now = service.show(scope, [decision.record for decision in made]), service.clock.now()
    return {
        "memories": [
            {**shown(version, now=now), "outcome": outcome.outcome}
            for version, outcome in zip(versions, made, strict=True)
        ]
    }


def page_of_memories(
    service: Service,
    scope: UserScope,
    where: MemoryFilter,
    *,
    status: Literal["current", "superseded"] = "current",
    order: Order = "desc",
    limit: int,
    cursor: str | None,
) -> Json:
    find = partial(
        service.show.listed,
        scope,
        where=where,
        newest_first=order == "desc",
        superseded=status == "superseded",
    )
    listed = (scope.partition, "memories", *_limits(where), status, order)
    view = partial(shown, now=service.clock.now())
    return listing("memories", find, view, listed=listed, limit=limit, cursor=cursor)


def _limits(where: MemoryFilter) -> tuple[object, ...]:
    """Return the conditions of the filter, which become part of the list's identity. A cursor is
    then valid only for a list with the same filter.
    """
    limits = {
        **asdict(where),
        "types": sorted(where.types),
        "metadata": sorted(where.metadata.items(), key=str),
    }
    return tuple(limits.values())


def page_of_versions(
    service: Service,
    scope: UserScope,
    memory_id: str,
    *,
    order: Order = "desc",
    limit: int,
    cursor: str | None = None,
) -> Json:
    """Return a page of all versions of the memory's topic, earlier and later ones."""
    chain = service.manage_memories.history(scope, memory_id)
    in_order = chain if order == "desc" else chain[::-1]

    def find(*, limit: int, after: str | None) -> tuple[Sequence[Version], str | None]:
        begin = next(
            (at for at, version in enumerate(in_order, 1) if str(version.number) == after), 0
        )
        page = service.show.with_uses(scope, in_order[begin : begin + limit])
        return page, str(page[-1].number) if begin + limit < len(chain) else None

    listed = (scope.partition, "history", memory_id, order)
    view = partial(shown, now=service.clock.now())
    return listing("versions", find, view, listed=listed, limit=limit, cursor=cursor)


def forgotten(
    service: Service,
    call: Call,
    scope: UserScope,
    where: MemoryFilter,
    *,
    dry_run: bool,
    wait: float,
) -> WouldForget | Response[str]:
    """Return the answer to a request to forget memories. With `dry_run`, the caller needs the scope
    `read`.
    """
    if dry_run:
        call.caller.require("read")
        ids = service.manage_memories.matching(scope, where)
        return {"dry_run": True, "count": len(ids), "ids": ids}
    forget = service.forget
    job_id = call.made(lambda key: forget(scope, where, key=key))
    return awaited(service, call, job_id, wait=wait)


@contextmanager
def no_static_fact(service: Service, call: Call, memory_id: str) -> Iterator[None]:
    """Raise `ReadOnlyBlock` if a memory was not found because the id belongs to a static fact.
    Contexts show the ids of memories and of static facts.
    """
    try:
        yield
    except NotFound as error:
        if any(fact.id == memory_id for fact in service.facts.listed(call.caller.tenant)):
            raise ReadOnlyBlock(
                "This is the id of a static fact. Static facts can be changed at "
                "/v1/static-facts, with the scope admin."
            ) from error
        raise
