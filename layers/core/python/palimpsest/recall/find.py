"""Find candidates for a recall: in the index by words and by meaning, by the keys of topics, and
among the newest.
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
from palimpsest.memory.filters import Filter, MemoryType
from palimpsest.memory.ports import Memories
from palimpsest.memory.record import Record, RecordType
from palimpsest.models.ports import Embedder, Vector
from palimpsest.recall.found import Retriever, words_of
from palimpsest.recall.question import Query, RecallRequest, coverage, scores
from palimpsest.scope import UserScope, paid_by
from palimpsest.search.ports import Hit, Vectors, Words
from palimpsest.text.analyser import term_set, terms

HITS = 50  # of each search
SEARCH_SECONDS = 4.0  # that all searches of the index may take together
NEWEST_RECORDS = 25
# milliseconds: the index may have confirmed it between its search and the look at the tables
JUST_CHANGED = 30_000
NEWEST_MESSAGES = 20
FALLBACK_RECORDS = 500
FALLBACK_MESSAGES = 50
FALLBACK_SESSIONS = 5
PAGE = 100
Hits = parallel.Task[tuple[Hit, ...]]


@dataclass(slots=True)
class Findings:
    """The raw scores of every key that was found, by retriever, and in `degraded` what could not be
    searched.
    """

    scores: dict[str, dict[Retriever, float]] = field(default_factory=lambda: defaultdict(dict))
    degraded: set[str] = field(default_factory=set)

    def add(self, retriever: Retriever, hits: Sequence[tuple[str, float]]) -> None:
        for key, score in hits:
            self.scores[key][retriever] = max(score, self.scores[key].get(retriever, score))


@dataclass(frozen=True, slots=True)
class FindCandidates:
    """Raises `Unavailable` if a table can't be read. Where the index or the embedder fails, the
    others search alone.
    """

    memories: Memories
    sessions: Sessions
    words: Words
    vectors: Vectors
    embedder: Embedder | None

    def __call__(
        self, scope: UserScope, query: Query, request: RecallRequest, *, now: int
    ) -> Findings:
        """`now` is in epoch milliseconds."""
        deadline = monotonic() + SEARCH_SECONDS
        wheres = list(filters(query, request))
        vector = parallel.begin(partial(self._embedded, scope, query), until=deadline)
        words = [
            parallel.begin(
                partial(self.words.by_words, scope, query.searched, where=where, k=HITS),
                until=deadline,
            )
            for where in wheres
        ]
        topics = parallel.begin(partial(self._by_topic, scope, query))
        newest = parallel.begin(partial(self._newest, scope, query, request, now=now))
        findings = Findings()
        near = _nearest(partial(self.vectors.by_vector, scope), vector, wheres, deadline=deadline)
        if not _add_hits(findings, "vector", near):
            findings.degraded.add("vector")
        if not _add_hits(findings, "keyword", words):
            findings.degraded.add("search")
            findings.add("keyword", self._without_index(scope, query, request.filter))
        in_index = frozenset(findings.scores)
        findings.add("topic_key", topics.result())
        findings.add(
            "newest", [(key, share) for key, share in newest.result() if key not in in_index]
        )
        return findings

    def _embedded(self, scope: UserScope, query: Query) -> Vector | None:
        with paid_by(scope):
            return (
                None
                if self.embedder is None
                else self.embedder.embed([query.searched], as_questions=True)[0]
            )

    def _by_topic(self, scope: UserScope, query: Query) -> list[tuple[str, float]]:
        """The current records of topics that the question may name, each with the share of the
        words that name its topic.
        """
        if not query.topic_keys:
            return []
        pointers = self.memories.pointers(scope, query.topic_keys)
        said = max(len(key.split("_")) for key in query.topic_keys)
        return [
            (pointer.record, min(1.0, len(key.split("_")) / said))
            for key, pointer in pointers.items()
            if pointer.record is not None
        ]

    def _newest(
        self, scope: UserScope, query: Query, request: RecallRequest, *, now: int
    ) -> list[tuple[str, float]]:
        """What the index may not have had yet, or, if the recall looks back, no longer has: each
        with the share of the question's words that its text holds.
        """
        records, messages = parallel.both(
            partial(self._new_records, scope, request, now=now),
            partial(self._messages, scope, request.filter, sessions=1, most=NEWEST_MESSAGES),
        )
        covered = (
            (key, coverage(query.terms, term_set(text)))
            for key, text in (records | messages).items()
        )
        return [(key, share) for key, share in covered if share > 0]

    def _new_records(self, scope: UserScope, request: RecallRequest, *, now: int) -> dict[str, str]:
        """Texts of the records that the index may lack, by id."""
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
        self, scope: UserScope, query: Query, wanted: Filter
    ) -> list[tuple[str, float]]:
        """The newest records and messages, scored by their words, where the index can't answer."""
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
            left -= max(1, len(page.records))
            if (after := page.after) is None:
                return

    def _messages(
        self, scope: UserScope, wanted: Filter, *, sessions: int, most: int
    ) -> dict[str, str]:
        """Texts of the newest messages, by key, if messages are wanted: at most `most`, of the
        sessions that began last or of the one in the filter.
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
            if head is None or head.user != scope.user or left <= 0:
                continue
            first = max(head.base, head.seq - left) + 1
            found = list(
                self.sessions.messages(
                    session, first=first, last=head.seq, newest_first=True, page=left
                )
            )
            texts |= {
                message_key(name, message.seq): spoken_text(message)
                for place, message in enumerate(found)
                if not answers_own_tool(message, found[:place:-1])
            }
        return texts


def filters(query: Query, request: RecallRequest) -> Iterator[Filter]:
    """One filter for records, one for messages, and one for both of the period that the question
    names, if any.
    """
    wanted = request.filter
    # What held at an earlier moment may match where the current version, which is the one in the
    # index, does not.
    where = Filter() if request.looks_back else wanted
    types = frozenset[MemoryType](wanted.record_types)
    if types:
        yield replace(where, types=types)
    if wanted.includes_messages:
        yield replace(where, types=frozenset[MemoryType]({"message"}))
    if query.period is not None and where.created_after is None and where.created_before is None:
        both = types | frozenset[MemoryType]({"message"} if wanted.includes_messages else ())
        yield replace(
            where, types=both, created_after=query.period.start, created_before=query.period.end - 1
        )


def _nearest(
    by_vector: Callable[..., tuple[Hit, ...]],
    embedded: parallel.Task[Vector | None],
    wheres: Sequence[Filter],
    *,
    deadline: float,
) -> list[Hits] | None:
    """Begin the searches by meaning as soon as the question has its vector; None if it gets
    none.
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
    """Add what the searches found. If one of them failed or took too long, add nothing and return
    False.
    """
    found: list[tuple[str, float]] = []
    try:
        for each in [] if searches is None else searches:
            found += [(hit.key, hit.score) for hit in each.result()]
    except (Unavailable, TimeoutError):
        return False
    findings.add(retriever, found)
    return searches is not None
