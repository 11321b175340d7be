"""What a tenant has used, counted once though work is repeated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from palimpsest.conversations.overflow.model_summary import ModelSummarizer
from palimpsest.errors import ModelUnavailable, PalimpsestError, Unavailable
from palimpsest.models.metered import Meter
from palimpsest.models.ports import Completion, LanguageModel, Schema, Vector
from palimpsest.models.usage import Usage
from palimpsest.wiring.models import metered
from palimpsest_local.stores.tenants import LocalUsages

from tests.doubles.meanings import Meanings
from tests.doubles.tokens import LetterCounter
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

USAGE = "/v1/usage"
MODEL = "gpt-4.1-nano"

LONG = "I moved to Lisbon last week, and the flat is small. " * 4
REPLY = {"role": "assistant", "content": "Noted."}


@dataclass
class Billed:
    """A language model that counts how often it is really called."""

    calls: int = 0
    failure: Exception | None = None
    answer: str = "They talked about the move."

    def complete(
        self, *, instructions: str, text: str, max_tokens: int, model: str | None = None
    ) -> Completion:
        self.calls += 1
        if self.failure is not None:
            raise self.failure
        return Completion(self.answer, MODEL, Usage(1, 10, 5))

    def complete_json(
        self,
        *,
        instructions: str,
        text: str,
        schema: Schema,
        max_tokens: int,
        model: str | None = None,
    ) -> Completion:
        return self.complete(
            instructions=instructions, text=text, max_tokens=max_tokens, model=model
        )

    def capacity(self, model: str | None = None) -> int:
        return 100_000


class Lost:
    """Makes a write fail before or after it is done, as often as it says."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def __call__(self, step: str) -> None:
        if step in self.steps:
            self.steps.remove(step)
            raise Unavailable("No answer came.")


@dataclass
class Talk:
    """A session whose overflows a model folds."""

    service: Service
    call: Client
    model: Billed
    told: list[bool] = field(default_factory=list)

    def overflow(self) -> Any:
        """The job of an overflow that is armed now."""
        armed = None
        while armed is None:
            body = {
                "user_id": "sarah",
                "messages": [{"role": "user", "content": LONG}, REPLY],
                "allow_repeat": True,
            }
            armed = self.call("POST", "/v1/sessions/s/messages", body).json["overflow"]
        return self.service.job(armed["job_id"])

    def used(self, **query: Any) -> dict[str, Any]:
        (used,) = self.call("GET", USAGE, query=query).json["usage"]
        return dict(used)


@pytest.fixture
def lost() -> Lost:
    return Lost()


@pytest.fixture
def talk(service: Service, call: Client, lost: Lost) -> Talk:
    memory = {
        "strategy": "summarize",
        "max_tokens": 900,
        "keep_recent_turns": 1,
        "extract": "manual",
        "blocks": [],
    }
    call("PUT", "/v1/settings", {"memory": memory})
    model, told = Billed(), list[bool]()

    def tell(tenant: str, used: Any, *, is_counted: bool) -> None:
        told.append(is_counted)

    paid: LanguageModel = metered(
        model, Meter(service.usages, service.clock, tell), tenants=service.tenants
    )
    service.summarizer = ModelSummarizer(paid, LetterCounter())  # type: ignore[assignment]
    service.wire_workers()
    service.shared.faults = lost
    return Talk(service, call, model, told)


def test_messages_count_once_though_appends_are_sent_again(
    call: Client, service: Service, lost: Lost
) -> None:
    service.shared.faults = lost
    body = {
        "user_id": "sarah",
        "messages": [{"role": "user", "content": "hello"}, {"role": "user", "content": "you"}],
    }
    lost.steps.append("after commit")
    answers = [
        call("POST", "/v1/sessions/s/messages", body, headers={"idempotency-key": "k"})
        for _ in range(3)
    ]
    assert [answer.status for answer in answers][1:] == [201, 201]
    call.append("t", "hello", user_id="david")
    (used,) = call("GET", USAGE).json["usage"]
    assert (used["messages"], used["model_calls"], used["day"], used["user_id"]) == (
        3,
        0,
        None,
        None,
    )
    by_user = call("GET", USAGE, query={"by": "user"}).json["usage"]
    assert [(each["user_id"], each["messages"]) for each in by_user] == [("david", 1), ("sarah", 2)]
    assert used["bytes"] == sum(each["bytes"] for each in by_user) > 0
    assert used["message_tokens"] == sum(each["message_tokens"] for each in by_user) > 0


def test_a_model_call_counts_once_with_its_tokens_and_its_cost(talk: Talk) -> None:
    talk.service.handle(talk.overflow())
    assert talk.model.calls == 1
    used = talk.used()
    assert (used["model_calls"], used["tokens_in"], used["tokens_out"]) == (1, 10, 5)
    assert used["cost_usd"] == pytest.approx((10 * 0.1 + 5 * 0.4) / 1e6)


def test_each_model_call_counts_once_though_its_work_is_repeated(talk: Talk, lost: Lost) -> None:
    """A crash before the commit, one after it, and messages that the queue delivers again: as many
    as were called.
    """
    job = talk.overflow()
    for crash in ("before commit", "after commit"):
        lost.steps += [crash] * 20
        with pytest.raises(PalimpsestError):
            talk.service.handle(job)
        lost.steps.clear()
    for _ in range(3):
        talk.service.handle(job)
    assert talk.service.job(job.id).state == "done"
    assert (talk.model.calls, talk.used()["model_calls"]) == (2, 2)
    assert talk.told == [True, True]


def test_a_call_that_fails_counts_as_one_of_no_known_price(talk: Talk) -> None:
    talk.model.failure = ModelUnavailable("It did not answer.")
    with pytest.raises(ModelUnavailable):
        talk.service.handle(talk.overflow())
    used = talk.used()
    assert (used["model_calls"], used["unpriced_calls"], used["cost_usd"]) == (1, 1, 0)


@pytest.mark.parametrize(("step", "calls"), [("before count", 0), ("after count", 1)])
def test_a_count_that_gets_no_answer_is_told_and_never_made_twice(
    talk: Talk, lost: Lost, step: str, calls: int
) -> None:
    lost.steps.append(step)
    job = talk.overflow()
    talk.service.handle(job)
    assert talk.service.job(job.id).state == "done"
    assert (talk.used()["model_calls"], talk.told) == (calls, [False])


def test_usage_is_read_by_day_within_a_period(talk: Talk) -> None:
    talk.call.append("s", "hello")
    talk.service.time.advance(24 * 3600)
    talk.call.append("s", "hello again")
    days = talk.call("GET", USAGE, query={"by": "day"}).json
    assert [(each["day"], each["messages"]) for each in days["usage"]] == [
        ("2026-01-01", 1),
        ("2026-01-02", 1),
    ]
    assert (days["from"], days["to"], days["by"]) == ("2026-01-01", "2026-01-02", "day")
    assert talk.used(**{"from": "2026-01-02"})["messages"] == 1
    assert talk.used(**{"from": "2025-12-01", "to": "2025-12-31"})["messages"] == 0


def test_users_come_in_pages(call: Client) -> None:
    for user in ("ann", "bob", "cid"):
        call.append(user, "hello", user_id=user)
    seen: list[str] = []
    cursor = None
    while cursor is not None or not seen:
        query = {"by": "user", "limit": 2} | ({"cursor": cursor} if cursor else {})
        page = call("GET", USAGE, query=query).json
        seen += [each["user_id"] for each in page["usage"]]
        cursor = page["next_cursor"]
    assert seen == ["ann", "bob", "cid"]
    assert [
        each["user_id"]
        for each in call("GET", USAGE, query={"by": "user", "user_id": "bob"}).json["usage"]
    ] == ["bob"]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({"from": "2026-01-02", "to": "2026-01-01"}, 422, "invalid_period"),
        ({"from": "2025-09-01", "to": "2026-01-01"}, 422, "invalid_period"),
        ({"from": "2024-01-01", "to": "2024-01-31"}, 422, "invalid_period"),
        ({"from": "yesterday"}, 422, "invalid"),
        ({"by": "model"}, 422, "invalid"),
        ({"user_id": "../sarah"}, 400, "invalid_id"),
        ({"cursor": "abc"}, 400, "invalid_cursor"),
        ({"until": "2026-01-01"}, 422, "invalid"),
    ],
)
def test_what_is_no_period_or_view_is_refused(
    call: Client, query: dict[str, str], status: int, code: str
) -> None:
    answer = call("GET", USAGE, query=query)
    assert (answer.status, answer.json["code"]) == (status, code)


def test_usage_is_the_tenants_own_and_for_admins(service: Service, call: Client) -> None:
    call.append("s", "hello")
    (used,) = service.client(tenant="other")("GET", USAGE).json["usage"]
    assert used["messages"] == 0
    assert service.client(scopes="read write")("GET", USAGE).status == 403


def test_an_erased_user_is_counted_without_a_name(service: Service, call: Client) -> None:
    call.append("s", "hello")
    job = call("DELETE", "/v1/users/sarah").json["job_id"]
    assert call("GET", f"/v1/jobs/{job}").json["receipt"]["usage"] == {"state": "pending"}
    service.drain()
    assert call("GET", f"/v1/jobs/{job}").json["receipt"]["usage"] == {"state": "nameless"}
    assert [each["user_id"] for each in call("GET", USAGE, query={"by": "user"}).json["usage"]] == [
        None
    ]
    call.append("s", "hello")
    by_user = call("GET", USAGE, query={"by": "user"}).json["usage"]
    assert [(each["user_id"], each["messages"]) for each in by_user] == [("sarah", 1), (None, 1)]


def test_the_sweep_counts_what_the_stream_has_lost(service: Service, call: Client) -> None:
    call.append("s", "hello")
    service.shared.usage_of("acme").clear()
    assert call("GET", USAGE).json["usage"][0]["messages"] == 0
    service.time.advance(30 * 24 * 3600 + 60)
    service.sweep_all()
    assert call("GET", USAGE, query={"from": "2026-01-01"}).json["usage"][0]["messages"] == 1
    assert isinstance(service.usages, LocalUsages)


class BilledMeanings(Meanings):
    """Embeds and counts as the model server's embedder does: ten tokens a text, a dollar a
    million.
    """

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self.meter = meter

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        tokens = 10 * len(texts)
        self.meter(
            {"embedding_calls": 1, "embedding_tokens": tokens, "cost_nano_usd": tokens * 1_000}
        )
        return super().embed(texts, as_questions=as_questions)


def test_embeddings_count_for_the_user_whose_texts_they_are(service: Service, call: Client) -> None:
    """Also where texts of several users are embedded in one go, and for questions and vectors of
    callers.
    """
    meter = Meter(service.usages, service.clock, lambda *_, **__: None)
    service.embedder = BilledMeanings(meter)
    service.wire_workers()
    call.append("s", "I live in Lisbon.", user_id="sarah")
    call.append("d", "I live in Rome.", user_id="david")
    call.append("d", "And I like tea.", user_id="david")
    assert service.embed(tuple(service.shared.changes)) == ()
    call("POST", "/v1/users/sarah/recall", {"query": "Where does Sarah live?"})
    call("POST", "/v1/users/sarah/memories/search", {"query": "a home", "mode": "vector"})
    given = {"namespace": "notes", "vectors": [{"id": "v", "text": "a note"}]}
    assert call("POST", "/v1/users/david/vectors", given).status < 300
    by_user = {
        each["user_id"]: each for each in call("GET", USAGE, query={"by": "user"}).json["usage"]
    }
    counts = {
        user: (each["embedding_calls"], each["embedding_tokens"]) for user, each in by_user.items()
    }
    assert counts == {"sarah": (3, 30), "david": (2, 30)}
    assert by_user["david"]["cost_usd"] == pytest.approx(30 / 1e6)
    assert [each["model_calls"] for each in by_user.values()] == [0, 0]
