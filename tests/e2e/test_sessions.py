"""The life of a session through the front door: configure, make room, withdraw, end, delete and
begin again.
"""

from typing import Any

import pytest

from tests.e2e.stack import Client, eventually

pytestmark = pytest.mark.e2e
PATH = "/v1/sessions/s"
PREFIX = "CONVERSATION SUMMARY: "


def shown(call: Client, **query: object) -> list[str]:
    """What a context says, word for word."""
    answer = call("GET", f"{PATH}/context", query=query)
    assert answer.status == 200, answer.text
    return [message["content"] for message in answer.json["messages"]]


def test_a_session_is_configured_read_listed_and_ended(call: Client) -> None:
    created = {
        "session_id": "s",
        "user_id": "sarah",
        "agent_id": "hr",
        "system": "You help.",
        "metadata": {"team": 7},
    }
    assert call("POST", "/v1/sessions", created).status == 201
    changed = call(
        "PATCH",
        PATH,
        {"memory": {"strategy": "trim", "max_tokens": 900}, "metadata": {"team": None}},
    ).json
    assert (changed["memory"]["strategy"], changed["system"], changed["metadata"]) == (
        "trim",
        "You help.",
        {},
    )
    replaced = call("PUT", PATH, {"system": "You help more."}).json
    assert (replaced["memory"]["strategy"], replaced["system"]) == ("summarize", "You help more.")
    call.append("t", "hello")
    queries: list[tuple[dict[str, object], int]] = [
        ({}, 2), ({"user_id": "sarah"}, 2), ({"agent_id": "hr"}, 1), ({"user_id": "tom"}, 0),
    ]  # fmt: skip
    for query, found in queries:
        assert len(call("GET", "/v1/sessions", query=query).json["sessions"]) == found
    assert call("POST", f"{PATH}/end").json["status"] == "ended"
    assert [
        session["session_id"]
        for session in call("GET", "/v1/sessions", query={"status": "ended"}).json["sessions"]
    ] == ["s"]
    call.append("s", "back again")
    assert call.session("s")["status"] == "active"


def test_new_sessions_take_the_tenants_settings(call: Client) -> None:
    memory = {"strategy": "delete", "max_tokens": 800, "count": 2}
    settings: dict[str, Any] = {"memory": memory, "retention_days": 7, "memory_days": None}
    assert call("PUT", "/v1/settings", settings).status == 200
    assert call("GET", "/v1/settings").json.items() >= settings.items()
    call.append("s", "hello")
    assert {name: call.session("s")["memory"][name] for name in settings["memory"]} == settings[
        "memory"
    ]


@pytest.mark.parametrize(
    ("memory", "at_most"),
    [
        ({"strategy": "trim", "max_memory_tokens": 150}, 400),
        ({"strategy": "delete", "count": 2}, 400),
    ],
)
def test_trim_and_delete_make_room_in_the_append_itself(
    call: Client, memory: dict[str, Any], at_most: int
) -> None:
    call.begin("s", max_tokens=at_most, **memory)
    answers = call.say("s", 12)
    assert all(answer["window"]["tokens"] <= at_most for answer in answers)
    overflows = [answer["overflow"] for answer in answers if answer["overflow"]]
    assert overflows
    assert {
        (overflow["strategy"], overflow["state"], overflow["job_id"]) for overflow in overflows
    } == {(memory["strategy"], "done", None)}
    assert len(call.history("s")) == 24
    compactions = call("GET", f"{PATH}/compactions").json["compactions"]
    assert {compaction["method"] for compaction in compactions} == {memory["strategy"]}


def test_without_short_term_memory_the_context_is_the_newest_turn(call: Client) -> None:
    call.begin("s", strategy="none")
    call.say("s", 3)
    call.append("s", "And now?")
    assert shown(call) == ["And now?"]
    assert len(call.history("s")) == 7


def test_pruning_by_a_summary_can_be_waited_for(call: Client) -> None:
    call.begin("s", keep_recent_turns=2)
    call.say("s", 6)
    assert (
        call.ended(call("POST", f"{PATH}/prune", {"strategy": "summarize", "wait": 20}))["state"]
        == "done"
    )
    summary, *recent = shown(call)
    assert summary.startswith(PREFIX)
    assert len(recent) == 4


def test_a_prune_that_nobody_waits_for_is_a_job(call: Client) -> None:
    call.begin("s", keep_recent_turns=2)
    call.say("s", 6)
    answer = call("POST", f"{PATH}/prune", {"strategy": "summarize"})
    assert answer.status == 202
    assert answer.headers["location"] == f"/v1/jobs/{answer.json['job_id']}"
    assert call.job(answer.json["job_id"])["state"] == "done"
    assert shown(call)[0].startswith(PREFIX)


def test_pruning_first_in_first_out_drops_the_oldest_turns_at_once(call: Client) -> None:
    call.say("s", 6)
    answer = call("POST", f"{PATH}/prune", {"strategy": "fifo", "max_tokens": 150})
    assert (answer.status, answer.json["job_id"]) == (200, None)
    assert answer.json["window"]["tokens"] <= 150
    assert len(call.history("s")) == 12


def test_compacting_in_step_answers_with_the_summary_in_place(call: Client) -> None:
    call.begin("s", max_tokens=400, keep_recent_turns=2)
    call.say("s", 10)
    eventually(
        lambda: shown(call, compact="sync")[0].startswith(PREFIX)
    )  # it waits 20 s, a busy machine may not end
    # turns that came while the first fold was under way may have made another one due
    eventually(lambda: call.session("s")["compaction"] == "none")


def test_a_job_can_be_waited_for_and_says_how_it_went(call: Client) -> None:
    job = call.job(call.overflow("s"))
    assert (job["kind"], job["state"], job["session_id"], job["error"]) == (
        "summarize",
        "done",
        "s",
        None,
    )
    assert job["result"]["messages"] == job["range"]["to"]
    assert call("GET", "/v1/jobs/job_nobody").status == 404


def test_emptying_the_window_keeps_the_history(call: Client) -> None:
    call.say("s", 3)
    assert call("DELETE", f"{PATH}/messages").json["window"]["messages"] == 0
    call.append("s", "afresh")
    assert shown(call) == ["afresh"]
    assert len(call.history("s")) == 7


def test_withdrawn_messages_are_gone_from_window_summary_and_history(call: Client) -> None:
    call.job(call.overflow("s", about="salaries"))
    (compaction,) = call("GET", f"{PATH}/compactions").json["compactions"]
    said = [row["content"] for row in call.history("s")]
    job = call.ended(
        call("DELETE", f"{PATH}/messages", query={"from": compaction["to"] - 1, "wait": 20})
    )
    assert (job["state"], job["kind"]) == ("done", "withdraw")
    assert [row["content"] for row in call.history("s")] == said[: compaction["to"] - 2]
    assert (
        shown(call) == said[: compaction["to"] - 2]
    )  # the summary went too: what it stood for is back
    assert call("GET", f"{PATH}/compactions").json["compactions"] == []
    call.append("s", "going on")
    assert call.history("s")[-1]["seq"] == len(said) + 1


def test_a_deleted_session_is_gone_at_once_and_made_again_it_has_nothing_of_the_old(
    call: Client,
) -> None:
    pending = call.overflow("s", about="the old life")
    deleted = call("DELETE", PATH)
    assert deleted.status == 202
    for rest in ("", "/messages", "/context", "/compactions"):
        assert call("GET", f"{PATH}{rest}").status == 404
    before = call.append("s", "the new life", key="turn-1").json
    assert before["created"] is True
    assert before["messages"][0]["seq"] > 1
    assert call.job(deleted.json["job_id"])["state"] == "done"
    eventually(lambda: call.state(pending) == "done")  # overtaken: it did nothing
    assert [row["content"] for row in call.history("s")] == ["the new life"]
    assert shown(call) == ["the new life"]
    assert call("GET", f"{PATH}/compactions").json["compactions"] == []
