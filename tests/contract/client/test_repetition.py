"""What is sent again, under which key, and when the client gives up."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

import palimpsest_client.calls
import pytest
from palimpsest_client import AsyncPalimpsest, ConnectionLost, NotConfigured, Palimpsest, errors

from tests.engines import loopback
from tests.served import KEY, Fault, Served, busy, lost, respond

FAULTS: dict[str, Fault] = {
    "busy": busy(503, code="contention"),
    "throttled": busy(429),
    "gateway": busy(502),
    "function did not start": busy(500),
    "lost": lost,
}


def writes(served: Served) -> list[str]:
    """The keys under which something was written."""
    return [
        headers["idempotency-key"]
        for method, _, headers in served.seen
        if method in ("POST", "PUT")
    ]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_write_is_repeated_under_its_key_and_stored_once(
    memory: Palimpsest, served: Served, fault: str
) -> None:
    served.before = [FAULTS[fault], FAULTS[fault]]
    served.after = [lost]
    done = memory.session("s1", user="sarah", tools=False).append("yes")
    assert done["replayed"]
    assert len(writes(served)) == 4
    assert len(set(writes(served))) == 1
    assert [row["content"] for row in memory.session("s1").messages()] == ["yes"]


def test_what_was_never_there_is_not_found_however_busy_the_service_was(
    memory: Palimpsest, served: Served
) -> None:
    served.before = [busy(429)]
    with pytest.raises(errors.SessionNotFound):
        memory.session("never", user="sarah").delete()


def test_two_writes_of_the_same_text_have_keys_of_their_own(
    memory: Palimpsest, served: Served
) -> None:
    chat = memory.session("s1", user="sarah", tools=False)
    chat.append("yes")
    chat.append("yes")
    assert len(set(writes(served))) == 2
    assert len(list(chat.messages())) == 2


def test_a_key_that_is_given_is_the_one_that_is_sent(memory: Palimpsest, served: Served) -> None:
    chat = memory.session("s1", user="sarah", tools=False)
    assert not chat.append("yes", key="turn-1")["replayed"]
    assert chat.append("yes", key="turn-1")["replayed"]
    with pytest.raises(errors.IdempotencyKeyReused):
        chat.append("no", key="turn-1")
    assert set(writes(served)) == {"turn-1"}


def test_messages_with_ids_are_stored_once_also_by_a_program_that_has_started_anew(
    memory: Palimpsest,
) -> None:
    chat = memory.session("s1", user="sarah", tools=False)
    said = {"role": "user", "content": "I collect stamps.", "id": "m1"}
    for _ in range(2):
        turn = chat.say(said)
    assert [message["content"] for message in turn.messages] == ["I collect stamps."]
    assert chat.append({**said, "id": "m2"}, "And coins.")["messages"][-1]["seq"] == 3
    assert (
        chat.append({**said, "id": "m2"}, "And coins.")["messages"][-1]["seq"] == 5
    )  # one of them has no id


@pytest.mark.parametrize(
    "write",
    [
        lambda user: user.remember("Sarah likes tea.", type="event"),
        lambda user: user.ingest_one(["I live in Hamburg."]),
        lambda user: user.call_tool("search_memory_tool", {"query": "tea"}),
    ],
)
def test_every_post_is_safe_to_repeat(
    memory: Palimpsest, served: Served, write: Callable[[Any], Any]
) -> None:
    served.after = [lost]
    write(memory.user("sarah"))
    assert len(writes(served)) == 2
    assert len(set(writes(served))) == 1
    assert len(list(memory.user("sarah").memories())) <= 1


def test_a_change_whose_answer_was_lost_is_made_once(memory: Palimpsest, served: Served) -> None:
    chat, sarah = memory.session("s1", user="sarah", tools=False), memory.user("sarah")
    chat.append("I live in Rome.")
    saved = sarah.remember("Sarah likes tea.")
    sarah.put_entities({"id": "acme", "type": "Company", "name": "Acme"})
    changes: list[Callable[[], Any]] = [
        lambda: chat.configure(metadata={"channel": "chat"}),
        lambda: sarah.change(saved["id"], content="Sarah likes coffee.", importance=0.9),
        lambda: sarah.change_entity("acme", name="Acme Inc."),
        lambda: chat.redact(1, "I live somewhere."),
    ]
    for change in changes:
        served.seen.clear()
        served.after = [lost]
        change()
        assert [method for method, _, _ in served.seen].count("PATCH") == 2
    assert [each["content"] for each in sarah.history(saved["id"])] == [
        "Sarah likes coffee.",
        "Sarah likes tea.",
    ]
    assert chat.message(1)["content"] == "I live somewhere."


def test_a_removal_whose_answer_was_lost_is_done(memory: Palimpsest, served: Served) -> None:
    memory.session("s1", user="sarah").say("Hello")
    served.after = [lost]
    assert memory.session("s1").delete().wait().is_done
    with pytest.raises(errors.SessionNotFound):
        memory.session("s1").delete()


def test_the_service_says_how_long_to_wait(
    memory: Palimpsest, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("palimpsest_client.blocking.time.sleep", pauses.append)
    served.before = [busy(429, retry_after="3"), busy(503), busy(503, retry_after="1000")]
    assert list(memory.users()) == []
    assert pauses[0] == 3
    assert pauses[1] < 1
    assert pauses[2] == palimpsest_client.calls.LONGEST_PAUSE


def test_the_client_gives_up_after_its_last_try(memory: Palimpsest, served: Served) -> None:
    tries = palimpsest_client.calls.TRIES
    served.before = [busy(503, code="contention")] * tries
    with pytest.raises(errors.Contention) as refused:
        memory.user("sarah").recall("tea")
    assert refused.value.retryable
    assert len(served.seen) == tries
    served.before = [lost] * tries
    with pytest.raises(ConnectionLost):
        memory.user("sarah").recall("tea")


def test_a_failure_of_the_service_itself_is_not_repeated(
    memory: Palimpsest, served: Served
) -> None:
    served.before = [busy(500, code="internal_error")]
    with pytest.raises(errors.ServerFailed):
        memory.user("sarah").recall("tea")
    assert len(served.seen) == 1


def test_the_client_gives_up_when_its_patience_is_over(
    memory: Palimpsest, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(palimpsest_client.calls, "PATIENCE", 0.0)
    served.before = [busy(503)]
    with pytest.raises(errors.Unavailable):
        memory.user("sarah").recall("tea")
    assert len(served.seen) == 1


def test_nobody_there_is_a_lost_connection() -> None:
    address = f"http://127.0.0.1:{loopback.free_port()}"
    with pytest.raises(
        ConnectionLost, match=rf"{address}/v1/health \(ConnectError: .*refused.*running\?$"
    ):
        Palimpsest(address, KEY).health()


def test_another_server_at_the_address_is_no_service(memory: Palimpsest, served: Served) -> None:

    def welcomes(to: BaseHTTPRequestHandler) -> bool:
        respond(to, 200, "<html>Welcome</html>", **{"Content-Type": "text/html"})
        return True

    served.before = [welcomes]
    with pytest.raises(NotConfigured, match=f"{served.url}/v1/health isn't the service"):
        memory.health()


def test_what_can_never_work_is_sent_once(memory: Palimpsest, served: Served) -> None:
    with pytest.raises(errors.InvalidId) as refused:
        memory.user("sarah").remember("x", agent_id="no id")
    assert (refused.value.status, refused.value.errors[0]["field"]) == (400, "memories.0.agent_id")
    assert len(served.seen) == 1


def test_fifty_writers_lose_nothing(memory: Palimpsest, served: Served) -> None:
    served.after = [lost if number % 3 == 0 else lambda _: False for number in range(60)]
    chat = memory.session("s1", user="sarah", tools=False)
    writers = [
        threading.Thread(target=chat.append, args=(f"message {number}",)) for number in range(50)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(str(row["content"]) for row in chat.messages()) == sorted(
        f"message {number}" for number in range(50)
    )


def test_the_asynchronous_client_repeats_as_the_other_does(served: Served) -> None:
    import anyio

    async def talk() -> list[Any]:
        async with AsyncPalimpsest(served.url, KEY) as memory:
            served.before, served.after = [busy(429)], [lost]
            await memory.session("s1", user="sarah", tools=False).append("yes")
            return [row async for row in memory.session("s1").messages()]

    assert [row["content"] for row in anyio.run(talk)] == ["yes"]
    assert len(set(writes(served))) == 1
    assert len(writes(served)) == 3
