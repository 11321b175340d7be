"""What DynamoDB may answer and no local engine does: throttling, conflicts, lost answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from palimpsest.engines.dynamodb import table as tables
from palimpsest.engines.dynamodb.jobs import DynamoDbJobs
from palimpsest.engines.dynamodb.lists import BUCKETS, SESSIONS, buckets_of
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.engines.dynamodb.tenants import DynamoDbTenants
from palimpsest.errors import CommitLost, PalimpsestError, TooLarge, Unavailable
from palimpsest.scope import Scope, SessionScope

from tests.contract.builders import NOW, Conversation, job, key, message, settings
from tests.contract.tables import sessions_table, tenants_table
from tests.doubles.dynamodb_api import (
    BROKEN,
    FORWARDED,
    THROTTLED,
    Call,
    DynamoDbApi,
    Step,
    cancelled,
)

ATTEMPTS = 1 + tables.RETRIES
PATIENCE = 0.9  # seconds, where a call is too late
CONFLICT = Step(code="TransactionConflictException")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "READ_SECONDS", PATIENCE)


@pytest.fixture
def api(dynoxide_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[DynamoDbApi]:
    monkeypatch.setattr(
        "botocore.retries.standard.ExponentialBackoff.delay_amount", lambda self, context: 0.01
    )
    with DynamoDbApi(dynoxide_endpoint) as api:
        yield api


@pytest.fixture
def table(dynoxide_endpoint: str) -> str:
    return sessions_table(dynoxide_endpoint)


@pytest.fixture
def sessions(api: DynamoDbApi, table: str) -> DynamoDbSessions:
    return DynamoDbSessions(table, endpoint=api.endpoint)


@pytest.fixture
def jobs(api: DynamoDbApi, table: str) -> DynamoDbJobs:
    return DynamoDbJobs(table, endpoint=api.endpoint)


@pytest.fixture
def talk(sessions: DynamoDbSessions, scope: SessionScope, api: DynamoDbApi) -> Conversation:
    """A session of one message; what was called so far is forgotten."""
    talk = Conversation(sessions, scope)
    talk.begin()
    talk.append("first")
    api.calls.clear()
    return talk


def contents(talk: Conversation) -> list[str]:
    return [
        str(found.chat["content"]) for found in talk.sessions.messages(talk.scope, first=1, last=9)
    ]


@pytest.mark.parametrize(
    "reason", ["ConditionalCheckFailed", "TransactionConflict", "DuplicateItem"]
)
def test_a_cancelled_transaction_was_lost_to_another(
    api: DynamoDbApi, talk: Conversation, reason: str
) -> None:
    api.script(cancelled("None", reason))
    with pytest.raises(CommitLost):
        talk.append()
    assert len(api.calls) == 1


@pytest.mark.parametrize(
    "fault", [THROTTLED, BROKEN, Step(code="ThrottlingException"), Step(code="Odd", status=503)]
)
def test_a_passing_fault_is_not_seen(api: DynamoDbApi, talk: Conversation, fault: Step) -> None:
    api.script(fault, fault)
    talk.append("second")
    assert contents(talk) == ["first", "second"]


@pytest.mark.parametrize("fault", [THROTTLED, BROKEN, Step(code="RequestLimitExceeded")])
def test_a_lasting_fault_is_told_after_a_few_attempts(
    api: DynamoDbApi, talk: Conversation, fault: Step
) -> None:
    api.script(*[fault] * ATTEMPTS)
    with pytest.raises(Unavailable) as told:
        talk.append()
    assert told.value.retryable
    assert told.value.__cause__ is not None
    assert len(api.calls) == ATTEMPTS
    assert contents(talk) == ["first"]


@pytest.mark.parametrize("reason", ["ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_throttled_transaction_is_tried_again(
    api: DynamoDbApi, talk: Conversation, reason: str
) -> None:
    api.script(cancelled("None", reason), cancelled(reason, "None"))
    talk.append("second")
    assert contents(talk) == ["first", "second"]


def test_a_transaction_that_stays_throttled_is_unavailable(
    api: DynamoDbApi, talk: Conversation
) -> None:
    api.script(*[cancelled("ThrottlingError", "None")] * tables.BUSY_ATTEMPTS)
    with pytest.raises(Unavailable):
        talk.append()
    assert len(api.calls) == tables.BUSY_ATTEMPTS
    assert contents(talk) == ["first"]


def test_a_condition_that_failed_counts_more_than_throttling(
    api: DynamoDbApi, talk: Conversation
) -> None:
    api.script(cancelled("ThrottlingError", "ConditionalCheckFailed"))
    with pytest.raises(CommitLost):
        talk.append()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("lost", [Step(loses_answer=True), Step(delay=PATIENCE + 0.3)])
def test_a_commit_whose_answer_is_lost_is_repeated_as_the_same_transaction(
    api: DynamoDbApi, talk: Conversation, lost: Step
) -> None:
    api.script(lost)
    talk.append("second", key=key("k", 2))
    assert contents(talk) == ["first", "second"]
    first, *again = (call.body for call in api.calls if call.operation == "TransactWriteItems")
    assert again
    assert all(each == first for each in again)  # on a busy machine one more may be too late
    assert first["ClientRequestToken"]


def test_every_commit_has_a_token_of_its_own(api: DynamoDbApi, talk: Conversation) -> None:
    talk.append()
    talk.append()
    tokens = [call.body["ClientRequestToken"] for call in api.calls]
    assert len(set(tokens)) == 2


@pytest.mark.usefixtures("impatient")
def test_a_store_that_never_answers_is_unavailable(api: DynamoDbApi, talk: Conversation) -> None:
    api.script(*[Step(delay=PATIENCE + 0.3)] * ATTEMPTS)
    with pytest.raises(Unavailable):
        talk.sessions.open(talk.scope)


def test_a_store_that_is_not_there_is_unavailable(
    scope: SessionScope, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "botocore.retries.standard.ExponentialBackoff.delay_amount", lambda self, context: 0.01
    )
    store = DynamoDbSessions("sessions-nowhere", endpoint=f"http://127.0.0.1:{free_port}")
    with pytest.raises(Unavailable):
        store.open(scope)


def test_warming_connects_ahead_and_never_stands_in_the_way(
    api: DynamoDbApi, sessions: DynamoDbSessions
) -> None:
    api.script(*[BROKEN] * ATTEMPTS)
    sessions.warm()
    assert [call.operation for call in api.calls] == ["GetItem"] * ATTEMPTS


def test_a_table_that_is_not_there_is_unavailable(
    scope: SessionScope, dynoxide_endpoint: str
) -> None:
    with pytest.raises(Unavailable):
        DynamoDbSessions("sessions-unknown", endpoint=dynoxide_endpoint).open(scope)


def test_no_read_ever_takes_a_fault_for_nothing(
    api: DynamoDbApi, talk: Conversation, jobs: DynamoDbJobs
) -> None:
    sessions, scope = talk.sessions, talk.scope
    reads: list[Any] = [
        lambda: sessions.open(scope),
        lambda: sessions.open(scope, settings=True, key="k"),
        lambda: list(sessions.messages(scope, first=1, last=9)),
        lambda: sessions.messages_at(scope, [1]),
        lambda: sessions.compaction(scope, 1),
        lambda: sessions.compactions(scope, first=1, last=9),
        lambda: sessions.listed(scope.owner, user="sarah", limit=5),
        lambda: sessions.remove(scope, first=1, last=9, whole=True),
        lambda: sessions.reschedule(scope, settings(), due_at=None),
        lambda: jobs.get(scope.owner, "job_1"),
        lambda: list(jobs.due(now=NOW, limit=5)),
        lambda: jobs.start(job(scope).begun(now=NOW)),
        lambda: jobs.settle(job(scope), due_at=None),
        lambda: jobs.finish(job(scope)),
    ]
    for read in reads:
        api.script(*[BROKEN] * ATTEMPTS)
        with pytest.raises(Unavailable):
            read()
        assert api.left == 0
    assert contents(talk) == ["first"]


def test_no_list_of_a_tenant_takes_a_fault_for_nothing(
    api: DynamoDbApi, talk: Conversation
) -> None:
    api.script(*[BROKEN] * ATTEMPTS * BUCKETS)
    with pytest.raises(Unavailable):
        talk.sessions.listed(talk.scope.owner, user=None, limit=5)
    assert api.left == 0


def test_a_list_of_a_tenant_is_unavailable_where_one_of_its_partitions_is(
    api: DynamoDbApi, talk: Conversation
) -> None:
    for bucket in buckets_of(talk.scope.owner, among=SESSIONS):
        api.fail(_queries_of(bucket))
        with pytest.raises(Unavailable):
            talk.sessions.listed(talk.scope.owner, user=None, limit=5)


def _queries_of(bucket: str) -> Callable[[Call], bool]:
    return lambda call: bool(call.body["ExpressionAttributeValues"][":bucket"] == {"S": bucket})


def test_tenants_are_never_taken_for_unknown_when_the_store_fails(
    api: DynamoDbApi, dynoxide_endpoint: str
) -> None:
    tenants = DynamoDbTenants(tenants_table(dynoxide_endpoint), endpoint=api.endpoint)
    reads: list[Any] = [lambda: tenants.api_key("ab"), lambda: tenants.settings(Scope("acme"))]
    for read in reads:
        api.script(*[BROKEN] * ATTEMPTS)
        with pytest.raises(Unavailable):
            read()


def test_a_single_write_that_meets_a_transaction_is_done_after_it(
    api: DynamoDbApi, talk: Conversation, jobs: DynamoDbJobs
) -> None:
    made = job(talk.scope)
    talk.append(jobs=(made,))
    api.script(CONFLICT, CONFLICT)
    jobs.finish(replace(made, state="done", due_at=None))
    api.script(CONFLICT)
    talk.sessions.reschedule(talk.scope, settings(), due_at=NOW)
    assert jobs.get(talk.scope.owner, made.id) == replace(made, state="done", due_at=None)
    assert [due.session_id for due in jobs.due(now=NOW, limit=5)] == [talk.scope.session]


def test_what_a_failed_call_used_counts_once_also_where_the_answer_is_lost(
    api: DynamoDbApi, talk: Conversation, jobs: DynamoDbJobs
) -> None:
    made = job(talk.scope)
    jobs.put(made)
    api.script(Step(loses_answer=True))
    jobs.spend(made, {"model_calls": 1, "tokens_in": 40})
    stored = jobs.get(talk.scope.owner, made.id)
    assert stored is not None
    assert stored.spent == {"model_calls": 1, "tokens_in": 40}


def test_a_conflict_that_stays_is_not_taken_for_a_failed_condition(
    api: DynamoDbApi, talk: Conversation, jobs: DynamoDbJobs
) -> None:
    writes: list[Any] = [
        lambda: jobs.start(job(talk.scope).begun(now=NOW)),
        lambda: jobs.finish(job(talk.scope)),
    ]
    for write in writes:
        api.script(*[CONFLICT] * tables.BUSY_ATTEMPTS)
        with pytest.raises(Unavailable):
            write()


def test_what_a_batch_left_out_is_asked_for_again(
    api: DynamoDbApi, talk: Conversation, table: str
) -> None:
    wanted = {
        "Keys": [tables.key(talk.scope.partition, name) for name in ("head", "settings")],
        "ConsistentRead": True,
    }
    api.script(Step(answer={"Responses": {}, "UnprocessedKeys": {table: wanted}}))
    opened = talk.sessions.open(talk.scope, settings=True)
    assert opened.head == talk.head
    assert opened.settings is not None
    assert [call.operation for call in api.calls] == ["BatchGetItem"] * 2


def test_a_batch_that_is_never_read_is_unavailable_not_empty(
    api: DynamoDbApi, talk: Conversation, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "BATCH_ATTEMPTS", 2)
    wanted = {"Keys": [tables.key(talk.scope.partition, "head")], "ConsistentRead": True}
    api.script(*[Step(answer={"Responses": {table: []}, "UnprocessedKeys": {table: wanted}})] * 2)
    with pytest.raises(Unavailable):
        talk.sessions.open(talk.scope, settings=True)


def test_what_a_batch_did_not_delete_is_deleted_in_the_next(
    api: DynamoDbApi, talk: Conversation, table: str
) -> None:
    talk.append("second")
    left = [
        {"DeleteRequest": {"Key": tables.key(talk.scope.partition, f"m#{seq:012d}")}}
        for seq in (1, 2)
    ]
    api.script(FORWARDED, Step(answer={"UnprocessedItems": {table: left}}))
    assert talk.sessions.remove(talk.scope, first=1, last=2, whole=False) == 2
    assert contents(talk) == []


def test_a_removal_that_is_throttled_for_good_is_unavailable(
    api: DynamoDbApi, talk: Conversation, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "BATCH_ATTEMPTS", 2)
    left = [{"DeleteRequest": {"Key": tables.key(talk.scope.partition, "m#000000000001")}}]
    api.script(FORWARDED, *[Step(answer={"UnprocessedItems": {table: left}})] * 2)
    with pytest.raises(Unavailable):
        talk.sessions.remove(talk.scope, first=1, last=1, whole=False)
    assert contents(talk) == ["first"]


def test_a_request_that_is_refused_without_being_too_large_is_our_own_mistake(
    api: DynamoDbApi, talk: Conversation
) -> None:
    api.script(Step(code="ValidationException"))
    with pytest.raises(PalimpsestError) as told:
        talk.append()
    assert (told.value.code, told.value.retryable) == ("internal_error", False)


@pytest.mark.parametrize(
    "fault", [Step(code="ValidationException"), cancelled("None", "ValidationError")]
)
def test_a_refused_request_with_an_item_over_the_limit_is_too_large(
    api: DynamoDbApi, talk: Conversation, fault: Step
) -> None:
    api.script(fault)
    with pytest.raises(TooLarge):
        talk.append("x" * 410_000)


def test_the_engine_itself_refuses_what_is_too_large(
    dynoxide_endpoint: str, table: str, scope: SessionScope
) -> None:
    talk = Conversation(DynamoDbSessions(table, endpoint=dynoxide_endpoint), scope)
    talk.begin()
    head = talk.append("first")
    after = replace(head, version=head.version + 1, seq=head.seq + 14)
    batches = [
        (message(2, "\u00e9" * 205_000),),
        tuple(message(seq, "x" * 300_000) for seq in range(2, 16)),
    ]
    for messages in batches:
        with pytest.raises(TooLarge):
            talk.commit(after, messages=messages)
    assert contents(talk) == ["first"]
