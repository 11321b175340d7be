"""What can't be parsed or named is 400, what breaks the schema 422, what is too large 413; nothing
of it is written.
"""

import base64
import gzip
import json
from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client, http_event, invoked

PATH = "/v1/sessions/s/messages"
HELLO: dict[str, Any] = {"user_id": "sarah", "messages": [{"role": "user", "content": "hello"}]}


def nothing_written(service: Service) -> bool:
    return not service.sessions.state.partitions and not service.outbox


def deep(levels: int) -> str:
    return '{"user_id": "u", "metadata": ' + "[" * levels + "]" * levels + "}"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("{", "invalid_json"),
        ("hello", "invalid_json"),
        ("[]", "invalid_json"),
        ('[{"user_id": "sarah"}]', "invalid_json"),
        ('"text"', "invalid_json"),
        ("null", "invalid_json"),
        ('{"a": NaN}', "invalid_json"),
        ('{"a": -Infinity}', "invalid_json"),
        ('{"a": 1e999}', "invalid_json"),
        ('{"a": ' + "9" * 5000 + "}", "invalid_json"),
        ('{"a": "\x01"}', "invalid_json"),
        ("\ufeff{}", "invalid_json"),
        (deep(100), "invalid_json"),
        (deep(100_000), "invalid_json"),
        ('{"messages": [{"role": "user", "content": "\udc80"}]}', "invalid_unicode"),
    ],
)
def test_what_cannot_be_parsed_is_400(service: Service, call: Client, raw: str, code: str) -> None:
    answer = call("POST", PATH, raw=raw)
    assert (answer.status, answer.json["code"]) == (400, code)
    assert nothing_written(service)


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"content": "half \ud83d"}, "messages.0.content"),
        ({"content": "a", "metadata": {"k": ["\ude00"]}}, "messages.0.metadata.k.0"),
        ({"content": "a", "metadata": {"\ude00": 1}}, "messages.0.metadata"),
    ],
)
def test_half_a_surrogate_pair_is_named_wherever_it_stands(
    service: Service, call: Client, said: dict[str, Any], field: str
) -> None:
    answer = call("POST", PATH, {"user_id": "u", "messages": [{"role": "user", **said}]})
    assert (answer.status, answer.json["code"]) == (400, "invalid_unicode")
    assert answer.json["errors"][0]["field"] == field
    assert nothing_written(service)


NOT_UTF_8 = {
    "a raw surrogate": b"\xed\xa0\x80",
    "an overlong form": b"\xc0\xaf",
    "a byte alone": b"\xff",
    "a character cut off": b"\xe2\x82",
    "beyond Unicode": b"\xf4\x90\x80\x80",
}


@pytest.mark.parametrize("sent", NOT_UTF_8.values(), ids=NOT_UTF_8)
@pytest.mark.parametrize("is_base64", [False, True])
def test_bytes_that_are_not_utf_8_are_refused_although_the_gateway_replaced_them(
    service: Service, call: Client, sent: bytes, *, is_base64: bool
) -> None:
    body = b'{"user_id": "u", "messages": [{"role": "user", "content": "a' + sent + b'"}]}'
    arrives = base64.b64encode(body).decode() if is_base64 else body.decode(errors="replace")
    answer = call(
        "POST", PATH, raw=arrives, headers={"Content-Length": str(len(body))}, is_base64=is_base64
    )
    assert (answer.status, answer.json["code"]) == (400, "invalid_unicode")
    assert nothing_written(service)


@pytest.mark.parametrize("has_length", [True, False])
def test_the_replacement_character_itself_is_text(call: Client, *, has_length: bool) -> None:
    raw = json.dumps(
        {"user_id": "u", "messages": [{"role": "user", "content": "\ufffd"}]}, ensure_ascii=False
    )
    headers = {"Content-Length": str(len(raw.encode()))} if has_length else {}
    assert call("POST", PATH, raw=raw, headers=headers).status == 201
    assert call("GET", PATH).json["messages"][0]["content"] == "\ufffd"


def test_a_whole_surrogate_pair_is_a_character(call: Client) -> None:
    raw = json.dumps({"user_id": "u", "messages": [{"role": "user", "content": "😀"}]})
    assert "\\ud83d\\ude00" in raw
    assert call("POST", PATH, raw=raw).status == 201


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "messages"),
        ({**HELLO, "messages": []}, "messages"),
        ({**HELLO, "messages": "hello"}, "messages"),
        ({**HELLO, "tenant": "other"}, "tenant"),
        ({**HELLO, "flush": True}, "flush"),
        ({**HELLO, "user_id": 5}, "user_id"),
        ({**HELLO, "context": {"max_tokens": -1}}, "context.max_tokens"),
        ({**HELLO, "context": {"max_tokens": "500"}}, "context.max_tokens"),
        ({**HELLO, "context": {"max_tokens": True}}, "context.max_tokens"),
        ({**HELLO, "context": {"compact": "async"}}, "context.compact"),
        ({**HELLO, "allow_repeat": "yes"}, "allow_repeat"),
    ],
)
def test_what_breaks_the_schema_is_422_and_named(
    service: Service, call: Client, body: dict[str, Any], field: str
) -> None:
    answer = call("POST", PATH, body)
    assert answer.status == 422
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert field in [error["field"] for error in answer.json["errors"]]
    assert nothing_written(service)


@pytest.mark.parametrize(
    ("memory", "field"),
    [
        ({"max_tokens": -5}, "memory.max_tokens"),
        ({"max_token": 500}, "memory.max_token"),
        ({"strategy": "forget"}, "memory.strategy"),
        ({"blocks": [{"type": "static"}, {"type": "static"}]}, "memory"),
        ({"blocks": [{"type": "vector", "k": 0}]}, "memory.blocks.0.k"),
        ({"auto_recall": "yes, please"}, "memory.auto_recall"),
        ({"auto_recall": 0}, "memory.auto_recall"),
        ({"max_tokens": "8000"}, "memory.max_tokens"),
        ({"blocks": [{"type": "vector", "k": "5"}]}, "memory.blocks.0.k"),
        ({"strategy": "trim", "count": 3}, "memory.count"),
        ({"trigger_ratio": 1.5}, "memory.trigger_ratio"),
        ({"extract": "always"}, "memory.extract"),
        ({"max_buffer_turns": 0}, "memory.max_buffer_turns"),
    ],
)
@pytest.mark.parametrize("where", ["create", "change", "settings"])
def test_a_wrong_memory_configuration_is_422_and_named(
    call: Client, where: str, memory: dict[str, Any], field: str
) -> None:
    call.append("s", "hello")
    method, path, more = {
        "create": ("POST", "/v1/sessions", {"user_id": "u"}),
        "change": ("PATCH", "/v1/sessions/s", {}),
        "settings": ("PUT", "/v1/settings", {}),
    }[where]
    before = call("GET", "/v1/sessions/s").json, call("GET", "/v1/settings").json
    answer = call(method, path, {**more, "memory": memory})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, field)
    assert (call("GET", "/v1/sessions/s").json, call("GET", "/v1/settings").json) == before


@pytest.mark.parametrize(
    "user_id", ["", "a b", "../x", "a/b", "a#b", "*", "..", "x" * 129, "ｓarah", "sarah\n", "a\x00"]
)
def test_an_id_in_the_body_that_is_none_is_400_and_named(
    service: Service, call: Client, user_id: str
) -> None:
    answer = call("POST", PATH, {**HELLO, "user_id": user_id})
    assert (answer.status, answer.json["code"]) == (400, "invalid_id")
    assert answer.json["errors"][0]["field"] == "user_id"
    assert nothing_written(service)


def test_a_messages_own_id_is_named_with_its_place(call: Client) -> None:
    answer = call(
        "POST",
        PATH,
        {"user_id": "u", "messages": [{"role": "user", "content": "a", "id": "no#id"}]},
    )
    assert (answer.status, answer.json["errors"][0]["field"]) == (400, "messages.0.id")


@pytest.mark.parametrize(
    "segment",
    [
        "..",
        "...",
        "%2e%2e",
        "a%2Fb",
        "..%2F..%2Fother",
        "a%23b",
        "a#b",
        "%00",
        "a%00b",
        "*",
        "%2A",
        "a%20b",
        "a b",
        "x" * 2048,
        "ѕession",
        "%D1%95ession",
        "a%5Cb",
        "%FF",
        "a%0A",
        "a\n",
        "%252e",
        "<script>",
    ],
)
@pytest.mark.parametrize(
    "path", ["/v1/sessions/{}", "/v1/sessions/{}/messages", "/v1/sessions/{}/context"]
)
def test_a_path_that_names_nothing_is_400(call: Client, path: str, segment: str) -> None:
    answer = call("GET", path.format(segment))
    assert (answer.status, answer.json["code"]) == (400, "invalid_id")
    assert answer.json["errors"][0]["field"] == "session_id"


def test_an_encoded_id_is_the_id_that_it_encodes(call: Client) -> None:
    assert (
        call("POST", "/v1/sessions/a%3Ab%40c%2Bd%7Ce/messages", HELLO).json["session_id"]
        == "a:b@c+d|e"
    )
    assert call("GET", "/v1/sessions/a:b@c+d|e").json["session_id"] == "a:b@c+d|e"


PROXY = "ANY /v1/users/{proxy+}"
ONE = "DELETE /v1/users/{user_id}/memories/{memory_id}"


@pytest.mark.parametrize(
    ("path", "route", "parameters"),
    [
        ("/v1/users/alice", PROXY, {"proxy": "alice?x"}),
        ("/v1/users/alice", PROXY, {"proxy": "alice?"}),
        ("/v1/users/alice", PROXY, {"proxy": "alice%3Fx"}),
        ("/v1/users/alice", PROXY, {"proxy": "%61lice"}),
        ("/v1/users/alice", PROXY, {"proxy": "%2561lice"}),
        ("/v1/users/%61lice", PROXY, {"proxy": "%61lice"}),
        ("/v1/users/alice%40x", PROXY, {"proxy": "alice%40x"}),
        ("/v1/users/alice?x", PROXY, {"proxy": "alice?x"}),
        ("/v1/users/alice/memories/m", ONE, {"user_id": "alice", "memory_id": "m?x"}),
        ("/v1/users/alice/memories/m", ONE, {"user_id": "alice"}),
    ],
)
def test_a_path_that_a_gateway_has_cut_or_decoded_too_often_names_nobody(
    service: Service, call: Client, path: str, route: str, parameters: dict[str, str]
) -> None:
    call.save("Alice plays chess.", user="alice")
    answer = sent_through(service, "DELETE", path, route, parameters)
    assert (answer["statusCode"], json.loads(answer["body"])["code"]) == (400, "invalid_id"), (
        answer["body"]
    )
    assert call("GET", "/v1/users/alice").json["memories"]["total"] == 1


@pytest.mark.parametrize("proxy", ["a:b@c+d|e", "a:b@c+d%7Ce", "a%3ab%40c%2Bd%7Ce", "a:b@c+d|e/"])
def test_an_id_that_a_gateway_has_decoded_is_itself_however_its_parameters_are_written(
    service: Service, call: Client, proxy: str
) -> None:
    call.save("Plays chess.", user="a:b@c+d|e")
    answer = sent_through(service, "GET", "/v1/users/a:b@c+d|e", PROXY, {"proxy": proxy})
    assert json.loads(answer["body"])["memories"]["total"] == 1


def sent_through(
    service: Service, method: str, path: str, route: str, parameters: dict[str, str]
) -> dict[str, Any]:
    """The answer to an event in which a gateway states the route that it has chosen, with its
    parameters.
    """
    who = {"lambda": {"tenant": "acme", "scopes": "read write admin", "key_id": "k" * 64}}
    event = http_event(method, path, authorizer=who)
    return invoked(service.handler, event | {"routeKey": route, "pathParameters": parameters})


@pytest.mark.parametrize(
    ("path", "field"),
    [("/v1/jobs/a%23b", "job_id"), ("/v1/sessions//messages", "session_id"), ("/v1//x", "path")],
)
def test_any_part_of_a_path_is_checked_and_named(call: Client, path: str, field: str) -> None:
    answer = call("GET", path)
    assert (answer.status, answer.json["errors"][0]["field"]) == (400, field)


def test_a_body_over_the_limit_is_413(service: Service, call: Client) -> None:
    answer = call(
        "POST", PATH, {**HELLO, "messages": [{"role": "user", "content": "x" * 5_000_000}]}
    )
    assert (answer.status, answer.json["code"]) == (413, "body_too_large")
    wide = json.dumps({"a": "é" * 2_600_000}, ensure_ascii=False)
    assert call("POST", PATH, raw=wide).status == 413
    packed = base64.b64encode(b'{"a":"' + b"x" * 5_000_000 + b'"}').decode()
    assert call("POST", PATH, raw=packed, is_base64=True).status == 413
    assert nothing_written(service)


def test_a_system_message_over_the_item_limit_is_413(service: Service, call: Client) -> None:
    answer = call(
        "POST", PATH, {**HELLO, "messages": [{"role": "system", "content": "x" * 400_000}]}
    )
    assert (answer.status, answer.json["code"]) == (413, "message_too_large")
    assert answer.json["errors"][0]["field"] == "messages.0"
    assert nothing_written(service)


@pytest.mark.parametrize("count", [51, 10_000])
def test_too_many_messages_in_one_call_are_413(service: Service, call: Client, count: int) -> None:
    answer = call("POST", PATH, {**HELLO, "messages": HELLO["messages"] * count})
    assert (answer.status, answer.json["code"]) == (413, "too_many_messages")
    assert nothing_written(service)


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": {"k": "x" * 30_000}},
        {"system": "x" * 400_000},
        {"memory": {"summary_prompt": "é" * 2_900}, "metadata": {"k": "x" * 15_000}},
    ],
)
def test_settings_that_one_item_cannot_hold_are_413(
    service: Service, call: Client, body: dict[str, Any]
) -> None:
    answer = call("POST", "/v1/sessions", {"user_id": "u", **body})
    assert (answer.status, answer.json["code"]) == (413, "settings_too_large")
    assert nothing_written(service)


def test_a_compressed_body_is_refused_unopened(service: Service, call: Client) -> None:
    bomb = base64.b64encode(gzip.compress(json.dumps({"a": "x" * 10_000_000}).encode())).decode()
    answer = call("POST", PATH, raw=bomb, is_base64=True, headers={"Content-Encoding": "gzip"})
    assert (answer.status, answer.json["code"]) == (400, "unsupported_encoding")
    assert nothing_written(service)


def test_a_base64_body_is_decoded(call: Client) -> None:
    raw = base64.b64encode(json.dumps(HELLO).encode()).decode()
    assert call("POST", PATH, raw=raw, is_base64=True).status == 201
    assert call("POST", PATH, raw="no base64", is_base64=True).json["code"] == "invalid_json"
    invalid = base64.b64encode(b'{"a":"\xff"}').decode()
    assert call("POST", PATH, raw=invalid, is_base64=True).json["code"] == "invalid_unicode"


def test_the_body_is_json_whatever_its_content_type_says(call: Client) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert call("POST", PATH, HELLO, headers=form).status == 201
    assert call("POST", PATH, raw="user_id=sarah", headers=form).json["code"] == "invalid_json"


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 101},
        {"limit": "many"},
        {"order": "up"},
        {"at": 5},
        {"api_key": "pal_x"},
    ],
)
def test_a_wrong_or_unknown_parameter_is_422_and_named(call: Client, query: dict[str, Any]) -> None:
    call.append("s", "hello")
    answer = call("GET", PATH, query=query)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, next(iter(query)))


@pytest.mark.parametrize("wait", [-1, 20.5, "long"])
def test_a_wait_out_of_bounds_is_422(call: Client, wait: object) -> None:
    assert call("DELETE", "/v1/sessions/s", query={"wait": wait}).status == 422


def test_a_budget_that_is_too_small_names_the_minimum(call: Client) -> None:
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "u", "system": "s" * 2000})
    call("POST", PATH, HELLO | {"user_id": "u"})
    answer = call("GET", "/v1/sessions/s/context", query={"max_tokens": 150})
    assert (answer.status, answer.json["code"]) == (422, "budget_too_small")
    minimum = answer.json["minimum"]
    assert str(minimum) in answer.json["detail"]
    assert answer.json["errors"] == [{"field": "max_tokens", "message": f"at least {minimum}"}]
    assert call("GET", "/v1/sessions/s/context", query={"max_tokens": minimum}).status == 200


def test_a_model_that_nobody_knows_is_422(call: Client) -> None:
    call.append("s", "hello")
    answer = call("GET", "/v1/sessions/s/context", query={"model": "mystery-9000"})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "model")


def test_every_call_on_an_unknown_session_is_404(call: Client) -> None:
    calls = [
        ("GET", "", None),
        ("PUT", "", {}),
        ("PATCH", "", {}),
        ("DELETE", "", None),
        ("POST", "/end", None),
        ("GET", "/messages", None),
        ("DELETE", "/messages", None),
        ("GET", "/context", None),
        ("POST", "/context", {}),
        ("POST", "/prune", {"strategy": "fifo"}),
        ("POST", "/prune", {"strategy": "summarize"}),
        ("GET", "/compactions", None),
        ("GET", "/compactions/1/messages", None),
    ]
    for method, rest, body in calls:
        answer = call(method, f"/v1/sessions/nobody{rest}", body)
        assert (answer.status, answer.json["code"]) == (404, "session_not_found"), (method, rest)


def test_an_unknown_route_is_404_and_a_wrong_method_405(call: Client) -> None:
    unknown = call("GET", "/v1/sessions/s/nothing")
    assert (unknown.status, unknown.json["code"]) == (404, "route_not_found")
    wrong = call("POST", "/v1/sessions/s", {})
    assert (wrong.status, wrong.json["code"]) == (405, "method_not_allowed")
    assert wrong.headers["Allow"] == "DELETE, GET, PATCH, PUT"
    assert call("HEAD", "/v1/sessions/s").status == 405


AHEAD, BEHIND = "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"
"""Times that UTC has no year for."""


@pytest.mark.parametrize("time", [AHEAD, BEHIND])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/memories", {"memories": [{"type": "fact", "content": "x", "expires_at": "T"}]}),
        ("/memories", {"memories": [{"type": "fact", "content": "x", "valid_from": "T"}]}),
        ("/graph/entities", {"entities": [{"type": "Person", "name": "x", "valid_to": "T"}]}),
        ("/graph/entities", {"entities": [{"type": "Person", "name": "x", "valid_from": "T"}]}),
        ("/recall", {"query": "x", "as_of": "T"}),
    ],
)
def test_a_time_that_no_answer_could_show_is_refused(
    service: Service, call: Client, time: str, path: str, body: dict[str, Any]
) -> None:
    answer = call(
        "POST", f"/v1/users/sarah{path}", raw=json.dumps(body).replace('"T"', f'"{time}"')
    )
    assert (answer.status, answer.json["errors"][0]["message"][:9]) == (422, "must be a"), (
        answer.text
    )
    assert call("GET", "/v1/users/sarah/memories").json["memories"] == []
    assert call("GET", "/v1/sessions", query={"created_after": time}).status == 422
    assert nothing_written(service)


def test_the_last_moment_of_the_calendar_is_a_time(call: Client) -> None:
    last = "9999-12-31T23:59:59.999Z"
    (memory,) = call.save({"type": "fact", "content": "x", "expires_at": last}).json["memories"]
    assert memory["expires_at"].startswith("9999-12-31T23:59:59")
    entity = {"type": "Person", "name": "x", "valid_from": "1970-01-01T00:00:00Z", "valid_to": last}
    answer = call("POST", "/v1/users/sarah/graph/entities", {"entities": [entity]})
    assert answer.json["entities"][0]["valid_to"] == last


LARGE = 1_450_000  # two bytes each: 2.9 MB


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (
            {
                "messages": [{"role": "user", "content": "é" * (LARGE // 50)}] * 50,
                "user_id": "sarah",
            },
            201,
        ),
        ({"messages": ["é" * LARGE], "user_id": "sarah"}, 422),
        ({"messages": [{"role": "é" * LARGE, "content": "x"}], "user_id": "sarah"}, 422),
        ({"é" * LARGE: 1, "messages": [{"role": "user", "content": "x"}], "user_id": "sarah"}, 422),
        ({"messages": "é" * LARGE, "user_id": "sarah"}, 422),
        ({"messages": [{"role": "user", "content": "x"}], "user_id": "é" * LARGE}, 400),
    ],
)
def test_megabytes_outside_ascii_are_stored_or_a_problem_and_never_a_failure(
    call: Client, body: dict[str, Any], status: int
) -> None:
    answer = call("POST", "/v1/sessions/s/messages", raw=json.dumps(body, ensure_ascii=False))
    assert answer.status == status
    assert status == 201 or (answer.json["code"] and len(answer.text) < 100_000)
