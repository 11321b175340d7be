"""Ids in the client: none that could be misread is sent, and two users' sessions of one name stay
apart.
"""

import asyncio
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest import scope
from palimpsest_client import AsyncPalimpsest, Palimpsest, calls, errors
from palimpsest_client.calls import checked_id
from palimpsest_client.cli import main, stdio
from palimpsest_client.sessions import id_for

from tests.served import KEY, Served

NO_IDS = [
    "alice/preferences/x",
    "alice?x",
    "alice?",
    "alice%3Fx",
    "a b",
    "",
    ".",
    "..",
    "a\0",
    "a\n",
    "é",
    "x" * 129,
]
CALLS: list[Callable[[Palimpsest, str], object]] = [
    lambda memory, wrong: memory.user(wrong).erase(),
    lambda memory, wrong: memory.user(wrong).read(),
    lambda memory, wrong: list(memory.user(wrong).memories()),
    lambda memory, wrong: memory.user("sarah").delete(wrong),
    lambda memory, wrong: memory.user("sarah").delete_preference(wrong),
    lambda memory, wrong: memory.user("sarah").delete_entity(wrong),
    lambda memory, wrong: memory.session(wrong).delete(),
    lambda memory, wrong: memory.session(wrong, user="sarah").append("x"),
    lambda memory, wrong: memory.user(wrong).session("monday"),
    lambda memory, wrong: memory.user("sarah").session(wrong),
    lambda memory, wrong: memory.job(wrong),
    lambda memory, wrong: memory.delete_static_fact(wrong),
]
IDS = st.from_regex(calls.ID, fullmatch=True).filter(lambda text: text.strip("."))


@pytest.mark.parametrize("wrong", NO_IDS)
@pytest.mark.parametrize("ask", CALLS)
def test_what_is_no_id_is_refused_before_anything_is_sent(
    memory: Palimpsest, served: Served, ask: Callable[[Palimpsest, str], object], wrong: str
) -> None:
    with pytest.raises(errors.InvalidId) as refused:
        ask(memory, wrong)
    assert (refused.value.status, refused.value.code, served.seen) == (400, "invalid_id", [])


def test_nobodys_preference_is_deleted_in_a_users_place(memory: Palimpsest, served: Served) -> None:
    memory.user("alice").prefer({"x": 1})
    with pytest.raises(errors.InvalidId, match="alice/preferences/x"):
        memory.user("alice/preferences/x").erase()

    async def erased() -> None:
        async with AsyncPalimpsest(served.url, KEY) as awaited:
            await awaited.user("alice/preferences/x").erase()

    with pytest.raises(errors.InvalidId):
        asyncio.run(erased())
    assert memory.user("alice").preference("x")["value"] == 1


def test_the_client_knows_an_id_as_the_service_does() -> None:
    assert calls.ID.pattern == scope.ID_PATTERN


@given(IDS)
def test_every_id_of_the_service_is_one_of_the_client(value: str) -> None:
    assert checked_id(value) == scope.checked_id(value, field="id") == value


@pytest.mark.parametrize("words", [("erase", "--yes"), ("memories",), ("mcp",)])
def test_the_command_line_sends_nothing_for_an_id_that_is_none(
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
) -> None:
    monkeypatch.setenv("PALIMPSEST_URL", served.url)
    monkeypatch.setenv("PALIMPSEST_API_KEY", KEY)
    monkeypatch.setattr("sys.argv", ["palimpsest", *words, "--user", "alice/preferences/x"])
    monkeypatch.setattr(
        "sys.stdin", io.StringIO(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n")
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, served.seen) == (1, [])
    assert "is not a valid id" in capsys.readouterr().err.replace("\n", " ")


def test_the_bridge_of_mcp_sends_nothing_for_an_id_that_is_none() -> None:
    with pytest.raises(errors.InvalidId):
        stdio.serve(Any, "alice?x", lines=[], out=io.StringIO())  # type: ignore[arg-type]


def test_two_users_have_a_session_of_the_same_name(memory: Palimpsest) -> None:
    sarah, tom = (memory.user(name).session("monday") for name in ("sarah", "tom"))
    sarah.append("I like tea.")
    tom.append("I like coffee.")
    assert (sarah.id, tom.id) == ("sarah:monday", "tom:monday")
    again = memory.user("sarah").session("monday")
    assert [message["content"] for message in again.messages()] == ["I like tea."]
    assert [session["session_id"] for session in memory.user("tom").sessions()] == ["tom:monday"]
    assert memory.session("tom:monday").read()["user_id"] == "tom"


def test_a_users_session_takes_the_options_of_any_other(served: Served) -> None:
    async def begun() -> Any:
        async with AsyncPalimpsest(served.url, KEY) as memory:
            session = memory.user("sarah").session(
                "monday", agent="hr", memory={"strategy": "trim"}, tools=False
            )
            await session.append("Hello.")
            return await session.read()

    found = asyncio.run(begun())
    assert (found["session_id"], found["user_id"], found["agent_id"]) == (
        "sarah:monday",
        "sarah",
        "hr",
    )
    assert found["memory"]["strategy"] == "trim"


def test_the_error_for_another_users_session_says_whose_ids_are(memory: Palimpsest) -> None:
    memory.session("monday", user="sarah").append("I like tea.")
    with pytest.raises(errors.OwnerMismatch, match="Ids of sessions are the tenant's"):
        memory.session("monday", user="tom").append("I like coffee.")


@given(user=IDS, name=IDS, other=IDS, another=IDS)
def test_no_two_names_of_sessions_are_one_id(
    user: str, name: str, other: str, another: str
) -> None:
    ids = {id_for(whose, what) for whose in (user, other) for what in (name, another)}
    assert len(ids) == len({user, other}) * len({name, another})
    assert all(scope.checked_id(each, field="session_id") for each in ids)
    assert id_for(user, name) == id_for(user, name)


@pytest.mark.parametrize(
    ("one", "another"),
    [
        (("a", "b:c"), ("a:b", "c")),
        (("x" * 128, "a"), ("x" * 128, "b")),
        (("x" * 120, "y" * 10), ("x" * 120, "y" * 11)),
        (("a:b", "x" * 120), ("a:b", "x" * 121)),
    ],
)
def test_long_names_and_names_with_a_colon_stay_apart(
    one: tuple[str, str], another: tuple[str, str]
) -> None:
    assert id_for(*one) != id_for(*another)
    assert max(len(id_for(*one)), len(id_for(*another))) <= 128
