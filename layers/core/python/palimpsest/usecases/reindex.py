"""Build the search index anew from the tables while everything goes on: page by page, then switch to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, Literal

from palimpsest.domain.scope import Scope, SessionScope
from palimpsest.errors import Unavailable
from palimpsest.ports.memories import Memories
from palimpsest.ports.queues import Changed, MessageChanged, RecordChanged
from palimpsest.ports.search_index import SearchIndex
from palimpsest.ports.sessions import Sessions
from palimpsest.usecases.embed import Embed

Phase = Literal["prepare", "messages", "records", "switch", "done"]
PAGE = 100  # changes of one step
LOOKED_AT = 25  # sessions or users of one step: most have less than a page
TRIES = 2


@dataclass(frozen=True, slots=True)
class Reindexing:
    """How far a reindexing is: what is kept between two steps. It holds ids, cursors and counts.

    `tenants` are those still to do, the first one under way. `after` is where the list of its sessions or users goes
    on; `seq` and `page` how far the session or the user is that comes next. `left_out` counts what nobody could make
    a vector of: its words are indexed.
    """

    tenants: tuple[str, ...]
    phase: Phase = "prepare"
    after: str | None = None
    seq: int = 0
    page: str | None = None
    indexed: int = 0
    left_out: int = 0

    @property
    def is_done(self) -> bool:
        return self.phase == "done"

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"tenants": list(self.tenants)}

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> Reindexing:
        return cls(**{**kept, "tenants": tuple(kept["tenants"])})


@dataclass(frozen=True, slots=True)
class Reindex:
    """`index` and `embed` are of the space that shall be: another one than is read, where the model changes."""

    memories: Memories
    sessions: Sessions
    index: SearchIndex
    embed: Embed

    def __call__(self, state: Reindexing) -> Reindexing:
        """One step, safe to repeat: a step that was cut off is done again from the state before it.

        What is written meanwhile goes to every index of the family, so nothing is missed. Raises `Unavailable`.
        """
        match state.phase:
            case "prepare":
                self.index.prepare(afresh=True)
                return replace(state, phase="messages" if state.tenants else "switch")
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
        scope = Scope(state.tenants[0])
        for _ in range(LOOKED_AT):
            listed = self.sessions.listed(scope, user=None, limit=1, after=state.after, newest_first=False)
            for name in listed.sessions:
                seqs = self._seqs(scope.session(name), after=state.seq, most=PAGE - len(changes))
                changes += (MessageChanged(scope.tenant, name, seq) for seq in seqs)
                state = replace(state, seq=seqs[-1] if seqs else state.seq)
            if len(changes) >= PAGE:
                break
            state = replace(state, after=listed.after, seq=0)
            if listed.after is None:
                state = replace(state, phase="records")
                break
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
        tenant = state.tenants[0]
        for _ in range(LOOKED_AT):
            users, after = self.memories.users(tenant, limit=1, after=state.after)
            for user in users:
                page = self.memories.listed(Scope(tenant).user(user), limit=PAGE, after=state.page, newest_first=False)
                changes += (RecordChanged(tenant, user, record.id) for record in page.records)
                state = replace(state, page=page.after)
            if state.page is None:
                state = replace(state, after=after)
                if after is None:
                    state = _next_tenant(state)
                    break
            if len(changes) >= PAGE:
                break
        return self._embedded(state, changes)

    def _embedded(self, state: Reindexing, changes: Sequence[Changed]) -> Reindexing:
        left: set[Changed] = set(changes)
        unwritten: set[Changed] = set()
        for _ in range(TRIES):
            outcome = self.embed.outcome(tuple(left))
            left, unwritten = outcome.unwritten | outcome.without_vector, outcome.unwritten
            if not left:
                break
        if unwritten or (left and len(left) == len(changes)):
            raise Unavailable("A page could not be indexed; try again.")
        done = len(changes) - len(left)
        return replace(state, indexed=state.indexed + done, left_out=state.left_out + len(left))


def _next_tenant(state: Reindexing) -> Reindexing:
    rest = state.tenants[1:]
    return replace(state, tenants=rest, phase="messages" if rest else "switch", after=None, seq=0, page=None)
