"""What a user said in one conversation is known in the next: taken in, recalled and corrected,
without a model.
"""

import json
from typing import Any

import pytest

from tests.e2e.stack import Answer, Client, Stack, eventually

pytestmark = [pytest.mark.e2e, pytest.mark.searches]
SARAH = "/v1/users/sarah"
SAID = (
    ("user", "Hello! I'm Sarah from Marketing."),
    ("assistant", "Nice to meet you, Sarah."),
    ("user", "I live in Rome. I am allergic to peanuts."),
    ("assistant", "I will keep that in mind."),
    ("user", "What is the weather like?"),
)
POLICY = "Remote work is possible up to 3 days a week; handbook, section 7."
BLOCKS = [{"type": "static"}, {"type": "extractive"}, {"type": "vector"}]


def transcript(*said: tuple[str, str], at: str = "2026-03-02T09:00:00Z") -> list[dict[str, str]]:
    return [{"role": role, "content": text, "timestamp": at} for role, text in said]


def ingest(
    call: Client, *said: tuple[str, str], session: str | None = "march", **more: str
) -> Answer:
    named = {} if session is None else {"session_id": session}
    return call("POST", f"{SARAH}/ingest", {"messages": transcript(*said, **more), **named})


def taken_in(call: Client, *said: tuple[str, str], **more: Any) -> Any:
    """The job, once what it stored is found by words and by meaning."""
    answer = ingest(call, *said, **more)
    assert answer.status in (200, 202), answer.text
    job = call.job(answer.json["job_id"])
    assert job["state"] == "done"
    for mode in ("keyword", "vector"):
        eventually(lambda mode=mode: is_indexed(call, job, mode))  # type: ignore[misc]
    return job


def is_indexed(call: Client, job: Any, mode: str) -> bool:
    """Whether each record of a job is found by its own words."""
    contents = {
        name: call("GET", f"{SARAH}/memories/{name}").json["content"] for name in job["records"]
    }
    return all(
        name in {row["id"] for row in searched(call, text, mode=mode)}
        for name, text in contents.items()
    )


def searched(call: Client, query: str, *, mode: str, **where: Any) -> list[Any]:
    """Nothing while there is no index yet: the first write makes it."""
    answer = call(
        "POST", f"{SARAH}/memories/search", {"query": query, "mode": mode, "k": 50, "filter": where}
    )
    assert answer.status in (200, 503), answer.text
    rows: list[Any] = answer.json.get("memories", [])
    return rows


def memories(call: Client) -> list[Any]:
    rows: list[Any] = call("GET", f"{SARAH}/memories").json["memories"]
    return rows


def recall(call: Client, query: str, **more: Any) -> Any:
    answer = call("POST", f"{SARAH}/recall", {"query": query, **more})
    assert answer.status == 200, answer.text
    return answer.json


def contents(rows: list[Any]) -> list[str]:
    return [row["content"] for row in rows]


def test_every_message_of_a_transcript_is_accounted_for_and_every_memory_names_its_words(
    call: Client,
) -> None:
    job = taken_in(call, *SAID)
    ledger = job["ledger"]
    assert (
        ledger["received"]
        == len(SAID)
        == ledger["extracted"] + ledger["skipped"] + ledger["parked"]
    )
    assert ledger["reasons"] == {"not_the_user": 2, "nothing_stated": 1}
    assert job["usage"] == {"model_calls": 0, "tokens_in": 0, "tokens_out": 0, "cost_usd": 0.0}
    rows = {row["seq"]: row for row in call.history("march")}
    assert [(rows[seq]["role"], rows[seq]["content"]) for seq in sorted(rows)] == list(SAID)
    kept = memories(call)
    assert {row["id"] for row in kept} == set(job["records"])
    assert {row["topic_key"] for row in kept} == {"name", "residence", "allergy_peanuts"}
    for memory in kept:
        (seq,) = memory["source"]["seqs"]
        assert memory["source"]["session_id"] == "march"
        assert memory["source"]["message_ids"] == [rows[seq]["id"]]
        assert memory["source"]["quote"] in rows[seq]["content"]
        assert memory["method"] == "pattern"
    assert call("GET", SARAH).json["memories"]["total"] == len(kept)


@pytest.mark.searches
@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("peanuts", "I am allergic to peanuts."),
        ("Does she have any food allergies?", "I am allergic to peanuts."),
        ("What city is home to Sarah?", "I live in Rome."),
    ],
)
def test_it_is_recalled_by_its_words_by_its_meaning_and_in_another_phrasing(
    knowing: Client, question: str, found: str
) -> None:
    eventually(lambda: recall(knowing, question, explain=True)["trace"]["reranker"]["read"] > 0)
    recalled = knowing.whole(
        f"{SARAH}/recall", {"query": question}, but=["reranker"]
    )  # it has 400 ms
    assert found in contents(recalled["memories"])
    assert all(row["source"]["session_id"] == "march" for row in recalled["memories"])


@pytest.fixture(scope="module")
def knowing(running: Stack) -> Client:
    """A tenant whose Sarah has said all this."""
    running.use_model(wanted=False)
    call = running.client()
    taken_in(call, *SAID)
    return call


def test_without_a_model_an_answer_quotes_the_memories_and_cites_them(knowing: Client) -> None:
    answer = recall(knowing, "Where does Sarah live?", answer=True)
    assert answer["method"] == "quoted"
    assert "I live in Rome." in answer["answer"]
    assert set(answer["citations"]) <= {row["id"] for row in answer["memories"]}
    nothing = recall(knowing, "Who won the chess tournament in Reykjavik?", answer=True)
    assert (nothing["answer"], nothing["citations"]) == ("", [])
    assert nothing["answerable"] < answer["answerable"]


def test_what_was_just_said_is_found_before_anything_is_extracted_or_indexed(call: Client) -> None:
    call.append("now", "The invoice of the plumber is number 4711.")
    (found,) = recall(call, "What number has the plumber's invoice?")["memories"]
    assert (found["type"], found["source"]["session_id"], found["source"]["seqs"]) == (
        "message",
        "now",
        [1],
    )


def test_a_transcript_may_grow_is_stored_once_and_must_not_diverge(call: Client) -> None:
    first = ingest(call, *SAID).json
    assert (first["created"], first["appended"]) == (True, len(SAID))
    call.job(first["job_id"])
    again = ingest(call, *SAID).json
    assert (again["created"], again["appended"]) == (False, 0)
    kept = memories(call)
    grown = ingest(call, *SAID, ("user", "My birthday is on 7 May.")).json
    assert grown["appended"] == 1
    job = call.job(grown["job_id"])
    assert (job["ledger"]["received"], len(job["records"])) == (1, 1)
    assert {row["id"] for row in memories(call)} == {row["id"] for row in kept} | set(
        job["records"]
    )
    other = ingest(call, ("user", "Something else."))
    assert (other.status, other.json["code"]) == (409, "transcript_diverged")
    assert len(call.history("march")) == len(SAID) + 1


def test_a_history_that_is_not_stored_is_remembered_by_its_own_ids_and_read_once(
    call: Client,
) -> None:
    said = [{"id": "m-1", "role": "user", "content": "I live in Rome. I am allergic to peanuts."}]
    body = {"messages": said, "session_id": "theirs", "store": False}
    answer = call("POST", f"{SARAH}/ingest", body)
    assert call.job(answer.json["job_id"])["state"] == "done"
    assert {row["source"]["message_ids"][0] for row in memories(call)} == {"m-1"}
    (row,) = call("GET", "/v1/sessions/theirs/messages").json["messages"]
    assert (row["client_id"], "content" in row) == ("m-1", False)
    assert call("POST", f"{SARAH}/ingest", body).json["appended"] == 0


def test_without_a_name_the_transcript_itself_names_its_session(call: Client) -> None:
    first, again = (ingest(call, *SAID, session=None).json for _ in range(2))
    assert (first["session_id"], first["created"], again["created"]) == (
        again["session_id"],
        True,
        False,
    )


@pytest.mark.searches
def test_a_correction_is_current_everywhere_and_what_it_superseded_is_read_in_its_history(
    call: Client,
) -> None:
    taken_in(call, ("user", "I live in Rome."))
    taken_in(call, ("user", "I moved to Lisbon."), session="june", at="2026-06-02T09:00:00Z")
    (current,) = memories(call)
    assert current["content"] == "I moved to Lisbon."
    for mode in ("keyword", "vector"):
        assert contents(
            searched(call, "live in Rome, moved to Lisbon", mode=mode, types=["fact"])
        ) == [current["content"]]
        marked = {
            row["content"]: row["outdated_by"] for row in searched(call, "Rome Lisbon", mode=mode)
        }
        assert marked["I live in Rome."] == current["id"]
    found = recall(call, "Where does she live?", k=10)["memories"]
    assert found[0]["content"] == current["content"]
    assert [row["outdated_by"] for row in found if "Rome" in row["content"]] in (
        [],
        [current["id"]],
    )
    call.begin("july", blocks=BLOCKS)
    context = call.whole("/v1/sessions/july/context", {"message": "Where do I live?"})
    assert "Lisbon" in context["memory_prompt"]
    assert "Rome" not in context["memory_prompt"]
    newest, oldest = call("GET", f"{SARAH}/memories/{current['id']}/history").json["versions"]
    assert (oldest["content"], oldest["status"], oldest["superseded_by"]) == (
        "I live in Rome.", "superseded", newest["id"]
    )  # fmt: skip
    then = recall(
        call, "Where does she live?", as_of="2026-04-01T00:00:00Z", filter={"types": ["fact"]}
    )
    assert contents(then["memories"]) == ["I live in Rome."]


def test_a_session_is_extracted_after_five_turns_when_it_ends_and_when_one_asks(
    call: Client,
) -> None:
    def jobs() -> list[Any]:
        rows: list[Any] = call("GET", "/v1/jobs", query={"user_id": "sarah"}).json["jobs"]
        return rows

    call.say("s", 4)
    assert jobs() == []
    needed = call("POST", "/v1/sessions/s/extract", {"if_needed": True}).json
    assert (needed["armed"], needed["job_id"]) == (False, None)
    call.say("s", 2, first=4)
    call("POST", "/v1/sessions/s/end")
    call.append("s", "I live in Rome.")
    asked = call("POST", "/v1/sessions/s/extract", {}).json
    assert asked["armed"]
    assert call.job(asked["job_id"])["state"] == "done"
    assert {job["kind"] for job in jobs()} == {"extract"}
    assert sorted((job["range"]["from"], job["range"]["to"]) for job in jobs()) == [
        (1, 10),
        (11, 12),
        (13, 13),
    ]
    eventually(lambda: {job["state"] for job in jobs()} == {"done"})
    done = call("GET", "/v1/jobs", query={"session_id": "s", "state": "done"}).json["jobs"]
    assert len(done) == 3
    assert "I live in Rome." in contents(memories(call))


def test_the_tools_answer_goes_back_into_the_conversation_as_it_is(knowing: Client) -> None:
    tool, *_ = knowing("GET", "/v1/tools").json["tools"]
    other, *_ = knowing("GET", "/v1/tools", query={"format": "anthropic"}).json["tools"]
    assert tool["function"]["name"] == other["name"] == "search_memory_tool"
    assert tool["function"]["parameters"] == other["input_schema"]
    arguments = json.dumps({"query": "Where does Sarah live?"})
    asked = {
        "id": "call_1",
        "type": "function",
        "function": {"name": other["name"], "arguments": arguments},
    }
    knowing.append("t", "Do you know where I live?")
    said = {"messages": [{"role": "assistant", "content": None, "tool_calls": [asked]}]}
    assert knowing("POST", "/v1/sessions/t/messages", said).status == 201
    called = {"arguments": arguments, "tool_call_id": "call_1"}
    result = knowing("POST", f"{SARAH}/tools/search_memory_tool", called).json
    assert result["content"].startswith("[User Memory]\n- ")
    assert "I live in Rome." in result["content"]
    assert knowing("POST", "/v1/sessions/t/messages", {"messages": [result]}).status == 201
    assert knowing("GET", "/v1/sessions/t/context").json["messages"][-1] == result


@pytest.mark.searches
def test_sessions_are_found_by_what_was_said_in_them(call: Client) -> None:
    call.append("tea", "We drank green tea in the garden.")
    call.append("car", "The car needs new brakes.")

    def found(words: str) -> list[str]:
        answer = call("GET", "/v1/sessions", query={"user_id": "sarah", "q": words})
        return [row["session_id"] for row in answer.json.get("sessions", [])]

    eventually(lambda: (found("brakes"), found("tea garden")) == (["car"], ["tea"]))


def test_static_facts_are_an_admins_and_stand_in_every_context_that_asks_for_them(
    stack: Stack,
) -> None:
    admin = stack.client()
    user = stack.client(scopes=("read", "write"), tenant=admin.tenant)
    assert (
        user("PUT", "/v1/static-facts/remote", {"content": "No."}).json["code"] == "missing_scope"
    )
    assert admin("PUT", "/v1/static-facts/remote", {"content": POLICY}).status == 201
    user.begin("s", blocks=BLOCKS)
    (fact,) = user("GET", "/v1/sessions/s/context").json["static_facts"]
    assert fact["content"] == POLICY
    for method, body in (("PATCH", {"content": "No."}), ("DELETE", None)):
        refused = user(method, f"{SARAH}/memories/{fact['id']}", body)
        assert (refused.status, refused.json["code"]) == (405, "read_only_block")


def test_a_context_brings_what_the_blocks_know_within_its_budget_and_says_why(
    knowing: Client,
) -> None:
    assert knowing("PUT", "/v1/static-facts/remote", {"content": POLICY}).status == 201
    knowing.begin("c", blocks=BLOCKS, auto_recall=True)
    knowing.append("c", "Good morning.")
    asked = {"message": "May I eat these cookies?", "explain": True}
    whole = knowing.whole("/v1/sessions/c/context", asked)
    assert contents(whole["static_facts"]) == [POLICY]
    assert {"I live in Rome.", "I am allergic to peanuts."} <= set(
        contents(whole["extracted_facts"])
    )
    assert whole["vector_matches"]
    assert whole["memory_prompt"].startswith(f"<memory><static_memory>\n- {POLICY}\n")
    assert whole["tools"] == knowing("GET", "/v1/tools").json["tools"][:1]
    parts = [part["part"] for part in whole["trace"]["parts"]]
    assert parts[-3:] == ["static_memory", "extractive_memory", "vector_memory"]
    small = knowing("POST", "/v1/sessions/c/context", {**asked, "max_tokens": 280}).json
    assert 0 < small["tokens"]["tools"] <= 280 - small["tokens"]["context"]
    assert contents(small["static_facts"]) == [POLICY]
    assert "no_room" in json.dumps(small["trace"])


def test_a_window_can_be_seen_as_it_stood(knowing: Client) -> None:
    then = knowing("GET", "/v1/sessions/march/context", query={"at": 2}).json
    assert contents(then["messages"]) == [text for _, text in SAID[:2]]
