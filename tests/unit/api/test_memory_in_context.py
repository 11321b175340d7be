"""What long-term memory brings into a context, by GET from the tables alone, by POST with what
resembles a message.
"""

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

CONTEXT = "/v1/sessions/new/context"
BLOCKS = [{"type": "static"}, {"type": "extractive"}, {"type": "vector"}]


@pytest.fixture
def sarah(call: Client, service: Service) -> Client:
    """Sarah told of herself weeks ago; today she begins a session whose context has all three
    blocks.
    """
    call("PUT", "/v1/static-facts/remote-work", {"content": "Work from home <two> days a week."})
    call("PUT", "/v1/static-facts/sales-only", {"content": "Sales travels.", "agent_id": "sales"})
    call.append("old", "fact: works in Marketing", "My dentist is called Molar.")
    call("POST", "/v1/sessions/old/extract", {})
    service.drain()
    service.brought_up_to_date()
    memory = {"blocks": BLOCKS, "max_tokens": 4000}
    call(
        "POST",
        "/v1/sessions",
        {"session_id": "new", "user_id": "sarah", "agent_id": "hr", "memory": memory},
    )
    call.append("new", "Who am I?")
    return call


def test_get_brings_what_the_tables_hold(sarah: Client) -> None:
    context = sarah("GET", CONTEXT).json
    assert [fact["content"] for fact in context["static_facts"]] == [
        "Work from home <two> days a week."
    ]
    (fact,) = context["extracted_facts"]
    assert (fact["type"], fact["content"], fact["source"]["session_id"]) == (
        "fact",
        "works in Marketing",
        "old",
    )
    assert context["vector_matches"] == []
    assert context["memory_prompt"].startswith("<memory>")
    assert "works in Marketing" in context["memory_prompt"]
    assert "&lt;two&gt;" in context["memory_prompt"]
    assert [message["content"] for message in context["messages"]] == [
        context["memory_prompt"],
        "Who am I?",
    ]
    assert [tool["function"]["name"] for tool in context["tools"]] == ["search_memory_tool"]


@pytest.mark.parametrize("budget", [160, 400, 4000])
def test_messages_and_memory_keep_within_the_budget_together(sarah: Client, budget: int) -> None:
    within = sarah("GET", CONTEXT, query={"max_tokens": budget}).json["tokens"]
    assert 0 < within["memory"] <= within["context"] <= budget
    sarah("PATCH", "/v1/sessions/new", {"memory": {"memory_as": "none"}})
    beside = sarah("GET", CONTEXT, query={"max_tokens": budget}).json["tokens"]
    assert 0 < beside["memory"] <= budget - beside["context"]
    sarah("PATCH", "/v1/sessions/new", {"memory": {"insert_into_system_prompt": True}})
    within = sarah("GET", CONTEXT, query={"max_tokens": budget}).json["tokens"]
    assert 0 < within["memory"] <= within["context"] <= budget


def test_post_brings_what_resembles_the_message_too(sarah: Client, service: Service) -> None:
    context = sarah("POST", CONTEXT, {"message": "When do I see my dentist Molar?"}).json
    (match,) = [each for each in context["vector_matches"] if "Molar" in each["content"]]
    assert (match["role"], match["source"]["session_id"], match["source"]["seqs"]) == (
        "user",
        "old",
        [2],
    )
    assert context["messages"][-1]["content"] == "When do I see my dentist Molar?"
    assert context["degraded"] == []
    assert sarah("GET", "/v1/sessions/new").json["totals"]["messages"] == 1


def test_what_is_down_is_named_and_the_context_answers(sarah: Client, service: Service) -> None:
    service.index.down = True
    context = sarah("POST", CONTEXT, {"message": "When do I see my dentist?"})
    assert (context.status, context.json["degraded"]) == (200, ["vector"])
    assert context.json["extracted_facts"]
    service.embedder = None
    service.index.down = False
    assert sarah("POST", CONTEXT, {"message": "dentist"}).json["degraded"] == ["vector"]


def test_an_append_that_asks_for_the_context_gets_it_as_get_gives_it_with_what_resembles_its_message(
    sarah: Client,
) -> None:
    appended = sarah.append("new", "When do I see my dentist Molar?", context={}).json
    matches, prompt = (
        appended["context"].pop("vector_matches"),
        appended["context"].pop("memory_prompt"),
    )
    assert [match["content"] for match in matches if "Molar" in match["content"]] == [
        "My dentist is called Molar."
    ]
    assert "- Sarah, 2026-01-01: My dentist is called Molar." in prompt
    first, *older, recalled, asked = appended["context"]["messages"]
    assert "Molar" not in first["content"]
    assert "- Sarah, 2026-01-01: My dentist is called Molar." in recalled["content"]
    got = sarah("GET", CONTEXT).json
    same = ("extracted_facts", "static_facts", "compaction", "degraded")
    assert [appended["context"][name] for name in same] == [got[name] for name in same]
    assert [first, *older, asked] == got["messages"]


def test_what_a_model_says_is_appended_without_a_search(sarah: Client, service: Service) -> None:
    service.index.down = True
    said = {"messages": [{"role": "assistant", "content": "You see Molar."}], "context": {}}
    assert sarah("POST", "/v1/sessions/new/messages", said).json["context"]["degraded"] == []
    assert sarah.append("new", "Thanks.", context={}).json["degraded"] == ["vector"]


def test_an_explanation_says_why_each_part_is_there(sarah: Client) -> None:
    for context in (
        sarah("GET", CONTEXT, query={"explain": "true"}),
        sarah("POST", CONTEXT, {"explain": True}),
    ):
        trace = context.json["trace"]
        assert {"strategy", "window", "parts", "cuts", "left_out", "failures"} <= set(trace)
    assert "trace" not in sarah("GET", CONTEXT).json


def test_at_gives_the_window_as_it_stood(sarah: Client) -> None:
    sarah.append("new", "second")
    sarah.append("new", "third")
    shown = sarah("GET", CONTEXT, query={"at": 2}).json["messages"]
    assert [message["content"] for message in shown] == ["Who am I?", "second"]
    assert sarah("POST", CONTEXT, {"at": 1}).json["messages"][-1]["content"] == "Who am I?"
    unknown = sarah("GET", CONTEXT, query={"at": 9})
    assert (unknown.status, unknown.json["code"]) == (404, "message_not_found")


@pytest.mark.parametrize(
    ("memory", "has_tool"),
    [
        ({}, True),
        ({"auto_recall": False}, False),
        ({"blocks": []}, False),
        ({"blocks": [{"type": "static"}]}, False),
        ({"blocks": [{"type": "vector"}]}, True),
        ({"max_tokens": 1_199}, False),
        ({"max_tokens": 1_200}, True),
        ({"max_tokens": 1_199, "auto_recall": True}, True),
        ({"blocks": [], "auto_recall": True}, True),
    ],
)
def test_where_memory_is_on_the_context_carries_the_tool_and_counts_it(
    sarah: Client, memory: dict[str, object], *, has_tool: bool
) -> None:
    sarah("PATCH", "/v1/sessions/new", {"memory": memory})
    context = sarah("GET", CONTEXT).json
    assert [tool["function"]["name"] for tool in context.get("tools", ())] == [
        "search_memory_tool"
    ] * has_tool
    assert (context["tokens"]["tools"] > 0) == has_tool


def test_max_records_limits_what_blocks_and_the_tool_bring(sarah: Client, service: Service) -> None:
    sarah.save(*(f"Sarah plays the violin, piece {number}." for number in range(8)))
    for number in range(8):
        sarah.append(f"past-{number}", f"I practised the violin, lesson {number}.")
    service.brought_up_to_date()

    def shown(**limits: int) -> tuple[int, int, int]:
        sarah("PATCH", "/v1/sessions/new", {"memory": limits})
        context = sarah("POST", CONTEXT, {"message": "What of the violin?"}).json
        call = {"arguments": {"query": "violin"}, "session_id": "new"}
        said = sarah("POST", "/v1/users/sarah/tools/search_memory_tool", call).json["content"]
        return len(context["extracted_facts"]), len(context["vector_matches"]), said.count("\n- ")

    before = shown()
    assert before[0] > 7
    assert before[1:] == (5, 5)
    assert shown(max_records=3) == (3, 3, 3)
    assert shown(max_records=7) == (7, 5, 7)
    call = {"arguments": {"query": "violin"}, "session_id": "new", "k": 9}
    said = sarah("POST", "/v1/users/sarah/tools/search_memory_tool", call).json["content"]
    assert said.count("\n- ") == 7
    assert sarah("PATCH", "/v1/sessions/new", {"memory": {"max_records": 0}}).status == 422


def test_memory_stands_in_the_system_prompt_only_if_so_configured(sarah: Client) -> None:
    sarah(
        "PATCH",
        "/v1/sessions/new",
        {"memory": {"insert_into_system_prompt": True}, "system": "Be brief."},
    )
    system = sarah("GET", CONTEXT).json["messages"][0]
    assert system["role"] == "system"
    assert system["content"].startswith("Be brief.")
    assert "<memory>" in system["content"]


def test_another_users_session_brings_nothing_of_sarahs(sarah: Client) -> None:
    memory = {"blocks": BLOCKS, "max_tokens": 4000}
    sarah("POST", "/v1/sessions", {"session_id": "his", "user_id": "bob", "memory": memory})
    sarah.append("his", "Who am I?", user_id="bob")
    context = sarah(
        "POST", "/v1/sessions/his/context", {"message": "dentist Molar, Marketing"}
    ).json
    assert (context["extracted_facts"], context["vector_matches"]) == ([], [])
    assert "Marketing" not in context["memory_prompt"]


@pytest.mark.parametrize("query", [{"explain": "maybe"}, {"at": 0}, {"message": "hello"}])
def test_a_wrong_parameter_is_422(sarah: Client, query: dict[str, object]) -> None:
    answer = sarah("GET", CONTEXT, query=query)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, next(iter(query)))


def test_sessions_are_found_by_words_that_were_said(sarah: Client) -> None:
    found = sarah("GET", "/v1/sessions", query={"user_id": "sarah", "q": "dentist"}).json
    assert [row["session_id"] for row in found["sessions"]] == ["old"]
    assert found["next_cursor"] is None
    for more in (
        {"q": "nothing like that"},
        {"q": "dentist", "agent_id": "hr"},
        {"q": "dentist", "status": "ended"},
    ):
        assert (
            sarah("GET", "/v1/sessions", query={"user_id": "sarah", **more}).json["sessions"] == []
        )
    assert (
        sarah("GET", "/v1/sessions", query={"user_id": "bob", "q": "dentist"}).json["sessions"]
        == []
    )


def test_sessions_are_found_by_words_time_and_metadata_of_all_users(
    sarah: Client, service: Service
) -> None:
    def found(**query: object) -> list[str]:
        return [
            row["session_id"] for row in sarah("GET", "/v1/sessions", query=query).json["sessions"]
        ]

    service.time.advance(3600)
    sarah(
        "POST",
        "/v1/sessions",
        {"session_id": "his", "user_id": "bob", "metadata": {"plan": {"level": 3}}},
    )
    sarah.append("his", "My dentist retires", user_id="bob")
    service.brought_up_to_date()
    assert sorted(found(q="dentist")) == ["his", "old"]
    assert found(q="dentist", user_id="bob") == ["his"]
    assert (
        found(q="dentist", after="2026-01-01T00:30:00Z")
        == found(after="2026-01-01T00:30:00Z")
        == ["his"]
    )
    assert found(q="dentist", before="2026-01-01T00:30:00Z") == ["old"]
    assert "his" not in found(before="2026-01-01T00:30:00Z")
    assert found(metadata="plan.level=3") == found(q="dentist", metadata="plan.level=3") == ["his"]
    assert found(metadata="plan.level[lt]=3") == found(q="dentist", metadata="plan.level=4") == []
    stranger = service.client(tenant="other")
    assert stranger("GET", "/v1/sessions", query={"q": "dentist"}).json == {
        "sessions": [],
        "next_cursor": None,
    }


def test_words_are_looked_for_page_by_page_of_users(sarah: Client, service: Service) -> None:
    for number in range(25):
        sarah.append(f"s{number}", "the harbour", user_id=f"user{number:02}")
    service.brought_up_to_date()
    first = sarah("GET", "/v1/sessions", query={"q": "harbour"}).json
    second = sarah(
        "GET", "/v1/sessions", query={"q": "harbour", "cursor": first["next_cursor"]}
    ).json
    names = [row["session_id"] for row in (*first["sessions"], *second["sessions"])]
    assert sorted(names) == sorted(f"s{number}" for number in range(25))
    assert second["next_cursor"] is None
    assert (
        sarah("GET", "/v1/sessions", query={"q": "quay", "cursor": first["next_cursor"]}).status
        == 400
    )


def test_a_deleted_session_is_not_found(sarah: Client) -> None:
    sarah("DELETE", "/v1/sessions/old")
    assert (
        sarah("GET", "/v1/sessions", query={"user_id": "sarah", "q": "dentist"}).json["sessions"]
        == []
    )


@pytest.mark.parametrize(
    ("query", "field"),
    [({"q": "x", "metadata": "plan"}, "metadata"), ({"q": "", "user_id": "sarah"}, "q")],
)
def test_a_search_that_can_not_be_read_is_refused(
    sarah: Client, query: dict[str, object], field: str
) -> None:
    answer = sarah("GET", "/v1/sessions", query=query)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, field)


def test_a_search_that_is_down_is_said(sarah: Client, service: Service) -> None:
    service.index.down = True
    assert sarah("GET", "/v1/sessions", query={"user_id": "sarah", "q": "dentist"}).status == 503
    assert sarah("GET", "/v1/sessions", query={"user_id": "sarah"}).status == 200
