"""The client over a transport in its own process: the same calls as over HTTP, without HTTP's
accidents.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from palimpsest import AgentMemory
from palimpsest.errors import Unavailable as StoreUnavailable
from palimpsest_client import Problem
from palimpsest_client.errors import SessionNotFound, Unavailable

from tests.contract.memory_stores import ListStore


def test_a_turn_of_the_client_is_stored_and_remembered_in_the_process() -> None:
    memory = AgentMemory(user="sarah")
    chat = memory.session("monday")
    turn = chat.say("I live in Lisbon.")
    assert turn.messages[-1] == {"role": "user", "content": "I live in Lisbon."}
    assert chat.answer("Noted.").is_done
    assert chat.end().wait().is_done
    assert [one["content"] for one in memory.user.memories()] == ["I live in Lisbon."]


def test_a_call_that_waits_has_its_work_done_meanwhile() -> None:
    memory = AgentMemory(user="sarah")
    memory.append("s", "I live in Lisbon.")
    begun = time.monotonic()
    job = memory.user.erase(wait=15)
    assert (job.state, time.monotonic() - begun < 10) == ("done", True)


def test_a_refusal_is_raised_at_once_and_the_call_is_not_repeated() -> None:
    class Down(ListStore):
        asked = 0

        def delete_all(self, user: str) -> int:
            self.asked += 1
            raise StoreUnavailable("The database is away.")

    store = Down()
    memory = AgentMemory(user="sarah", memory_store=store)
    with pytest.raises(Unavailable) as refused:
        memory.erase()
    assert (refused.value.retryable, store.asked) == (True, 1)


def test_an_exception_of_the_programs_own_store_reaches_the_program() -> None:
    class Broken(ListStore):
        def delete_all(self, user: str) -> int:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        AgentMemory(user="sarah", memory_store=Broken()).erase()


def test_a_library_prints_no_log(capsys: pytest.CaptureFixture[str]) -> None:
    memory = AgentMemory(user="sarah")
    memory.append("s", "Hello!")
    with pytest.raises(SessionNotFound):
        memory.context("nowhere")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["a/b", "", "né"])
def test_a_wrong_id_is_refused_before_anything_is_stored(name: str) -> None:
    memory = AgentMemory(user="sarah")
    with pytest.raises(Problem) as refused:
        memory.append(name, "Hello!")
    assert (refused.value.code, list(memory.sessions())) == ("invalid_id", [])


def test_an_agents_memory_touches_no_session_of_another_agent() -> None:
    hr = AgentMemory(user="sarah", agent="hr")
    hr.append("s", "Hello!")
    it = AgentMemory.of(hr._service, tenant="local", user="sarah", agent="it")
    calls: dict[str, Any] = {
        "read": lambda: it.context("s"),
        "append": lambda: it.append("s", "Hello!"),
        "delete": lambda: it.delete("s"),
        "history": lambda: list(it.history("s")),
    }
    for call in calls.values():
        with pytest.raises(Problem) as refused:
            call()
        assert refused.value.code == "owner_mismatch"
    assert hr.session("s").read()["totals"]["messages"] == 1


def test_an_export_of_many_parts_is_imported() -> None:
    memory, other = AgentMemory(user="sarah"), AgentMemory(user="sarah")
    for number in range(8):
        memory.append("s", f"{number} " + "word " * 20_000)
    text = memory.export()
    assert len(text) > 600_000
    assert other.import_(text)["restored"] == 1
    assert other.export() == text
