"""One retriever alone, without fusion: what is most like some words, or nearest to their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from palimpsest import parallel
from palimpsest.clock import Clock
from palimpsest.conversations.ports import Sessions
from palimpsest.errors import ModelFailed, Unavailable, Unprocessable
from palimpsest.memory.ports import Memories
from palimpsest.models.ports import Embedder
from palimpsest.recall.find import filters
from palimpsest.recall.messages import with_outdated
from palimpsest.recall.question import Query, analysed
from palimpsest.recall.ranking import Channel
from palimpsest.recall.read import read_all
from palimpsest.recall.reading import Asked
from palimpsest.recall.request import DEFAULT_K, RecallFilter, RecallRequest, Recollection
from palimpsest.scope import UserScope
from palimpsest.search.ports import Filter, Hit, OwnedIndex, Owner, SearchIndex

Mode = Literal["keyword", "vector"]
READ_BESIDE = 20  # what is found beyond k: some of it may not be there any more


@dataclass(frozen=True, slots=True)
class SearchMemories:
    memories: Memories
    sessions: Sessions
    index: SearchIndex
    embedder: Embedder | None
    clock: Clock

    def __call__(
        self, scope: UserScope, text: str, *, mode: Mode, k: int = DEFAULT_K, where: RecallFilter | None = None
    ) -> tuple[Recollection, ...]:
        """The best matches, best first, with the retriever's own score: BM25 or cosine. A message that says an earlier
        value is marked, as in recall.

        Nothing stands in for a retriever that fails: raises `Unavailable`, and `Unprocessable` (`no_vectors`) where
        nobody makes vectors.
        """
        request = RecallRequest(text, k=k, filter=where or RecallFilter())
        now = self.clock.now()
        query = analysed(text, user=scope.user, now=now)
        part = self.index.of(Owner(scope.tenant, scope.user))
        hits = self._hits(part, query, list(filters(replace(query, period=None), request)), mode=mode, k=k)
        found: dict[str, dict[Channel, float]] = {hit.key: {mode: hit.score} for hit in hits}
        read = read_all(Asked(scope, query, request, found, now), self.memories, self.sessions)
        scored = [replace(one, score=one.candidate.found[mode]) for one in read.there]
        ranked = sorted(scored, key=lambda one: (-one.score, one.candidate.key))
        return tuple(with_outdated(self.memories, scope, ranked)[:k])

    def _hits(self, part: OwnedIndex, query: Query, wheres: Sequence[Filter], *, mode: Mode, k: int) -> list[Hit]:
        if mode == "keyword":
            found = parallel.each(lambda where: part.by_words(query.searched, where=where, k=k + READ_BESIDE), wheres)
        else:
            vector = self._vector(query)
            found = parallel.each(lambda where: part.by_vector(vector, where=where, k=k + READ_BESIDE), wheres)
        return [hit for hits in found for hit in hits]

    def _vector(self, query: Query) -> Sequence[float]:
        if self.embedder is None:
            raise Unprocessable("No vectors are made here: search by keyword.", code="no_vectors")
        try:
            return self.embedder.embed([query.searched])[0]
        except ModelFailed as failure:
            raise Unavailable("The question's vector can't be had now; try again.", code="vector") from failure
