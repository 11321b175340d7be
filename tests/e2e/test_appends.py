"""What is acknowledged is kept, once and in order; what is refused leaves nothing behind."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

import pytest

from tests.e2e.stack import PATIENCE, WAIT, Client, Stack, processes_of

pytestmark = pytest.mark.e2e
WRITERS, APPENDS = 50, 3
HELLO: dict[str, Any] = {"user_id": "sarah", "messages": [{"role": "user", "content": "Hello"}]}
UNKNOWN = "/v1/sessions/nobody"
ODD = (
    "NUL \x00, \U0001f468\u200d\U0001f469\u200d\U0001f467, \u202eright to left\u202c, e\u0301, "
    "<|endoftext|>, </memory>, \\u0000 \" '"
)


def test_a_retried_append_is_stored_once(call: Client) -> None:
    first = call.append("s", "one", "two", key="turn-1")
    again = call.append("s", "one", "two", key="turn-1")
    assert (first.status, again.status) == (201, 201)
    assert (first.json["replayed"], again.json["replayed"]) == (False, True)
    assert again.json["messages"] == first.json["messages"]
    assert call.append("s", "three").json["replayed"] is False
    assert call.append("s", "three").json["replayed"] is True  # without a key, within a minute
    assert call.append("s", "three", allow_repeat=True).json["replayed"] is False
    assert [row["content"] for row in call.history("s")] == ["one", "two", "three", "three"]


def test_ids_on_all_messages_make_an_append_repeatable(call: Client) -> None:
    messages = [
        {"id": f"m-{number}", "role": "user", "content": str(number)} for number in range(3)
    ]
    for expected in (False, True, True):
        answer = call("POST", "/v1/sessions/s/messages", {"user_id": "sarah", "messages": messages})
        assert answer.json["replayed"] is expected
    assert len(call.history("s")) == 3


def test_two_of_the_same_append_at_once_are_stored_once(call: Client) -> None:
    call.append("s", "before")
    with ThreadPoolExecutor(2) as both:
        answers = list(both.map(lambda _: call.append("s", "now", key="turn-2").json, range(2)))
    assert sorted(answer["replayed"] for answer in answers) == [False, True]
    assert [row["content"] for row in call.history("s")] == ["before", "now"]


def test_another_body_under_the_same_key_is_a_conflict(call: Client) -> None:
    call.append("s", "one", key="turn-1")
    answer = call.append("s", "two", key="turn-1")
    assert (answer.status, answer.json["code"]) == (409, "idempotency_key_reused")
    assert [row["content"] for row in call.history("s")] == ["one"]


def test_another_users_session_is_a_conflict(call: Client) -> None:
    call.append("s", "mine")
    answer = call.append("s", "yours", user_id="tom")
    assert (answer.status, answer.json["code"]) == (409, "owner_mismatch")
    assert [row["content"] for row in call.history("s")] == ["mine"]


def test_odd_characters_come_back_byte_for_byte(call: Client) -> None:
    assert call.append("s", ODD).status == 201
    assert call.history("s")[0]["content"] == ODD
    assert call("GET", "/v1/sessions/s/context").json["messages"][0]["content"] == ODD


def test_fifty_messages_of_58_kb_are_stored_and_come_back_whole(call: Client) -> None:
    text = "記憶する"  # other scripts: contract/test_commits.py
    said = [f"{number} {text * (58_000 // len(text.encode()))}" for number in range(50)]
    body = {"user_id": "sarah", "messages": [{"role": "user", "content": each} for each in said]}
    raw, key = json.dumps(body, ensure_ascii=False).encode(), {"Idempotency-Key": "large"}
    for _ in range(
        PATIENCE // WAIT
    ):  # the local AWS takes seconds for 3 MB: a busy one may be too slow, and says so
        answer = call("POST", "/v1/sessions/s/messages", raw=raw, headers=key)
        if answer.status != HTTPStatus.SERVICE_UNAVAILABLE:
            break
    assert answer.status == HTTPStatus.CREATED, answer.text
    assert [row["content"] for row in call.history("s")] == said


def test_a_message_of_4_mb_lies_in_the_bucket_comes_back_whole_and_goes_with_its_session(
    call: Client, stack: Stack
) -> None:
    picture = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64," + "iVBO" * 1_000_000},
    }
    asked = [{"type": "text", "text": "What is this?"}, picture]
    body = {"user_id": "sarah", "messages": [{"role": "user", "content": asked}]}
    assert call("POST", "/v1/sessions/s/messages", body).status == HTTPStatus.CREATED
    assert call("GET", "/v1/sessions/s/messages/1").json["content"] == asked
    context = call("GET", "/v1/sessions/s/context").json
    assert [part["type"] for part in context["messages"][0]["content"]] == ["text", "text"]
    bucket = {"Bucket": stack.outputs["ContentsBucket"], "Prefix": f"contents/{call.tenant}/s/"}
    s3 = stack.place.client("s3")
    assert s3.list_objects_v2(**bucket)["KeyCount"] == 1
    job = call("DELETE", "/v1/sessions/s", query={"wait": WAIT}).json
    assert call.job(job["job_id"])["state"] == "done"
    assert s3.list_objects_v2(**bucket)["KeyCount"] == 0


@pytest.mark.parametrize("sent", [b"\xed\xa0\x80", b"\xc0\xaf", b"\xff", b"\xe2\x82"])
@pytest.mark.parametrize("kind", ["application/json", "application/octet-stream"])
def test_a_body_that_is_not_utf_8_is_refused_and_nothing_of_it_is_stored(
    call: Client, sent: bytes, kind: str
) -> None:
    raw = b'{"user_id": "sarah", "messages": [{"role": "user", "content": "a' + sent + b'"}]}'
    answer = call("POST", "/v1/sessions/s/messages", raw=raw, headers={"Content-Type": kind})
    assert (answer.status, answer.json["code"]) == (400, "invalid_unicode")
    assert call("GET", "/v1/sessions/s").status == 404


def test_a_message_larger_than_the_budget_never_leaves_an_empty_context(call: Client) -> None:
    call.begin("s", max_tokens=300)
    call.append("s", f"{'beginning ' * 100}{'middle ' * 5_000}{'end ' * 100}")
    context = call("GET", "/v1/sessions/s/context").json
    (message,) = context["messages"]
    assert context["tokens"]["context"] <= 300
    assert message["content"].startswith("beginning")
    assert message["content"].rstrip().endswith("end")


REFUSED: list[Any] = [
    pytest.param("GET", UNKNOWN, None, 404, "", id="unknown session"),
    pytest.param(
        "POST",
        f"{UNKNOWN}/messages",
        {"messages": HELLO["messages"]},
        404,
        "",
        id="nobody's session",
    ),
    pytest.param(
        "POST", "/v1/sessions/a%23b/messages", HELLO, 400, "session_id", id="key separator"
    ),
    pytest.param(
        "POST", "/v1/sessions/..%2F..%2Fother/messages", HELLO, 400, "session_id", id="path"
    ),
    pytest.param("POST", "/v1/sessions/a%00b/messages", HELLO, 400, "session_id", id="nul"),
    pytest.param("POST", "/v1/sessions/*/messages", HELLO, 400, "session_id", id="star"),
    pytest.param(
        "POST", f"/v1/sessions/{'x' * 2048}/messages", HELLO, 400, "session_id", id="2 KB"
    ),
    pytest.param(
        "POST", "/v1/sessions/%D1%95ession/messages", HELLO, 400, "session_id", id="homoglyph"
    ),
    pytest.param(
        "POST", f"{UNKNOWN}/messages", HELLO | {"user_id": "a#b"}, 400, "user_id", id="user"
    ),
    pytest.param(
        "POST", f"{UNKNOWN}/messages", HELLO | {"messages": []}, 422, "messages", id="empty batch"
    ),
    pytest.param(
        "POST",
        f"{UNKNOWN}/messages",
        HELLO | {"messages": [{"role": "wizard", "content": "x"}]},
        422,
        "messages.0.role",
        id="role",
    ),
    pytest.param(
        "POST",
        f"{UNKNOWN}/messages",
        HELLO | {"messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]},
        422,
        "messages.0.tool_call_id",
        id="result without its call",
    ),
    pytest.param(
        "POST",
        f"{UNKNOWN}/messages",
        HELLO | {"messages": [{"role": "user", "content": "\ud800"}]},
        400,
        "messages.0.content",
        id="lone surrogate",
    ),
    pytest.param(
        "POST",
        "/v1/sessions",
        {"session_id": "nobody", "user_id": "sarah", "memory": {"max_token": 5}},
        422,
        "memory.max_token",
        id="unknown configuration",
    ),
    pytest.param(
        "POST",
        "/v1/sessions",
        {"session_id": "nobody", "user_id": "sarah", "memory": {"max_tokens": -5}},
        422,
        "memory.max_tokens",
        id="negative budget",
    ),
    pytest.param(
        "POST",
        f"{UNKNOWN}/messages",
        HELLO | {"messages": HELLO["messages"] * 51},
        413,
        "messages",
        id="51 messages",
    ),
    pytest.param(
        "POST",
        f"{UNKNOWN}/messages",
        HELLO | {"messages": [{"role": "system", "content": "x" * 400_000}]},
        413,
        "messages.0",
        id="a large message",
    ),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "field"), REFUSED)
def test_what_is_refused_is_a_problem_that_names_the_field_and_leaves_nothing(  # noqa: PLR0917 - by name
    call: Client, method: str, path: str, body: object, status: int, field: str
) -> None:
    answer = call(method, path, body)
    assert answer.status == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["request_id"]
    assert answer.json["retryable"] is False
    assert [error["field"] for error in answer.json["errors"]][:1] == ([field] if field else [])
    assert call("GET", "/v1/sessions").json["sessions"] == []


def test_deep_and_packed_bodies_are_refused_before_they_are_parsed(call: Client) -> None:
    deep = b'{"user_id":"sarah","messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert call("POST", f"{UNKNOWN}/messages", raw=deep).json["code"] == "invalid_json"
    packed = call(
        "POST", f"{UNKNOWN}/messages", raw=b"\x1f\x8b", headers={"Content-Encoding": "gzip"}
    )
    assert (packed.status, packed.json["code"]) == (400, "unsupported_encoding")
    large = b'{"user_id":"' + b"x" * 5_100_000 + b'"}'
    assert call("POST", f"{UNKNOWN}/messages", raw=large).status == 413
    assert call("GET", UNKNOWN).status == 404


def test_fifty_writers_lose_nothing_and_keep_their_order(call: Client, stack: Stack) -> None:
    call.begin("crowd")
    deadline = time.monotonic() + PATIENCE

    def write(writer: int) -> None:
        for number in range(APPENDS):
            text = f"{writer}-{number}"
            while (answer := call.append("crowd", text, key=text)).status != HTTPStatus.CREATED:
                assert answer.status in (
                    429,
                    502,
                    503,
                )  # not run, or not ended in time: again, under its key
                assert time.monotonic() < deadline
                time.sleep(0.1)

    with ThreadPoolExecutor(WRITERS) as writers:
        list(writers.map(write, range(WRITERS)))
    rows = call.history("crowd")
    assert [row["seq"] for row in rows] == list(range(1, WRITERS * APPENDS + 1))
    for writer in range(WRITERS):
        said = [row["content"] for row in rows if row["content"].startswith(f"{writer}-")]
        assert said == [f"{writer}-{number}" for number in range(APPENDS)]
    names = [process.get("AWS_LAMBDA_FUNCTION_NAME") for process in processes_of(stack.folder)]
    for function in ("Authorize", "Sessions"):
        assert 1 <= names.count(stack.outputs[f"{function}Function"]) <= WRITERS // 5
