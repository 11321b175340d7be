"""Queries in Cypher hold a function and its processor: few of a tenant run at the same time,
however many are sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import pytest
from palimpsest.api.app import HttpApp
from palimpsest.api.call import LONGEST, QUERIES_AT_ONCE, SPARE, give_back, place_to_query
from palimpsest.errors import LimitReached, Unavailable
from palimpsest.graph.ports import Rows
from palimpsest.graph.query import CypherQuery
from palimpsest.scope import Scope
from palimpsest_graph.cypher import read_query
from palimpsest_local.stores.jobs import LocalKeyedCalls
from palimpsest_local.stores.state import State

from tests.unit.api.conftest import MEMORY_OPERATIONS, Service
from tests.unit.api.gateway import Answer, Client

QUERY = {"cypher": "MATCH (n) RETURN count(*)"}


class CountedEngine:
    """An engine that counts its queries."""

    most = 20_000

    def __init__(self) -> None:
        self.ran = 0

    def read(self, text: str) -> CypherQuery:
        return read_query(text)

    def query(self, *_: Any, **__: Any) -> Rows:
        self.ran += 1
        return Rows(["n"], [[1]])


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def engine(service: Service) -> CountedEngine:
    made = CountedEngine()
    object.__setattr__(service.memories_app.query_graph, "engine", made)
    return made


def process(service: Service, *, tenant: str = "acme") -> Client:
    """The function in a process of its own: each serves one request at a time."""
    return Client(
        HttpApp(lambda: service.memories_app, MEMORY_OPERATIONS), tenant=tenant, scopes="read"
    )


def asked(client: Client, **body: Any) -> Answer:
    return client("POST", "/v1/users/sarah/graph/query", {**QUERY, **body})


@contextmanager
def held(service: Service) -> Iterator[list[Answer]]:
    """Functions elsewhere run as many queries as may run. Gives the answers to ten more; then the
    others end.
    """
    calls, tenant = service.stores.calls, Scope("acme")
    places = [place_to_query(calls, tenant, clock=service.clock) for _ in range(QUERIES_AT_ONCE)]
    yield [asked(process(service)) for _ in range(10)]
    for place in places:
        give_back(calls, place)


def test_of_twelve_queries_two_run_and_the_others_are_to_come_again(
    service: Service, engine: CountedEngine
) -> None:
    with held(service) as refused:
        assert {each.status for each in refused} == {HTTPStatus.TOO_MANY_REQUESTS}
        assert {each.json["code"] for each in refused} == {"too_many_queries"}
        assert all(
            int(each.headers["Retry-After"]) > 0 and each.json["retryable"] for each in refused
        )
        assert refused[0].json["limit"]["most"] == QUERIES_AT_ONCE
        assert engine.ran == 0
    assert asked(process(service)).status == HTTPStatus.OK, "their places are given back"


def test_another_tenant_is_answered_beside_them_and_queries_too(
    service: Service, engine: CountedEngine
) -> None:
    other = process(service, tenant="other")
    with held(service):
        recalled = other("POST", "/v1/users/sarah/recall", {"query": "tea"})
        assert recalled.status == HTTPStatus.OK
        assert asked(other).status == HTTPStatus.OK
    assert engine.ran == 1


def test_a_query_that_is_refused_or_fails_gives_its_place_back(service: Service) -> None:
    client = process(service)
    for _ in range(2 * QUERIES_AT_ONCE):
        assert asked(client, cypher="MATCH (n) DELETE n").json["code"] == "query_writes"
        assert asked(client, around={"entity_id": "nowhere"}).json["code"] == "entity_not_found"
    assert asked(client).status == HTTPStatus.OK


def test_a_place_whose_function_stopped_is_free_when_its_time_is_over(service: Service) -> None:
    calls, clock = service.stores.calls, service.clock
    for _ in range(QUERIES_AT_ONCE):
        place_to_query(calls, Scope("acme"), clock=clock)
    assert asked(process(service)).status == HTTPStatus.TOO_MANY_REQUESTS
    service.time.advance(LONGEST + SPARE)
    assert asked(process(service)).status == HTTPStatus.OK


def test_queries_and_waiting_have_places_of_their_own(service: Service) -> None:
    calls, clock = service.stores.calls, service.clock
    for _ in range(QUERIES_AT_ONCE):
        place_to_query(calls, Scope("acme"), clock=clock)
    call = service.client()
    call.append("s", "one")
    service.work_while_waiting()
    assert call("POST", "/v1/sessions/s/extract", {"wait": 20}).status == HTTPStatus.OK


def test_while_the_places_can_t_be_read_nobody_queries(service: Service) -> None:
    class Down(LocalKeyedCalls):
        def get(self, call: object) -> None:
            raise Unavailable("The store did not answer; try again.")

    with pytest.raises(Unavailable):
        place_to_query(Down(State()), Scope("acme"), clock=service.clock)


def test_of_many_that_ask_at_once_exactly_as_many_as_may_get_a_place(service: Service) -> None:
    def take(_: int) -> bool:
        try:
            return (
                place_to_query(service.stores.calls, Scope("acme"), clock=service.clock) is not None
            )
        except LimitReached:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(40))) == QUERIES_AT_ONCE
