"""The API over the stores of a `Place`. Events go through the applications of `sessions` and
`memories` within this process.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

from palimpsest.models.tiktoken_counter import TiktokenCounter
from palimpsest.recall.rerank import PARTIAL, RERANKER
from palimpsest.recall.search import Mode
from palimpsest.service.parts import Models, Stores
from palimpsest.service.service import Service
from palimpsest.wiring.stores import graph_engine
from palimpsest_local.stores.jobs import LocalJobs, LocalKeyedCalls
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.state import State
from palimpsest_local.stores.tenants import LocalStaticFacts, LocalTenants, LocalUsages
from palimpsest_local.stores.vectors import LocalBlobs, LocalVectors

from benchmarks.retrieval.place import MOST, TENANT, Found, Place
from benchmarks.service import body_of, event
from tests.unit.api.gateway import LambdaContext


class FrontDoor:
    """A client of the API. Its requests are answered as the functions answer them. Time is that of
    the place.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._sessions, self._memories = _applications(place)

    def __call__(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        is_of_sessions = path.startswith("/v1/sessions") and not (
            method == "POST" and path.endswith("/context")
        )
        app = self._sessions if is_of_sessions else self._memories
        request = event(method, path, body, tenant=TENANT.tenant)
        return body_of(app(request, LambdaContext()))

    def recall(self, user: str, question: str, *, rerank: bool = True) -> list[Found]:
        """Return what all retrievers find together. Raises `AssertionError` if one of them could
        not search.
        """
        body = {"query": question, "k": MOST, "rerank": rerank and self._place.reranker is not None}
        answer = self("POST", f"/v1/users/{user}/recall", body)
        while {RERANKER, PARTIAL}.intersection(answer["degraded"]):
            answer = self("POST", f"/v1/users/{user}/recall", body)  # it has read more meanwhile
        assert answer["degraded"] == [], f"degraded: {answer['degraded']}"
        return self._found(answer["memories"])

    def search(self, user: str, question: str, *, mode: Mode) -> list[Found]:
        """Return what one retriever finds alone."""
        body = {"query": question, "k": MOST, "mode": mode}
        return self._found(self("POST", f"/v1/users/{user}/memories/search", body)["memories"])

    def _found(self, memories: Sequence[Mapping[str, Any]]) -> list[Found]:
        return [
            Found(
                self._place.names(memory["source"]["session_id"], memory["source"]["seqs"]),
                is_record=memory["type"] != "message",
                is_outdated=memory["outdated_by"] is not None,
            )
            for memory in memories
        ]


def _applications(place: Place) -> tuple[Any, Any]:
    """Return the two applications. Their log is thrown away, because Lambda takes a function's log
    without using the function's CPU time.
    """
    with contextlib.redirect_stdout(_nowhere()):
        from palimpsest.api.app import HttpApp
        from palimpsest.api.operations import operations_of
    jobs, tenants, facts = LocalJobs(State()), LocalTenants(), LocalStaticFacts()
    tokens = TiktokenCounter()
    stores = Stores(
        sessions=place.sessions,
        jobs=jobs,
        calls=LocalKeyedCalls(State()),
        memories=place.memories,
        tenants=tenants,
        blobs=LocalBlobs(),
        usages=LocalUsages(State()),
        facts=facts,
        index=lambda: place.index,
        vectors=lambda: LocalVectors(LocalMemories()),
        graphs=graph_engine,
    )
    models = Models(embedder=lambda: place.embedder, reranker=lambda: place.reranker)
    service = Service(stores, models, tokens, place.clock)
    return (
        HttpApp(lambda: service, operations_of("sessions")),
        HttpApp(lambda: service, operations_of("memories")),
    )


@cache
def _nowhere() -> IO[str]:
    """A file that forgets what is written. It stays open as long as a log may write to it."""
    return Path(os.devnull).open("w")
