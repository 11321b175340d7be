"""A request that waits holds a function: few of a tenant may, the others are answered at once."""

from http import HTTPStatus

import pytest
from palimpsest.api.app import HttpApp
from palimpsest.api.call import MOST_WAITING, SPARE, place_to_wait
from palimpsest.api.operations import operations_of
from palimpsest.clock import FakeClock
from palimpsest.errors import Unavailable
from palimpsest.scope import Scope
from palimpsest_local.stores.jobs import LocalKeyedCalls
from palimpsest_local.stores.state import State

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

WAIT = {"wait": 20}


@pytest.fixture
def service() -> Service:
    return Service()


def another(service: Service, *, tenant: str = "acme") -> Client:
    """The function in a process of its own."""
    return Client(HttpApp(lambda: service.app, operations_of("sessions")), tenant=tenant)


def test_of_forty_requests_that_wait_few_do_and_another_tenants_appends_go_on(
    service: Service,
) -> None:
    calls = service.stores.calls
    held = [place_to_wait(calls, Scope("acme"), wait=20, clock=service.clock) for _ in range(40)]
    assert sum(place is not None for place in held) == MOST_WAITING
    call = service.client()
    call.append("s", "one")
    before = service.clock.now()
    answers = [another(service)("POST", "/v1/sessions/s/extract", {"wait": 20}) for _ in range(40)]
    assert {answer.status for answer in answers} == {HTTPStatus.ACCEPTED}
    assert another(service, tenant="other").append("theirs", "hello").status == HTTPStatus.CREATED
    assert service.clock.now() == before, "nobody waited"
    assert (
        call("GET", f"/v1/jobs/{answers[0].json['job_id']}", query=WAIT).json["state"] == "pending"
    )


def test_who_has_waited_gives_its_place_back(service: Service) -> None:
    call = service.client()
    call.append("s", "one")
    service.work_while_waiting()
    for _ in range(2 * MOST_WAITING):
        call.append("s", "more", allow_repeat=True)
        assert call("POST", "/v1/sessions/s/extract", {"wait": 20}).status == HTTPStatus.OK


def test_another_tenants_waiting_is_its_own(service: Service) -> None:
    for _ in range(MOST_WAITING):
        place_to_wait(service.stores.calls, Scope("acme"), wait=20, clock=service.clock)
    other = service.client(tenant="other")
    other.append("s", "one")
    service.work_while_waiting()
    assert other("POST", "/v1/sessions/s/extract", {"wait": 20}).status == HTTPStatus.OK


def test_a_place_whose_function_stopped_is_free_when_its_time_is_over() -> None:
    calls, clock = LocalKeyedCalls(State()), FakeClock()
    assert all(
        place_to_wait(calls, Scope("acme"), wait=20, clock=clock) for _ in range(MOST_WAITING)
    )
    assert place_to_wait(calls, Scope("acme"), wait=20, clock=clock) is None
    clock.advance(20 + SPARE)
    assert place_to_wait(calls, Scope("acme"), wait=20, clock=clock)


def test_nobody_waits_while_the_places_can_t_be_read() -> None:
    class Down(LocalKeyedCalls):
        def get(self, call: object) -> None:
            raise Unavailable("The store did not answer; try again.")

    assert place_to_wait(Down(State()), Scope("acme"), wait=20, clock=FakeClock()) is None
