"""Recall what is known of a user that answers a question: look everywhere, read what is true now, rank, cut to size."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.conversations.ports import Sessions
from palimpsest.errors import ModelFailed, Unavailable
from palimpsest.memory.ports import Memories
from palimpsest.models.ports import Embedder, JsonModel, Reranker, TokenCounter
from palimpsest.recall.answer import Answer, Answered, Passage
from palimpsest.recall.find import RecallSearch, Search
from palimpsest.recall.messages import with_outdated, without_covered
from palimpsest.recall.question import Query, analysed
from palimpsest.recall.ranking import DEFAULT, Ranked, Weights, is_answered, preselected, ranked, within_budget
from palimpsest.recall.read import read_all
from palimpsest.recall.reading import Asked
from palimpsest.recall.request import Recalled, RecallRequest, Recollection
from palimpsest.recall.trace import trace
from palimpsest.scope import UserScope
from palimpsest.search.ports import SearchIndex

READ = 60  # of what was found: the best of each retriever, and more than anyone asks for
RERANKED = 30


@dataclass(frozen=True, slots=True)
class Recall:
    """`embedder` None: nothing is searched by meaning, and answers say so. `model` None: memories are quoted."""

    memories: Memories
    sessions: Sessions
    index: SearchIndex
    embedder: Embedder | None
    tokens: TokenCounter
    clock: Clock
    model: JsonModel | None = None
    reranker: Reranker | None = None
    weights: Weights = field(default=DEFAULT)

    def __call__(self, scope: UserScope, request: RecallRequest) -> Recalled:
        """The memories that answer the question best, or none where nothing comes near it.

        Needs neither the index nor a model: what fails of these is named in `degraded`. Raises `Unavailable` if the
        tables can't answer.
        """
        query = analysed(request.query, user=scope.user, now=self.clock.now())
        search = RecallSearch(self.memories, self.sessions, self.index, self.embedder)(scope, query, request)
        most = max(READ, 2 * request.k)
        keys = preselected(search.found, most=most, weights=self.weights)
        asked = Asked(scope, query, request, {key: search.found[key] for key in keys}, self.clock.now())
        read = read_all(asked, self.memories, self.sessions)
        places = self._ranked(read.there, query, request)
        if request.filter.has_messages and not request.looks_back:
            marked = with_outdated(self.memories, scope, _in_order(read.there, places))
            read = replace(read, there=marked)
            places = self._ranked(marked, query, request)
        found = _in_order(read.there, places) if is_answered(places, weights=self.weights) else []
        found = self._reranked(without_covered(found), query, search)
        chosen = self._within_budget(found, request)
        answered = self._answered(query, chosen) if request.answer else None
        if answered is not None and answered.failed:
            search.degraded.add("answer")
        self._count_uses(scope, chosen)
        return Recalled(
            memories=tuple(chosen),
            degraded=tuple(sorted(search.degraded)),
            trace=trace(asked, search, read, places, found=found, chosen=chosen) if request.explain else None,
            **_said(answered),
        )

    def _ranked(self, there: Sequence[Recollection], query: Query, request: RecallRequest) -> tuple[Ranked, ...]:
        return ranked(
            [one.candidate for one in there],
            now=milliseconds(self.clock.now()),
            period=query.period,
            shows_outdated=query.asks_of_the_past or request.looks_back,
            weights=self.weights,
        )

    def _reranked(self, found: list[Recollection], query: Query, search: Search) -> list[Recollection]:
        if self.reranker is None or not found:
            return found
        first, rest = found[:RERANKED], found[RERANKED:]
        try:
            scores = self.reranker.scores(query.text, [one.content for one in first])
        except ModelFailed:
            search.degraded.add("reranker")
            return found
        rated = [replace(one, score=score) for one, score in zip(first, scores, strict=True)]
        return sorted(rated, key=lambda one: (one.candidate.comes_last, -one.score)) + rest

    def _within_budget(self, found: Sequence[Recollection], request: RecallRequest) -> list[Recollection]:
        if request.max_tokens is None:
            return list(found[: request.k])
        encoding = self.tokens.encoding_for(None)
        sizes = [self.tokens.count(one.content, encoding) for one in found]
        return [found[place] for place in within_budget(sizes, k=request.k, room=request.max_tokens)]

    def _answered(self, query: Query, chosen: Sequence[Recollection]) -> Answered:
        return Answer(self.model)(query.text, [passage_of(one) for one in chosen])

    def _count_uses(self, scope: UserScope, chosen: Sequence[Recollection]) -> None:
        """What is used often fades more slowly; an answer does not fail for its count."""
        with suppress(Unavailable):
            if ids := [one.id for one in chosen if one.record is not None]:
                self.memories.used(scope, ids, now=seconds(self.clock.now()))


def passage_of(one: Recollection) -> Passage:
    return Passage(
        id=one.id,
        content=one.content,
        said_at=one.valid_from,
        speaker=one.speaker,
        is_outdated=one.outdated_by is not None,
    )


def _in_order(there: Sequence[Recollection], places: Sequence[Ranked]) -> list[Recollection]:
    by_key = {one.candidate.key: one for one in there}
    return [replace(by_key[place.candidate.key], score=place.score) for place in places]


def _said(answered: Answered | None) -> dict[str, Any]:
    if answered is None:
        return {}
    return {
        "answer": answered.grounded.answer,
        "citations": answered.grounded.citations,
        "method": answered.method,
        "usage": answered.usage,
    }
