"""Recalls the memories of a user that answer a question. It finds candidates, reads the current
ones, ranks them, and keeps the best.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from palimpsest import parallel, tracing
from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.conversations.ports import Sessions
from palimpsest.errors import Unavailable
from palimpsest.memory.ports import Memories
from palimpsest.models.catalogue import OTHER, THRESHOLDS
from palimpsest.models.ports import Embedder, JsonModel, Reranker, TokenCounter
from palimpsest.models.usage import Usage
from palimpsest.privacy.secrets import masked
from palimpsest.recall.answer import Answered, AnswerQuestion, Grounded
from palimpsest.recall.answerable import NOTHING_FOUND, answerable, learned_weights
from palimpsest.recall.as_text import passage_of
from palimpsest.recall.find import FindCandidates, Findings
from palimpsest.recall.found import FoundMemory
from palimpsest.recall.question import RecallRequest, analysed
from palimpsest.recall.ranker import Rankers
from palimpsest.recall.ranking import NONE_READ, Ranked, near_enough, preselected, ranked
from palimpsest.recall.read import RecallRun, read_all
from palimpsest.recall.refine import (
    newer_first,
    seen_by,
    with_outdated,
    without_echoes,
    without_parts,
)
from palimpsest.recall.rerank import FIRST, RERANKER, Reading, reading
from palimpsest.recall.sentence import quoted
from palimpsest.recall.trace import is_scored_enough, trace
from palimpsest.recall.weights import Weights
from palimpsest.scope import Scope, UserScope, paid_by
from palimpsest.search.ports import Vectors, Words

# If a question asks only about certain days, this is added to the log-odds of their statements.
DAYS = 12.0
MIN_READ = 60  # candidates that are read from the tables, or twice k if that is more


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The memories, best first, and an `answer` from them if the request asks for one ("" if they
    hold no answer). `answerable` says how likely (0..1) they answer the question.

    `citations` are ids of memories. `method` is `model` if a model wrote the answer, and `quoted`
    if it quotes the memories. `degraded` names the parts that failed: `vector`, `search`,
    `reranker` (it read nothing), `reranker: partial` (it read fewer than it was given), `answer`.
    `cost_usd` is the cost of the model's calls (None: unknown).
    """

    memories: tuple[FoundMemory, ...]
    answerable: float = 0.0
    degraded: tuple[str, ...] = ()
    answer: str | None = None
    citations: tuple[str, ...] = ()
    method: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    trace: Mapping[str, Any] | None = None

    def recall_id(self, *, user: str, query: str) -> str:
        """Return the name of the recall for feedback. The same question with the same result has
        the same name.
        """
        # Nothing is stored for a recall, so its name follows from question and result
        # (docs/adr/0146).
        identity = json.dumps([user, query, *(memory.id for memory in self.memories)])
        return "rec_" + hashlib.sha256(identity.encode()).hexdigest()[:32]


def _no_floor(_: Scope) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Recall:
    """Recalls memories. Without an `embedder`, there is no search by meaning, and `degraded` has
    `vector`. Without a `model`, answers quote the memories. Without `weights`, the defaults apply,
    with the thresholds of the embedder's model. The reranker reads the `reads_first` best. Without
    `rankers`, the learned ones rank. `answer_floor` gives a tenant's own floor for answers, or None
    for the learned floor.
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
    answer_floor: Callable[[Scope], float | None] = _no_floor

    @tracing.operation("search_memory", lambda result: len(result.memories))
    def __call__(self, scope: UserScope, request: RecallRequest) -> RecallResult:
        """Return the memories that answer the question best, best first. `answerable` says how
        likely they answer it.

        Echoes are left out: messages in the window of the asking session, the same question asked
        before, and equal texts. A recall works without the index and without models; `degraded`
        names the failed ones. Raises `Unavailable` if the tables can't answer, and `NotFound` if
        the user has no such session.
        """
        return self._recalled(scope, replace(request, query=masked(request.query)))

    def _recalled(self, scope: UserScope, request: RecallRequest) -> RecallResult:
        # The floor is needed last, so the tenant's settings are read while the index is searched.
        floor = parallel.begin(partial(self._floor, scope, request))
        run, findings = self._run(scope, request)
        read = read_all(run, self.memories, self.sessions)
        places, memories = self._before_reading(run, read.memories)
        read_first = self._read_first(memories, run, findings)
        after = self._ranked(memories, run, read=read_first.scores)
        near = near_enough(after, weights=self._weights)
        judged = NOTHING_FOUND
        if near:
            only_english = self._weights.near.only_english
            judged = answerable(run.query, memories, after, only_english=only_english)
        memories = without_echoes(_in_order(memories, near), question=run.query.text)
        if not request.looks_back:
            # A later statement counts for questions about the present alone (docs/adr/0034).
            memories = newer_first(memories, run.query)
        memories = without_parts(memories)
        chosen = self._within_budget(memories, request)
        is_known = judged.likelihood >= floor.result()
        answered = self._answered(run, chosen, is_known=is_known)
        if answered is not None and answered.failed:
            findings.degraded.add("answer")
        self._count_uses(scope, chosen)
        explained = partial(trace, run, findings, read, after, reranker=read_first, judged=judged)
        return RecallResult(
            memories=tuple(chosen),
            answerable=judged.likelihood,
            degraded=tuple(sorted(findings.degraded)),
            trace=explained(fused=places, memories=memories, chosen=chosen)
            if request.explain
            else None,
            **_answer_fields(answered),
        )

    def _run(self, scope: UserScope, request: RecallRequest) -> tuple[RecallRun, Findings]:
        """Find the candidates, and keep the most likely ones to be read."""
        now = self.clock.now()
        seen = seen_by(self.sessions, scope, request.query, session=request.session, now=now)
        query = analysed(request.query, user=scope.user, now=now)
        find = FindCandidates(self.memories, self.sessions, self.words, self.vectors, self.embedder)
        findings = find(scope, query, request, now=milliseconds(now))
        most = max(MIN_READ, 2 * request.k)
        keys = preselected(findings.scores, most=most, weights=self._weights)
        scores = {key: findings.scores[key] for key in keys}
        reads_before = request.rerank and self.reranker is not None
        return RecallRun(scope, query, request, scores, now, seen, reads_before), findings

    def _before_reading(
        self, run: RecallRun, read: Sequence[FoundMemory]
    ) -> tuple[tuple[Ranked, ...], list[FoundMemory]]:
        """Rank the memories without the reranker, and mark earlier values."""
        places = self._ranked(read, run)
        memories = _in_order(read, places)
        if not run.request.filter.includes_messages or run.request.looks_back:
            return places, memories
        marked = with_outdated(self.memories, run.scope, memories)
        # Only marks can change the ranks, so without any the first order holds.
        if marked == memories:
            return places, memories
        places = self._ranked(marked, run)
        return places, _in_order(marked, places)

    @property
    def _weights(self) -> Weights:
        model = self.embedder.space.model if self.embedder else ""
        return self.weights or Weights(near=THRESHOLDS.get(model, OTHER))

    def _ranked(
        self,
        memories: Sequence[FoundMemory],
        run: RecallRun,
        *,
        read: Mapping[str, float] = NONE_READ,
    ) -> tuple[Ranked, ...]:
        weights, query = self._weights, run.query
        return ranked(
            [memory.candidate for memory in memories],
            now=milliseconds(self.clock.now()),
            read=read,
            period=query.period,
            shows_outdated=query.asks_of_the_past or run.request.looks_back,
            weights=replace(weights, days=DAYS) if query.asks_for_days else weights,
            rankers=self.rankers,
        )

    def _read_first(
        self, memories: Sequence[FoundMemory], run: RecallRun, findings: Findings
    ) -> Reading:
        if not run.request.rerank:
            return Reading()
        if self.reranker is None:
            findings.degraded.add(RERANKER)
            return Reading()
        done = reading(self.reranker, run.query, memories[: self.reads_first])
        if done.degraded:
            findings.degraded.add(done.degraded)
        return done

    def _within_budget(
        self, memories: Sequence[FoundMemory], request: RecallRequest
    ) -> list[FoundMemory]:
        good = [memory for memory in memories if is_scored_enough(memory.score, request)]
        if request.max_tokens is None:
            return good[: request.k]
        encoding = self.tokens.encoding_for(None)
        sizes = [self.tokens.count(memory.content, encoding) for memory in good]
        places = within_budget(sizes, k=request.k, room=request.max_tokens)
        return [good[place] for place in places]

    def _answered(
        self, run: RecallRun, chosen: Sequence[FoundMemory], *, is_known: bool
    ) -> Answered | None:
        """Answer if the request asks for it. If the memories hardly answer, the answer is empty and
        no model is asked.
        """
        if not run.request.answer:
            return None
        if not is_known:
            return Answered(Grounded(""), method="quoted" if self.model is None else "model")
        user = run.scope.user
        reranker = self.reranker if run.request.rerank else None
        quote = partial(quoted, run.query, chosen, user=user, reranker=reranker)
        with paid_by(run.scope):
            passages = [passage_of(memory, user=user) for memory in chosen]
            return AnswerQuestion(self.model, quote)(run.query.text, passages)

    def _floor(self, scope: UserScope, request: RecallRequest) -> float:
        """Return the likelihood below which the answer is empty. If the tenant's settings can't be
        read, the learned floor counts.
        """
        own = None
        if request.answer:
            with suppress(Unavailable):
                own = self.answer_floor(scope.owner)
        return learned_weights().floor if own is None else own

    def _count_uses(self, scope: UserScope, chosen: Sequence[FoundMemory]) -> None:
        """Count a use of each returned record, because often used records fade more slowly. If
        counting fails, the recall still succeeds.
        """
        with suppress(Unavailable):
            if ids := [memory.id for memory in chosen if memory.record is not None]:
                self.memories.count_use(scope, ids, now=seconds(self.clock.now()))


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
