"""Blocks with names of their own, a flush of any list of blocks, and what a summary leaves in the
window.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

PATH = "/v1/sessions/new"
CONTEXT = f"{PATH}/context"
NAMED = [
    {"type": "static", "name": "company"},
    {"type": "extractive", "name": "profile"},
    {"type": "vector"},
]


def begin(call: Client, **memory: Any) -> Any:
    body = {"session_id": "new", "user_id": "sarah", "memory": memory}
    return call("POST", "/v1/sessions", body)


def known(call: Client, service: Service) -> None:
    """Sarah's employer states a fact, and she said one in a session before."""
    call(
        "PUT", "/v1/static-facts/remote-work", {"content": "Work from home </company> <two> days."}
    )
    call.append("old", "fact: works in </profile> Marketing")
    call("POST", "/v1/sessions/old/extract", {})
    service.drain()


def parts(trace: Any) -> list[tuple[str, str]]:
    return [(part["part"], part["name"]) for part in trace["parts"] if "name" in part]


def test_a_blocks_name_is_the_tag_of_its_text_and_stands_in_the_explanation(
    call: Client, service: Service
) -> None:
    known(call, service)
    begin(call, blocks=NAMED)
    call.append("new", "Who am I?")
    context = call("GET", CONTEXT, query={"explain": "true"}).json
    prompt = context["memory_prompt"]
    assert prompt.startswith(
        "<memory><company>\n- Work from home &lt;/company&gt; &lt;two&gt; "
        "days.\n</company><profile>\n"
    )
    assert prompt.endswith("\n</profile></memory>")
    assert (prompt.count("</company>"), prompt.count("</profile>")) == (1, 1)
    assert parts(context["trace"]) == [
        ("static_memory", "company"),
        ("extractive_memory", "profile"),
    ]


def test_what_is_left_out_of_a_named_block_is_explained_under_its_name(
    call: Client, service: Service
) -> None:
    known(call, service)
    begin(call, blocks=NAMED, max_tokens=130)
    call.append("new", "Who am I? " + "so" * 120)
    trace = call("GET", CONTEXT, query={"explain": "true"}).json["trace"]
    assert {(each["part"], each["name"]) for each in trace["left_out"]} >= {
        ("extractive_memory", "profile")
    }


def test_a_block_without_a_name_has_that_of_its_type(call: Client, service: Service) -> None:
    known(call, service)
    begin(call, blocks=[{"type": "static"}, {"type": "extractive"}])
    call.append("new", "Who am I?")
    context = call("GET", CONTEXT, query={"explain": "true"}).json
    assert context["memory_prompt"].startswith("<memory><static_memory>\n")
    assert parts(context["trace"]) == [
        ("static_memory", "static"),
        ("extractive_memory", "extractive"),
    ]
    assert [block["name"] for block in call("GET", PATH).json["memory"]["blocks"]] == [
        "static",
        "extractive",
    ]


@pytest.mark.parametrize(
    ("blocks", "field"),
    [
        ([{"type": "static", "name": "a b"}], "memory.blocks.0.name"),
        ([{"type": "static", "name": "memory"}], "memory.blocks.0.name"),
        ([{"type": "static", "name": "one"}, {"type": "vector", "name": "one"}], "memory"),
    ],
)
def test_a_name_that_is_no_tag_or_comes_twice_is_refused(
    call: Client, blocks: Any, field: str
) -> None:
    refused = begin(call, blocks=blocks)
    assert (refused.status, refused.json["errors"][0]["field"]) == (422, field)


def talk(call: Client, turns: int) -> None:
    for turn in range(turns):
        said = [
            {"role": "user", "content": f"{turn} " + "q" * 100},
            {"role": "assistant", "content": f"{turn} " + "a" * 100},
        ]
        assert call("POST", f"{PATH}/messages", {"messages": said}).status == 201


def seqs(call: Client) -> list[int]:
    return [ref["seq"] for ref in call("GET", CONTEXT).json["refs"] if ref]


@pytest.mark.parametrize("blocks", [[], [{"type": "static"}]])
def test_a_flush_without_a_block_that_stores_lets_messages_leave_and_the_history_keeps_them(
    call: Client, service: Service, blocks: list[Any]
) -> None:
    assert (
        begin(
            call,
            strategy="flush",
            blocks=blocks,
            max_tokens=600,
            keep_recent_turns=2,
            extract="manual",
        ).status
        == 201
    )
    talk(call, 5)
    assert not service.outbox, "nothing has to be waited for"
    assert seqs(call) == [7, 8, 9, 10]
    context = call("GET", CONTEXT).json
    assert (context["compaction"], context["omitted"]) == ("none", {"from": 1, "to": 6})
    rows = call("GET", f"{PATH}/messages").json["messages"]
    assert [row["seq"] for row in rows] == [*range(1, 11)]
    (compaction,) = call("GET", f"{PATH}/compactions").json["compactions"]
    assert (compaction["method"], compaction["from"], compaction["to"], compaction["summary"]) == (
        "flush",
        1,
        6,
        None,
    )


@pytest.mark.parametrize(
    ("memory", "left"), [({"summary_message_count": 3}, 4), ({"keep_recent_turns": 3}, 6)]
)
def test_what_a_summary_leaves_is_counted_in_messages_or_in_turns(
    call: Client, service: Service, memory: dict[str, int], left: int
) -> None:
    begin(call, **memory, max_tokens=1_000)
    talk(call, 8)
    call("POST", f"{PATH}/prune", {"strategy": "summarize"})
    service.drain()
    assert seqs(call) == [*range(17 - left, 17)]


def test_turns_that_are_given_later_count_in_place_of_messages(
    call: Client, service: Service
) -> None:
    begin(call, summary_message_count=2, max_tokens=1_000)
    call("PATCH", PATH, {"memory": {"keep_recent_turns": 3}})
    talk(call, 8)
    call("POST", f"{PATH}/prune", {"strategy": "summarize"})
    service.drain()
    assert seqs(call) == [*range(11, 17)]
