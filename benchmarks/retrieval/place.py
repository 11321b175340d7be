"""A memory that can be asked questions. It has the library's use cases over stores in this process
and over either search index.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, cast

from palimpsest.clock import FakeClock, milliseconds, stamp
from palimpsest.conversations.drafts import Draft, numbered
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit, Head, Settings
from palimpsest.jobs.events import Changed, MessageChanged, RecordChanged
from palimpsest.memory.ports import Memories
from palimpsest.memory.record import Source
from palimpsest.memory.remember import MAX_STATEMENTS, Remember
from palimpsest.memory.statements import Statement
from palimpsest.models.ports import Embedder, Reranker
from palimpsest.models.tiktoken_counter import TiktokenCounter
from palimpsest.recall.found import FoundMemory
from palimpsest.recall.question import RecallRequest
from palimpsest.recall.recall import Recall, RecallResult
from palimpsest.recall.search import Mode, SearchMemories
from palimpsest.recall.weights import Weights
from palimpsest.scope import Scope, UserScope
from palimpsest.search.embed import Embed
from palimpsest.search.ports import SearchIndex
from palimpsest_local.embedded.index import EmbeddedIndex
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.sessions import LocalSessions
from palimpsest_local.stores.tenants import LocalTenants

from benchmarks.retrieval.labelled.dataset import (
    Dataset,
    NewStatement,
    OldStatement,
    Session,
    Supersession,
)

TENANT = Scope("benchmark")
BATCH = 100
MOST = 20  # results of one question
MOST_TRIES = 20
PAUSE = 0.5  # seconds between two tries

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Found:
    """One result. It has the labelled set's messages that it is or rests on. It says whether it is
    a record, and whether it is marked as outdated.
    """

    messages: tuple[str, ...]
    is_record: bool
    is_outdated: bool


class Unused:
    """Memories of which no use is counted, so that no answer depends on questions asked before."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    def count_use(self, scope: UserScope, ids: Sequence[str], *, now: int) -> None:
        """Count nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memories, name)


class Place:
    """Stores a labelled set, and answers its questions as each user. Time stands still, a day after
    the last message.

    The stores are in this process unless others are given.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        index: SearchIndex,
        embedder: Embedder | None,
        stores: tuple[Sessions, Memories] | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self.dataset = dataset
        last = max(session.messages[-1].timestamp for session in dataset.sessions())
        self.clock = FakeClock(last.astimezone(UTC) + timedelta(days=1))
        self.sessions, memories = stores or _stores_here()
        self.memories = cast(Memories, Unused(memories))
        self.index = index
        self.embedder, self.reranker = embedder, reranker
        recall = Recall(
            self.memories, self.sessions, index, index, embedder, TiktokenCounter(), self.clock
        )
        self._recall = replace(recall, reranker=reranker)
        self._search = SearchMemories(
            self.memories, self.sessions, index, index, embedder, self.clock
        )
        self._embed = Embed(self.memories, self.sessions, index, embedder, self.clock)
        self._remember = Remember(self.memories, LocalTenants(), self.clock)
        self._named: dict[tuple[str | None, int], str] = {}
        self._stored: dict[str, tuple[str, int]] = {}

    def store(self, *, settle: Callable[[], None]) -> None:
        """Store every message as it was said, and the values that replaced each other as versions
        of a topic. `settle` makes everything findable.
        """
        self.index.prepare()
        for session in self.dataset.sessions():
            self.put(self.keep(session))
        for supersession in self.dataset.supersessions:
            if supersession.told_in == "messages":
                continue
            self.put(self._supersede(supersession))
        settle()

    def put(self, changes: Iterable[Changed], *, embedder: Embedder | None = None) -> None:
        """Index all changes, with the place's own embedder or another one of its space. If a busy
        engine was too late for some changes, they are passed again, as the queue delivers them
        again to the worker.
        """
        embed = self._embed if embedder is None else replace(self._embed, embedder=embedder)
        for batch in batches(changes, BATCH):
            left: Sequence[Changed] = batch
            for _ in range(MOST_TRIES):
                if not (left := embed(left)):
                    break
                time.sleep(PAUSE)
            assert not left, f"{len(left)} could not be indexed"

    def say(self, session: str, user: str, drafts: Sequence[Draft]) -> Iterator[Changed]:
        """Store a whole session, and yield its changes."""
        now = self.clock.now()
        messages = numbered(
            drafts,
            [0] * len(drafts),
            session=session,
            seq=0,
            turn=0,
            before="",
            encoding="o200k_base",
            now=stamp(now),
        )
        head = Head(user=user, version=1, seq=len(messages), updated_at=milliseconds(now))
        settings = Settings(user=user, agent=None, created_at=messages[0].timestamp or stamp(now))
        commit = Commit(before=None, after=head, settings=settings, messages=messages)
        self.sessions.commit(TENANT.session(session), commit)
        self._stored |= {message.id: (session, message.seq) for message in messages}
        yield from (MessageChanged(TENANT.tenant, session, message.seq) for message in messages)

    def remember(self, user: str, statements: Iterable[Statement]) -> Iterator[Changed]:
        for batch in batches(statements, MAX_STATEMENTS):
            for made in self._remember(TENANT.user(user), batch):
                yield RecordChanged(TENANT.tenant, user, made.record.id)

    def keep(self, session: Session) -> Iterator[Changed]:
        """Store a session of the set, and yield its changes."""
        self._name(session)
        drafts = [
            Draft(message.chat, timestamp=message.timestamp.isoformat())
            for message in session.messages
        ]
        yield from self.say(session.id, session.user, drafts)

    def name_stored(self, session: Session) -> None:
        """Note the names of a session's messages that somebody else has stored."""
        self._name(session)
        seqs = range(1, len(session.messages) + 1)
        stored = self.sessions.messages_at(TENANT.session(session.id), seqs)
        self._stored |= {message.id: (session.id, message.seq) for message in stored}

    def _name(self, session: Session) -> None:
        self._named |= {
            (session.id, seq): message.id for seq, message in enumerate(session.messages, 1)
        }

    def _supersede(self, supersession: Supersession) -> Iterator[Changed]:
        every: tuple[OldStatement | NewStatement, ...] = (*supersession.old, supersession.new)
        yield from self.remember(
            supersession.user, (self._statement(supersession, statement) for statement in every)
        )

    def _statement(
        self, supersession: Supersession, statement: OldStatement | NewStatement
    ) -> Statement:
        session = self.dataset.session_of(statement.message)
        seq = [message.id for message in session.messages].index(statement.message) + 1
        return Statement(
            type="fact",
            content=f"{supersession.topic}: {statement.text}",
            topic=supersession.topic,
            source=Source(session=session.id, seqs=(seq,), quote=statement.quote),
            valid_from=milliseconds(self.dataset.message(statement.message).timestamp),
        )

    def recalled(
        self,
        user: str,
        question: str,
        *,
        weights: Weights | None = None,
        k: int = MOST,
        rerank: bool = True,
        answer: bool = False,
        **more: Any,
    ) -> RecallResult:
        """Return what all retrievers find together. If one of them could not search, the
        measurement is faulty. On a busy machine a retriever may be too late. It is then asked
        again, and so is the reranker, which has read more in the meantime. `more` are other fields
        of `Recall`.
        """
        recall = replace(self._recall, weights=weights, **more)
        rerank = rerank and self.reranker is not None
        request = RecallRequest(question, k=k, rerank=rerank, answer=answer, explain=True)
        expected = () if recall.embedder is not None else ("vector",)
        for _ in range(MOST_TRIES):
            result = recall(TENANT.user(user), request)
            if result.degraded == expected:
                return result
        raise AssertionError(f"degraded: {result.degraded}")

    def recall(
        self, user: str, question: str, *, weights: Weights | None = None, rerank: bool = True
    ) -> list[Found]:
        return [
            self._found(memory)
            for memory in self.recalled(user, question, weights=weights, rerank=rerank).memories
        ]

    def cited(self, user: str, question: str) -> frozenset[str] | None:
        """Return the labelled set's own names of the messages that the answer without a model
        quotes, or None if the answer is empty.
        """
        result = self.recalled(user, question, answer=True)
        if not result.answer:
            return None
        sources = [memory.source for memory in result.memories if memory.id in result.citations]
        return frozenset(
            name for source in sources for name in self.names(source.session, source.seqs)
        )

    def search(self, user: str, question: str, *, mode: Mode) -> list[Found]:
        """Return what one retriever finds alone."""
        return [
            self._found(memory)
            for memory in self._search(TENANT.user(user), question, mode=mode, k=MOST)
        ]

    def names_by_id(self, user: str, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the labelled set's own names of stored messages, and of the messages that records
        come from.
        """
        records = self.memories.records(
            TENANT.user(user), [name for name in ids if name not in self._stored]
        )
        sources = {record.id: record.source for record in records}
        named = {name: self.names(source.session, source.seqs) for name, source in sources.items()}
        for name in ids:
            if name in self._stored:
                session, seq = self._stored[name]
                named[name] = self.names(session, [seq])
        return named

    def names(self, session: str | None, seqs: Iterable[int]) -> tuple[str, ...]:
        """Return the labelled set's own names of stored messages, or "" for messages that are not
        of the set.
        """
        return tuple(self._named.get((session, seq), "") for seq in seqs)

    def _found(self, memory: FoundMemory) -> Found:
        messages = self.names(memory.source.session, memory.source.seqs)
        return Found(messages, memory.record is not None, memory.outdated_by is not None)


@contextlib.contextmanager
def filled(dataset: Dataset, *, embedder: Embedder, reranker: Reranker) -> Iterator[Place]:
    """A place that holds the set in an embedded index."""
    with tempfile.TemporaryDirectory() as folder:
        index = EmbeddedIndex(Path(folder) / "index.sqlite", space=embedder.space)
        place = Place(dataset, index=index, embedder=embedder, reranker=reranker)
        place.store(settle=lambda: None)
        yield place


def _stores_here() -> tuple[Sessions, Memories]:
    sessions = LocalSessions()
    return sessions, LocalMemories(sessions.state)


def batches(every: Iterable[Item], size: int) -> Iterator[Sequence[Item]]:
    rest = iter(every)
    while batch := list(islice(rest, size)):
        yield batch
