"""LangGraph and LangChain keep their memories here: run by test_adapters in an environment of its
own.
"""

import asyncio
import uuid
from typing import Any, TypedDict

import pytest
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore, GetOp, PutOp, SearchOp
from palimpsest_client import Palimpsest
from palimpsest_client.errors import Invalid
from palimpsest_client.integrations.langgraph import PalimpsestChatMessageHistory, PalimpsestStore


@pytest.fixture
def user() -> str:
    return f"u-{uuid.uuid4().hex}"


@pytest.fixture
def store() -> PalimpsestStore:
    return PalimpsestStore(user=lambda namespace: namespace[0])


def test_an_item_is_put_got_replaced_and_deleted(store: PalimpsestStore, user: str) -> None:
    place = (user, "profile")
    assert store.get(place, "name") is None
    for value in (
        {"n": 1, "deep": {"list": [1, None]}},
        {"n": 2},
        {"n": 2},
        {"N": "a"},
        {"N": "A"},
    ):
        store.put(place, "name", value)
        item = store.get(place, "name")
        assert item is not None
        assert (item.value, item.key, item.namespace) == (value, "name", place)
    store.put(place, "other", {"N": "A"})
    store.delete(place, "name")
    store.delete(place, "name")
    assert store.get(place, "name") is None
    assert store.get(place, "other") is not None
    store.put(place, "name", {"n": 1})
    assert store.get(place, "name") is not None


def test_what_was_put_over_stays_in_the_history(store: PalimpsestStore, user: str) -> None:
    store.put((user,), "home", {"text": "Lives in Hamburg."})
    store.put((user,), "home", {"text": "Lives in Bremen."})
    sarah = Palimpsest().user(user)
    (now,) = sarah.memories()
    assert [version["content"] for version in sarah.history(now["id"])] == [
        "Lives in Bremen.",
        "Lives in Hamburg.",
    ]


def test_items_are_listed_under_a_prefix_filtered_and_paged(
    store: PalimpsestStore, user: str
) -> None:
    for number in range(5):
        store.put(
            (user, "docs", "a" if number % 2 else "b"),
            f"k{number}",
            {"number": number, "kind": "doc"},
        )
    store.put((user, "other"), "k", {"number": 9})
    assert sorted(item.key for item in store.search((user, "docs"))) == [
        "k0",
        "k1",
        "k2",
        "k3",
        "k4",
    ]
    assert [
        item.value["number"]
        for item in store.search((user, "docs", "a"), filter={"number": {"$gte": 2}})
    ] == [3]
    assert len(store.search((user,), filter={"kind": "doc"})) == 5
    compared = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
    results = [store.search((user, "docs"), filter={"number": {name: 2}}) for name in compared]
    assert [sorted(item.value["number"] for item in items) for items in results] == [
        [2], [0, 1, 3, 4], [3, 4], [2, 3, 4], [0, 1], [0, 1, 2],
    ]  # fmt: skip
    first, second = (
        store.search((user, "docs"), limit=2),
        store.search((user, "docs"), limit=2, offset=2),
    )
    assert len({item.key for item in [*first, *second]}) == 4
    with pytest.raises(ValueError, match=r"\$near"):
        store.search((user,), filter={"number": {"$near": 1}})


def test_labels_that_look_like_numbers_or_lists_are_texts(
    store: PalimpsestStore, user: str
) -> None:
    for label in ("123", "true", "null", "a, b", 'say "x"'):
        store.put((user, label), "k", {"text": f"Sarah likes {label} tea."})
        assert [item.namespace for item in store.search((user, label))] == [(user, label)]
        assert [
            item.namespace for item in store.search((user, label), query="Sarah likes tea")
        ] == [(user, label)]


def test_a_query_finds_by_words_with_scores_and_nothing_else(
    store: PalimpsestStore, user: str
) -> None:
    store.put((user, "m"), "pizza", {"text": "Sarah likes pizza with mushrooms."})
    store.put((user, "m"), "work", {"text": "Sarah works in Marketing."})
    store.put((user, "m"), "hidden", {"text": "Sarah hates pizza crust."}, index=False)
    (item,) = store.search((user, "m"), query="Which pizza does Sarah like?", limit=1)
    assert (item.key, (item.score or 0) > 0) == ("pizza", True)
    assert "hidden" not in {item.key for item in store.search((user, "m"), query="pizza crust")}


def test_namespaces_are_listed_by_prefix_suffix_and_depth(
    store: PalimpsestStore, user: str
) -> None:
    for namespace in ((user, "a", "x"), (user, "a", "y"), (user, "b", "x")):
        store.put(namespace, "k", {"v": 1})
    assert store.list_namespaces(prefix=(user,)) == [
        (user, "a", "x"),
        (user, "a", "y"),
        (user, "b", "x"),
    ]
    assert store.list_namespaces(prefix=(user,), max_depth=2) == [(user, "a"), (user, "b")]
    assert store.list_namespaces(prefix=(user, "*", "x")) == [(user, "a", "x"), (user, "b", "x")]
    assert store.list_namespaces(prefix=(user,), suffix=("y",)) == [(user, "a", "y")]


def test_users_do_not_see_each_others_items(store: PalimpsestStore, user: str) -> None:
    store.put((user,), "k", {"text": "A secret about tea."})
    assert store.get((f"{user}-2",), "k") is None
    assert store.search((f"{user}-2",), query="tea") == []
    assert [
        item.namespace for item in store.search((), limit=100) if item.namespace[0] == user
    ] == [(user,)]


def test_a_value_that_is_too_large_is_refused(store: PalimpsestStore, user: str) -> None:
    with pytest.raises(Invalid):
        store.put((user,), "k", {"text": "x" * 20_000})
    assert store.get((user,), "k") is None


def test_a_time_to_live_is_refused(store: PalimpsestStore, user: str) -> None:
    with pytest.raises(NotImplementedError):
        store.put((user,), "k", {"v": 1}, ttl=5)
    assert store.get((user,), "k") is None


def test_a_batch_and_the_asynchronous_calls_do_the_same(store: PalimpsestStore, user: str) -> None:
    async def go() -> list[Any]:
        await store.aput((user,), "a", {"v": 1})
        return await store.abatch(
            [PutOp((user,), "b", {"v": 2}), GetOp((user,), "a"), SearchOp((user,))]
        )

    put, got, items = asyncio.run(go())
    assert (put, got.value, len(items)) == (None, {"v": 1}, 2)


def test_a_graph_remembers_across_threads(store: PalimpsestStore, user: str) -> None:
    class State(TypedDict):
        said: str

    def remember(state: State, store: BaseStore) -> State:
        store.put((user, "memories"), "last", {"text": state["said"]})
        return state

    def recall(state: State, store: BaseStore) -> State:
        return {"said": store.search((user, "memories"), query=state["said"])[0].value["text"]}

    def graph(node: Any) -> Any:
        return StateGraph(State).add_node("n", node).add_edge(START, "n").compile(store=store)

    graph(remember).invoke({"said": "I live in Hamburg."})
    assert graph(recall).invoke({"said": "Where do I live?"}) == {"said": "I live in Hamburg."}


def test_a_chat_history_keeps_every_kind_of_message(user: str) -> None:
    history = PalimpsestChatMessageHistory(f"s-{user}", user=user)
    assert isinstance(history, BaseChatMessageHistory)
    assert history.messages == []
    history.clear()
    calls = [{"id": f"c{n}", "name": "weather", "args": {"city": n}} for n in (1, 2)]
    told = [
        SystemMessage("Be kind."),
        HumanMessage("Weather?"),
        AIMessage("", tool_calls=calls),
        ToolMessage("sunny", tool_call_id="c1"),
        ToolMessage([{"type": "text", "text": "rain"}], tool_call_id="c2"),
        AIMessage("Both."),
    ]
    history.add_messages(told)
    shown = history.messages
    assert [type(each) for each in shown] == [type(each) for each in told]
    assert [(call["id"], call["args"]) for call in shown[2].tool_calls] == [
        ("c1", {"city": 1}),
        ("c2", {"city": 2}),
    ]
    history.clear()
    assert [message for message in history.messages if not isinstance(message, SystemMessage)] == []


def test_a_runnable_with_history_knows_in_another_session_what_it_was_told(user: str) -> None:
    seen: list[Any] = []

    def model(messages: Any) -> AIMessage:
        seen.append(messages)
        return AIMessage("Noted.")

    chain = RunnableWithMessageHistory(
        RunnableLambda(model),
        lambda session_id: PalimpsestChatMessageHistory(session_id, user=user),
    )
    chain.invoke(
        [HumanMessage("I live in Hamburg.")], {"configurable": {"session_id": f"a-{user}"}}
    )
    Palimpsest().session(f"a-{user}").end().wait()
    chain.invoke([HumanMessage("Where do I live?")], {"configurable": {"session_id": f"b-{user}"}})
    assert "Hamburg" in str(seen[-1])  # in the very first turn of the session
    whole = PalimpsestChatMessageHistory(f"b-{user}", user=user, whole=True).messages
    assert [each.content for each in whole] == ["Where do I live?", "Noted."]


def test_a_long_history_stays_within_the_sessions_budget(user: str) -> None:
    Palimpsest().session(f"s-{user}", user=user, memory={"max_tokens": 500}).append("Hello.")
    history = PalimpsestChatMessageHistory(f"s-{user}", user=user)
    history.add_messages(
        [HumanMessage(f"Number {number}: " + "word " * 20) for number in range(120)]
    )
    assert 0 < len(history.messages) < 60
    assert len(PalimpsestChatMessageHistory(f"s-{user}", user=user, whole=True).messages) == 121


def test_what_a_chats_model_calls_used_is_counted_with_what_a_cache_served(user: str) -> None:
    history = PalimpsestChatMessageHistory(f"s-{user}", user=user)
    told: Any = {
        "input_tokens": 5_000,
        "output_tokens": 20,
        "total_tokens": 5_020,
        "input_token_details": {"cache_read": 4_096},
    }
    model = {"model_name": "gpt-4.1-mini-2025-04-14"}
    replies = [
        AIMessage(text, usage_metadata=told, response_metadata=model) for text in ("Hi.", "Bye.")
    ]
    history.add_messages([HumanMessage("Hello"), replies[0], HumanMessage("Bye"), replies[1]])
    (row,) = Palimpsest().usage(by="user", user_id=user)
    counted = (row["chat_tokens_in"], row["chat_tokens_cached"], row["chat_tokens_out"])
    assert counted == (10_000, 8_192, 40)
    cost = 2 * (904 * 0.4 + 4_096 * 0.1 + 20 * 1.6) / 1_000_000
    assert row["chat_cost_usd"] == pytest.approx(cost)


def test_a_chat_history_passes_a_cache_key_and_cache_points_on(user: str) -> None:
    Palimpsest().user(user).remember("Sarah lives in Hamburg.")
    history = PalimpsestChatMessageHistory(f"s-{user}", user=user, cache_points=True)
    history.add_messages([HumanMessage("Hello"), AIMessage("Hi.")])
    first, *_, last = history.messages
    for message in (first, last):
        (block,) = message.content
        assert block["cache_control"] == {"type": "ephemeral"}
    assert "Hamburg" in first.content[0]["text"]
    plain = PalimpsestChatMessageHistory(f"s-{user}", user=user)
    assert plain.messages[-1].content == "Hi."
    assert plain.prompt_cache_key == history.prompt_cache_key
    assert len(plain.prompt_cache_key) == 32
