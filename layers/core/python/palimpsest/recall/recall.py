"""Recall what is known of a user that answers a question: find candidates, read what holds now, rank, cut to size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from palimpsest import parallel
from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.conversations.messages import name_of
from palimpsest.conversations.ports import Sessions
from palimpsest.errors import Unavailable
from palimpsest.memory.ports import Memories
from palimpsest.memory.records import Record, normalized, quoted_in
from palimpsest.models.ports import Embedder, JsonModel, Reranker, TokenCounter, Usage
from palimpsest.models.thresholds import OTHER, THRESHOLDS
from palimpsest.recall.answer import Answered, AnswerQuestion, Passage
from palimpsest.recall.echoes import seen_by, without_echoes
from palimpsest.recall.find import FindCandidates, Findings
from palimpsest.recall.newer import newer_first
from palimpsest.recall.question import Query, RecallRequest, analysed
from palimpsest.recall.ranking import (
    FoundMemory,
    Ranked,
    Weights,
    near_enough,
    preselected,
    ranked,
    reranked,
    within_budget,
)
from palimpsest.recall.read import RecallRun, read_all
from palimpsest.recall.rerank import Reading, reading
from palimpsest.recall.trace import trace
from palimpsest.scope import UserScope
from palimpsest.search.ports import Vectors, Words
from palimpsest.usage.payer import paid_by

MIN_READ = 60  # candidates that are read from the tables; twice k if that is more
TOPICS_COMPARED = 8
Place = tuple[str | None, int]
"""A message, by its session and sequence number."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The memories, best first, and, if it was asked for, an answer that rests on them ("" if they hold none).

    `cost_usd` is what the model's calls cost (None: not known).

    `citations` are ids of memories. `method` says how the answer was made: `model`, or `quoted` where it consists of
    the memories' own words. `degraded` names what could not take part: `vector`, `search`, `reranker`, `answer`.
    """

    memories: tuple[FoundMemory, ...]
    degraded: tuple[str, ...] = ()
    answer: str | None = None
    citations: tuple[str, ...] = ()
    method: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    trace: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Recall:
    """`embedder` None: nothing is searched by meaning, and `degraded` says so. `model` None: answers quote memories.
    `weights` None: those by default, with the thresholds of the embedder's model.
    """

    memories: Memories
    sessions: Sessions
    words: Words
    vectors: Vectors
    embedder: Embedder | None
    tokens: TokenCounter
    clock: Clock
    model: JsonModel | None = None
    reranker: Reranker | None = None
    weights: Weights | None = None

    def __call__(self, scope: UserScope, request: RecallRequest) -> Recalled:
        """Return the memories that answer the question best, best first; none where nothing comes near it.

        Echoes are left out: what the window of the asking session holds, the question said again, equal texts.
        Needs neither the index nor a model: `degraded` names those that failed. Raises `Unavailable` if the tables
        can't answer, and `NotFound` if the user has no such session.
        """
        now = self.clock.now()
        seen = seen_by(self.sessions, scope, request.query, session=request.session, now=now)
        query = analysed(request.query, user=scope.user, now=now)
        find = FindCandidates(self.memories, self.sessions, self.words, self.vectors, self.embedder)
        findings = find(scope, query, request, now=milliseconds(now))
        most = max(MIN_READ, 2 * request.k)
        keys = preselected(findings.scores, most=most, weights=self._weights)
        scores = {key: findings.scores[key] for key in keys}
        run = RecallRun(scope, query, request, scores, now, seen, reads_before=self._reads(request))
        read = read_all(run, self.memories, self.sessions)
        places = self._ranked(read.found, query, request)
        if request.filter.includes_messages and not request.looks_back:
            marked = with_outdated(self.memories, scope, _in_order(read.found, places))
            read = replace(read, found=marked)
            places = self._ranked(marked, query, request)
        read_first = self._read_first(_in_order(read.found, places), query, request, findings)
        fused, places = places, reranked(places, read_first.scores, **self._ranking(query, request))
        found = _in_order(read.found, near_enough(places, weights=self._weights))
        found = without_echoes(found, question=query.text)
        if not request.looks_back:
            found = newer_first(found, query)
        chosen = self._within_budget(found, request)
        answered = self._answered(scope, query, chosen) if request.answer else None
        if answered is not None and answered.failed:
            findings.degraded.add("answer")
        self._count_uses(scope, chosen)
        told = partial(trace, run, findings, read, places, fused=fused, found=found, chosen=chosen, reranker=read_first)
        return Recalled(
            memories=tuple(chosen),
            degraded=tuple(sorted(findings.degraded)),
            trace=told() if request.explain else None,
            **_answer_fields(answered),
        )

    @property
    def _weights(self) -> Weights:
        model = self.embedder.space.model if self.embedder else ""
        return self.weights or Weights(near=THRESHOLDS.get(model, OTHER))

    def _ranked(self, found: Sequence[FoundMemory], query: Query, request: RecallRequest) -> tuple[Ranked, ...]:
        return ranked([one.candidate for one in found], **self._ranking(query, request))

    def _ranking(self, query: Query, request: RecallRequest) -> dict[str, Any]:
        """What a ranking depends on beside what was found."""
        return {
            "now": milliseconds(self.clock.now()),
            "period": query.period,
            "shows_outdated": query.asks_of_the_past or request.looks_back,
            "weights": self._weights,
        }

    def _reads(self, request: RecallRequest) -> bool:
        return request.rerank and self.reranker is not None

    def _read_first(
        self, found: Sequence[FoundMemory], query: Query, request: RecallRequest, findings: Findings
    ) -> Reading:
        if not request.rerank:
            return Reading()
        done = Reading() if self.reranker is None else reading(self.reranker, query, found)
        if self.reranker is None or done.failed:
            findings.degraded.add("reranker")
        return done

    def _within_budget(self, found: Sequence[FoundMemory], request: RecallRequest) -> list[FoundMemory]:
        if request.max_tokens is None:
            return list(found[: request.k])
        encoding = self.tokens.encoding_for(None)
        sizes = [self.tokens.count(one.content, encoding) for one in found]
        return [found[place] for place in within_budget(sizes, k=request.k, room=request.max_tokens)]

    def _answered(self, scope: UserScope, query: Query, chosen: Sequence[FoundMemory]) -> Answered:
        with paid_by(scope):
            return AnswerQuestion(self.model)(query.text, [passage_of(one, user=scope.user) for one in chosen])

    def _count_uses(self, scope: UserScope, chosen: Sequence[FoundMemory]) -> None:
        """What is used often fades more slowly. A recall does not fail because its uses could not be counted."""
        with suppress(Unavailable):
            if ids := [one.id for one in chosen if one.record is not None]:
                self.memories.used(scope, ids, now=seconds(self.clock.now()))


def passage_of(one: FoundMemory, *, user: str) -> Passage:
    """The memory as an answer quotes it, with the name of whoever speaks in it."""
    who = quoted_in(one.record, user=user) if one.record else name_of(one.speaker or "", user=user)
    return Passage(
        id=one.id, content=one.content, said_at=one.valid_from, who=who, is_outdated=one.outdated_by is not None
    )


def _in_order(found: Sequence[FoundMemory], places: Sequence[Ranked]) -> list[FoundMemory]:
    by_key = {one.candidate.key: one for one in found}
    return [replace(by_key[place.candidate.key], score=place.score) for place in places]


def _answer_fields(answered: Answered | None) -> dict[str, Any]:
    if answered is None:
        return {}
    return {
        "answer": answered.grounded.answer,
        "citations": answered.grounded.citations,
        "method": answered.method,
        "usage": answered.usage,
        "cost_usd": answered.cost_usd,
    }


def with_outdated(memories: Memories, scope: UserScope, found: Sequence[FoundMemory]) -> list[FoundMemory]:
    """Mark each message that says an earlier value of a topic whose current record was found too (`outdated_by`).

    Returns everything that was found, in its order. Raises `Unavailable`.
    """
    current = [one.record for one in found if one.record is not None and one.record.topic_key is not None]
    if not current or all(one.record is not None for one in found):
        return list(found)
    current = current[:TOPICS_COMPARED]
    chains = parallel.each(lambda record: memories.versions(scope, str(record.topic_key)), current)
    newer: dict[Place, str] = {}
    for record, versions in zip(current, chains, strict=True):
        newer |= dict.fromkeys(_places_of_earlier(record, versions), record.id)
    return [_marked(one, newer) for one in found]


def _places_of_earlier(current: Record, versions: Sequence[Record]) -> set[Place]:
    """The messages in which another value was said, and not the current one."""
    same = [each for each in versions if normalized(each.content) == normalized(current.content)]
    here = {(each.source.session, seq) for each in (current, *same) for seq in each.source.seqs}
    return {(each.source.session, seq) for each in versions if each not in same for seq in each.source.seqs} - here


def _marked(one: FoundMemory, newer: Mapping[Place, str]) -> FoundMemory:
    place = (one.source.session, one.source.seqs[0]) if one.record is None else None
    if place is None or place not in newer:
        return one
    return replace(one, candidate=replace(one.candidate, outdated_by=newer[place]))
