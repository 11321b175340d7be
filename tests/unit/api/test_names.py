"""Names of users: under these a speaker is the user, everybody else is somebody else, and every
output says whose words it shows.
"""

from typing import Any

import pytest
from palimpsest import AgentMemory
from palimpsest.offline.extractor import PatternExtractor

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

USER = "/v1/users/u-17"
NAMES = {"name": "Sarah", "aliases": ["sj", "Sarah J."]}


@pytest.fixture
def app(service: Service, call: Client) -> Client:
    """A service without a model, over users whose ids are no names."""
    service.extractor = PatternExtractor()
    service.wire_workers()
    service.work_while_waiting()
    return call


def said(call: Client, *messages: dict[str, Any] | str, session: str = "talk") -> None:
    whole = [message if isinstance(message, dict) else {"content": message} for message in messages]
    body = {"messages": [{"role": "user", **each} for each in whole], "session_id": session}
    answer = call("POST", f"{USER}/ingest", {**body, "wait": 5})
    assert answer.json["state"] == "done", answer.json


def known(call: Client) -> dict[str, tuple[str, str, str]]:
    rows = call("GET", f"{USER}/memories").json["memories"]
    return {row["content"]: (row["subject"], row["topic_key"], row["speaker"]) for row in rows}


def recalled(call: Client, query: str, **more: Any) -> Any:
    return call("POST", f"{USER}/recall", {"query": query, **more}).json


def test_names_are_set_read_replaced_and_removed(app: Client) -> None:
    assert app("GET", USER).json["name"] is None
    done = app("PUT", USER, NAMES)
    assert (done.status, done.json["name"], done.json["aliases"]) == (
        200,
        "Sarah",
        ["sj", "Sarah J."],
    )
    assert app("GET", USER).json.items() >= done.json.items()
    assert app("PUT", USER, {"name": "Sara"}).json["aliases"] == []
    assert app("PUT", USER, {}).json["name"] is None
    assert app("PUT", USER, {}).status == 200


@pytest.mark.parametrize(
    "body",
    [{"name": ""}, {"name": "x" * 81}, {"aliases": "sj"}, {"aliases": ["a"] * 21}, {"nick": "s"}],
)
def test_wrong_names_are_refused(app: Client, body: dict[str, Any]) -> None:
    assert app("PUT", USER, body).status == 422
    assert app("GET", USER).json["name"] is None


def test_under_a_name_and_an_alias_the_speaker_is_the_user(app: Client) -> None:
    app("PUT", USER, NAMES)
    said(
        app,
        {"name": "Bob", "content": "I'm allergic to walnuts."},
        {"name": "sj", "content": "I live in Kiel."},
        "Sarah J.: I work at Acme.\nTom: I work at Globex.",
    )
    found = known(app)
    assert found["I live in Kiel."] == ("user", "residence", "user")
    assert found["I work at Acme."] == ("user", "employer", "user")
    assert found["Bob: I'm allergic to walnuts."] == ("bob", "bob_allergy_walnuts", "Bob")
    assert found["Tom: I work at Globex."][::2] == ("tom", "Tom")


@pytest.mark.parametrize(
    "hello", ["I'm Sarah.", "Ich bin Sarah.", "Je m'appelle Sarah.", "Me llamo Sarah."]
)
def test_a_user_who_says_the_name_is_known_under_it_in_later_sessions(
    app: Client, hello: str
) -> None:
    said(app, hello, session="first")
    assert app("GET", USER).json["name"] == "Sarah"
    said(app, "Sarah: I live in Kiel.\nBob: I live in Bonn.", session="second")
    assert known(app)["I live in Kiel."] == ("user", "residence", "user")
    assert known(app)["Bob: I live in Bonn."][0] == "bob"


def test_who_speaks_alone_later_is_not_the_user_who_spoke_alone_before(app: Client) -> None:
    said(app, {"name": "Priya", "content": "I live in Bonn."}, session="first")
    said(app, {"name": "Tom", "content": "I live in Kiel."}, session="second")
    assert known(app) == {
        "I live in Bonn.": ("user", "residence", "user"),
        "Tom: I live in Kiel.": ("tom", "tom_residence", "Tom"),
    }
    said(
        app,
        {"name": "Tom", "content": "I play the cello."},
        {"name": "Priya", "content": "I play the oboe."},
        session="third",
    )
    said(app, {"name": "Priya Nair", "content": "I live in Trier now."}, session="fourth")
    assert {content: found[2] for content, found in known(app).items()} == {
        "I live in Trier now.": "user",
        "I play the oboe.": "user",
        "Tom: I live in Kiel.": "Tom",
        "Tom: I play the cello.": "Tom",
    }


def test_nobody_else_is_a_user_whose_name_is_known(app: Client) -> None:
    said(app, "I'm Priya. I live in Bonn.", session="first")
    said(app, {"name": "Tom", "content": "I live in Kiel."}, session="second")
    assert known(app)["I live in Bonn."] == ("user", "residence", "user")
    assert known(app)["Tom: I live in Kiel."][0] == "tom"


def test_somebody_elses_introduction_names_nobody(app: Client) -> None:
    said(app, {"name": "Bob", "content": "I'm Bob."}, {"name": "Ann", "content": "I'm Ann."})
    assert app("GET", USER).json["name"] is None


def test_results_and_contexts_say_whose_words_they_show(app: Client, service: Service) -> None:
    app("PUT", USER, NAMES)
    said(app, {"name": "Bob", "content": "I'm allergic to walnuts."}, "I live in Kiel.")
    service.brought_up_to_date()
    found = recalled(app, "Who is allergic to walnuts?", format="context", answer=True)
    speakers = {
        row["type"]: row["speaker"] for row in found["memories"] if "walnut" in row["content"]
    }
    assert set(speakers.values()) == {"Bob"}
    assert "- Bob, 2026-01-01: I'm allergic to walnuts." in found["context"]
    assert found["answer"].startswith("Bob, ")
    messages = recalled(app, "walnuts", filter={"types": ["message"]})["memories"]
    assert messages[0]["speaker"] == "Bob"
    mine = recalled(app, "Where do I live? Kiel", format="context")
    assert {row["speaker"] for row in mine["memories"] if "Kiel" in row["content"]} == {"user"}
    tool = app("POST", f"{USER}/tools/search_memory_tool", {"arguments": {"query": "walnuts"}})
    assert "Bob, 2026-01-01: I'm allergic to walnuts." in tool.json["content"]


def test_a_context_labels_what_somebody_else_said(app: Client, service: Service) -> None:
    app("PUT", USER, NAMES)
    said(app, {"name": "Bob", "content": "I'm allergic to walnuts."})
    service.brought_up_to_date()
    app(
        "POST",
        "/v1/sessions/new/messages",
        {"user_id": "u-17", "messages": [{"role": "user", "content": "Hi"}]},
    )
    asked = {"message": {"role": "user", "content": "What about walnuts?"}}
    context = app("POST", "/v1/sessions/new/context", asked).json
    facts = [row["speaker"] for row in context["extracted_facts"] if "walnut" in row["content"]]
    assert facts == ["Bob"]
    assert "People:\n- bob: I'm allergic to walnuts." in context["memory_prompt"]
    assert "User, 2026-01-01: I'm allergic" not in context["memory_prompt"]


def test_mcp_says_who_said_it(app: Client) -> None:
    said(
        app,
        {"name": "Bob", "content": "I'm allergic to walnuts."},
        {"name": "Ann", "content": "Hi."},
    )
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "list_memories", "arguments": {}},
    }
    text = app("POST", f"{USER}/mcp", call).json["result"]["content"][0]["text"]
    assert "said by Bob" in text


def test_erasing_a_user_removes_the_names(app: Client) -> None:
    app("PUT", USER, NAMES)
    assert app("DELETE", USER).status == 202
    assert app("GET", USER).json["name"] is None
    assert app("GET", USER).json["aliases"] == []


def test_mem0_names_the_actor(app: Client) -> None:
    app("PUT", USER, NAMES)
    said(app, {"name": "Bob", "content": "I'm allergic to walnuts."}, "I live in Kiel.")
    found = app("POST", "/compat/mem0/memories/list", {"filters": {"user_id": "u-17"}}).json
    rows = found["results"] if isinstance(found, dict) else found
    actors = {row["memory"]: row.get("actor_id") for row in rows}
    assert actors["Bob: I'm allergic to walnuts."] == "Bob"
    assert actors["I live in Kiel."] is None


def test_the_library_sets_names_too() -> None:
    memory = AgentMemory(user="u-17")
    named = memory.set_names("Sarah", aliases=["sj"])
    assert (named["name"], named["aliases"]) == ("Sarah", ["sj"])
    memory.append("s", {"role": "user", "name": "Bob", "content": "I live in Bonn."})
    memory.append("s", {"role": "user", "name": "sj", "content": "I live in Kiel."})
    memory.extract("s")
    found = {
        row["content"]: row["speaker"]
        for row in memory.recall("Who lives in Kiel or Bonn?")["memories"]
    }
    assert found["I live in Kiel."] == "user"
    assert {found.get("Bob: I live in Bonn."), found.get("I live in Bonn.")} - {None} == {"Bob"}


def test_a_letter_that_the_user_signs_is_the_users(app: Client) -> None:
    letter = "Dear Tom,\nI live in Kiel now.\n\nBest regards,\n{}"
    said(app, letter.format("Sarah"), session="before")
    assert known(app) == {}
    app("PUT", USER, NAMES)
    said(app, letter.format("Sarah"), session="after")
    said(app, letter.format("Bob").replace("Kiel", "Bonn"), session="bob")
    assert [content for content in known(app) if "Kiel" in content or "Bonn" in content] == [
        "I live in Kiel now."
    ]
