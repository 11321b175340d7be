"""Recall finds what answers, shows what is true now, and says what it had to do without."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from palimpsest.conversations.session import Commit
from palimpsest.errors import ModelUnavailable, NotFound, Unavailable, Unprocessable
from palimpsest.memory.filters import MemoryFilter
from palimpsest.recall import find as recall_search
from palimpsest.recall.answerable import learned_weights
from palimpsest.recall.question import RecallRequest
from palimpsest.recall.recall import Recall
from palimpsest.recall.search import FindSessions
from palimpsest.scope import UserScope
from palimpsest.search.ports import Hit

from tests.service import DAVID, DAY, SARAH, TENANT
from tests.unit.recall.service import RecallService, Words


@pytest.fixture
def service(tmp_path: Path) -> RecallService:
    return RecallService(tmp_path)


def only(*types: Any, **more: Any) -> MemoryFilter:
    return MemoryFilter(types=frozenset(types), **more) if types else MemoryFilter(**more)


# What is found


def test_a_record_is_found_by_words_by_meaning_and_by_its_topic(service: RecallService) -> None:
    record = service.keep("The manager is Dana Reyes", topic="manager")
    service.keep("Likes tea in the morning")
    service.index_all()
    (best, *_) = service.recall("Who is Sarah's manager?").memories
    assert (best.id, best.type, best.content) == (record.id, "fact", "The manager is Dana Reyes")
    assert best.found_by == ("keyword", "topic_key", "vector")
    assert 0 < best.score <= 1


def test_other_words_find_it_by_its_meaning(service: RecallService) -> None:
    service.keep("Dana is the manager")
    service.keep("The garden needs water")
    service.index_all()
    (best, *_) = service.recall("Who is the boss?").memories
    assert best.content == "Dana is the manager"
    assert best.found_by == ("vector",)


def test_a_message_comes_back_as_it_was_said_with_its_own_number(service: RecallService) -> None:
    _, said = service.say("hello there", "My bicycle is red")
    service.index_all()
    (best, *_) = service.recall("Which colour has the bicycle?").memories
    assert (best.type, best.content, best.speaker) == ("message", "My bicycle is red", "user")
    assert (best.source.session, best.source.message_ids, best.source.seqs) == (
        "talk",
        (said.id,),
        (2,),
    )
    assert best.id == said.id


def test_a_record_gains_by_the_message_that_it_was_taken_from(service: RecallService) -> None:
    (said,) = service.say("The laptop has a warranty, my manager says.")
    other = service.keep("The manager likes tea")
    taken = service.keep("The manager likes cake", messages=[said])
    service.index_all()
    found = service.recall("Which warranty does the manager give for the laptop?").memories
    scores = {one.id: one.score for one in found}
    assert scores[taken.id] > scores[other.id] > 0


def test_what_was_said_a_moment_ago_is_found_before_it_is_indexed(service: RecallService) -> None:
    service.say("My bicycle is red")
    record = service.keep("The bicycle stands in the cellar")
    found = service.recall("Where is the red bicycle?").memories
    assert {one.type for one in found} == {"message", "fact"}
    assert all(one.found_by == ("newest",) for one in found)
    assert record.id in {one.id for one in found}


def test_what_the_index_confirms_while_it_is_searched_is_found(
    service: RecallService, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = service.keep("Sarah works in Marketing.")
    searched = threading.Event()
    listed = type(service.memories).listed

    def searches_too_early(*_: Any, **__: Any) -> tuple[Hit, ...]:
        searched.set()
        return ()

    def lists_too_late(*given: Any, **more: Any) -> Any:
        assert searched.wait(30)
        service.index_all()
        assert service.memories.records(SARAH, [record.id])[0].index_state == "done"
        return listed(*given, **more)

    for search in ("by_words", "by_vector"):
        monkeypatch.setattr(type(service.index), search, searches_too_early)
    monkeypatch.setattr(type(service.memories), "listed", lists_too_late)
    assert service.found("Where does Sarah work?", where=only("fact")) == [record.content]


def test_tasks_are_found_and_those_of_ended_sessions_come_last(service: RecallService) -> None:
    said = service.say("please book the flight")
    service.keep("book the flight to Porto", type="task", messages=said)
    service.keep("The flight to Porto is on Friday", type="event")
    service.index_all()
    (best, *rest) = service.recall(
        "What about the flight to Porto?", where=only("task", "event")
    ).memories
    assert {best.type, *(one.type for one in rest)} == {"task", "event"}
    service.change_head(status="ended")
    assert [
        memory.type
        for memory in service.recall("Is the flight to book?", where=only("task", "event")).memories
    ] == ["event", "task"]


def test_a_task_of_an_ended_session_is_found_in_its_own_words(service: RecallService) -> None:
    said = service.say("remind me to send the slides to Priya before Thursday")
    service.keep("Send the slides to Priya before Thursday", type="task", messages=said)
    service.change_head(status="ended")
    for number in range(9):
        service.say(
            f"The slides of the workshop {number} were sent",
            "See you on Thursday",
            session=f"noise{number}",
        )
    service.index_all()
    for question in (
        "Which slides did I have to send to Priya?",
        "send the slides to Priya before Thursday",
    ):
        assert "task" in [memory.type for memory in service.recall(question).memories], question


def test_a_time_in_the_question_brings_what_was_said_then(service: RecallService) -> None:
    service.say("The race was hard", session="january")
    service.index_all()
    service.time.advance(40 * DAY)
    for number in range(60):
        service.say("The race was hard indeed", session=f"later{number}")
    service.index_all()
    assert (
        service.recall("How was the race in January 2026?").memories[0].source.session == "january"
    )
    assert service.recall("How was the race?").memories[0].source.session != "january"


@pytest.mark.parametrize(
    "question", ["What did I do on 1 November?", "What happened on November 1st?"]
)
def test_a_question_for_a_day_alone_brings_first_what_was_on_that_day(
    service: RecallService, question: str
) -> None:
    days = {
        "carved pumpkins": 31,
        "hiked up a mountain": 32,
        "had brunch at a bakery": 33,
        "did the taxes": 50,
    }
    for content, days_ago in {
        content: 93 - day for content, day in days.items()
    }.items():  # from 2026-01-01
        service.keep(content, type="event", valid_from=service.now - days_ago * DAY * 1000)
    service.keep("What shall I do on 1 December?")
    service.index_all()
    found = service.found(question)
    assert found[0] == "hiked up a mountain"
    assert set(found[1:3]) == {
        "carved pumpkins",
        "had brunch at a bakery",
    }  # it may have been their day elsewhere


def test_k_and_budget_cut_the_answer(service: RecallService) -> None:
    for number in range(8):
        service.keep(f"tea number {number} is good")
    service.index_all()
    assert len(service.found("tea")) == 5
    assert len(service.found("tea", k=7)) == 7
    assert len(service.found("tea", k=7, max_tokens=12)) == 2
    assert service.found("tea", max_tokens=4) == []


def test_second_evidence_is_not_thrown_away(service: RecallService) -> None:
    service.say("I like green tea", session="one")
    service.say("I do like green tea", session="two")
    service.index_all()
    assert sorted(service.found("green tea")) == ["I do like green tea", "I like green tea"]


def test_equal_texts_come_once_with_their_number(service: RecallService) -> None:
    for session in ("one", "two", "three"):
        service.say("Green tea is what I like.", session=session)
    record = service.keep("green tea is what I like")
    service.keep("The tea shop is closed")
    service.index_all()
    same, other = service.recall("Which tea do I like?").memories
    assert (same.id, same.times) == (record.id, 4)
    assert (other.content, other.times) == ("The tea shop is closed", 1)


def test_the_question_said_again_is_no_result(service: RecallService) -> None:
    for session in ("one", "two"):
        service.say(
            "What tea do I like?",
            "And which TEA do I like?",
            "And what coffee do I like?",
            session=session,
        )
    service.say("I like green tea", session="three")
    service.index_all()
    trace = service.recall("Which tea do I like?", explain=True).trace
    assert trace is not None
    assert list(trace["dropped"].values()) == ["question"] * 4
    assert sorted(service.found("Which tea do I like?")) == [
        "And what coffee do I like?",
        "I like green tea",
    ]


def test_an_answer_that_recites_what_is_remembered_gives_its_place_to_the_records(
    service: RecallService,
) -> None:
    service.say("You live in Hamburg, and your dog is called Rex.", role="assistant")
    service.say("You live in Hamburg, and your dog Rex is eight.", role="assistant")
    service.keep("I live in Hamburg")
    service.keep("my dog is called Rex")
    service.index_all()
    found = service.found("Where do I live, and what is my dog called?")
    assert sorted(found[:2]) == ["I live in Hamburg", "my dog is called Rex"]
    assert found[2:] == ["You live in Hamburg, and your dog Rex is eight."]


# Records and the messages that they were made from


def test_a_record_that_is_a_part_of_a_found_message_is_not_shown_beside_it(
    service: RecallService,
) -> None:
    (said,) = service.say("The bicycle is red, it was a gift of my aunt, and it has a new bell.")
    service.keep("It has a new bell.", messages=[said])
    service.keep("The bicycle is red.", messages=[said], topic="bicycle")
    service.keep("Has a red bicycle, by Batavus.", messages=[said])
    service.index_all()
    found = service.found("Which bicycle has a new bell?", k=9)
    assert found.count("It has a new bell.") == 0
    assert set(found) >= {
        "The bicycle is red, it was a gift of my aunt, and it has a new bell.",
        "Has a red bicycle, by Batavus.",
    }


def test_a_message_that_is_not_found_leaves_its_record(service: RecallService) -> None:
    (said,) = service.say("The bicycle is red, it was a gift of my aunt, and it has a new bell.")
    service.keep("It has a new bell.", messages=[said])
    service.index_all()
    records = service.recall("Which bicycle has a new bell?", where=only("fact")).memories
    assert [memory.content for memory in records] == ["It has a new bell."]


# What the asking session shows already


def test_what_the_window_of_the_asking_session_holds_is_left_out(service: RecallService) -> None:
    old, new = service.say("My bicycle is red", "My bicycle has a bell")
    service.say("The bicycle is a gift", session="other")
    service.keep("Has a red bicycle", messages=[old])
    service.keep("Wants a louder bicycle bell", messages=[new])
    service.keep("The bicycle is red, and has a bell", messages=[old, new])
    everything = {
        "My bicycle is red", "My bicycle has a bell", "The bicycle is a gift", "Has a red bicycle",
        "Wants a louder bicycle bell", "The bicycle is red, and has a bell",
    }  # fmt: skip
    for _ in range(2):  # before it is indexed, and after
        assert set(service.found("bicycle", k=9)) <= everything
        assert set(service.found("bicycle", k=9, session="talk")) <= {"The bicycle is a gift"}
        service.index_all()
    assert set(service.found("bicycle", k=9)) == everything
    assert service.found("bicycle", k=9, session="talk") == ["The bicycle is a gift"]
    service.change_head(window_start=2)
    found = set(service.found("bicycle", k=9, session="talk"))
    assert found == everything - {"My bicycle has a bell", "Wants a louder bicycle bell"}


def test_what_the_user_of_the_asking_session_said_last_is_a_question_too(
    service: RecallService,
) -> None:
    service.say("So where does my brother live?", session="before")
    service.say("My brother is in Porto", session="once")
    service.say("Where does my brother live?", session="now")
    service.index_all()
    service.change_head("now", last_user_seq=1)
    found = set(service.found("location of brother"))
    assert found == {
        "My brother is in Porto",
        "So where does my brother live?",
        "Where does my brother live?",
    }
    assert service.found("location of brother", session="now") == ["My brother is in Porto"]


@pytest.mark.parametrize("session", ["unknown", "davids", "gone"])
def test_a_session_that_the_user_does_not_have_can_not_ask(
    service: RecallService, session: str
) -> None:
    service.say("hello", session="davids", user="david")
    service.say("hello", session="gone")
    service.mark_deleted("gone")
    with pytest.raises(NotFound):
        service.recall("bicycle", session=session)


# Our own tools

CALLED = {
    "id": "c1",
    "type": "function",
    "function": {"name": "mcp__memory__search_memory_tool", "arguments": "tea"},
}
OTHER = {
    "id": "c2",
    "type": "function",
    "function": {"name": "order_tea", "arguments": "green tea"},
}
OF_TOOLS: list[dict[str, Any]] = [
    {"role": "user", "content": "Some tea for us"},
    {"role": "assistant", "content": "", "tool_calls": [CALLED, OTHER]},
    {
        "role": "tool",
        "tool_call_id": "c1",
        "content": '{"found": ["[User Memory]", "- Likes green tea"]}',
    },
    {"role": "tool", "tool_call_id": "c2", "content": "The tea was ordered"},
]


@pytest.mark.parametrize("state", ["newest", "indexed", "without the index"])
def test_calls_and_results_of_our_own_tools_are_never_found(
    service: RecallService, state: str
) -> None:
    service.say(chats=OF_TOOLS)
    if state == "indexed":
        service.index_all()
        assert service.indexed() == 3
    service.index.down = state == "without the index"
    assert set(service.found("tea")) == {
        "Some tea for us",
        "order_tea green tea",
        "The tea was ordered",
    }


def test_a_message_that_a_record_quotes_in_full_is_not_told_twice(service: RecallService) -> None:
    said = service.say(
        "I like green tea", "By the way, I like green tea, and the train is late again today, sadly"
    )
    service.keep("Likes green tea", messages=said[:1], quote="I like green tea")
    service.keep("Enjoys green tea", messages=said[1:], quote="I like green tea")
    service.index_all()
    found = service.found("green tea", k=9)
    assert "I like green tea" not in found
    assert len(found) == 3


def test_of_two_records_that_quote_a_message_the_better_one_takes_its_place(
    service: RecallService,
) -> None:
    text = "I live in Kiel, where my dog Rex likes the beach"
    said = service.say(text)
    for content in ("Has a dog called Rex in Kiel", "Lives in Kiel"):
        service.keep(content, messages=said, quote=text)
    service.index_all()
    assert service.found("Who likes the beach in Kiel?") == [
        "Has a dog called Rex in Kiel",
        "Lives in Kiel",
    ]


# What is true now


def test_an_earlier_value_is_never_current_in_any_channel(service: RecallService) -> None:
    first, _, second = service.say(
        "I work at Acme", "Good to know", "Now I work at Bolt", role=("user", "assistant", "user")
    )
    service.keep("works at Acme", topic="employer", messages=[first])
    stale = list(service.pending)
    service.embed(stale)
    service.keep("works at Bolt", topic="employer", messages=[second])
    for question in (
        "Where does Sarah work?",
        "Who is the employer?",
        "work at Acme",
    ):  # the index is behind
        found = service.recall(question).memories
        assert "works at Acme" not in [one.content for one in found]
        assert found[0].content in ("works at Bolt", "Now I work at Bolt")
    service.index_all()
    found = service.recall("Where do I work?").memories
    assert found[0].content == "works at Bolt"
    (outdated,) = [one for one in found if one.content == "I work at Acme"]
    assert outdated.outdated_by == found[0].id


def test_a_message_with_earlier_values_of_two_topics_is_outdated_by_the_record_that_was_asked_for(
    service: RecallService,
) -> None:
    both, later = service.say(
        "My monthly saving is 300 and my bank is Beeline", "Now it is 250, at Copperline"
    )
    for content, said in (("300", both), ("250", later)):
        service.keep(f"monthly saving: {content}", topic="monthly saving", messages=[said])
    for content, said in (("Beeline", both), ("Copperline", later)):
        service.keep(f"bank: {content}", topic="bank", messages=[said])
    service.index_all()
    for question, current in (
        ("What is my monthly saving?", "monthly saving: 250"),
        ("My bank?", "bank: Copperline"),
    ):
        found = service.recall(question).memories
        (outdated,) = [one for one in found if one.content.startswith("My monthly")]
        assert [one.content for one in found if one.id == outdated.outdated_by] == [current]
        assert found[0].content == current


def test_of_corrections_that_arrive_in_any_order_only_the_last_one_said_is_told(
    service: RecallService,
) -> None:
    said = service.say("It is on March 3", "No, on March 10", "After all on March 17")
    for days, number in ((3, 2), (1, 0), (2, 1)):
        moment = service.now - (10 - days) * DAY * 1000
        service.keep(
            f"the party is on March {3 + 7 * number}",
            topic="party",
            messages=[said[number]],
            valid_from=moment,
        )
    for _ in range(2):  # before it is indexed, and after
        records = [
            memory
            for memory in service.recall("When is the party in March?", k=9).memories
            if memory.type == "fact"
        ]
        assert [record.content for record in records] == ["the party is on March 17"]
        service.index_all()


def test_a_question_of_the_past_may_have_the_earlier_value_first(service: RecallService) -> None:
    first, second = service.say("I worked at Acme for years", "Bolt hired me")
    service.keep("works at Acme", topic="employer", messages=[first])
    service.keep("works at Bolt", topic="employer", messages=[second])
    service.index_all()
    assert (
        service.recall("Where did I work for years before, at Acme?").memories[0].content
        == "I worked at Acme for years"
    )


def test_a_value_that_returned_is_not_outdated(service: RecallService) -> None:
    messages = service.say("Oat milk please", "Whole milk now", "Oat milk again")
    for number, content in enumerate(("milk: oat", "milk: whole", "milk: oat")):
        service.time.advance(1)
        service.keep(content, topic="milk", messages=[messages[number]])
    service.index_all()
    outdated = {
        memory.content
        for memory in service.recall("Which milk?", k=9).memories
        if memory.outdated_by
    }
    assert outdated == {"Whole milk now"}


def test_what_is_deleted_expired_or_of_a_deleted_session_is_not_shown(
    service: RecallService,
) -> None:
    service.say("tea with lemon", session="gone")
    service.say("tea with sugar", session="over")
    service.say("tea with milk", "tea with rum", session="cut")
    removed = service.keep("tea at five")
    service.keep("tea at six")
    service.index_all()
    service.mark_deleted("gone")
    service.change_head("over", expires_at=1)
    service.change_head("cut", withdrawn=((2, 2),))
    service.manage.delete(SARAH, removed.id)
    assert set(service.found("tea", k=9)) == {"tea with milk", "tea at six"}
    service.time.advance(366 * DAY)
    assert set(service.found("tea", k=9)) == {"tea with milk"}


def test_a_deleted_topic_does_not_come_back_with_its_earlier_value(service: RecallService) -> None:
    service.keep("works at Acme", topic="employer")
    new = service.keep("works at Bolt", topic="employer")
    service.embed(service.pending[:1])
    service.manage.delete(SARAH, new.id)
    assert service.found("Who is the employer, where does she work?") == []


def test_another_users_and_tenants_memories_are_not_there(service: RecallService) -> None:
    service.keep("likes green tea", scope=DAVID)
    service.say("green tea please", session="davids", user="david")
    service.index_all()
    assert service.found("green tea") == []
    assert service.found("green tea", scope=TENANT.user("nobody")) == []
    assert len(service.found("green tea", scope=DAVID)) == 2


def test_a_key_of_another_users_session_in_the_index_is_not_followed(
    service: RecallService,
) -> None:
    service.say("the secret is tea", session="davids", user="david")
    service.index_all()
    (documents,) = service.index.writes
    service.index.write(UserScope("acme", "sarah"), documents)
    recalled = service.recall("What is the secret?", explain=True)
    assert recalled.memories == ()
    assert recalled.trace is not None
    assert recalled.trace["dropped"] == {"davids/1": "foreign"}


def test_query_languages_are_text(service: RecallService) -> None:
    service.keep('likes "quotes" AND {"match_all": {}}')
    service.index_all()
    for question in (
        '* OR content:"x"',
        '{"match_all": {}}',
        "'; DROP TABLE records; --",
        "MATCH (n) RETURN n",
    ):
        assert service.recall(question).degraded == ()


# What held at a moment


def test_as_of_gives_what_held_then_and_known_at_what_was_known_then(
    service: RecallService,
) -> None:
    start = service.now
    service.keep("works at Acme", topic="employer", valid_from=start - 30 * DAY * 1000)
    service.time.advance(DAY)
    service.keep("works at Bolt", topic="employer")
    service.time.advance(DAY)
    service.keep(
        "works at Cola", topic="employer", valid_from=start - 10 * DAY * 1000
    )  # learned late
    service.index_all()
    assert service.found("Where does she work?") == ["works at Bolt"]
    assert service.found("Where does she work?", as_of=start - 20 * DAY * 1000) == ["works at Acme"]
    assert service.found("Where does she work?", as_of=start) == ["works at Cola"]
    assert service.found("Where does she work?", as_of=start, known_at=start + 1) == [
        "works at Acme"
    ]
    assert service.found("Where does she work?", known_at=start + 1) == ["works at Acme"]
    assert service.found("Where does she work?", as_of=start - 40 * DAY * 1000) == []


def test_as_of_hides_what_was_said_later(service: RecallService) -> None:
    service.say("tea is fine")
    service.keep("likes tea")
    service.index_all()
    moment = service.now
    service.time.advance(DAY)
    service.say("tea is great", session="later")
    service.keep("loves tea")
    service.index_all()
    assert set(service.found("tea", as_of=moment)) == {"tea is fine", "likes tea"}


def test_as_of_gives_nothing_of_a_topic_that_had_been_retracted(service: RecallService) -> None:
    record = service.keep("works at Acme", topic="employer")
    service.time.advance(DAY)
    newer = service.keep("works at Bolt", topic="employer")
    service.index_all()
    service.manage.delete(SARAH, newer.id)
    assert service.found("Where does she work?", as_of=newer.valid_from) == []
    assert service.found("Where does she work?", as_of=record.valid_from) == ["works at Acme"]
    assert service.found("Where does she work?") == []


# Filters


def test_filters_hold_in_the_index_and_out_of_it(service: RecallService) -> None:
    said = service.say("tea one", metadata={"channel": "web"}, agent="hr")
    service.keep(
        "tea two",
        importance=0.9,
        subject="Sarah",
        agent="hr",
        metadata={"team": "x"},
        messages=said,
    )
    service.keep("tea three", type="instruction", importance=0.3)
    service.time.advance(DAY)
    late = service.now
    service.keep("tea four", type="event")
    wanted: list[tuple[MemoryFilter, set[str]]] = [
        (only("message"), {"tea one"}),
        (only("instruction", "event"), {"tea three", "tea four"}),
        (only(min_importance=0.5), {"tea two", "tea four"}),
        (only(created_after=late), {"tea four"}),
        (only(created_before=late - 1), {"tea one", "tea two", "tea three"}),
        (only(subject="Sarah"), {"tea two"}),
        (only(session="talk"), {"tea one", "tea two"}),
        (only(agent="hr"), {"tea one", "tea two"}),
        (only(metadata={"team": "x"}), {"tea two"}),
        (only(metadata={"channel": "web"}), {"tea one"}),
        (only(metadata={"team": "y"}), set()),
    ]
    for indexed in (False, True):
        if indexed:
            service.index_all()
        for where, contents in wanted:
            assert set(service.found("tea", where=where)) == contents, (where, indexed)
    service.index.down = True
    for where, contents in wanted:
        assert set(service.found("tea", where=where)) == contents, where


# Nothing near, thresholds, trace


def test_a_question_that_nothing_answers_gives_no_answer(service: RecallService) -> None:
    service.keep("The garden needs water twice a week")
    service.say("The train leaves at nine from platform four")
    service.index_all()
    recalled = service.recall("What blood type does Sarah have?", answer=True, explain=True)
    assert (recalled.answer, recalled.citations) == ("", ())
    assert 0 < recalled.answerable < learned_weights().floor
    assert recalled.memories, "what was found is shown, however unlikely it answers"


SMALL_TALK = ("hi", "ok", "Noted.", "Thanks a lot!", "How are you?", "Great", "Have a nice day!")


def test_small_talk_never_fills_up_what_fits(service: RecallService) -> None:
    for session in range(3):
        service.say(
            *SMALL_TALK, session=f"talk{session}", role=("user", "assistant") * 3 + ("user",)
        )
    service.say("hi", "My dog is called Rex", "Noted.", role=("user", "user", "assistant"))
    service.index_all()
    recalled = service.recall("What is my dog called?", k=50, answer=True)
    assert [memory.content for memory in recalled.memories] == ["My dog is called Rex"]
    assert recalled.answer == "Sarah, 2026-01-01: My dog is called Rex"
    assert service.recall("What is my car worth?", k=50, answer=True).answer == ""


def test_a_short_answer_is_found_by_the_question_before_it(service: RecallService) -> None:
    service.say(
        "Which city do you live in?", "Hamburg.", "Great.", role=("assistant", "user", "assistant")
    )
    service.index_all()
    assert set(service.found("Which city do I live in?")) == {
        "Which city do you live in?",
        "Hamburg.",
    }


def test_the_trace_says_why_without_repeating_what_is_stored(service: RecallService) -> None:
    record = service.keep("Dana runs the whole department", topic="manager")
    gone = service.keep("The manager is on holiday")
    service.index_all()
    service.manage.delete(SARAH, gone.id)
    recalled = service.recall("Who is my manager?", explain=True)
    trace = recalled.trace
    assert trace is not None
    assert trace["dropped"] == {gone.id: "missing"}
    assert trace["query"]["topic_keys"] == ["manager"]
    (ranking,) = trace["ranking"]
    assert ranking["id"] == record.id
    assert ranking["retrievers"]["topic_key"] == 1
    assert ranking["terms"]["topic"] > 0
    assert "department" not in str(trace)
    assert service.recall("Who is my manager?").trace is None


def test_what_was_shown_is_counted_as_used(service: RecallService) -> None:
    record = service.keep("likes tea")
    service.index_all()
    service.recall("tea")
    service.recall("tea")
    assert service.memories.uses(SARAH, [record.id])[record.id][0] == 2


# What fails


def test_the_question_is_embedded_while_the_tables_are_read(
    service: RecallService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.keep("likes green tea")
    service.index_all()
    is_reading = threading.Event()
    read, embed = service.memories.listed, service.embedder.embed
    together: list[bool] = []

    def reading(*args: Any, **more: Any) -> Any:
        is_reading.set()
        return read(*args, **more)

    def embedding(texts: Sequence[str], *, as_questions: bool = False) -> Any:
        together.append(is_reading.wait(timeout=30))
        return embed(texts)

    monkeypatch.setattr(service.memories, "listed", reading)
    monkeypatch.setattr(service.embedder, "embed", embedding)
    assert service.found("green tea") == ["likes green tea"]
    assert together == [True]


def test_without_vectors_it_says_so_and_goes_on(service: RecallService) -> None:
    service.keep("likes green tea")
    service.index_all()
    service.embedder.failure = ModelUnavailable("busy")
    recalled = service.recall("green tea")
    assert [memory.content for memory in recalled.memories] == ["likes green tea"]
    assert recalled.degraded == ("vector",)


def test_while_another_models_index_is_read_it_is_searched_by_words(service: RecallService) -> None:
    service.keep("likes green tea")
    service.index_all()
    service.index.no_vectors = True
    recalled = service.recall("green tea")
    assert len(recalled.memories) == 1
    assert recalled.degraded == ("vector",)


def test_without_an_embedder_it_says_so(service: RecallService) -> None:
    service.keep("likes green tea")
    service.index_all()
    recall = Recall(
        service.memories,
        service.sessions,
        service.index,
        service.index,
        None,
        Words(),
        service.time,
    )
    recalled = recall(SARAH, RecallRequest("green tea"))
    assert len(recalled.memories) == 1
    assert recalled.degraded == ("reranker", "vector")


def test_with_the_search_engine_down_the_tables_answer(service: RecallService) -> None:
    service.keep("The manager is Dana", topic="manager")
    service.keep("likes green tea")
    service.say("hello", "The bicycle is red", session="older")
    service.time.advance(1)
    service.say("I need a new bicycle")
    service.index_all()
    service.index.down = True
    assert service.recall("Which bicycle is red?").degraded == ("search", "vector")
    assert service.found("Which bicycle is red?")[0] == "The bicycle is red"
    assert service.found("green tea") == ["likes green tea"]
    assert service.found("manager") == ["The manager is Dana"]
    assert service.found("blood type") == []


def test_a_slow_search_engine_is_not_waited_for(
    service: RecallService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.keep("likes green tea")
    service.index_all()

    answered = threading.Event()

    def slow(*args: Any, **more: Any) -> Any:
        answered.wait(timeout=30)
        return ()

    monkeypatch.setattr(type(service.index), "by_words", slow)
    monkeypatch.setattr(recall_search, "SEARCH_SECONDS", 0.2)
    recalled = service.recall("green tea")
    answered.set()
    assert [memory.content for memory in recalled.memories] == ["likes green tea"]
    assert "search" in recalled.degraded


@pytest.mark.parametrize("method", ["records", "pointers", "listed", "uses", "versions"])
def test_a_table_of_memories_that_fails_is_an_error_and_never_an_empty_answer(
    service: RecallService, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    said = service.say("The manager is great")
    service.keep("The manager is Dana", topic="manager", messages=said)
    service.index_all()
    monkeypatch.setattr(service.memories, method, _failing)
    with pytest.raises(Unavailable):
        service.recall("Who is the manager?")


@pytest.mark.parametrize("method", ["open", "messages_at", "parts", "listed", "messages"])
def test_a_table_of_sessions_that_fails_is_an_error_too(
    service: RecallService, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    service.say("The manager is great")
    service.index_all()
    monkeypatch.setattr(service.sessions, method, _failing)
    with pytest.raises(Unavailable):
        service.recall("Who is the manager?")


def _failing(*args: Any, **more: Any) -> Any:
    raise Unavailable("The store did not answer.")


def test_a_use_that_can_not_be_counted_does_no_harm(
    service: RecallService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.keep("likes tea")
    service.index_all()
    monkeypatch.setattr(service.memories, "count_use", _failing)
    assert service.found("tea") == ["likes tea"]


# One retriever alone


def test_one_retriever_answers_alone_with_its_own_scores(service: RecallService) -> None:
    service.keep("Dana is the manager")
    service.say("The manager was here")
    service.index_all()
    by_meaning = service.search(SARAH, "the boss", mode="vector", k=9)
    assert {one.content for one in by_meaning} == {"Dana is the manager", "The manager was here"}
    assert all(-1 <= one.score <= 1 and one.found_by == ("vector",) for one in by_meaning)
    assert service.search(SARAH, "the boss", mode="keyword") == ()
    assert [
        one.type for one in service.search(SARAH, "manager", mode="keyword", where=only("message"))
    ] == ["message"]


def test_a_retriever_alone_marks_an_earlier_value_too(service: RecallService) -> None:
    first, second = service.say("I work at Acme", "Now I work at Bolt")
    service.keep("works at Acme", topic="employer", messages=[first])
    current = service.keep("works at Bolt", topic="employer", messages=[second])
    service.index_all()
    found = {
        one.content: one.outdated_by for one in service.search(SARAH, "work", mode="keyword", k=9)
    }
    assert found == {
        "I work at Acme": current.id,
        "Now I work at Bolt": None,
        "works at Bolt": None,
    }


def test_nothing_stands_in_for_a_retriever_that_fails(service: RecallService) -> None:
    service.index.down = True
    with pytest.raises(Unavailable):
        service.search(SARAH, "manager", mode="keyword")
    service.index.down = False
    service.embedder.failure = ModelUnavailable("busy")
    with pytest.raises(Unavailable):
        service.search(SARAH, "manager", mode="vector")
    without = type(service.search)(
        service.memories, service.sessions, service.index, service.index, None, service.time
    )
    with pytest.raises(Unprocessable):
        without(SARAH, "manager", mode="vector")


def test_sessions_are_found_by_what_was_said_in_them(service: RecallService) -> None:
    service.say("The bicycle is red", "A red bicycle indeed", session="bikes")
    service.say("The red train", session="trains")
    service.say("Hello", session="other")
    service.say("My red bicycle", session="davids", user="david")
    service.index_all()
    find = FindSessions(service.search)
    assert find(SARAH, "red bicycle", limit=9) == ("bikes", "trains")
    service.mark_deleted("bikes")
    assert find(SARAH, "red bicycle", limit=9) == ("trains",)
    assert find(SARAH, "red", limit=0) == ()


def test_a_head_without_messages_is_no_trouble(service: RecallService) -> None:
    scope = TENANT.session("empty")
    service.say("hello", session="empty")
    head = service.sessions.open(scope).head
    assert head is not None
    service.sessions.remove(scope, first=1, last=9, whole=False)
    service.sessions.commit(scope, Commit(before=head, after=head))
    service.index_all()
    assert service.found("hello") == []
