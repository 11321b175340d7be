"""Puts a caller's own `MemoryStore` in the place of long-term memory, within one process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from palimpsest.context.blocks.stored import ExtractiveInStore
from palimpsest.context.read import ReadContext
from palimpsest.errors import ModelFailed, NotFound, Unprocessable
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.manage import ManageMemories, RecordChange
from palimpsest.memory.record import Record
from palimpsest.memory.removal.sources import Hidden
from palimpsest.memory.removal.users import Erase
from palimpsest.memory.versions import Version
from palimpsest.scope import UserScope, paid_by
from palimpsest.service.service import Service
from palimpsest.text.analyser import content_terms

from palimpsest_local.memory_store import StoredMemories

NEWEST, FOUND = 50, 20
"""How many memories a context chooses from: the number of memories that were said last, and the
number found by words and by meaning.
"""


@dataclass(frozen=True)  # without slots, as `Service`
class ServiceOverStore(Service):
    """The service with contexts, removals and erasure over the store. Recall reads the store that
    `stores` names.
    """

    stored: StoredMemories = field(kw_only=True)

    @cached_property
    def context(self) -> ReadContext:
        known = partial(_known, self, self.stored)
        extractive = ExtractiveInStore(
            self.stored.ledger, self.clock, known=known, chat=self.models.selector
        )
        of_ledger = super().context
        return replace(of_ledger, blocks=replace(of_ledger.blocks, extractive=extractive))

    @cached_property
    def manage_memories(self) -> ManageMemories:
        of_ledger = super().manage_memories
        return ManageStored(
            of_ledger.memories,
            of_ledger.tenants,
            of_ledger.clock,
            of_ledger.exports,
            of_ledger.hides,
            of_ledger.states,
            stored=self.stored,
        )

    @cached_property
    def erase(self) -> Erase:
        return EraseStored(self.stores.memories, self.clock, self.stored)


def _known(
    service: Service, stored: StoredMemories, owner: UserScope, message: str
) -> Sequence[Record]:
    if not stored.store.count(owner.user):
        return ()
    records = list(stored.worded(owner, "", k=NEWEST))
    if content_terms(message):
        records += stored.worded(owner, message, k=FOUND)
        records += _near(service, stored, owner, message)
    return tuple({record.id: record for record in records}.values())


def _near(
    service: Service, stored: StoredMemories, owner: UserScope, message: str
) -> Iterator[Record]:
    """Yield the records that are near in meaning to the message. Yield none if no vector can be
    made.
    """
    embedder = service.models.embedder()
    if embedder is None:
        return
    try:
        with paid_by(owner):
            (vector,) = embedder.embed([message], as_questions=True)
    except ModelFailed:
        return
    yield from (record for record, _ in stored.near(owner, vector, k=FOUND))


@dataclass(frozen=True, slots=True)
class EraseStored(Erase):
    stored: StoredMemories

    def __call__(self, scope: UserScope) -> str:
        self.stored.store.delete_all(scope.user)
        return Erase.__call__(self, scope)


@dataclass(frozen=True, slots=True)
class ManageStored(ManageMemories):
    """Deletes memories of a caller's own store. That store can't list memories and keeps no
    versions, so only `delete` is possible.
    """

    stored: StoredMemories = field(kw_only=True)

    def delete(self, scope: UserScope, record_id: str, *, whole: bool = False) -> Hidden:
        """Remove the memory from the store, and from the ledger the records from which it was made.
        Raises `NotFound`.
        """
        made_of = self.stored.record_ids(scope, record_id)
        was_there = self.stored.drop(scope, record_id)
        hidden = Hidden()
        for record in made_of:
            hidden += ManageMemories.delete(self, scope, record, whole=whole)
        if not was_there and not made_of:
            raise NotFound("There is no such memory.", code="memory_not_found")
        return hidden

    def read(self, scope: UserScope, record_id: str) -> Version:
        raise _not_there(scope, record_id)

    def history(self, scope: UserScope, record_id: str) -> tuple[Version, ...]:
        raise _not_there(scope, record_id)

    def listed(self, scope: UserScope, **options: object) -> tuple[tuple[Record, ...], str | None]:
        raise _not_there(scope, options)

    def every(self, scope: UserScope, where: MemoryFilter) -> Iterator[Record]:
        raise _not_there(scope, where)

    def patch(self, scope: UserScope, record_id: str, change: RecordChange) -> Record:
        raise _not_there(scope, record_id, change)

    def revert(self, scope: UserScope, record_id: str, **once: object) -> Record:
        raise _not_there(scope, record_id, once)


def _not_there(*_asked: object) -> Unprocessable:
    return Unprocessable(
        "A MemoryStore has no lists, versions or changes: save, recall and delete.",
        code="not_in_memory_store",
    )
