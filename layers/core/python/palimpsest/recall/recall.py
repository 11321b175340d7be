"""Recall the memories of a user that answer a question: find candidates, read the current ones,
rank them, and keep the best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, get_args

from palimpsest import tracing
from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.conversations.ports import Sessions
from palimpsest.errors import Unavailable
from palimpsest.memory.ports import Memories
from palimpsest.models.catalogue import OTHER, THRESHOLDS
from palimpsest.models.ports import Embedder, JsonModel, Reranker, TokenCounter
from palimpsest.models.usage import Usage
from palimpsest.privacy.secrets import masked
from palimpsest.recall.answer import Answered, AnswerQuestion
from palimpsest.recall.as_text import passage_of
from palimpsest.recall.find import FindCandidates, Findings
from palimpsest.recall.found import FoundMemory, Retriever
from palimpsest.recall.question import Query, RecallRequest, analysed
from palimpsest.recall.ranker import Rankers
from palimpsest.recall.ranking import NONE_READ, Ranked, near_enough, preselected, ranked
from palimpsest.recall.read import ReadResult, RecallRun, read_all
from palimpsest.recall.refine import newer_first, seen_by, with_outdated, without_echoes
from palimpsest.recall.rerank import FIRST, RERANKER, Reading, reading
from palimpsest.recall.sentence import quoted
from palimpsest.recall.weights import Weights
from palimpsest.scope import UserScope, paid_by
from palimpsest.search.ports import Vectors, Words

# If a question asks only about certain days, this is added to the log-odds of their statements.
DAYS = 12.0
MIN_READ = 60  # candidates that are read from the tables, or twice k if that is more


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The memories, best first, and an `answer` from them if the request asks for one ("" if they
    hold no answer).

    `citations` are ids of memories. `method` is `model` if a model wrote the answer, and `quoted`
    if it quotes the memories. `degraded` names the parts that failed: `vector`, `search`,
    `reranker` (it read nothing), `reranker: partial` (it read fewer than it was given), `answer`.
    `cost_usd` is the cost of the model's calls (None: unknown).
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
    """Recalls memories. Without an `embedder`, there is no search by meaning, and `degraded` has
    `vector`. Without a `model`, answers quote the memories. Without `weights`, the defaults apply,
    with the thresholds of the embedder's model.
    The reranker reads the `reads_first` best. Without `rankers`, the learned ones rank.
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
    reads_first: int = FIRST
    rankers: Rankers | None = None

    @tracing.operation("search_memory", lambda result: len(result.memories))
    def __call__(self, scope: UserScope, request: RecallRequest) -> RecallResult:
        """Return the memories that answer the question best, best first. If nothing is near enough,
        the result is empty.

        Echoes are left out: messages in the window of the asking session, the same question asked
        before, and equal texts. A recall works without the index and without models; `degraded`
        names the failed ones. Raises `Unavailable` if the tables can't answer, and `NotFound` if
        the user has no such session.
        """
        return self._recalled(scope, replace(request, query=masked(request.query)))

    def _recalled(self, scope: UserScope, request: RecallRequest) -> RecallResult:
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
        found = _in_order(read.found, places)
        if request.filter.includes_messages and not request.looks_back:
            marked = with_outdated(self.memories, scope, found)
            if marked != found:
                places = self._ranked(marked, query, request)
                found = _in_order(marked, places)
        read_first = self._read_first(found, query, request, findings)
        after = self._ranked(found, query, request, read=read_first.scores)
        found = _in_order(found, near_enough(after, weights=self._weights))
        found = without_echoes(found, question=query.text)
        if not request.looks_back:
            found = newer_first(found, query)
        chosen = self._within_budget(found, request)
        answered = self._answered(scope, query, chosen, request) if request.answer else None
        if answered is not None and answered.failed:
            findings.degraded.add("answer")
        self._count_uses(scope, chosen)
        explained = partial(_trace, run, findings, read, after, reranker=read_first)
        return RecallResult(
            memories=tuple(chosen),
            degraded=tuple(sorted(findings.degraded)),
            trace=explained(fused=places, found=found, chosen=chosen) if request.explain else None,
            **_answer_fields(answered),
        )

    @property
    def _weights(self) -> Weights:
        model = self.embedder.space.model if self.embedder else ""
        return self.weights or Weights(near=THRESHOLDS.get(model, OTHER))

    def _ranked(
        self,
        memories: Sequence[FoundMemory],
        query: Query,
        request: RecallRequest,
        *,
        read: Mapping[str, float] = NONE_READ,
    ) -> tuple[Ranked, ...]:
        weights = self._weights
        return ranked(
            [memory.candidate for memory in memories],
            now=milliseconds(self.clock.now()),
            read=read,
            period=query.period,
            shows_outdated=query.asks_of_the_past or request.looks_back,
            weights=replace(weights, days=DAYS) if query.asks_for_days else weights,
            rankers=self.rankers,
        )

    def _reads(self, request: RecallRequest) -> bool:
        return request.rerank and self.reranker is not None

    def _read_first(
        self,
        memories: Sequence[FoundMemory],
        query: Query,
        request: RecallRequest,
        findings: Findings,
    ) -> Reading:
        if not request.rerank:
            return Reading()
        if self.reranker is None:
            findings.degraded.add(RERANKER)
            return Reading()
        done = reading(self.reranker, query, memories[: self.reads_first])
        if done.degraded:
            findings.degraded.add(done.degraded)
        return done

    def _within_budget(
        self, memories: Sequence[FoundMemory], request: RecallRequest
    ) -> list[FoundMemory]:
        good = [memory for memory in memories if _is_scored_enough(memory.score, request)]
        if request.max_tokens is None:
            return good[: request.k]
        encoding = self.tokens.encoding_for(None)
        sizes = [self.tokens.count(memory.content, encoding) for memory in good]
        places = within_budget(sizes, k=request.k, room=request.max_tokens)
        return [good[place] for place in places]

    def _answered(
        self, scope: UserScope, query: Query, chosen: Sequence[FoundMemory], request: RecallRequest
    ) -> Answered:
        reranker = self.reranker if request.rerank else None
        quote = partial(quoted, query, chosen, user=scope.user, reranker=reranker)
        with paid_by(scope):
            passages = [passage_of(memory, user=scope.user) for memory in chosen]
            return AnswerQuestion(self.model, quote)(query.text, passages)

    def _count_uses(self, scope: UserScope, chosen: Sequence[FoundMemory]) -> None:
        """Count a use of each returned record, because often used records fade more slowly. If
        counting fails, the recall still succeeds.
        """
        with suppress(Unavailable):
            if ids := [memory.id for memory in chosen if memory.record is not None]:
                self.memories.count_use(scope, ids, now=seconds(self.clock.now()))


def _is_scored_enough(score: float, request: RecallRequest) -> bool:
    return request.min_score is None or score >= request.min_score


def within_budget(sizes: Sequence[int], *, k: int, room: int | None) -> list[int]:
    """Return the indexes of the first `k` sizes that fit the room together, in order. A size that
    is too large is skipped. Without a `room` there is no limit.
    """
    fitting: list[int] = []
    left = room
    for place, size in enumerate(sizes):
        if len(fitting) == k:
            break
        if left is not None:
            if size > left:
                continue
            left -= size
        fitting.append(place)
    return fitting


def _in_order(memories: Sequence[FoundMemory], places: Sequence[Ranked]) -> list[FoundMemory]:
    by_key = {memory.candidate.key: memory for memory in memories}
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


def _trace(
    run: RecallRun,
    findings: Findings,
    read: ReadResult,
    places: Sequence[Ranked],
    *,
    fused: Sequence[Ranked],
    found: Sequence[FoundMemory],
    chosen: Sequence[FoundMemory],
    reranker: Reading,
) -> Mapping[str, Any]:
    """Return the trace as JSON. `places` are all ranked candidates, `fused` their ranking before
    the reranker, `found` the memories above the threshold, and `chosen` the returned memories.
    """
    before = {place.candidate.key: number for number, place in enumerate(fused, 1)}
    ids = {memory.candidate.key: memory.id for memory in read.found}
    shown = {memory.candidate.key for memory in chosen}
    counts = Counter(chain.from_iterable(findings.scores.values()))
    cut = "beyond_k_or_budget" if found else "below_threshold"

    def why_cut(place: Ranked) -> str | None:
        if place.candidate.key in shown:
            return None
        return cut if _is_scored_enough(place.score, run.request) else "below_min_score"

    return {
        "query": _query_shown(run.query),
        "found": {name: counts[name] for name in get_args(Retriever)},
        "ranking": [
            {
                "id": ids[place.candidate.key],
                "score": place.score,
                "strength": place.strength,
                "retrievers": dict(place.candidate.scores),
                "signals": dict(place.signals),
                "terms": dict(place.terms),
                "fused_place": before[place.candidate.key],
                "outdated_by": place.candidate.outdated_by,
                "cut": why_cut(place),
            }
            for place in places
        ],
        "reranker": {
            "asked": reranker.asked,
            "read": len(reranker.scores),
            "milliseconds": reranker.milliseconds,
        },
        "dropped": dict(read.dropped),
    }


def _query_shown(query: Query) -> Mapping[str, Any]:
    return {
        "searched": query.searched,
        "terms": list(query.terms),
        "topic_keys": list(query.topic_keys),
        "period": None if query.period is None else [query.period.start, query.period.end],
        "asks_of_the_past": query.asks_of_the_past,
    }
