"""What an operation does not read, it refuses: no parameter, no body and no wrong path is silently
passed over.
"""

import json
from typing import Any, get_args

import pytest
from palimpsest.api.operations import Function, Operation, operations_of
from palimpsest.api.site import page
from palimpsest_description.openapi import EXAMPLES, REQUESTS, description

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client, http_event

PLACES = {"n": "1", "seq": "1", "part": "0", "mem0_id": "mem_1@sarah"}
"""Path parameters that are no plain id."""
DESCRIPTION = description()
OPERATIONS = [
    each
    for function in get_args(Function)
    if function != "site"
    for each in operations_of(function)
]
PAGES = operations_of("site")


def path_of(operation: Operation) -> str:
    """A path of the operation: each of its parameters has a value."""
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    path = operation.path
    for name in names:
        path = path.replace(f"{{{name}}}", PLACES.get(name, "sarah"))
    return path


def stated(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = DESCRIPTION["paths"][operation.path][operation.method.lower()]
    return found


def body_of(operation: Operation) -> Any:
    """The example of the body that the description gives; None if the operation takes none."""
    described = stated(operation).get("requestBody")
    if described is None:
        return None
    return REQUESTS[described["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]]


def required_of(operation: Operation) -> dict[str, str]:
    """The parameters of the query without which the operation refuses every call."""
    asked = [each for each in stated(operation).get("parameters", ()) if each["in"] == "query"]
    return {each["name"]: "sarah" for each in asked if each["required"]}


def refused(answer: Answer, field: str) -> None:
    assert answer.status == 422, answer.text
    assert field in [error["field"] for error in answer.json["errors"]], answer.text


def named(operation: Operation) -> str:
    return operation.name


WITHOUT_BODY = [each for each in OPERATIONS if body_of(each) is None]


@pytest.mark.parametrize("operation", OPERATIONS, ids=named)
def test_a_parameter_that_an_operation_does_not_know_is_refused(
    call: Client, operation: Operation
) -> None:
    query = {**required_of(operation), "unheard_of": "1"}
    refused(
        call(operation.method, path_of(operation), body_of(operation), query=query), "unheard_of"
    )


@pytest.mark.parametrize("operation", WITHOUT_BODY, ids=named)
def test_a_body_that_an_operation_does_not_read_is_refused(
    call: Client, operation: Operation
) -> None:
    path, query = path_of(operation), required_of(operation)
    refused(call(operation.method, path, {"ids": ["a"]}, query=query), "ids")
    for raw in ("[1]", "null", "no JSON", '{"a": NaN}', "x" * 6_000_000):
        refused(call(operation.method, path, raw=raw, query=query), "body")
    refused(call(operation.method, path, raw="eyJhIjogMX0=", query=query, is_base64=True), "body")


@pytest.mark.parametrize("operation", WITHOUT_BODY, ids=named)
def test_an_empty_object_says_nothing_and_is_no_body(call: Client, operation: Operation) -> None:
    path, query = path_of(operation), required_of(operation)
    with_one, without = (
        call(operation.method, path, raw=raw, query=query).status for raw in (" {} ", None)
    )
    assert with_one == without


@pytest.mark.parametrize("operation", PAGES, ids=named)
@pytest.mark.parametrize(("query", "body"), [({"unheard_of": "1"}, None), (None, '{"a": 1}')])
def test_a_page_takes_neither_parameters_nor_a_body(
    operation: Operation, query: Any, body: Any
) -> None:
    event = http_event(operation.method, operation.path, body, query=query)
    answer = page(event, stage="test", request_id="request-1", issuer="https://issuer.example")
    problem = json.loads(answer["body"])
    assert (answer["statusCode"], problem["code"], problem["request_id"]) == (
        422,
        "invalid",
        "request-1",
    )
    assert problem.keys() == EXAMPLES["Problem"].keys()
    assert problem["errors"][0]["field"] == ("unheard_of" if query else "body")


def put(call: Client, *names: str) -> None:
    vectors = [{"id": name, "values": [1.0, 2.0]} for name in names]
    assert call("POST", "/v1/users/sarah/vectors", {"vectors": vectors}).status == 200


def test_vectors_are_deleted_by_the_ids_of_the_query_and_never_all_for_ids_in_a_body(
    call: Client,
) -> None:
    put(call, "a", "b", "c")
    answer = call("DELETE", "/v1/users/sarah/vectors", {"ids": ["a"]})
    refused(answer, "ids")
    assert answer.json["errors"] == [
        {"field": "ids", "message": "is read from the query, not from a body"}
    ]
    assert call("GET", "/v1/users/sarah/vectors/stats").json["count"] == 3
    assert call("DELETE", "/v1/users/sarah/vectors", query={"ids": ["a"]}).json == {"count": 1}
    assert call("DELETE", "/v1/users/sarah/vectors", query={"ids": ["b"]}, raw="").json == {
        "count": 1
    }


def test_preferences_stay_when_their_deletion_names_some_in_a_body(call: Client) -> None:
    call("PUT", "/v1/users/sarah/preferences/tone", {"value": "short"})
    refused(call("DELETE", "/v1/users/sarah/preferences", {"keys": ["other"]}), "keys")
    assert call("GET", "/v1/users/sarah/preferences/tone").status == 200


NO_ROUTES = [
    ("POST", "/v1/users/sarah/recal"),
    ("POST", "/v1/sessions/s/mesages"),
    ("PUT", "/v1/userss"),
    ("PATCH", "/v1/static-facts/a/b"),
]
WRONG_METHODS = [("DELETE", "/v1/users/sarah/recall"), ("PUT", "/v1/sessions/s/context")]
BODIES = [None, "", '{"query": "Where?"}', "[]", "no JSON", "\ud800", "x" * 6_000_000]


@pytest.mark.parametrize("place", [*NO_ROUTES, *WRONG_METHODS])
@pytest.mark.parametrize("raw", BODIES)
@pytest.mark.parametrize("scopes", ["", "read", "read write admin"])
def test_what_is_no_route_is_404_whatever_its_body_and_a_wrong_method_405(
    service: Service, place: tuple[str, str], raw: str | None, scopes: str
) -> None:
    answer = service.client(scopes=scopes)(
        *place, raw=raw, query={"any": "1"}, headers={"Content-Encoding": "x"}
    )
    expected = (404, "route_not_found") if place in NO_ROUTES else (405, "method_not_allowed")
    assert (answer.status, answer.json["code"]) == expected, answer.text


def test_a_wrong_method_names_the_ones_that_the_route_takes(call: Client) -> None:
    assert call("PUT", "/v1/sessions/s/messages").headers["Allow"] == "DELETE, GET, POST"
    assert call("HEAD", "/v1/users/sarah").headers["Allow"] == "DELETE, GET, PUT"


def test_a_page_is_served_under_its_own_path_alone() -> None:
    for path in ("/v1/health/", "/else/v1/health", "/v1/v1/health"):
        assert (
            page(http_event("GET", path), stage="test", request_id="request-1")["statusCode"] == 404
        )


def test_a_page_stands_below_the_stage() -> None:
    event = http_event("GET", "/test/v1/health")
    event["requestContext"]["stage"] = "test"
    assert page(event, stage="test", request_id="request-1")["statusCode"] == 200
