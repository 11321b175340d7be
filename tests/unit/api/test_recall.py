"""Recall, search and the tool through the front door: sources, filters, degrading, and nobody
else's memories.
"""

from typing import Any

import pytest
from palimpsest.errors import ModelUnavailable
from palimpsest.offline.extractor import PatternExtractor

from tests.doubles.answers import ScriptedAnswers, cited
from tests.doubles.meanings import Meanings
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

RECALL = "/v1/users/sarah/recall"
SEARCH = "/v1/users/sarah/memories/search"
TOOL = "/v1/users/sarah/tools/search_memory_tool"


def recall(call: Client, query: str, user: str = "sarah", **more: Any) -> Answer:
    return call("POST", f"/v1/users/{user}/recall", {"query": query, **more})


def contents(answer: Answer) -> list[str]:
    return [row["content"] for row in answer.json["memories"]]


@pytest.fixture
def sarah(call: Client, service: Service) -> Client:
    """Sarah's memory: where she works, twice, a race that she ran, and what she said of it."""
    call.save(
        {
            "type": "fact",
            "content": "Sarah works at Acme",
            "topic_key": "employer",
            "subject": "Sarah",
        }
    )
    service.time.advance(60)
    call.save(
        {
            "type": "fact",
            "content": "Sarah works at Globex",
            "topic_key": "employer",
            "subject": "Sarah",
        },
        {
            "type": "event",
            "content": "Sarah ran a marathon in Berlin",
            "importance": 0.9,
            "agent_id": "coach",
            "metadata": {"sport": "running"},
            "source": {
                "session_id": "runs",
                "message_ids": ["m1"],
                "seqs": [3],
                "quote": "I ran it in Berlin",
            },
        },
    )
    call.append("talk", "My dentist is called Molar.")
    service.brought_up_to_date()
    return call


def test_a_memory_comes_back_with_its_score_and_source(sarah: Client) -> None:
    answer = recall(sarah, "marathon in Berlin")
    assert answer.status == 200
    first = answer.json["memories"][0]
    assert (first["type"], first["content"]) == ("event", "Sarah ran a marathon in Berlin")
    assert first["score"] > 0
    assert {"keyword", "vector"} <= set(first["found_by"])
    source = {
        "session_id": "runs",
        "message_ids": ["m1"],
        "seqs": [3],
        "quote": "I ran it in Berlin",
    }
    assert first["source"] == {**source, "text": None}
    assert (answer.json["answer"], answer.json["citations"], answer.json["degraded"]) == (
        None,
        [],
        [],
    )
    assert "trace" not in answer.json


def test_a_recall_leaves_out_what_scores_below_the_least_score(sarah: Client) -> None:
    every = recall(sarah, "Where does Sarah work, and what of Berlin?").json["memories"]
    scores = [row["score"] for row in every]
    assert len(set(scores)) > 1
    asked = {"min_score": scores[0], "explain": True}
    answer = recall(sarah, "Where does Sarah work, and what of Berlin?", **asked).json
    assert [row["id"] for row in answer["memories"]] == [every[0]["id"]]
    cuts = {row["id"]: row["cut"] for row in answer["trace"]["ranking"]}
    assert (cuts[every[0]["id"]], cuts[every[-1]["id"]]) == (None, "below_min_score")
    assert recall(sarah, "marathon in Berlin", min_score=1).json["memories"] == []
    assert recall(sarah, "marathon in Berlin", min_score=1.5).status == 422


def test_a_recall_gives_its_memories_as_text_with_similarity_where_asked(sarah: Client) -> None:
    plain = recall(sarah, "marathon in Berlin", k=1, format="context").json
    assert plain["context"] == "[User Memory]\n- Sarah ran a marathon in Berlin (2026-01-01)"
    assert [row["content"] for row in plain["memories"]] == ["Sarah ran a marathon in Berlin"]
    scored = recall(sarah, "marathon in Berlin", k=1, format="context", similarity=True).json
    assert (
        scored["context"] == f"{plain['context']} (similarity {scored['memories'][0]['score']:.2f})"
    )
    said = recall(sarah, "Who is my dentist?", format="context").json["context"]
    assert "- Sarah, 2026-01-01: My dentist is called Molar." in said.splitlines()
    nothing = recall(sarah, "What is the capital of France?", user="bob", format="context").json
    assert nothing["context"] == "[User Memory]\n- No relevant memories."
    assert "context" not in recall(sarah, "marathon in Berlin", similarity=True).json
    assert recall(sarah, "marathon in Berlin", format="xml").status == 422


def test_a_message_comes_back_with_its_own_number(sarah: Client) -> None:
    (row,) = [row for row in recall(sarah, "dentist").json["memories"] if row["type"] == "message"]
    assert (row["content"], row["role"], row["source"]["session_id"]) == (
        "My dentist is called Molar.",
        "user",
        "talk",
    )
    assert row["source"]["seqs"] == [1]


def test_what_was_corrected_is_not_given_as_current(sarah: Client) -> None:
    assert "Sarah works at Acme" not in contents(recall(sarah, "Where does Sarah work?"))
    assert contents(recall(sarah, "Where does Sarah work?"))[0] == "Sarah works at Globex"
    before = recall(sarah, "Where does Sarah work?", as_of="2026-01-01T00:00:30Z")
    assert contents(before)[0] == "Sarah works at Acme"
    assert contents(recall(sarah, "Where does Sarah work?", known_at="2025-01-01T00:00:00Z")) == []


def test_nothing_near_is_an_empty_answer(sarah: Client) -> None:
    answer = recall(sarah, "quantum chromodynamics", answer=True).json
    assert (answer["answer"], answer["citations"]) == ("", [])
    assert answer["memories"]
    assert answer["answerable"] < 0.24
    assert recall(sarah, "quantum chromodynamics", min_score=0.2).json["memories"] == []


@pytest.mark.parametrize(
    ("told_of", "kinds"),
    [
        ({"types": ["event"]}, {"event"}),
        ({"types": ["message"]}, {"message"}),
        ({"types": ["fact", "event"], "min_importance": 0.8}, {"event"}),
        ({"metadata": {"sport": "running"}}, {"event"}),
        ({"agent_id": "coach"}, {"event"}),
        ({"session_id": "talk"}, {"message"}),
        ({"subject": "nobody"}, set()),
    ],
)
def test_filters_hold(sarah: Client, told_of: dict[str, Any], kinds: set[str]) -> None:
    found = recall(sarah, "Sarah marathon Berlin dentist works", k=20, filter=told_of)
    assert {row["type"] for row in found.json["memories"]} == kinds


def test_k_and_max_tokens_limit_the_answer(sarah: Client) -> None:
    question = "Sarah works, ran a marathon, and her dentist"
    assert len(contents(recall(sarah, question, k=20))) > 1
    assert len(contents(recall(sarah, question, k=1))) == 1
    assert len(contents(recall(sarah, question, k=20, max_tokens=8))) == 1


def test_an_answer_cites_what_it_rests_on(sarah: Client, service: Service) -> None:
    event = recall(sarah, "marathon").json["memories"][0]["id"]
    service.answerer = ScriptedAnswers([cited("In Berlin.", "m1")])
    answer = recall(sarah, "Where did Sarah run the marathon?", answer=True).json
    assert (answer["answer"], answer["citations"], answer["method"]) == (
        "In Berlin.",
        [event],
        "model",
    )
    assert answer["usage"] == {"model_calls": 1, "tokens_in": 10, "tokens_out": 5, "cost_usd": None}


def test_without_a_model_the_memories_own_words_answer(sarah: Client) -> None:
    answer = recall(sarah, "Where did Sarah run the marathon?", answer=True).json
    assert answer["method"] == "quoted"
    assert "marathon in Berlin" in answer["answer"]
    assert answer["degraded"] == []


def test_what_is_down_is_named_and_the_tables_answer(sarah: Client, service: Service) -> None:
    service.index.down = True
    answer = recall(sarah, "Where does Sarah work?")
    assert (answer.status, answer.json["degraded"]) == (200, ["search", "vector"])
    assert "Sarah works at Globex" in contents(answer)
    service.index.down = False
    service.answerer = ScriptedAnswers([ModelUnavailable("down")])
    embedder = Meanings()
    embedder.failure = ModelUnavailable("down")
    service.embedder = embedder
    answer = recall(sarah, "Where does Sarah work?", answer=True)
    assert (answer.status, answer.json["degraded"]) == (200, ["answer", "vector"])
    assert "Globex" in answer.json["answer"]


def test_an_explanation_says_how_it_came_about(sarah: Client) -> None:
    trace = recall(sarah, "marathon", explain=True).json["trace"]
    assert {"query", "found", "ranking", "dropped"} <= set(trace)


def test_nobody_elses_memory_answers(sarah: Client, service: Service) -> None:
    other = service.client(tenant="other")
    sarah.save("Bob works at Initech", user="bob")
    service.brought_up_to_date()
    for who, user in ((sarah, "bob"), (other, "sarah"), (sarah, "nobody")):
        assert not [
            text
            for text in contents(recall(who, "Where does Sarah work?", user=user))
            if "Sarah" in text
        ]


@pytest.mark.parametrize("mode", ["keyword", "vector"])
def test_one_retriever_alone_has_its_own_score(sarah: Client, mode: str) -> None:
    answer = sarah("POST", SEARCH, {"query": "marathon in Berlin", "mode": mode, "k": 2})
    assert answer.status == 200
    first = answer.json["memories"][0]
    assert (first["content"], first["found_by"]) == ("Sarah ran a marathon in Berlin", [mode])
    assert len(answer.json["memories"]) <= 2


def test_nothing_stands_in_for_a_retriever_that_fails(sarah: Client, service: Service) -> None:
    service.index.down = True
    answer = sarah("POST", SEARCH, {"query": "marathon", "mode": "keyword"})
    assert (answer.status, answer.json["retryable"]) == (503, True)
    service.index.down = False
    service.embedder = None
    answer = sarah("POST", SEARCH, {"query": "marathon", "mode": "vector"})
    assert (answer.status, answer.json["code"]) == (422, "no_vectors")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": "  "}, "query"),
        ({"query": "x" * 2001}, "query"),
        ({"query": ["x"]}, "query"),
        ({"query": "x", "k": 0}, "k"),
        ({"query": "x", "k": 101}, "k"),
        ({"query": "x", "filter": {"types": ["opinion"]}}, "filter.types.0"),
        ({"query": "x", "filter": {"user_id": "bob"}}, "filter.user_id"),
        ({"query": "x", "filter": {"metadata": {"a": {"$gt": 0}}}}, "filter.metadata.a"),
        ({"query": "x", "user_id": "bob"}, "user_id"),
        ({"query": "x", "tenant": "other"}, "tenant"),
        ({"query": "x", "size": 10}, "size"),
    ],
)
@pytest.mark.parametrize("path", [RECALL, SEARCH])
def test_what_breaks_the_schema_is_422_and_named(
    sarah: Client, path: str, body: dict[str, Any], field: str
) -> None:
    more = {"mode": "keyword"} if path == SEARCH else {}
    answer = sarah("POST", path, {**more, **body})
    assert answer.status == 422
    assert field in [error["field"] for error in answer.json["errors"]]


@pytest.mark.parametrize(
    "body", [{"as_of": "yesterday"}, {"known_at": 5}, {"answer": "yes"}, {"max_tokens": 0}]
)
def test_a_wrong_field_of_a_recall_is_422(sarah: Client, body: dict[str, Any]) -> None:
    answer = recall(sarah, "x", **body)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, next(iter(body)))


@pytest.mark.parametrize(
    "query",
    [
        '"} OR 1=1',
        "*:*",
        "content:* AND owner:bob",
        '{"query": {"match_all": {}}}',
        "a AND (b OR",
        "'; DROP TABLE x; --",
    ],
)
def test_a_query_in_a_query_language_is_words(sarah: Client, query: str) -> None:
    for answer in (
        recall(sarah, query),
        sarah("POST", SEARCH, {"query": query, "mode": "keyword"}),
    ):
        assert answer.status == 200
        assert all("Bob" not in text for text in contents(answer))


def test_the_tools_are_those_that_the_caller_may_call(call: Client, service: Service) -> None:
    reader = service.client(scopes="read")
    (openai,) = reader("GET", "/v1/tools").json["tools"]
    (anthropic,) = reader("GET", "/v1/tools", query={"format": "anthropic"}).json["tools"]
    assert openai["function"]["name"] == anthropic["name"] == "search_memory_tool"
    assert openai["function"]["parameters"] == anthropic["input_schema"]
    assert openai["function"]["description"].startswith(
        "Search and recall relevant memories about the user."
    )
    refused = call("GET", "/v1/tools", query={"format": "cohere"})
    assert (refused.status, refused.json["errors"][0]["field"]) == (422, "format")
    tools = call("GET", "/v1/tools", query={"format": "mcp"}).json["tools"]
    assert [tool["name"] for tool in tools] == ["search_memory_tool", "remember", "forget"]
    asked = {"arguments": {"content": "Likes tea"}}
    answer = reader("POST", "/v1/users/sarah/tools/remember", asked)
    assert (answer.status, answer.json["code"]) == (403, "missing_scope")
    assert (
        call("POST", "/v1/users/sarah/tools/remember", asked)
        .json["content"]
        .endswith("Remembered.")
    )
    assert [
        memory["content"] for memory in call("GET", "/v1/users/sarah/memories").json["memories"]
    ] == ["Likes tea"]


@pytest.mark.parametrize("arguments", [{"query": "marathon"}, '{"query": "marathon"}'])
def test_the_tools_answer_can_be_appended_as_it_is(sarah: Client, arguments: object) -> None:
    message = sarah("POST", TOOL, {"arguments": arguments, "tool_call_id": "call_1"}).json
    assert (message["role"], message["tool_call_id"]) == ("tool", "call_1")
    assert message["content"].startswith("[User Memory]\n- ")
    assert "marathon in Berlin" in message["content"]
    calls = [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "search_memory_tool", "arguments": "{}"},
        }
    ]
    messages = [{"role": "assistant", "tool_calls": calls}, message]
    assert sarah("POST", "/v1/sessions/talk/messages", {"messages": messages}).status == 201


def test_a_tool_call_searches_the_memory_of_the_path_alone(sarah: Client, service: Service) -> None:
    sarah.save("Bob ran a marathon too", user="bob")
    service.brought_up_to_date()
    message = sarah(
        "POST", TOOL, {"arguments": {"query": "marathon", "user_id": "bob", "tenant": "other"}}
    ).json
    assert "Bob" not in message["content"]


@pytest.mark.parametrize("arguments", ["", "{", "[]", '{"q": 1}', {}, {"query": ""}, {"query": 5}])
def test_arguments_of_no_use_are_answered_so_that_the_model_can_call_again(
    sarah: Client, arguments: object
) -> None:
    answer = sarah("POST", TOOL, {"arguments": arguments, "tool_call_id": "c"})
    assert answer.status == 200
    assert "can't be used" in answer.json["content"]


def test_an_unknown_tool_is_404(call: Client) -> None:
    answer = call("POST", "/v1/users/sarah/tools/rm", {"arguments": {}})
    assert (answer.status, answer.json["code"]) == (404, "tool_not_found")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "arguments"),
        ({"arguments": 5}, "arguments"),
        ({"arguments": {}, "k": 0}, "k"),
        ({"arguments": {}, "x": 1}, "x"),
    ],
)
def test_a_wrong_tool_call_is_422(call: Client, body: dict[str, Any], field: str) -> None:
    answer = call("POST", TOOL, body)
    assert answer.status == 422
    assert answer.json["errors"][0]["field"].split(".")[0] == field


def test_looking_needs_the_scope_read_alone(sarah: Client, service: Service) -> None:
    reads = [
        ("POST", RECALL, {"query": "x"}),
        ("POST", SEARCH, {"query": "x", "mode": "keyword"}),
        ("POST", TOOL, {"arguments": {"query": "x"}}),
        ("GET", "/v1/tools", None),
        ("GET", "/v1/static-facts", None),
    ]
    for method, path, body in reads:
        assert service.client(scopes="read")(method, path, body).status == 200, path
        assert service.client(scopes="write")(method, path, body).json["code"] == "missing_scope", (
            path
        )


# The tool, again and again

ASKED = "Where do I live, and what is my dog called?"
ANSWER = "You live in Hamburg and your dog is called Rex."


def ask_through_the_tool(call: Client, session: str) -> list[str]:
    """The lines of the tool's answer, in a session in which the user asks and the assistant answers
    by it.
    """
    arguments = '{"query": "user\'s home city and dog\'s name"}'
    wanted = {
        "id": "c1",
        "type": "function",
        "function": {"name": "search_memory_tool", "arguments": arguments},
    }
    asks = {"role": "assistant", "content": "One moment.", "tool_calls": [wanted]}
    said = {"user_id": "sarah", "messages": [{"role": "user", "content": ASKED}, asks]}
    assert call("POST", f"/v1/sessions/{session}/messages", said).status == 201
    result = call(
        "POST", TOOL, {"arguments": arguments, "tool_call_id": "c1", "session_id": session, "k": 50}
    )
    assert result.status == 200
    answered = {"messages": [result.json, {"role": "assistant", "content": ANSWER}]}
    assert call("POST", f"/v1/sessions/{session}/messages", answered).status == 201
    call("POST", f"/v1/sessions/{session}/end")
    return [line.partition(" (")[0] for line in result.json["content"].splitlines()[1:]]


def test_the_same_question_in_four_sessions_in_a_row_finds_the_memories_first(
    call: Client, service: Service
) -> None:
    service.embedder = Meanings()
    service.extractor = PatternExtractor()
    service.wire_workers()
    call.append("first", "I live in Hamburg.", "My dog is called Rex.", "Thanks!")
    call("POST", "/v1/sessions/first/end")
    for session in ("monday", "tuesday", "wednesday", "thursday"):
        service.drain()
        service.brought_up_to_date()
        service.time.advance(24 * 3600)
        lines = ask_through_the_tool(call, session)
        facts = [
            "- Sarah, 2026-01-01: I live in Hamburg.",
            "- Sarah, 2026-01-01: My dog is called Rex.",
        ]
        assert sorted(lines[:2]) == facts, session
        echoes = ("search_memory_tool", "home city", ASKED, ANSWER)
        assert not [line for line in lines if any(echo in line for echo in echoes)], session


def test_a_pasted_text_is_found_as_material_and_is_no_answer_without_a_model(
    call: Client, service: Service
) -> None:
    call.append("paste", 'Translate this into German: "My dentist is called Fang."')
    call.append("talk", "My dentist is called Molar.")
    service.brought_up_to_date()
    found = recall(call, "What is my dentist called?", answer=True).json
    marks = {row["content"]: row["material"] for row in found["memories"]}
    assert marks == {
        'Translate this into German: "My dentist is called Fang."': True,
        "My dentist is called Molar.": False,
    }
    assert "Molar" in found["answer"]
    assert "Fang" not in found["answer"]
