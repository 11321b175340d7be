"""Build the search index anew from the tables while everything goes on: page by page, then switch to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, Literal

from palimpsest.domain.scope import SessionScope
from palimpsest.errors import Unavailable
from palimpsest.ports.memories import Memories
from palimpsest.ports.owners import Owners
from palimpsest.ports.queues import Changed, MessageChanged, RecordChanged
from palimpsest.ports.search_index import SearchIndex
from palimpsest.ports.sessions import Sessions
from palimpsest.usecases.embed import Embed

Phase = Literal["prepare", "messages", "records", "switch", "done"]
PAGE = 50  # changes of one step
LOOKED_AT = 25  # sessions or users of one step: most have less than a page
TRIES = 2
HARMLESS = "hello"


@dataclass(frozen=True, slots=True)
class Reindexing:
    """How far a reindexing is: what is kept between two steps. It holds names, cursors and counts.

    `after` is where the list of sessions or users goes on; `within` whose turn it is then, if it has begun, and `seq`
    or `page` how far it is. `left_out` counts what nobody could make a vector of: its words are indexed.
    """

    phase: Phase = "prepare"
    after: str | None = None
    within: str | None = None
    seq: int = 0
    page: str | None = None
    indexed: int = 0
    left_out: int = 0

    @property
    def is_done(self) -> bool:
        return self.phase == "done"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> Reindexing:
        return cls(**kept)


@dataclass(frozen=True, slots=True)
class Reindex:
    """`index` and `embed` are of the space that shall be: another one than is read, where the model changes."""

    owners: Owners
    memories: Memories
    sessions: Sessions
    index: SearchIndex
    embed: Embed

    def __call__(self, state: Reindexing) -> Reindexing:
        """One step, safe to repeat: a step that was cut off is done again from the state before it.

        What is written meanwhile goes to every index of the family, so nothing is missed. Raises `Unavailable`, and
        `ModelFailed` while no vectors can be had.
        """
        match state.phase:
            case "prepare":
                self.index.prepare(afresh=True)
                return replace(state, phase="messages")
            case "messages":
                return self._messages(state)
            case "records":
                return self._records(state)
            case "switch":
                self.index.switch()
                return replace(state, phase="done")
            case "done":
                return state

    def _messages(self, state: Reindexing) -> Reindexing:
        """A page of messages, of one session or of several."""
        changes: list[Changed] = []
        looked_at = 0
        for scope, place in islice(self.owners.sessions(after=state.after), LOOKED_AT):
            looked_at += 1
            begun = state.seq if state.within == scope.partition else 0
            seqs = self._seqs(scope, after=begun, most=PAGE - len(changes))
            changes += (MessageChanged(scope.tenant, scope.session, seq) for seq in seqs)
            if len(changes) >= PAGE:
                return self._embedded(replace(state, within=scope.partition, seq=seqs[-1]), changes)
            state = replace(state, after=place, within=None, seq=0)
        if looked_at < LOOKED_AT:
            state = replace(state, phase="records", after=None)
        return self._embedded(state, changes)

    def _seqs(self, session: SessionScope, *, after: int, most: int) -> list[int]:
        head = self.sessions.open(session).head
        if head is None:
            return []
        found = self.sessions.messages(session, first=max(after, head.base) + 1, last=head.seq, page=most)
        return [message.seq for message in islice(found, most)]

    def _records(self, state: Reindexing) -> Reindexing:
        """A page of records, of one user or of several."""
        changes: list[Changed] = []
        looked_at = 0
        for scope, place in islice(self.owners.users(after=state.after), LOOKED_AT):
            looked_at += 1
            begun = state.page if state.within == scope.partition else None
            page = self.memories.listed(scope, limit=PAGE - len(changes), after=begun, newest_first=False)
            changes += (RecordChanged(scope.tenant, scope.user, record.id) for record in page.records)
            if page.after is not None:
                return self._embedded(replace(state, within=scope.partition, page=page.after), changes)
            state = replace(state, after=place, within=None, page=None)
            if len(changes) >= PAGE:
                return self._embedded(state, changes)
        if looked_at < LOOKED_AT:
            state = replace(state, phase="switch", after=None)
        return self._embedded(state, changes)

    def _embedded(self, state: Reindexing, changes: Sequence[Changed]) -> Reindexing:
        left: set[Changed] = set(changes)
        unwritten: set[Changed] = set()
        for _ in range(TRIES):
            outcome = self.embed.outcome(tuple(left))
            left, unwritten = outcome.unwritten | outcome.without_vector, outcome.unwritten
            if not left:
                break
        if unwritten:
            raise Unavailable("A page could not be indexed; try again.")
        if left and self.embed.embedder is not None:
            self.embed.embedder.embed([HARMLESS])  # a model that takes this refused those texts; else it fails here too
        done = len(changes) - len(left)
        return replace(state, indexed=state.indexed + done, left_out=state.left_out + len(left))
