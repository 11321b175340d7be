from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.conversations.message import Message
from palimpsest.conversations.session import Commit, Head
from palimpsest.engines.dynamodb.sessions import items
from palimpsest.engines.dynamodb.sessions.commits import actions_of
from palimpsest.engines.places import COUNTERS, TOMBSTONE_SECONDS
from palimpsest.jobs.job import Job, on_user
from palimpsest.jobs.payloads import DamagedPayload, NewerPayload, Payload
from palimpsest.memory.removal.payloads import ForgetPayload
from palimpsest.scope import Scope

SCOPE = Scope("acme").session("3b241101-e2bb-4255-8caf-4136c566a962")
HEAD = Head(
    user="sarah",
    version=4,
    seq=9,
    window_tokens=50,
    window_messages=5,
    job="job_1",
    updated_at=1_000_999,
)
INTS = st.integers(0, 10**12)
HEADS = st.builds(
    Head,
    user=st.text(min_size=1),
    agent=st.none() | st.text(),
    version=INTS,
    base=INTS,
    seq=INTS,
    last_id=st.text(),
    status=st.sampled_from(["active", "ended", "deleted"]),
    open_calls=st.binary(max_size=40),
    window_start=INTS,
    window_tokens=st.integers(-5, 10**9),
    summary=INTS,
    job=st.none() | st.text(min_size=1),
    expires_at=st.none() | INTS,
    compaction=st.sampled_from(["none", "pending", "failed"]),
    withdrawn=st.lists(st.tuples(INTS, INTS)).map(tuple),
)


def size(item: Any) -> int:
    """An item's size as DynamoDB counts it: names and values in UTF-8, numbers by their digits."""
    return sum(len(name) + _value_size(*next(iter(value.items()))) for name, value in item.items())


def _value_size(kind: str, value: Any) -> int:
    if kind == "N":
        return math.ceil(len(str(value).strip("-0")) / 2) + 1
    return len(value if isinstance(value, bytes) else value.encode())


def update_of(before: Head | None, after: Head, **more: Any) -> dict[str, Any]:
    head, *_ = actions_of("table", SCOPE, Commit(before=before, after=after, **more))
    update: dict[str, Any] = head["Update"]
    return update


@given(head=HEADS)
def test_a_head_is_read_from_what_is_kept_of_it(head: Head) -> None:
    kept = {
        field.name: items.head_value(field.name, getattr(head, field.name))
        for field in fields(Head)
    }
    assert items.head_of({name: value for name, value in kept.items() if value is not None}) == head


def test_an_unknown_attribute_of_a_head_is_passed_over() -> None:
    item = {"user": {"S": "sarah"}, "pk": {"S": "acme#x"}, "of_a_later_release": {"M": {}}}
    assert items.head_of(item) == Head(user="sarah")


def test_an_update_names_only_what_differs() -> None:
    update = update_of(HEAD, replace(HEAD, version=5, seq=10, job=None))
    assert update["UpdateExpression"] == "SET #version=:version,#seq=:seq REMOVE #job"
    assert update["ConditionExpression"] == "#version IN (:version_0)"
    assert update["ExpressionAttributeValues"] == {
        ":version": {"N": "5"},
        ":seq": {"N": "10"},
        ":version_0": {"N": "4"},
    }


def test_under_the_windows_guard_counters_are_added_to_and_the_rest_is_set() -> None:
    after = replace(
        HEAD, version=5, window_tokens=20, window_messages=2, window_start=4, summary=3, job=None
    )
    update = update_of(HEAD, after, guard="window")
    assert update["UpdateExpression"] == (
        "SET #window_start=:window_start,#summary=:summary REMOVE #job "
        "ADD #version :version,#window_tokens :window_tokens,#window_messages :window_messages"
    )
    assert update["ExpressionAttributeValues"][":window_tokens"] == {"N": "-30"}
    assert (
        update["ConditionExpression"] == "#job IN (:job_0) AND #window_start IN (:window_start_0)"
    )


def test_only_numbers_that_are_never_absent_for_good_are_counters() -> None:
    defaults = {field.name: field.default for field in fields(Head)}
    assert {name: defaults[name] for name in COUNTERS} == dict.fromkeys(COUNTERS, 0)


def test_a_first_head_must_be_the_first() -> None:
    assert update_of(None, HEAD)["ConditionExpression"] == "attribute_not_exists(#pk)"


def test_a_tombstone_goes_a_day_after_its_thirty_and_a_new_life_keeps_it() -> None:
    grave = replace(HEAD, status="deleted", version=5)
    buried = update_of(HEAD, grave)
    assert buried["ExpressionAttributeValues"][":ttl"] == {"N": str(1_000 + TOMBSTONE_SECONDS)}
    assert TOMBSTONE_SECONDS == 31 * 86_400
    risen = update_of(grave, replace(grave, status="active", version=6))
    assert risen["UpdateExpression"] == "SET #version=:version REMOVE #status,#ttl"
    assert "ttl" not in update_of(HEAD, replace(HEAD, version=5))["UpdateExpression"]


@pytest.mark.parametrize(
    ("tenant", "session", "content"), [("acme", "s" * 36, 720), ("t" * 128, "s" * 128, 550)]
)
def test_a_message_of_usual_size_fits_a_kilobyte(tenant: str, session: str, content: int) -> None:
    message = Message(
        seq=1_234_567, id="f" * 32, turn=456_789, tokens=12_345, encoding="o200k_base",
        created_at="2026-01-01T00:00:00.000Z", chat={"role": "assistant", "content": "x" * content},
    )  # fmt: skip
    scope = Scope(tenant).session(session)
    _, put = actions_of(
        "table", scope, Commit(before=HEAD, after=replace(HEAD, version=5), messages=(message,))
    )
    assert size(put["Put"]["Item"]) <= 1024


@given(text=st.text(st.characters(codec="utf-8")))
def test_a_body_holds_text_as_it_is(text: str) -> None:
    kept = items.body(text=text, nothing=None, empty={})
    assert items.values_of(kept) == {"text": text}
    assert len(kept["S"].encode()) <= len(text.encode()) * 6 + 11


def test_text_beyond_ascii_takes_its_own_bytes_and_no_escapes() -> None:
    assert items.body(text="é😀")["S"] == '{"text":"é😀"}'


def forgetting() -> Job:
    return on_user(
        SCOPE.owner.user("sarah"),
        kind="forget",
        epoch=1,
        payload=ForgetPayload(session="s"),
        now=100,
    )


def test_a_job_is_read_back_with_its_payload() -> None:
    assert items.job_of(items.job_attributes(forgetting())) == forgetting()


@pytest.mark.parametrize(
    ("spoil", "payload"),
    [({"kind": "transcribe"}, NewerPayload()), ({"work": ('"s"', '{"x":1}')}, DamagedPayload())],
)
def test_a_job_whose_payload_makes_no_sense_can_be_looked_at(
    spoil: dict[str, Any], payload: Payload
) -> None:
    item = items.job_attributes(forgetting())
    if "kind" in spoil:
        item["kind"] = items.text(spoil["kind"])
    else:
        item["work"] = items.text(item["work"]["S"].replace(*spoil["work"]))
    found = items.job_of(item)
    assert (found.id, found.user, found.state, found.payload) == (
        forgetting().id,
        "sarah",
        "pending",
        payload,
    )
