"""The worker that brings the search index up to date with changes of the tables. Changes may come
in any order and any number of times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from palimpsest import parallel
from palimpsest.clock import Clock
from palimpsest.conversations.message import message_of
from palimpsest.conversations.ports import Sessions
from palimpsest.errors import ModelFailed, ModelUnavailable, Unavailable
from palimpsest.jobs.events import Changed, MessageChanged, RecordChanged, Removed
from palimpsest.jobs.job import Job
from palimpsest.jobs.steps import UserSteps
from palimpsest.memory.ports import Memories
from palimpsest.models.ports import Embedder, Vector
from palimpsest.models.vectors import unpacked
from palimpsest.scope import Scope, SessionScope, UserScope, paid_by
from palimpsest.search.documents import SESSION_GONE, Indexable, gone
from palimpsest.search.plans import EmbedPlans, Plan
from palimpsest.search.ports import Document, Gone, SearchIndex

# how many documents a page has, and how many pages one delivery checks for an erased user
AT_ONCE, PAGES_AT_ONCE = 100, 30
Planning = Callable[[], Plan | None]


@dataclass(slots=True)
class Outcome:
    """The changes that must be tried again. Those in `unwritten` are not in the index. Those in
    `without_vector` are in the index, but only with their words.
    """

    unwritten: set[Changed] = field(default_factory=set)
    without_vector: set[Changed] = field(default_factory=set)

    def join(self, other: Outcome) -> None:
        self.unwritten |= other.unwritten
        self.without_vector |= other.without_vector


@dataclass(frozen=True, slots=True)
class Embed:
    """Indexes changed items. Without an `embedder`, documents have only words. `steps` is needed if
    jobs wait for the index.
    """

    memories: Memories
    sessions: Sessions
    index: SearchIndex
    embedder: Embedder | None
    clock: Clock
    steps: UserSteps | None = None

    def __call__(self, changes: Sequence[Changed]) -> tuple[Changed, ...]:
        """Index the present state of the items that the changes name, and return the changes to try
        again.

        A document has its item's version, and an item that is not in the tables is removed. An old
        reading therefore never replaces a newer one. If no vector can be made now, the words are
        indexed and the change is returned. A `Removed` change ends its job once the index has none
        of the removed items.
        """
        removed = [change for change in changes if isinstance(change, Removed)]
        outcome = self.outcome([change for change in changes if not isinstance(change, Removed)])
        again = {
            *outcome.unwritten,
            *outcome.without_vector,
            *(removal for removal in removed if not self._ends(removal)),
        }
        return tuple(change for change in dict.fromkeys(changes) if change in again)

    def _ends(self, change: Removed) -> bool:
        """End the job of a removal, unless the index may still have items that the job removed.
        Returns whether the job has ended.
        """
        if self.steps is None:
            return False
        try:
            job = self.steps.jobs.get(Scope(change.tenant), change.job_id)
            if job is None or job.has_ended:
                return True
            is_gone = self._has_lost_user if job.kind == "erase" else self._has_lost_message
            if not is_gone(job):
                return False
            self.steps.end(job, job.result)
        except Unavailable:
            return False
        return True

    def _has_lost_message(self, job: Job) -> bool:
        """Index the effects of a redaction: the redacted message, the messages that quote it, and
        the removed memories. Returns whether all are written.
        """
        messages = [
            MessageChanged(job.tenant, job.session, seq) for seq in range(job.first, job.last + 1)
        ]
        removed = (RecordChanged(job.tenant, job.user or "", name) for name in sorted(job.stored))
        return not self.outcome([*messages, *removed]).unwritten

    def _has_lost_user(self, job: Job) -> bool:
        """Remove the user's documents whose items are not in the tables. These are all documents,
        unless the user has returned since the erasure. Returns whether none are left. The search is
        done twice, because a document with a version from a faster clock is not removed at once.
        """
        owner = Scope(job.tenant).user(job.user or "")
        return not self.remove_stale(owner) or not self.remove_stale(owner)

    def remove_stale(self, owner: UserScope) -> bool:
        """Remove documents whose items are not in the tables. Returns True if there were such
        documents, or if not all pages were read. Raises `Unavailable`.
        """
        last, has_found = "", False
        for _ in range(PAGES_AT_ONCE):
            keys = self.index.keys(owner, after=last, limit=AT_ONCE)
            plannings = self._plannings(_named(owner, key) for key in keys)
            plans = [plan for _, planning in plannings if (plan := planning()) is not None]
            there = {key for plan in plans for key in plan.there}
            known = {key: document for plan in plans for key, document in plan.gone.items()}
            stale = [
                known.get(key) or gone(key, version=SESSION_GONE)
                for key in keys
                if key not in there
            ]
            if stale:
                self.index.write(owner, stale)
            has_found = has_found or bool(stale)
            if len(keys) < AT_ONCE:
                return has_found
            last = keys[-1]
        return True

    def outcome(self, changes: Sequence[Changed]) -> Outcome:
        """Index the present state of the items that the changes name. Returns which changes must be
        tried again, and why.
        """
        outcome = Outcome()
        plans: list[Plan] = []
        for own, planning in self._plannings(dict.fromkeys(changes)):
            try:
                plans += filter(None, [planning()])
            except Unavailable:
                outcome.unwritten.update(own)
        wanted: dict[UserScope, list[str]] = defaultdict(list)
        for plan in plans:
            items = (item for item in plan.there.values() if self._own(item) is None)
            wanted[plan.owner] += (text for item in items for text in item.texts)
        vectors = dict(
            zip(
                wanted,
                parallel.run_each(
                    lambda wanted_texts: self._vectors(*wanted_texts), list(wanted.items())
                ),
                strict=True,
            )
        )
        for plan in plans:
            try:
                self._write(plan, vectors[plan.owner], outcome)
            except Unavailable:
                outcome.unwritten.update(plan.changes.values())
        return outcome

    def _plannings(
        self, changes: Iterable[Changed]
    ) -> Iterator[tuple[Sequence[Changed], Planning]]:
        """Yield the changes in groups that are read together, each with the function that plans the
        group.
        """
        by_user: dict[UserScope, list[RecordChanged]] = defaultdict(list)
        by_session: dict[SessionScope, list[MessageChanged]] = defaultdict(list)
        for change in changes:
            if isinstance(change, RecordChanged):
                by_user[UserScope(change.tenant, change.user)].append(change)
            elif isinstance(change, MessageChanged):
                by_session[Scope(change.tenant).session(change.session)].append(change)
        plans = EmbedPlans(self.memories, self.sessions, self.clock)
        yield from ((own, partial(plans.of_records, user, own)) for user, own in by_user.items())
        yield from (
            (own, partial(plans.of_messages, session, own)) for session, own in by_session.items()
        )

    def _vectors(self, owner: UserScope, texts: Sequence[str]) -> Mapping[str, Vector]:
        """Return a vector for each different text, as far as vectors can be made now. The owner
        pays for the calls. A text that the model refuses is left out.
        """
        every = list(dict.fromkeys(texts))
        if self.embedder is None or not every:
            return {}
        with paid_by(owner):
            try:
                return dict(zip(every, self.embedder.embed(every), strict=True))
            except ModelUnavailable:
                return {}
            except ModelFailed:
                return dict(_one_by_one(self.embedder, every)) if len(every) > 1 else {}

    def _own(self, item: Indexable) -> Vector | None:
        """Return the vector that the caller gave for a record, if it has the dimension of the
        written index; otherwise None.
        """
        record, space = item.record, self.index.space
        if record is None or record.embedding is None or item.meaning is None or space is None:
            return None
        own = unpacked(record.embedding)
        return own if len(own) == space.dimension else None

    def _write(self, plan: Plan, vectors: Mapping[str, Vector], outcome: Outcome) -> None:
        """Write the plan to the index, and mark its records as indexed. Changes that failed are
        added to `outcome`. Raises `Unavailable`.
        """
        vector_by_key = {
            key: self._own(item) or item.vector(vectors) for key, item in plan.there.items()
        }
        bare = {
            key
            for key, item in plan.there.items()
            if item.meaning is not None and vector_by_key[key] is None
        }
        documents: list[Document | Gone] = [
            item.with_vector(vector_by_key[key], is_whole=key not in bare)
            for key, item in plan.there.items()
        ]
        vectorless = set() if self.embedder is None else bare
        failed = self.index.write(plan.owner, [*documents, *plan.gone.values()])
        if plan.there and self.memories.user(plan.owner).epoch != plan.epoch:
            # the user was erased meanwhile, maybe before this write
            outcome.join(self.outcome(tuple(plan.changes.values())))
            return
        outcome.unwritten.update(plan.changes[key] for key in failed)
        outcome.without_vector.update(plan.changes[key] for key in vectorless)
        indexed = [item.record for item in plan.there.values() if item.record is not None]
        for record in (*plan.settled, *indexed):
            if record.id not in vectorless and record.id not in failed:
                self.memories.mark_indexed(plan.owner, record)


def _named(owner: UserScope, key: str) -> Changed:
    """Return a change of the item that a document's key names."""
    message = message_of(key)
    return (
        MessageChanged(owner.tenant, *message)
        if message
        else RecordChanged(owner.tenant, owner.user, key)
    )


def _one_by_one(embedder: Embedder, texts: Sequence[str]) -> Iterator[tuple[str, Vector]]:
    for text in texts:
        try:
            yield text, embedder.embed([text])[0]
        except ModelUnavailable:
            return
        except ModelFailed:
            continue
