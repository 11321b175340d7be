"""An append that asks for its context: read while it is stored, each thing once."""

from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from palimpsest.conversations.message import message_key
from palimpsest.conversations.session import Commit
from palimpsest.models.cached import CachingEmbedder
from palimpsest.scope import Scope, SessionScope

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client
from tests.unit.context.blocks.remembered import Watched

QUESTION = "When do I see my dentist Molar?"
ALL = [{"type": "static"}, {"type": "extractive"}, {"type": "vector"}]


class WatchedService(Service):
    """What the front door reads is counted, and `meanwhile` happens right before a commit."""

    def front_stores(self) -> dict[str, Any]:
        self.watched: Any = Watched(self.sessions)
        self.watched_memories: Any = Watched(self.memories)
        return super().front_stores() | {
            "sessions": _Committing(self),
            "memories": self.watched_memories,
        }

    def meanwhile(self) -> None:
        pass


class _Committing:
    def __init__(self, service: WatchedService) -> None:
        self._service = service

    def commit(self, scope: SessionScope, commit: Commit) -> None:
        self._service.meanwhile()
        self._service.watched.commit(scope, commit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service.watched, name)


@pytest.fixture
def service(tmp_path: Path) -> WatchedService:
    return WatchedService(tmp_path)


@pytest.fixture
def sarah(service: WatchedService) -> Client:
    call = service.client()
    call("PUT", "/v1/static-facts/remote-work", {"content": "Work from home two days a week."})
    call.append("old", "fact: works in Marketing", "My dentist is called Molar.")
    call("POST", "/v1/sessions/old/extract", {})
    service.drain()
    memory = {"blocks": ALL, "max_tokens": 4000}
    call("POST", "/v1/sessions", {"session_id": "new", "user_id": "sarah", "memory": memory})
    call.append("new", "Good morning.", "I have a question about my dentist.")
    service.brought_up_to_date()
    service.watched.calls.clear()
    return call


def asked(call: Client, text: str = QUESTION, **context: Any) -> Any:
    body = {"user_id": "sarah", "messages": [{"role": "user", "content": text}], "context": context}
    answer = call("POST", "/v1/sessions/new/messages", body)
    assert answer.status == 201
    return answer.json


def test_the_session_is_opened_once_and_the_message_embedded_once(
    sarah: Client, service: WatchedService
) -> None:
    before = len(service.embedder.asked)
    context = asked(sarah)["context"]
    assert [match["source"]["session_id"] for match in context["vector_matches"]] == ["old"]
    assert context["degraded"] == []
    assert service.watched.calls["open"] == 1
    # the session of the message that it found, with that message
    assert service.watched.calls["parts"] == 1
    assert service.watched.calls["messages_at"] == 0
    assert service.embedder.asked[before:] == [[QUESTION]]


def test_where_only_the_window_is_near_nothing_is_read_for_it(
    sarah: Client, service: WatchedService
) -> None:
    asked(sarah, "Good morning again.")  # the user's records are known now
    service.waiting.advance(60)
    asked(sarah, "Good morning again and again.")
    service.watched.calls.clear()
    service.watched_memories.calls.clear()
    context = asked(sarah, "Good morning, I have another question.")["context"]
    assert context["vector_matches"] == []
    assert service.watched.calls["open"] == 1
    assert service.watched.calls["parts"] == 0
    assert service.watched_memories.calls["records"] == 0


def test_an_extraction_that_finds_nothing_lets_no_context_read_the_records_again(
    sarah: Client, service: WatchedService
) -> None:
    def reads_after(said: str) -> int:
        sarah.append("new", said)
        job = sarah("POST", "/v1/sessions/new/extract", {}).json["job_id"]
        service.drain()
        assert sarah("GET", f"/v1/jobs/{job}").json["state"] == "done"
        service.watched_memories.calls.clear()
        sarah("GET", "/v1/sessions/new/context")
        reads: int = service.watched_memories.calls["listed"]
        return reads

    for _ in range(2):  # the second time, the list has caught up with the tables
        sarah("GET", "/v1/sessions/new/context")
        service.waiting.advance(60)
    assert reads_after("It rains again.") == 0
    assert reads_after("fact: has a dog") == 1


def test_memory_is_being_read_before_anything_is_stored(
    sarah: Client, service: WatchedService
) -> None:
    seen: list[int] = []
    service.watched_memories.calls.clear()

    def wait() -> None:
        until = monotonic() + 5
        while not service.watched_memories.calls["user"] and monotonic() < until:
            sleep(0.01)
        seen.append(service.watched_memories.calls["user"])

    service.meanwhile = wait  # type: ignore[method-assign]
    asked(sarah)
    assert seen[0] > 0


def test_it_is_the_context_that_the_next_get_gives(sarah: Client, service: WatchedService) -> None:
    without = [{"type": "static"}, {"type": "extractive"}]
    sarah("PATCH", "/v1/sessions/new", {"memory": {"blocks": without, "strategy": "trim"}})
    for turn in range(12):
        text = f"Turn {turn} of many, with words that fill the window. " * 30
        beside = asked(sarah, text)["context"]
        alone = sarah("GET", "/v1/sessions/new/context").json
        assert beside == alone
        sarah.append("new", f"Noted, {turn}.", role="assistant")
        if turn == 5:
            sarah("PUT", "/v1/static-facts/lunch", {"content": "Lunch is at noon."})
            sarah(
                "POST",
                "/v1/users/sarah/memories",
                {"memories": [{"type": "fact", "content": "Lives in Rome."}]},
            )


def test_a_change_of_the_settings_meanwhile_counts(sarah: Client, service: WatchedService) -> None:
    scope = Scope("acme").session("new")
    ahead = service.app.context.ahead(scope, newest=None)
    ahead(service.sessions.open(scope, settings=True))
    sarah("PATCH", "/v1/sessions/new", {"memory": {"memory_as": "none"}, "system": "Be brief."})
    sarah.append("new", QUESTION)
    head = service.sessions.open(scope).head
    context = service.app.context(scope, ahead=ahead, head=head)
    assert context.messages[0] == {"role": "system", "content": "Be brief."}
    assert "<memory>" not in str(context.messages)


def test_what_the_append_takes_back_is_not_in_its_context(
    sarah: Client, service: WatchedService
) -> None:
    sarah.append("new", "My dentist Molar is expensive.")
    context = asked(sarah, "Forget what I just said about my dentist Molar.")["context"]
    assert "expensive" not in str(context["vector_matches"])


def test_the_first_append_of_a_session_brings_its_context_too(
    sarah: Client, service: WatchedService
) -> None:
    body = {"user_id": "sarah", "messages": [{"role": "user", "content": QUESTION}], "context": {}}
    context = sarah("POST", "/v1/sessions/first/messages", body).json["context"]
    assert context["messages"][-1]["content"] == QUESTION
    assert "Work from home" in context["memory_prompt"]


@pytest.mark.parametrize("text", [QUESTION, "When do I see my dentist?\n\nMolar is the name.  "])
def test_a_vector_of_the_message_is_made_once_for_its_context_and_the_index(
    sarah: Client, service: WatchedService, text: str
) -> None:
    model = service.embedder
    service.embedder = CachingEmbedder(model, questions_differ=False)
    before = len(model.asked)
    assert asked(sarah, text)["context"]["vector_matches"]
    service.brought_up_to_date()
    made = [" ".join(each.split()) for call in model.asked[before:] for each in call]
    assert made.count(" ".join(text.split())) == 1
    hits = service.index.by_vector(
        Scope("acme").user("sarah"), service.embedder.embed([text])[0], k=1
    )
    assert [hit.key for hit in hits] == [message_key("new", 3)]
