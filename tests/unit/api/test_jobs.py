"""Jobs of a user and of a session are listed, and what failed is tried again."""

from typing import Any

import pytest
from palimpsest.errors import ModelUnavailable
from palimpsest.jobs.job import Job

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

JOBS = "/v1/jobs"


def newest(service: Service, kind: str) -> Job:
    return [job for job in service.outbox if job.kind == kind][-1]


def listed(call: Client, **query: object) -> list[tuple[str, str]]:
    return [(row["kind"], row["state"]) for row in call("GET", JOBS, query=query).json["jobs"]]


def several(call: Client, service: Service) -> None:
    """A forgetting, an extraction and a deletion of sarah's, and a deletion of bob's."""
    call.append("s", "fact: likes tea")
    call("POST", "/v1/users/sarah/memories/forget", {"filter": {"types": ["fact"]}})
    service.time.advance(1)
    call("POST", "/v1/sessions/s/extract", {})
    service.time.advance(1)
    call.append("other", "hello")
    call("DELETE", "/v1/sessions/other")
    call.append("his", "hello", user_id="bob")
    call("DELETE", "/v1/sessions/his")


def test_jobs_of_a_user_are_listed_newest_first(call: Client, service: Service) -> None:
    several(call, service)
    assert listed(call, user_id="sarah") == [
        ("delete", "pending"),
        ("extract", "pending"),
        ("forget", "pending"),
    ]
    assert listed(call, user_id="sarah", order="asc")[0] == ("forget", "pending")
    assert listed(call, user_id="bob") == [("delete", "pending")]
    assert listed(call, user_id="nobody") == []


def test_a_listed_job_says_whose_it_is_and_can_be_read(call: Client, service: Service) -> None:
    several(call, service)
    (row,) = call("GET", JOBS, query={"session_id": "s"}).json["jobs"]
    assert (row["user_id"], row["session_id"], row["range"]) == ("sarah", "s", {"from": 1, "to": 1})
    whole = call("GET", f"{JOBS}/{row['job_id']}").json
    assert row.items() <= whole.items()


def test_jobs_of_a_session_are_found_after_it_was_deleted(call: Client, service: Service) -> None:
    several(call, service)
    assert listed(call, session_id="other") == [("delete", "pending")]
    assert listed(call, session_id="other", user_id="sarah") == [("delete", "pending")]
    assert listed(call, session_id="other", user_id="bob") == []
    assert listed(call, session_id="nobodys") == []


def test_jobs_are_listed_by_state(call: Client, service: Service) -> None:
    several(call, service)
    service.drain()
    call("POST", "/v1/users/sarah/memories/forget", {"filter": {"types": ["task"]}})
    service.fail(newest(service, "forget"))
    assert listed(call, user_id="sarah", state="failed") == [("forget", "failed")]
    assert listed(call, user_id="sarah", state="pending") == []
    assert len(listed(call, user_id="sarah", state="done")) == 3


def test_pages_hold_every_job_once(call: Client, service: Service) -> None:
    for number in range(7):
        call("POST", "/v1/users/sarah/memories/forget", {"filter": {"min_importance": number / 10}})
        service.time.advance(1)
    seen: list[str] = []
    query: dict[str, object] | None = {"user_id": "sarah", "limit": 3}
    while query is not None:
        page = call("GET", JOBS, query=query).json
        seen += [row["job_id"] for row in page["jobs"]]
        query = {**query, "cursor": page["next_cursor"]} if page["next_cursor"] else None
    assert seen == [job.id for job in reversed(service.outbox)]


def test_steps_of_a_job_are_not_listed(call: Client, service: Service) -> None:
    for turn in range(12):
        call.append("s", f"fact: number {turn}", allow_repeat=True)
    service.extractor.reaches = lambda chunk: chunk.messages[0].seq
    call("POST", "/v1/sessions/s/extract", {})
    service.drain()
    steps = {job.id for job in service.outbox if job.parent is not None}
    shown = {row["job_id"] for row in call("GET", JOBS, query={"user_id": "sarah"}).json["jobs"]}
    assert len(steps) >= 5
    assert shown == {job.id for job in service.outbox} - steps


def test_all_failed_jobs_of_the_tenant_are_listed(call: Client, service: Service) -> None:
    several(call, service)
    for kind in ("forget", "delete"):
        service.fail(newest(service, kind))
        service.time.advance(1)
    failed = call("GET", JOBS, query={"state": "failed"}).json["jobs"]
    assert [(row["kind"], row["user_id"], row["error"]) for row in failed] == [
        ("delete", "bob", "unavailable"),
        ("forget", "sarah", "unavailable"),
    ]
    page = call("GET", JOBS, query={"state": "failed", "limit": 1}).json
    rest = call(
        "GET", JOBS, query={"state": "failed", "limit": 1, "cursor": page["next_cursor"]}
    ).json
    assert [*page["jobs"], *rest["jobs"]] == failed
    assert service.client(tenant="other")("GET", JOBS, query={"state": "failed"}).json["jobs"] == []


def test_the_list_says_of_a_job_what_the_job_says(call: Client, service: Service) -> None:
    call.append("s", "fact: likes tea")
    call("POST", "/v1/sessions/s/extract", {})
    failed = newest(service, "extract")
    service.fail(failed, error="model_unavailable")
    assert listed(call, state="failed") == [("extract", "failed")]
    call("POST", f"{JOBS}/{failed.id}/retry", {})
    service.delivered = service.outbox.index(failed) + 1
    service.drain()
    assert call("GET", f"{JOBS}/{failed.id}").json["state"] == "done"
    assert listed(call, user_id="sarah") == [("extract", "done"), ("extract", "done")]
    assert listed(call, state="failed") == []
    assert len(listed(call, user_id="sarah", state="done")) == 2


@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ({}, 422, "user_id"),
        ({"state": "done"}, 422, "user_id"),
        ({"user_id": "sarah", "state": "stuck"}, 422, "state"),
        ({"user_id": "sarah", "kind": "extract"}, 422, "kind"),
        ({"user_id": "a b"}, 400, "user_id"),
        ({"session_id": "a#b"}, 400, "session_id"),
        ({"user_id": "sarah", "cursor": "nonsense"}, 400, "cursor"),
    ],
)
def test_what_names_no_list_is_refused(
    call: Client, query: dict[str, object], status: int, field: str
) -> None:
    answer = call("GET", JOBS, query=query)
    assert (answer.status, answer.json["errors"][0]["field"]) == (status, field)


def test_another_tenants_jobs_are_not_there(call: Client, service: Service) -> None:
    several(call, service)
    other = service.client(tenant="other")
    assert listed(other, user_id="sarah") == []
    assert listed(other, session_id="s") == []
    cursor = call("GET", JOBS, query={"user_id": "sarah", "limit": 1}).json["next_cursor"]
    assert (
        other("GET", JOBS, query={"user_id": "sarah", "limit": 1, "cursor": cursor}).json["code"]
        == "invalid_cursor"
    )


def failed(call: Client, service: Service, kind: str) -> str:
    """The id of a job of that kind that has failed."""
    if kind == "summarize":
        call(
            "POST",
            "/v1/sessions",
            {"session_id": "s", "user_id": "sarah", "memory": {"max_tokens": 100}},
        )
        for turn in range(12):
            call.append("s", f"{turn} " + "word " * 20)
    else:
        call.append("s", "fact: likes tea")
    if kind == "delete":
        call("DELETE", "/v1/sessions/s")
    if kind == "withdraw":
        call("DELETE", "/v1/sessions/s/messages", query={"from": 1})
    if kind == "extract":
        call("POST", "/v1/sessions/s/extract", {})
    if kind == "forget":
        call("POST", "/v1/users/sarah/memories/forget", {"filter": {"types": ["fact"]}})
    job = newest(service, kind)
    service.fail(job, error="model_output_invalid")
    service.delivered = len(service.outbox)
    return job.id


@pytest.mark.parametrize("kind", ["summarize", "delete", "withdraw", "extract", "forget"])
def test_a_failed_job_is_tried_again_as_a_new_one(
    call: Client, service: Service, kind: str
) -> None:
    job = failed(call, service, kind)
    assert call("GET", f"{JOBS}/{job}").json["state"] == "failed"
    answer = call("POST", f"{JOBS}/{job}/retry")
    assert (answer.status, answer.json["state"]) == (202, "pending")
    assert answer.json["job_id"] != job
    service.drain()
    again = call("GET", answer.headers["Location"]).json
    assert (again["kind"], again["state"]) == (kind, "done")


def test_only_a_failed_job_is_tried_again(call: Client, service: Service) -> None:
    call.append("s", "hello")
    path = call("DELETE", "/v1/sessions/s").headers["Location"]
    for _ in range(2):  # pending, then done
        answer = call("POST", f"{path}/retry")
        assert (answer.status, answer.json["code"]) == (409, "job_not_failed")
        service.drain()


def test_a_failed_job_of_which_nothing_is_left_is_409(call: Client, service: Service) -> None:
    job = failed(call, service, "summarize")
    call("DELETE", "/v1/sessions/s")
    answer = call("POST", f"{JOBS}/{job}/retry")
    assert (answer.status, answer.json["code"]) == (409, "nothing_to_retry")


def test_an_unknown_job_and_another_tenants_are_404(call: Client, service: Service) -> None:
    job = failed(call, service, "forget")
    for who, name in ((call, "job_0"), (service.client(tenant="other"), job)):
        answer = who("POST", f"{JOBS}/{name}/retry")
        assert (answer.status, answer.json["code"]) == (404, "job_not_found")


def test_trying_again_needs_the_scope_write(service: Service, call: Client) -> None:
    job = failed(call, service, "forget")
    answer = service.client(scopes="read")("POST", f"{JOBS}/{job}/retry")
    assert (answer.status, answer.json["code"]) == (403, "missing_scope")


def test_a_model_that_is_down_is_told_by_the_job(call: Client, service: Service) -> None:
    call.append("s", "fact: likes tea")
    service.extractor.failure = ModelUnavailable("down")
    path = call("POST", "/v1/sessions/s/extract", {}).headers["Location"]
    service.fail(newest(service, "extract"), error="model_unavailable")
    job: dict[str, Any] = call("GET", path).json
    assert (job["state"], job["error"]) == ("failed", "model_unavailable")
    assert (job["ledger"]["received"], job["ledger"]["parked"]) == (1, 1)
