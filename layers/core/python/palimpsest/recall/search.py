"""Searches with a single retriever, by words or by meaning, and finds sessions by their
messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from palimpsest import parallel, tracing
from palimpsest.clock import Clock, milliseconds
from palimpsest.conversations.message import Message, message_key, message_of
from palimpsest.conversations.ports import Compare, Near, Sessions
from palimpsest.conversations.spoken import said_at
from palimpsest.errors import ModelFailed, Unavailable, Unprocessable
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.ports import Memories
from palimpsest.models.catalogue import OTHER, THRESHOLDS, Thresholds
from palimpsest.models.ports import Embedder, Vector
from palimpsest.privacy.secrets import masked
from palimpsest.recall.find import filters
from palimpsest.recall.found import FoundMemory, Retriever
from palimpsest.recall.question import DEFAULT_K, Query, RecallRequest, analysed
from palimpsest.recall.read import RecallRun, read_all
from palimpsest.recall.refine import with_outdated
from palimpsest.scope import Scope, SessionScope, UserScope, paid_by
from palimpsest.search.ports import Hit, Vectors, Words

Mode = Literal["keyword", "vector"]
Search = Callable[..., tuple[Hit, ...]]
SPARE_HITS = 20  # hits beyond k, because some of them may be deleted since they were indexed
SESSION_HITS = 100  # messages that are read to find sessions; several may be of one session
MOST_COMPARED, COMPARED_AT_ONCE = 1_000, 500
"""The most messages that one search can return, and the most that are compared in one search. A
search may also find other messages of the same times, so the second number is smaller.
"""
USERS = 20  # users of a tenant whose sessions are searched at once
MESSAGES = MemoryFilter(types=frozenset({"message"}))


@dataclass(frozen=True, slots=True)
class SearchMemories:
    """Searches with one retriever. Without an `embedder`, only searches by words are possible."""

    memories: Memories
    sessions: Sessions
    words: Words
    vectors: Vectors
    embedder: Embedder | None
    clock: Clock

    @property
    def thresholds(self) -> Thresholds:
        """Return the thresholds of the embedding model."""
        return THRESHOLDS.get(self.embedder.space.model if self.embedder else "", OTHER)

    @tracing.operation("search_memory", len)
    def __call__(
        self,
        scope: UserScope,
        text: str,
        *,
        mode: Mode,
        k: int = DEFAULT_K,
        where: MemoryFilter | None = None,
        vector: Vector | None = None,
        shows: Callable[[str, int], bool] | None = None,
        least: float | None = None,
        for_messages: bool = False,
    ) -> tuple[FoundMemory, ...]:
        """Return the k best matches, best first, each with the retriever's own score: BM25 for
        `keyword`, cosine (-1..1) for `vector`. A caller may give a `vector` of the index's
        dimension, which replaces the vector of the text. Messages are left out before they are read
        if the caller `shows` them (by session and sequence number), or if they score below `least`.
        A message that says an earlier value of a topic is marked, as in recall. With
        `for_messages`, nothing is read or returned unless a message is found: records only mark
        messages then.

        If the retriever fails, no other one replaces it. Raises `Unavailable`, and `Unprocessable`
        (`no_vectors`) if there is no embedding model.
        """
        request = RecallRequest(text, k=k, filter=where or MemoryFilter())
        now = self.clock.now()
        query = analysed(masked(text), user=scope.user, now=now)
        wheres = list(filters(replace(query, period=None), request))
        if mode == "keyword":
            search: Search = partial(self.words.by_words, scope, query.searched, k=k + SPARE_HITS)
        else:
            search = partial(
                self.vectors.by_vector,
                scope,
                vector or self._vector(scope, query),
                k=k + SPARE_HITS,
            )
        hits = [
            hit
            for hits_of_part in parallel.run_each(lambda where: search(where=where), wheres)
            for hit in hits_of_part
            if _may_be_read(hit, shows=shows, least=least)
        ]
        if for_messages and all(message_of(hit.key) is None for hit in hits):
            return ()
        scores: dict[str, dict[Retriever, float]] = {hit.key: {mode: hit.score} for hit in hits}
        # Uses change a recall's ranks only. A search has the retriever's order.
        run = RecallRun(scope, query, request, scores, now, reads_uses=False)
        read = read_all(run, self.memories, self.sessions)
        scored = [replace(memory, score=memory.candidate.scores[mode]) for memory in read.memories]
        best_first = sorted(scored, key=lambda memory: (-memory.score, memory.candidate.key))
        return tuple(with_outdated(self.memories, scope, best_first)[:k])

    def vector_of(self, scope: UserScope, text: str) -> Vector:
        """Return the vector to search the text with. Raises `Unavailable` and `Unprocessable`
        (`no_vectors`).
        """
        return self._vector(scope, analysed(masked(text), user=scope.user, now=self.clock.now()))

    def _vector(self, scope: UserScope, query: Query) -> Vector:
        if self.embedder is None:
            raise Unprocessable(
                "This service has no embedding model. Search by keyword.", code="no_vectors"
            )
        try:
            with paid_by(scope):
                return self.embedder.embed([query.searched], as_questions=True)[0]
        except ModelFailed as failure:
            raise Unavailable("The embedding model failed. Try again.", code="vector") from failure


def _may_be_read(
    hit: Hit, *, shows: Callable[[str, int], bool] | None, least: float | None
) -> bool:
    """Return whether an item may be read. Records always may, because they show which messages are
    outdated.
    """
    message = message_of(hit.key)
    if message is None:
        return True
    is_near = least is None or hit.score >= least
    return is_near and (shows is None or not shows(*message))


@dataclass(frozen=True, slots=True)
class FindSessions:
    search: SearchMemories

    def __call__(
        self, scope: UserScope, words: str, *, limit: int, where: MemoryFilter = MESSAGES
    ) -> tuple[str, ...]:
        """Return the ids of at most `limit` live sessions in which these words were said, the
        session with the best match first. Raises `Unavailable`.
        """
        return tuple(self._scored(scope, words, where))[:limit]

    def of_tenant(
        self,
        scope: Scope,
        words: str,
        *,
        limit: int,
        after: str | None,
        where: MemoryFilter = MESSAGES,
    ) -> tuple[tuple[str, ...], str | None]:
        """Return the sessions of the next 20 users of the tenant, found as a call of this object
        finds them, and the cursor of the users after them (None: these are the last). Raises
        `BadRequest` (`invalid_cursor`).
        """
        # The index has a partition for each user, so a tenant is searched user by user.
        users, following = self.search.memories.users(scope.tenant, limit=USERS, after=after)
        by_user = parallel.run_each(
            lambda user: self._scored(scope.user(user), words, where), users
        )
        scores = {session: score for by_session in by_user for session, score in by_session.items()}
        best = sorted(scores, key=lambda session: (-scores[session], session))
        return tuple(best[:limit]), following

    def _scored(self, scope: UserScope, words: str, where: MemoryFilter) -> dict[str, float]:
        """Return the sessions with the score of their best match, the best first."""
        scores: dict[str, float] = {}
        for hit in self.search(scope, words, mode="keyword", k=SESSION_HITS, where=where):
            scores.setdefault(str(hit.source.session), hit.score)
        return scores


def nearness(search: Callable[[], SearchMemories]) -> Near:
    """Return a function that compares a text with the messages of a session, by meaning. It calls
    `search` for each text.
    """

    def near(scope: UserScope, session: SessionScope, text: str, *, stored: int) -> Compare | None:
        try:
            ask = search()
            vector = ask.vector_of(scope, text)
        except (Unavailable, Unprocessable):
            return None
        return partial(_compared, ask.vectors, scope, session, vector, stored=stored)

    return near


def _compared(
    vectors: Vectors,
    scope: UserScope,
    session: SessionScope,
    vector: Vector,
    messages: Sequence[Message],
    *,
    stored: int,
) -> Mapping[int, float] | None:
    """Return the similarity of each message that has a vector. If the session has more messages
    than one search can return, it is searched in parts, which are periods of time.
    """
    has_more = stored > MOST_COMPARED
    ordered = sorted(messages, key=said_at) if has_more else messages
    parts = [ordered[at : at + COMPARED_AT_ONCE] for at in range(0, len(ordered), COMPARED_AT_ONCE)]
    of_session = replace(MESSAGES, session=session.session)

    def hits(part: Sequence[Message]) -> tuple[Hit, ...]:
        times = [milliseconds(said_at(message)) for message in part]
        where = (
            replace(of_session, created_after=times[0], created_before=times[-1])
            if has_more
            else of_session
        )
        return vectors.by_vector(scope, vector, where=where, k=min(stored, MOST_COMPARED))

    try:
        hits_of_parts = parallel.run_each(hits, parts if has_more else [messages])
    except Unavailable:
        return None
    scores = {hit.key: hit.score for some in hits_of_parts for hit in some}
    keys = {message.seq: message_key(session.session, message.seq) for message in messages}
    return {seq: scores[key] for seq, key in keys.items() if key in scores}
