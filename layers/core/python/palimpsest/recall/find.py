"""Finds candidates for a recall. It searches the index by words and by meaning, looks up topics by
their keys, and reads the newest records and messages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic

from palimpsest import parallel
from palimpsest.conversations.message import message_key
from palimpsest.conversations.own_tools import answers_own_tool
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.spoken import spoken_text
from palimpsest.errors import ModelFailed, Unavailable
from palimpsest.memory.filters import MemoryFilter, MemoryType
from palimpsest.memory.ports import Memories
from palimpsest.memory.record import Record, RecordType
from palimpsest.models.ports import Embedder, Vector
from palimpsest.recall.found import Retriever, words_of
from palimpsest.recall.question import Query, RecallRequest, coverage, scores
from palimpsest.recall.ranking import MEANT
from palimpsest.recall.topics import topics_meant
from palimpsest.scope import UserScope, paid_by
from palimpsest.search.ports import Hit, Vectors, Words
from palimpsest.text.analyser import term_set, terms

HITS = 50  # of each search; nearly all evidence is among so many (docs/adr/0040)
SEARCH_SECONDS = 4.0  # that all searches of the index may take together
NEWEST_RECORDS = 25
# Milliseconds. If the index confirms a record after its search but before the tables are read, the
# search has missed the record although it is no longer pending.
JUST_CHANGED = 30_000
NEWEST_MESSAGES = 20
MOST_OF_ONE = 8  # records of a meant topic with several values
FALLBACK_RECORDS = 500  # without an index, these are compared one by one
FALLBACK_MESSAGES = 50
FALLBACK_SESSIONS = 5
PAGE = 100
Hits = parallel.Task[tuple[Hit, ...]]


@dataclass(slots=True)
class Findings:
    """The raw scores of each found key, by retriever. `degraded` names the searches that failed."""

    scores: dict[str, dict[Retriever, float]] = field(default_factory=lambda: defaultdict(dict))
    degraded: set[str] = field(default_factory=set)

    def add(self, retriever: Retriever, hits: Sequence[tuple[str, float]]) -> None:
        for key, score in hits:
            self.scores[key][retriever] = max(score, self.scores[key].get(retriever, score))


@dataclass(frozen=True, slots=True)
class FindCandidates:
    """Finds the candidates of a recall. Raises `Unavailable` if a table can't be read. If the index
    or the embedder fails, the other retrievers search alone.
    """

    memories: Memories
    sessions: Sessions
    words: Words
    vectors: Vectors
    embedder: Embedder | None

    def __call__(
        self, scope: UserScope, query: Query, request: RecallRequest, *, now: int
    ) -> Findings:
        """Return the candidates with their raw scores. `now` is in epoch milliseconds."""
        deadline = monotonic() + SEARCH_SECONDS
        wheres = list(filters(query, request))
        # All searches begin at once, so that a recall takes as long as the slowest. Those by
        # meaning wait for the question's vector.
        vector = parallel.begin(partial(self._embedded, scope, query), until=deadline)
        words = [
            parallel.begin(
                partial(self.words.by_words, scope, query.searched, where=where, k=HITS),
                until=deadline,
            )
            for where in wheres
        ]
        topics = parallel.begin(partial(self._by_topic, scope, query))
        meant = parallel.begin(partial(self._by_meaning, scope, query, vector))
        newest = parallel.begin(partial(self._newest, scope, query, request, now=now))
        findings = Findings()
        near = _nearest(partial(self.vectors.by_vector, scope), vector, wheres, deadline=deadline)
        if not _add_hits(findings, "vector", near):
            findings.degraded.add("vector")
        if not _add_hits(findings, "keyword", words):
            findings.degraded.add("search")
            findings.add("keyword", self._without_index(scope, query, request.filter))
        # A share of words can't be compared with a score of the index, so it counts only for texts
        # that no search has found.
        in_index = frozenset(findings.scores)
        findings.add("topic_key", topics.result())
        findings.add("topic_key", meant.result())
        not_indexed = [(key, share) for key, share in newest.result() if key not in in_index]
        findings.add("newest", not_indexed)
        return findings

    def _embedded(self, scope: UserScope, query: Query) -> Vector | None:
        if self.embedder is None:
            return None
        with paid_by(scope):
            return self.embedder.embed([query.searched], as_questions=True)[0]

    def _by_topic(self, scope: UserScope, query: Query) -> list[tuple[str, float]]:
        """Return the current records of topics that the question may name. For topics that have
        ended, return their last records. The score is the length of the topic's key in words,
        divided by that of the longest key.
        """
        if not query.topic_keys:
            return []
        longest = max(len(key.split("_")) for key in query.topic_keys)
        return [
            (last, min(1.0, len(key.split("_")) / longest))
            for key, last in self._last_of(scope, query.topic_keys)
        ]

    def _by_meaning(
        self, scope: UserScope, query: Query, embedded: parallel.Task[Vector | None]
    ) -> list[tuple[str, float]]:
        """Return the current or last records of topics that the question is about without naming
        them.
        """
        try:
            vector = embedded.result()
        except (ModelFailed, TimeoutError):
            return []
        if vector is None or self.embedder is None:
            return []
        # The topics are the user's own.
        if query.person is not None:
            return []
        meant = topics_meant(vector, model=self.embedder.space.model)
        keys = [key for key in meant if key not in query.topic_keys and not key.endswith("*")]
        meant_records = [last for _, last in self._last_of(scope, keys)]
        for key in meant:
            if key.endswith("*"):
                pointers = self.memories.topics(scope, prefix=key.removesuffix("*"))
                meant_records += [
                    pointer.record for pointer in pointers[:MOST_OF_ONE] if pointer.record
                ]
        return [(record, MEANT) for record in dict.fromkeys(meant_records)]

    def _last_of(self, scope: UserScope, topics: Sequence[str]) -> list[tuple[str, str]]:
        """Return, for each topic, its current record or the record that ended last. Topics without
        such a record are left out.
        """
        pointers = self.memories.pointers(scope, topics) if topics else {}
        return [
            (key, last)
            for key, pointer in pointers.items()
            if (last := pointer.record or pointer.ended) is not None
        ]

    def _newest(
        self, scope: UserScope, query: Query, request: RecallRequest, *, now: int
    ) -> list[tuple[str, float]]:
        """Return records and messages that the index may lack: new ones, and superseded ones if the
        recall asks about the past. The score is the share of the question's words in the text.
        """
        records, messages = parallel.run_both(
            partial(self._new_records, scope, request, now=now),
            partial(self._messages, scope, request.filter, sessions=1, most=NEWEST_MESSAGES),
        )
        covered = (
            (key, coverage(query.words, term_set(text)))
            for key, text in (records | messages).items()
        )
        # Without this, each recall would have the newest texts as candidates, whatever it asks.
        return [(key, share) for key, share in covered if share > 0]

    def _new_records(self, scope: UserScope, request: RecallRequest, *, now: int) -> dict[str, str]:
        """Return the texts, by id, of the records that the index may lack."""
        types = request.filter.record_types
        if request.looks_back:
            return {record.id: words_of(record) for record in self._records(scope, types)}
        page = self.memories.listed(scope, limit=NEWEST_RECORDS).records if types else ()
        since = now - JUST_CHANGED
        new = [
            record for record in page if record.index_state == "pending" or record.version > since
        ]
        return {record.id: words_of(record) for record in new}

    def _without_index(
        self, scope: UserScope, query: Query, wanted: MemoryFilter
    ) -> list[tuple[str, float]]:
        """Return the newest records and messages, scored by their words. This replaces the index
        when it fails.
        """
        texts = {
            record.id: words_of(record) for record in self._records(scope, wanted.record_types)
        }
        texts |= self._messages(scope, wanted, sessions=FALLBACK_SESSIONS, most=FALLBACK_MESSAGES)
        rated = scores(query.terms, [terms(text) for text in texts.values()])
        return [(key, score) for key, score in zip(texts, rated, strict=True) if score > 0]

    def _records(self, scope: UserScope, types: frozenset[RecordType]) -> Iterator[Record]:
        after = None
        left = FALLBACK_RECORDS if types else 0
        while left > 0:
            page = self.memories.listed(scope, types=types, limit=min(PAGE, left), after=after)
            yield from page.records
            # A page without a record of these types counts too, so that the loop ends.
            left -= max(1, len(page.records))
            if (after := page.after) is None:
                return

    def _messages(
        self, scope: UserScope, wanted: MemoryFilter, *, sessions: int, most: int
    ) -> dict[str, str]:
        """Return the texts of at most `most` of the newest messages, by key. They are from the
        filter's session, or else from the sessions that began last. The result is empty if the
        filter excludes messages.
        """
        if not wanted.includes_messages:
            return {}
        names: Sequence[str] = (wanted.session,) if wanted.session is not None else ()
        names = names or self.sessions.listed(scope.owner, user=scope.user, limit=sessions).sessions
        texts: dict[str, str] = {}
        for name in names:
            session = scope.owner.session(name)
            head = self.sessions.open(session).head
            left = most - len(texts)
            # The filter may name a session of another user.
            if head is None or head.user != scope.user or left <= 0:
                continue
            first = max(head.base, head.seq - left) + 1
            page = self.sessions.messages(
                session, first=first, last=head.seq, newest_first=True, page=left
            )
            newest = list(page)
            for place, message in enumerate(newest):
                before = newest[:place:-1]  # oldest first, up to right before this message
                # The result of a memory tool repeats memories, and would be found in their place.
                if not answers_own_tool(message, before):
                    texts[message_key(name, message.seq)] = spoken_text(message)
        return texts


def filters(query: Query, request: RecallRequest) -> Iterator[MemoryFilter]:
    """Yield one filter for records and one for messages. If the question names a period, a third
    filter selects both in that period.
    """
    wanted = request.filter
    # The index holds current versions only. An earlier version may match the filter although the
    # current one does not, so the filter is applied later to the versions themselves.
    where = MemoryFilter() if request.looks_back else wanted
    record_types = frozenset[MemoryType](wanted.record_types)
    messages = frozenset[MemoryType]({"message"} if wanted.includes_messages else ())
    if record_types:
        yield replace(where, types=record_types)
    if messages:
        yield replace(where, types=messages)
    if query.period is not None and where.created_after is None and where.created_before is None:
        # A period ends before its end, but the bounds of a filter are included.
        start, end = query.period.start, query.period.end - 1
        yield replace(where, types=record_types | messages, created_after=start, created_before=end)


def _nearest(
    by_vector: Callable[..., tuple[Hit, ...]],
    embedded: parallel.Task[Vector | None],
    wheres: Sequence[MemoryFilter],
    *,
    deadline: float,
) -> list[Hits] | None:
    """Begin the searches by meaning as soon as the question has its vector. Return None if it has
    no vector.
    """
    try:
        vector = embedded.result()
    except (ModelFailed, TimeoutError):
        return None
    if vector is None:
        return None
    return [
        parallel.begin(partial(by_vector, vector, where=where, k=HITS), until=deadline)
        for where in wheres
    ]


def _add_hits(findings: Findings, retriever: Retriever, searches: Sequence[Hits] | None) -> bool:
    """Add the hits of the searches. If a search failed or took too long, add nothing and return
    False.
    """
    if searches is None:
        return False
    hits: list[tuple[str, float]] = []
    try:
        for search in searches:
            hits += [(hit.key, hit.score) for hit in search.result()]
    except (Unavailable, TimeoutError):
        return False
    findings.add(retriever, hits)
    return True
