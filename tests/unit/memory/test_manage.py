from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from palimpsest.errors import CommitLost, Conflict, NotFound
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.manage import RecordChange
from palimpsest.memory.statements import Statement
from palimpsest.scope import Scope

from tests.contract.memory_builders import job
from tests.service import DAY, SARAH, TENANT
from tests.unit.memory.service import MemoryService, fact, message


@pytest.fixture
def service() -> MemoryService:
    return MemoryService()


@pytest.fixture
def worked_at(service: MemoryService) -> dict[str, str]:
    """Ids by company: A, then B, then C, each said a day after the one before."""
    ids = {}
    for number, company in enumerate("ABC", 1):
        ids[company] = service.say(f"works at {company}", source=message(number)).record.id
        service.time.advance(DAY)
    return ids


def missing(service: MemoryService, record_id: str) -> bool:
    with pytest.raises(NotFound) as refused:
        service.manage.read(SARAH, record_id)
    return refused.value.code == "memory_not_found"


# Reading


def test_an_old_id_still_answers_with_its_place(
    service: MemoryService, worked_at: dict[str, str]
) -> None:
    version = service.manage.read(SARAH, worked_at["B"])
    assert (version.record.content, version.number, version.is_current) == ("works at B", 2, False)
    assert (version.supersedes, version.superseded_by) == (worked_at["A"], worked_at["C"])
    assert version.valid_to == service.manage.read(SARAH, worked_at["C"]).record.valid_from


def test_a_record_without_a_topic_is_its_only_version(service: MemoryService) -> None:
    one = service.say("likes tea", topic=None)
    assert service.history(one.record) == [(1, "likes tea", True)]


def test_the_history_is_the_same_from_every_version(
    service: MemoryService, worked_at: dict[str, str]
) -> None:
    chains = [service.manage.history(SARAH, record_id) for record_id in worked_at.values()]
    assert [version.record.content for version in chains[0]] == [
        "works at C",
        "works at B",
        "works at A",
    ]
    assert chains[0] == chains[1] == chains[2]


def test_a_foreign_users_record_is_not_found(
    service: MemoryService, worked_at: dict[str, str]
) -> None:
    manage = service.manage
    for scope in (TENANT.user("ana"), Scope("other").user("sarah")):
        for call in (manage.read, manage.history, manage.delete, manage.revert):
            with pytest.raises(NotFound):
                call(scope, worked_at["C"])
        with pytest.raises(NotFound):
            manage.patch(scope, worked_at["C"], RecordChange(importance=0.9))
        assert manage.listed(scope, where=MemoryFilter(), limit=9) == ((), None)
    assert service.current() == ["works at C"]


# Lists


def test_only_current_records_are_listed_and_counted(
    service: MemoryService, worked_at: dict[str, str]
) -> None:
    service.remember(
        SARAH,
        [Statement("event", "moved"), Statement("task", "call Bob"), fact("likes tea", topic=None)],
    )
    assert sorted(service.current()) == ["call Bob", "likes tea", "moved", "works at C"]
    assert service.manage.counts(SARAH) == {
        "fact": 2,
        "event": 1,
        "instruction": 0,
        "task": 1,
        "preference": 0,
    }


def test_everything_is_counted_over_many_pages(service: MemoryService) -> None:
    for start in range(0, 240, 30):
        service.remember(
            SARAH, [fact(f"likes {start + number}", topic=None) for number in range(30)]
        )
    assert service.manage.counts(SARAH)["fact"] == 240
    assert len(service.manage.matching(SARAH, MemoryFilter(types=frozenset({"fact"})))) == 240


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({}, {"tea", "run", "call", "brief"}),
        ({"types": frozenset({"event", "task"})}, {"run", "call"}),
        ({"min_importance": 0.8}, {"tea", "brief"}),
        ({"created_after": 2_000}, {"call", "brief"}),
        ({"created_before": 1_000}, {"tea", "run"}),
        ({"created_after": 1_000, "created_before": 2_000}, {"run", "call"}),
        ({"subject": "Sarah"}, {"tea"}),
        ({"session": "talk"}, {"run", "call"}),
        ({"agent": "hr"}, {"call"}),
        ({"metadata": {"a": 1}}, {"tea", "run"}),
        ({"metadata": {"a": 1, "b": 2}}, {"run"}),
        ({"max_importance": 0.5}, {"run", "call"}),
        ({"max_confidence": 0.4}, {"call"}),
        ({"min_confidence": 0.5}, {"tea", "run", "brief"}),
        ({"topic": "style"}, {"brief"}),
        ({"session": "talk", "min_importance": 0.8}, set()),
    ],
)
def test_a_list_may_be_limited(where: dict[str, Any], found: set[str]) -> None:
    service = MemoryService()
    begin = service.now
    told = [
        fact("tea", topic=None, importance=0.9, subject="Sarah", metadata={"a": 1}),
        Statement("event", "run", source=message(1), metadata={"a": 1, "b": [2]}),
        Statement("task", "call", source=message(2), agent="hr", confidence=0.4),
        Statement("instruction", "brief", importance=0.8, topic="Style"),
    ]
    for statement in told:
        service.remember(SARAH, [statement])
        service.time.advance(1)
    limits = {
        name: begin + value if name.startswith("created") else value
        for name, value in where.items()
    }
    assert set(service.current(**limits)) == found
    assert len(service.manage.matching(SARAH, MemoryFilter(**limits))) == len(found)


def test_pages_join_to_the_whole_list(service: MemoryService) -> None:
    for number in range(7):
        service.say(f"likes {number}", topic=None)
        service.say(f"works at {number}")
        service.time.advance(1)
    found: list[str] = []
    after = None
    for _ in range(5):
        page, after = service.manage.listed(
            SARAH, where=MemoryFilter(), limit=3, after=after, newest_first=False
        )
        found += [record.content for record in page]
    assert (found, after) == ([*(f"likes {number}" for number in range(7)), "works at 6"], None)


# Changing


def test_new_content_supersedes_and_keeps_the_rest(service: MemoryService) -> None:
    first = service.say(
        "works at A",
        subject="Sarah",
        importance=0.8,
        keywords=("A",),
        source=message(1),
        agent="hr",
    ).record
    newer = service.manage.patch(
        SARAH, first.id, RecordChange(content="works at B", metadata={"by": "user"})
    )
    assert newer.id != first.id
    assert (newer.subject, newer.importance, newer.agent, newer.metadata) == (
        "Sarah",
        0.8,
        "hr",
        {"by": "user"},
    )
    assert (newer.keywords, newer.source.quote, newer.source.session) == ((), None, "talk")
    assert service.memories.records(SARAH, [newer.id]) == (newer,)
    assert service.history(newer) == [(2, "works at B", True), (1, "works at A", False)]
    (old,) = service.memories.records(SARAH, [first.id])
    assert (old.metadata, old.index_state) == ({}, "pending")


def test_keywords_given_with_new_content_are_its_own(service: MemoryService) -> None:
    first = service.say("works at A", keywords=("A",)).record
    newer = service.manage.patch(
        SARAH, first.id, RecordChange(content="works at B", keywords=("B",))
    )
    assert newer.keywords == ("B",)


def test_other_fields_change_in_place_and_keep_what_is_not_said(service: MemoryService) -> None:
    first = service.say(
        "works at A", subject="Sarah", keywords=("A",), metadata={"a": 1}, source=message(1)
    ).record
    service.memories.mark_indexed(SARAH, first)
    changed = service.manage.patch(SARAH, first.id, RecordChange(importance=0.9, metadata={"b": 2}))
    expected = replace(first, importance=0.9, metadata={"b": 2}, version=first.version + 1)
    assert changed == expected
    assert service.memories.records(SARAH, [first.id]) == (expected,)
    assert service.history(first) == [(1, "works at A", True)]


def test_the_same_content_is_no_new_version(service: MemoryService) -> None:
    first = service.say("works at A").record
    assert service.manage.patch(SARAH, first.id, RecordChange(content="works at A")).id == first.id


def test_a_record_without_a_topic_gets_a_history_by_its_first_edit(service: MemoryService) -> None:
    first = service.say("likes tea", topic=None, importance=0.6).record
    second = service.manage.patch(
        SARAH, first.id, RecordChange(content="likes coffee", importance=0.9)
    )
    third = service.manage.patch(SARAH, second.id, RecordChange(content="likes milk"))
    assert service.history(first) == [
        (3, "likes milk", True),
        (2, "likes coffee", False),
        (1, "likes tea", False),
    ]
    assert service.current() == ["likes milk"]
    importances = [version.record.importance for version in service.manage.history(SARAH, third.id)]
    assert importances == [0.9, 0.9, 0.6]


def test_only_the_current_version_can_be_changed(
    service: MemoryService, worked_at: dict[str, str]
) -> None:
    for change in (RecordChange(content="x"), RecordChange(importance=0.1)):
        with pytest.raises(Conflict) as refused:
            service.manage.patch(SARAH, worked_at["A"], change)
        assert refused.value.code == "not_current"


def test_a_change_that_is_repeated_returns_the_version_that_it_made(service: MemoryService) -> None:
    first = service.say("works at A").record
    change = RecordChange(
        content="works at B", importance=0.9, metadata={"by": "user"}, keywords=("B",), data=None
    )
    second = service.manage.patch(SARAH, first.id, change)
    assert service.manage.patch(SARAH, first.id, change) == second
    assert service.history(first) == [(2, "works at B", True), (1, "works at A", False)]
    third = service.manage.patch(SARAH, second.id, RecordChange(content="works at C"))
    for late in (change, RecordChange(content="works at C"), replace(change, importance=0.5)):
        with pytest.raises(Conflict):
            service.manage.patch(SARAH, first.id, late)
    service.manage.delete(SARAH, third.id)
    for each in (first, second):
        with pytest.raises(Conflict):
            service.manage.patch(SARAH, each.id, change)


def test_a_change_after_another_writers_is_decided_anew() -> None:
    rivals = ["works at Z"]

    def rival(step: str) -> None:
        if step == "before commit memories" and armed and rivals:
            service.say(rivals.pop())

    armed = False
    service = MemoryService(faults=rival)
    first = service.say("works at A").record
    armed = True
    with pytest.raises(Conflict):
        service.manage.patch(SARAH, first.id, RecordChange(content="works at B"))
    assert service.current() == ["works at Z"]


def test_a_version_that_is_reverted_to_is_current_again_as_a_new_one(
    service: MemoryService, worked_at: dict[str, str]
) -> None:
    again = service.manage.revert(SARAH, worked_at["A"])
    assert again.id not in worked_at.values()
    assert (again.content, again.source) == ("works at A", message(1))
    assert service.current() == ["works at A"]
    assert [(number, content) for number, content, _ in service.history(again)] == [
        (4, "works at A"), (3, "works at C"), (2, "works at B"), (1, "works at A"),
    ]  # fmt: skip


def test_the_current_version_is_not_reverted_to(
    service: MemoryService, worked_at: dict[str, str]
) -> None:
    with pytest.raises(Conflict) as refused:
        service.manage.revert(SARAH, worked_at["C"])
    assert refused.value.code == "is_current"


def test_a_reverted_version_tells_the_index_of_what_it_displaced(
    service: MemoryService, worked_at: dict[str, str]
) -> None:
    (displaced,) = service.memories.records(SARAH, [worked_at["C"]])
    service.memories.mark_indexed(SARAH, displaced)
    service.manage.revert(SARAH, worked_at["A"])
    assert service.memories.records(SARAH, [worked_at["C"]])[0].index_state == "pending"


# Deleting


def test_deleting_the_current_version_retracts_the_topic(
    service: MemoryService, worked_at: dict[str, str]
) -> None:
    service.manage.delete(SARAH, worked_at["C"])
    assert missing(service, worked_at["C"])
    assert service.current() == []
    assert service.manage.counts(SARAH)["fact"] == 0
    assert [
        is_current
        for *_, is_current in service.history(service.manage.read(SARAH, worked_at["B"]).record)
    ] == [False, False]


def test_a_late_older_statement_does_not_revive_a_retracted_topic(
    service: MemoryService, worked_at: dict[str, str]
) -> None:
    service.manage.delete(SARAH, worked_at["C"])
    late = service.say("works at Q", valid_from=service.now - 5 * DAY * 1000)
    assert late.outcome == "created"
    assert service.current() == []


def test_a_retracted_topic_can_be_reverted_to_and_spoken_of_again(
    service: MemoryService, worked_at: dict[str, str]
) -> None:
    service.manage.delete(SARAH, worked_at["C"])
    service.manage.revert(SARAH, worked_at["B"])
    assert service.current() == ["works at B"]
    made = service.say("works at D")
    assert (made.outcome, made.displaced and made.displaced.content) == ("created", "works at B")


def test_deleting_an_old_version_leaves_the_others_and_their_numbers_close_up(
    service: MemoryService, worked_at: dict[str, str]
) -> None:
    service.manage.delete(SARAH, worked_at["B"])
    assert missing(service, worked_at["B"])
    assert service.history(service.manage.read(SARAH, worked_at["A"]).record) == [
        (2, "works at C", True), (1, "works at A", False),
    ]  # fmt: skip


def test_deleting_what_was_said_several_times_leaves_nothing_of_it(service: MemoryService) -> None:
    for at, company in ((1, "Acme"), (5, "Acme"), (3, "Bolt"), (9, "Acme")):
        service.say(f"works at {company}", valid_from=at)
    current = service.memories.pointers(SARAH, ["employer"])["employer"].record
    service.manage.delete(SARAH, str(current))
    assert [record.content for record in service.memories.versions(SARAH, "employer")] == [
        "works at Bolt"
    ]
    assert service.current() == []


def test_a_deletion_that_meets_a_new_statement_does_not_retract_it() -> None:
    rivals = ["works at Z"]

    def rival(step: str) -> None:
        if step == "before commit memories" and armed and rivals:
            service.say(rivals.pop())

    armed = False
    service = MemoryService(faults=rival)
    first = service.say("works at A").record
    armed = True
    service.manage.delete(SARAH, first.id)
    assert missing(service, first.id)
    assert service.current() == ["works at Z"]


def test_deleting_twice_is_not_found(service: MemoryService, worked_at: dict[str, str]) -> None:
    service.manage.delete(SARAH, worked_at["A"])
    with pytest.raises(NotFound):
        service.manage.delete(SARAH, worked_at["A"])


def test_a_deleted_record_said_again_can_be_edited_and_deleted_again(
    service: MemoryService,
) -> None:
    for _ in range(2):
        first = service.say("likes tea", topic=None)
        assert first.outcome == "created"
        newer = service.manage.patch(SARAH, first.record.id, RecordChange(content="likes coffee"))
        service.manage.delete(SARAH, newer.id)
        service.manage.delete(SARAH, first.record.id)
        assert service.current() == []


# Expiry


def test_what_has_expired_is_neither_read_nor_listed_nor_counted(service: MemoryService) -> None:
    service.keep_for(10)
    one = service.say("likes tea", topic=None).record
    service.time.advance(10 * DAY - 1)
    assert service.manage.read(SARAH, one.id).record == one
    service.time.advance(1)
    assert missing(service, one.id)
    assert service.current() == []
    assert service.manage.counts(SARAH)["fact"] == 0
    assert service.manage.matching(SARAH, MemoryFilter()) == ()


def test_the_versions_of_a_topic_expire_together(service: MemoryService) -> None:
    service.keep_for(10)
    first = service.say("works at A").record
    service.time.advance(6 * DAY)
    second = service.say("works at B").record
    service.time.advance(6 * DAY)
    assert service.manage.read(SARAH, first.id).number == 1
    service.time.advance(4 * DAY)
    assert missing(service, first.id)
    assert missing(service, second.id)


def test_what_is_edited_is_kept_from_then_on(service: MemoryService) -> None:
    service.keep_for(10)
    tea = service.say("likes tea", topic=None).record
    work = service.say("works at A").record
    service.time.advance(9 * DAY)
    service.manage.patch(SARAH, tea.id, RecordChange(content="likes coffee"))
    service.manage.patch(SARAH, work.id, RecordChange(importance=0.9))
    service.time.advance(9 * DAY)
    assert sorted(service.current()) == ["likes coffee", "works at A"]


# Erasure


def test_nothing_of_an_erased_user_is_found(
    service: MemoryService, worked_at: dict[str, str]
) -> None:
    service.memories.erase(SARAH, epoch=0, job=job(SARAH))
    assert all(missing(service, record_id) for record_id in worked_at.values())
    assert service.current() == []
    assert service.memories.wipe(SARAH, below_epoch=1) > 0


def test_a_change_decided_before_an_erasure_brings_nothing_into_the_new_epoch() -> None:
    armed = False

    def eraser(step: str) -> None:
        nonlocal armed
        if step == "before commit memories" and armed:
            armed = False
            here.memories.erase(SARAH, epoch=0, job=job(SARAH))

    here = MemoryService(faults=eraser)
    first = here.say("works at A").record
    armed = True
    with pytest.raises(NotFound):
        here.manage.patch(SARAH, first.id, RecordChange(content="works at B"))
    assert here.memories.listed(SARAH, limit=9).records == ()


def test_a_lost_commit_is_not_told_to_the_caller() -> None:
    lost = 3

    def crowd(step: str) -> None:
        nonlocal lost
        if step == "before commit memories" and lost:
            lost -= 1
            raise CommitLost("Another writer changed this first; nothing was written.")

    service = MemoryService(faults=crowd)
    assert service.say("works at A").outcome == "created"
    assert (lost, service.current()) == (0, ["works at A"])
