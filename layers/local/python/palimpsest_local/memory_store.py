"""Long-term memory over a `MemoryStore`. Current memories are saved there, and recall and contexts
read them there.

The ordinary store of memories is the ledger here. It holds what was stored since the process began:
topics, the progress of extraction, preferences and the graph.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast, get_args

from cachetools import LRUCache
from palimpsest.clock import Clock, seconds
from palimpsest.conversations.message import message_of
from palimpsest.errors import Unavailable
from palimpsest.memory.expiry import is_expired
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.ports import Memories, Pointer, RecordPage
from palimpsest.memory.preferences import TOPICS
from palimpsest.memory.record import Record, RecordType, SaidType
from palimpsest.memory.store import MemoryStore, StoredMemory
from palimpsest.models.ports import Space, Vector
from palimpsest.recall.found import words_of
from palimpsest.recall.question import scores
from palimpsest.scope import UserScope
from palimpsest.search.ports import ANYTHING, Document, Gone, Hit, SearchIndex
from palimpsest.text.analyser import content_terms, terms
from pydantic import TypeAdapter

MOST_MET = 2_000  # memories that searches found and that may be read right after
SAID = frozenset[RecordType](get_args(SaidType))
SPARE = 4  # times as many are searched if a filter or expiry may remove some
OWN = frozenset({"id", "content", "valid_from", "embedding", "index_state", "version"})
_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


class StoredMemories:
    """The memories of a `MemoryStore` as records. Safe for many threads."""

    def __init__(
        self, store: MemoryStore, ledger: Memories, clock: Clock, *, space: Space | None
    ) -> None:
        self.store, self.ledger, self.space = store, ledger, space
        self._clock = clock
        self._topics: dict[tuple[UserScope, str], str] = {}
        self._met: LRUCache[tuple[UserScope, str], Record] = LRUCache(MOST_MET)
        self._lock = threading.Lock()

    def near(self, owner: UserScope, vector: Vector, *, k: int) -> list[tuple[Record, float]]:
        """Return the k nearest records that have not expired, nearest first, each with its
        cosine.
        """
        matches = self.store.search_by_vector(owner.user, vector, k=k)
        model = self.space.model if self.space else None
        alike = [
            (memory, score)
            for memory, score in matches
            if memory.fields.get("embedding_model") == model
        ]
        memories = [memory for memory, _ in alike]
        held = {record.id: record for record in self._held(owner, memories)}
        return [(held[memory.id], score) for memory, score in alike if memory.id in held]

    def worded(self, owner: UserScope, text: str, *, k: int) -> list[Record]:
        """Return the k records that have the most words of the text and have not expired, best
        first. For an empty text, return the records that were said last.
        """
        return self._held(owner, self.store.search_by_keyword(owner.user, text, k=k))

    def met(self, owner: UserScope, ids: Sequence[str]) -> dict[str, Record]:
        """Return the records with these ids that a search found recently."""
        with self._lock:
            return {name: self._met[owner, name] for name in ids if (owner, name) in self._met}

    def _held(self, owner: UserScope, memories: Sequence[StoredMemory]) -> list[Record]:
        now, held = seconds(self._clock.now()), []
        for record in map(_record_of, memories):
            if is_expired(record, now=now):
                self.store.delete(owner.user, record.id)
            else:
                held.append(record)
        with self._lock:
            self._met.update({(owner, record.id): record for record in held})
        return held

    def write(self, owner: UserScope, changes: Sequence[Document | Gone]) -> None:
        """Save the records of these documents as the ledger has them, and delete records that the
        ledger lacks.
        """
        vectors = {change.key: change.vector for change in changes if isinstance(change, Document)}
        keys = [change.key for change in changes]
        records = {record.id: record for record in self.ledger.records(owner, keys)}
        vectors = {key: vectors[key] for key in vectors if key not in self._ended(owner, records)}
        self._topics |= {
            (owner, name): record.topic_key for name, record in records.items() if record.topic_key
        }
        saved = [
            self._stored(records[name], vector)
            for name, vector in vectors.items()
            if name in records
        ]
        if len(saved) == 1:
            self.store.save(owner.user, saved[0])
        elif saved:
            self.store.save_all(owner.user, saved)
        for change in changes:
            if change.key not in vectors:
                self._remove(owner, change.key)

    def _ended(self, owner: UserScope, records: Mapping[str, Record]) -> set[str]:
        """Return the ids of the records that have ended. Only current records are saved."""
        topics = sorted({record.topic_key for record in records.values() if record.topic_key})
        pointers = self.ledger.pointers(owner, topics) if topics else {}
        return {pointer.ended for pointer in pointers.values() if pointer.ended}

    def _remove(self, owner: UserScope, record_id: str) -> None:
        """Remove the saved memory of a record. The memory of a topic stays while the topic has a
        current record.
        """
        topic = self._topics.get((owner, record_id))
        if topic is not None:
            pointer = self.ledger.pointers(owner, [topic]).get(topic)
            if pointer is not None and pointer.record is not None:
                return
        self.drop(owner, stored_id(record_id, topic))

    def drop(self, owner: UserScope, memory_id: str) -> bool:
        with self._lock:
            self._met.pop((owner, memory_id), None)
        return self.store.delete(owner.user, memory_id)

    def record_ids(self, owner: UserScope, memory_id: str) -> tuple[str, ...]:
        """Return the records of the ledger from which this memory was made."""
        pointers = self.ledger.topics(owner, prefix="")
        of_topics = [
            pointer.record
            for pointer in pointers
            if stored_id("", pointer.topic_key) == memory_id and pointer.record
        ]
        records = self.ledger.records(owner, [memory_id])
        return (*(record.id for record in records if record.topic_key is None), *of_topics)

    def _stored(self, record: Record, vector: Vector | None) -> StoredMemory:
        fields = {
            name: value
            for name, value in _RECORD.dump_python(record, mode="json").items()
            if name not in OWN
        }
        if vector is not None and self.space is not None:
            fields["embedding_model"] = self.space.model
        embedding = None if vector is None else tuple(vector)
        return StoredMemory(
            stored_id(record.id, record.topic_key),
            record.content,
            record.valid_from,
            embedding,
            fields,
        )


def stored_id(record_id: str, topic: str | None) -> str:
    """Return the id of a memory. The memories of one topic have the same id, so that a newer value
    replaces an older one.
    """
    return (
        record_id
        if topic is None
        else "mem_topic_" + hashlib.sha256(topic.encode()).hexdigest()[:32]
    )


def _record_of(memory: StoredMemory) -> Record:
    """Return the memory as a record, as recall reads it. The stored memory of a topic has its
    current value.
    """
    fields = {
        name: value
        for name, value in memory.fields.items()
        if name not in (*OWN, "embedding_model")
    }
    record = _RECORD.validate_python(
        {
            **fields,
            "id": memory.id,
            "content": memory.content,
            "valid_from": memory.said_at,
            "index_state": "done",
        }
    )
    return replace(record, topic_key=None)


class StoreIndex:
    """Implements `SearchIndex`. Memories are in the store. Messages and preferences are in the
    index `inner`.
    """

    def __init__(self, inner: SearchIndex, stored: StoredMemories) -> None:
        self._inner, self._stored = inner, stored
        self.failure: Unavailable | None = None

    @property
    def space(self) -> Space | None:
        return self._inner.space

    def write(self, owner: UserScope, changes: Sequence[Document | Gone]) -> tuple[str, ...]:
        memories = [change for change in changes if _is_memory(change)]
        others = [
            change
            for change in changes
            if not (isinstance(change, Document) and change.kind in SAID)
        ]
        failed = self._inner.write(owner, others)
        try:
            self.failure = None
            if memories:
                self._stored.write(owner, memories)
        except Unavailable as failure:
            self.failure = failure
            return (*failed, *(change.key for change in memories))
        return failed

    def by_words(
        self, owner: UserScope, text: str, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        query_terms = content_terms(text)
        wanted = bool(query_terms) and where.record_types & SAID
        records = self._stored.worded(owner, text, k=SPARE * k) if wanted else []
        kept = [record for record in records if where.matches(record)]
        rated = scores(query_terms, [terms(words_of(record)) for record in kept])
        hits = [
            Hit(record.id, score) for record, score in zip(kept, rated, strict=True) if score > 0
        ]
        return _best((*hits, *self._inner.by_words(owner, text, where=where, k=k)), k=k)

    def by_vector(
        self, owner: UserScope, vector: Vector, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        records = self._stored.near(owner, vector, k=SPARE * k) if where.record_types & SAID else []
        hits = [Hit(record.id, score) for record, score in records if where.matches(record)]
        return _best((*hits, *self._inner.by_vector(owner, vector, where=where, k=k)), k=k)

    def count(self, owner: UserScope) -> int:
        return self._inner.count(owner) + self._stored.store.count(owner.user)

    def keys(self, owner: UserScope, *, after: str = "", limit: int) -> tuple[str, ...]:
        return self._inner.keys(owner, after=after, limit=limit)

    def prepare(self, *, afresh: bool = False) -> None:
        self._inner.prepare(afresh=afresh)

    def switch(self) -> None:
        self._inner.switch()

    def indexes(self) -> tuple[str, ...]:
        return self._inner.indexes()


def _is_memory(change: Document | Gone) -> bool:
    """Return whether the change is of a memory. The change for a removal has no type, so its key
    decides between a message and a memory.
    """
    return change.kind in SAID if isinstance(change, Document) else message_of(change.key) is None


def _best(hits: Sequence[Hit], *, k: int) -> tuple[Hit, ...]:
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.key))[:k])


class RecalledMemories:
    """The reads of `Memories` that recall makes. Memories come from the searches in the store,
    preferences from the ledger.
    """

    def __init__(self, stored: StoredMemories) -> None:
        self._stored, self._ledger = stored, stored.ledger

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def records(self, scope: UserScope, ids: Sequence[str]) -> tuple[Record, ...]:
        met = self._stored.met(scope, ids)
        others = self._ledger.records(scope, [name for name in ids if name not in met])
        known = met | {record.id: record for record in others if record.type not in SAID}
        return tuple(known[name] for name in ids if name in known)

    def pointers(self, scope: UserScope, topic_keys: Sequence[str]) -> Mapping[str, Pointer]:
        return self._ledger.pointers(scope, [key for key in topic_keys if key.startswith(TOPICS)])

    def listed(
        self, scope: UserScope, *, types: frozenset[RecordType] = frozenset(), **page: Any
    ) -> RecordPage:
        wanted = (types or frozenset[RecordType]({"preference"})) - SAID
        return self._ledger.listed(scope, types=wanted, **page) if wanted else RecordPage((), None)

    def count_use(self, scope: UserScope, ids: Sequence[str], *, now: int) -> None:
        known = [
            record.id for record in self._ledger.records(scope, ids) if record.type not in SAID
        ]
        self._ledger.count_use(scope, known, now=now)


def recalled(stored: StoredMemories) -> Memories:
    return cast("Memories", RecalledMemories(stored))
